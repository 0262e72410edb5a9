/* graph_bench.h -- what the tests of graphs share: a text with a node of every op, read in an arena of the test. */
#pragma once
#include <check.h>

#include "ir/ir.h"

#define SHAPE(...) shape_of((int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), __VA_ARGS__)
#define I(n) ((int64_t)(n))

#define CONV " stride=2,2 before=1,1 after=1,1 dilation=1,1 groups=2\n"
#define POOL " kernel=3,3 stride=2,2 padding=1,1 dilation=1,1 ceil_mode=0 count_padding=0 adaptive=0\n"
#define ADAPTIVE " kernel=2,3 stride=1,1 padding=0,0 dilation=1,1 ceil_mode=0 count_padding=0 adaptive=1\n"
#define RESIZE " bilinear=1 align_corners=0 scale=1.5,2\n"
#define GHOST " norm=batch epsilon=1e-05 pieces=4 is_cut=1 axes=0 groups=0\n"
#define LOSS " axis=1 ignore=-100"

/* Its nodes are numbered from %0 to %54. */
extern const char graph_every_op[];

/* Of one test; each runs in a process of its own. */
extern Arena *graph_arena;
extern Diagnostics graph_diag;

void graph_setup(void);
void graph_teardown(void);
Graph *graph_of_text(const char *text);             /* NULL and a complaint in graph_diag where it is wrong */
Graph *graph_of_every_op(void);
const char *graph_as_text(const Graph *graph);
/* Line by line: a whole graph is too long for a message. */
void check_same_text(const char *a, const char *b);

TCase *graph_group(Suite *suite, const char *name);
void add_graph_texts(Suite *suite);
