/* plan.h -- where every tensor of a step lives.
 *
 * All phases of a topology share one placement, made for the largest size each tensor has in any of
 * them: offsets are literals in the emitted program, and a phase change moves nothing. Offsets count
 * reals from the start of the arena and are multiples of PLAN_ALIGNMENT. */
#pragma once
#include "ir/ir.h"

enum { PLAN_ALIGNMENT = 16 };           /* reals: 64 bytes in fp32 */

typedef enum Storage {
    STORE_ARENA,                        /* its own range */
    STORE_ALIAS,                        /* the bytes of another node, read as they are (.of) */
    STORE_INPUT,                        /* handed in with the batch */
    STORE_WEIGHT,                       /* a parameter; the new value of a buffer is written in its place */
    STORE_GRADIENT,                     /* written straight into the gradient of .parameter */
} Storage;

typedef struct PlanSlot {
    Storage storage;
    int64_t offset, reals;              /* STORE_ARENA */
    const Node *of;                     /* STORE_ALIAS */
    const Parameter *parameter;         /* STORE_WEIGHT, STORE_GRADIENT */
    int first, last;                    /* live from the making of node `first` to that of node `last` */
} PlanSlot;

typedef struct Plan {
    PlanSlot *slots;                    /* by node id */
    int count;
    int64_t arena;                      /* reals that the placement needs */
    int64_t unplanned;                  /* reals without sharing, for the score */
} Plan;

/* graphs: one a phase, same nodes. write_gradients: gradients go straight to their place (one micro-batch). */
Plan *plan_place(Arena *run, Graph *const *graphs, int count, bool write_gradients, int64_t base);
/* Two layouts of these shapes are the same bytes in the same order. */
bool plan_same_bytes(const Node *a, const Node *b);
/* "41 buffers, 9.8 MiB, placed in 3.1 MiB" and a chart of live ranges. */
void plan_print(Buffer *out, const Plan *plan, const Graph *graph);
