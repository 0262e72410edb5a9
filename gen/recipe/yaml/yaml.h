/* yaml.h -- YAML text to located values: the dialect of OmegaConf and Composer's recipes.
 *
 *     bytes -> read.c (libyaml's events, limits, aliases) -> scalar.c (YAML 1.1 words and numbers)
 *           -> override.c (a.b=value merged in) -> reference.c (${a.b} put in) -> values
 *
 * Limits keep a hostile file from costing anything: depth, nodes after expansion, bytes. */
#pragma once
#include "recipe/recipe.h"

enum {
    YAML_DEEPEST = 64,
    YAML_MOST_NODES = 10000,            /* aliases and references expanded */
    YAML_MOST_BYTES = 1 << 20,
    YAML_MOST_COMPLAINTS = 20,          /* of one kind: after these a reader stops looking */
};

typedef Array(Doc *) DocArray;

/* ---- read.c ---- */
/* One document of source->bytes, from byte `from` on; a DOC_NULL when there is no value. NULL after a complaint that
 * makes the rest unreadable; duplicate keys and tags are complained about and read on. */
Doc *yaml_read(Arena *arena, Diagnostics *diag, const Source *source, size_t from, bool is_override);
/* A value that the compiler itself writes ("{lr: 0.1}"): a mistake in it is a bug. */
Doc *yaml_constant(Arena *arena, const char *text);
/* Complains about what is not UTF-8 text or too long. */
bool yaml_check_bytes(Diagnostics *diag, const Source *source);
/* Line and column of a byte. */
Place place_at(const Source *source, size_t offset);

/* ---- scalar.c ---- */
/* Gives a plain scalar, whose text is set, its kind and value. Warns about booleans and numbers that surprise. */
void scalar_resolve(Arena *arena, Diagnostics *diag, Doc *doc);

/* ---- doc.c ---- */
Doc *doc_copy(Arena *arena, const Doc *doc, Place origin);      /* deep */
int doc_size(const Doc *doc);                                   /* nodes, itself included */
void doc_set_items(Doc *doc, const DocArray *items);
void doc_replace(Doc *doc, const Doc *value);                   /* value, with doc's own key */
void doc_print(Buffer *out, const Doc *doc);                    /* in flow style; reads back to the same */
void text_print_yaml(Buffer *out, const char *text);            /* quoted when it must be */
void key_print_yaml(Buffer *out, const char *key);

/* ---- override.c ---- */
/* Merges "a.b=value" words into root, in order. `is_choice` tells of a key at the top whose map names one thing:
 * giving it whole with another name replaces it. False after complaints. */
bool overrides_apply(Arena *arena, Diagnostics *diag, Doc *root, const char *const *words, int count,
                     bool (*is_choice)(const char *key));

/* ---- reference.c ---- */
/* Puts values in for ${a.b}; afterwards complains about ??? outside `variables`. False after complaints. */
bool references_resolve(Arena *arena, Diagnostics *diag, Doc *root);
