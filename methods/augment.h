/* augment.h -- the operations on 8-bit images that randaugment and augmix draw from.
 *
 * An operation is of one of three kinds: it maps values (solarize, posterize), or places (rotate, shear, translate), or
 * it blends the image with what a look at all of it gives (autocontrast, equalize, color, contrast, brightness, sharpness). */
#pragma once
#include "method.h"

enum operation {
    AUTOCONTRAST, EQUALIZE, POSTERIZE, ROTATE, SOLARIZE, SHEAR_X, SHEAR_Y, TRANSLATE_X, TRANSLATE_Y,
    SAFE_OPERATIONS, COLOR = SAFE_OPERATIONS, CONTRAST, BRIGHTNESS, SHARPNESS, OPERATIONS
};

struct deed {
    enum operation operation;
    float amount;
};

static inline float level_of(float severity)
{
    return 0.1f + (severity - 0.1f) * draw_uniform();
}

/* `extent`: of the image along the way that is taken. */
static inline float amount_at(enum operation operation, float level, int extent)
{
    float part = level / 10;
    return operation == POSTERIZE ? 4 - floor(4 * part)
         : operation == ROTATE ? floor(30 * part)
         : operation == SOLARIZE ? 256 - floor(256 * part)
         : operation == SHEAR_X || operation == SHEAR_Y ? 0.3f * part
         : operation == TRANSLATE_X || operation == TRANSLATE_Y ? floor(extent / 3.0f * part)
         : operation >= COLOR ? 1.8f * part + 0.1f
         : 0;
}

/* The enhancements of the set `all` do not go by the level: half of them weaken, half strengthen. */
static inline float factor_of(enum operation operation, float severity)
{
    float factor = draw_uniform() < 0.5f ? 1 + (severity - 1) * draw_uniform() : 1 - 0.09f * severity * draw_uniform();
    return operation == BRIGHTNESS && factor > 1 ? 0.75f * factor : factor;
}

static inline struct deed drawn_deed(float severity, int operations, bool original)
{
    enum operation operation = draw_integer(operations);
    int extent = operation == TRANSLATE_Y ? image_height : image_width;
    bool directed = operation == ROTATE || (operation >= SHEAR_X && operation <= TRANSLATE_Y);
    float amount = operation < COLOR || original ? amount_at(operation, level_of(severity), extent)
                                                 : factor_of(operation, severity);
    return (struct deed){ operation, directed && draw_uniform() < 0.5f ? -amount : amount };
}

static inline float shade_after(struct deed deed, float shade)
{
    float step = pow(2, 8 - deed.amount);
    return deed.operation == SOLARIZE ? (shade < deed.amount ? shade : 255 - shade)
         : deed.operation == POSTERIZE ? floor(shade / step) * step
         : shade;
}

/* Where the pixel at y, x of the result is read, counted from the centre of the image. */
struct place {
    float y, x;
};

static inline struct place place_before(struct deed deed, struct place at)
{
    float turn = deed.amount * 3.14159265358979323846 / 180, c = cos(turn), s = sin(turn);
    return deed.operation == ROTATE ? (struct place){ c * at.y + s * at.x, c * at.x - s * at.y }
         : deed.operation == SHEAR_X ? (struct place){ at.y, at.x + deed.amount * at.y }
         : deed.operation == SHEAR_Y ? (struct place){ at.y + deed.amount * at.x, at.x }
         : deed.operation == TRANSLATE_X ? (struct place){ at.y, at.x + deed.amount }
         : deed.operation == TRANSLATE_Y ? (struct place){ at.y + deed.amount, at.x }
         : at;
}
