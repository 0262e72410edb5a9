/* layout.h -- how each tensor lies in memory: images with their channels fastest, everything else row-major. */
#pragma once
#include "ir/ir.h"

/* Sets the layout of every node; where an op needs an input otherwise, a map that copies it stands between.
 * Decided by ops and ranks alone, so all phases of a topology are laid out alike. */
void plan_layout(Graph *graph);
