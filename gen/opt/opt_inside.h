/* opt_inside.h -- what the files of this room share and nobody else sees. */
#pragma once
#include "opt/opt.h"

/* By id: does an output depend on this node? */
bool *opt_needed(const Graph *graph, Arena *arena);

/* Axes whose extent is 1 in every phase, or may be, one bit each: along them a map may broadcast this node.
 * Decided from how the node was made and never from extents that differ between phases; `thin` has the
 * answers of its inputs, by id. */
unsigned opt_thin_axes(const Node *node, const unsigned *thin);

/* Can the shape of this map be more than that of its inputs together, in some phase? */
bool opt_may_widen(const Node *map, const unsigned *thin);

/* What was seen so far, to find nodes that compute the same. */
typedef struct Twins {
    const Graph *graph;
    const unsigned *thin;
    int *first, *next;                  /* by id: whoever was seen last with this first input, and who before
                                         * that one; -1: nobody */
} Twins;

Twins opt_twins(const Graph *graph, const unsigned *thin, Arena *arena);
/* An earlier node with the same value in every phase; NULL, and `node` is remembered, when there is none. */
Node *opt_twin_of(Twins *twins, const Node *node);
