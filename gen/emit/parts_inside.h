/* parts_inside.h -- what the files about parts share. */
#pragma once
#include "emit/cpu/emit.h"
#include "emit/parts.h"

typedef enum PieceKind { PIECE_KERNEL, PIECE_DECLARATION, PIECE_BODY } PieceKind;
typedef enum Precision { PRECISION_ANY, PRECISION_FLOAT, PRECISION_DOUBLE } Precision;

typedef struct PartFile {
    const char *path;
    PieceKind kind;
    TextArray includes;
} PartFile;

typedef struct Piece {                  /* what one file has of a part */
    const PartFile *file;
    const char *part, *text;
    Precision precision;
    TextArray needs;
    bool has_slots;
} Piece;

struct Parts {
    Arena *arena;
    Array(PartFile *) files;
    Array(Piece *) pieces;              /* in order of files and lines */
};

/* A piece's text with its marks resolved: `slots` are live where they have a text, all others are dead. */
const char *piece_resolved(Arena *arena, const char *text, const Slot *slots, int count);
/* The functions and structs that a text defines. */
void piece_names(Arena *arena, const char *text, TextArray *names);
/* Each whole word `names` in `text` gets `suffix`. */
const char *piece_suffixed(Arena *arena, const char *text, const TextArray *names, const char *suffix);
