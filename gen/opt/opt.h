/* opt.h -- rewrites that make a graph smaller and leave what it computes as it was.
 *
 * Phases of one kind have graphs with the same nodes that differ only in sizes, and must still have them
 * afterwards: nothing is decided here by an extent that may differ between phases (see thin.c). */
#pragma once
#include "ir/ir.h"

/* Applies rules and merges nodes that compute the same, to a fixed point. Nodes that lost their uses stay,
 * for opt_prune. Returns the number of changes. */
int opt_simplify(Graph *graph);

/* Takes out the nodes that no output needs; the others keep their order and are numbered anew. Returns how
 * many went. */
int opt_prune(Graph *graph);
