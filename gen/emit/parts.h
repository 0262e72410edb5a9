/* parts.h -- pieces of real C that programs are made of: the files of templates/cpu and runtime, cut at lines
 *
 *     //% part NAME [for float|double] [needs A B ...]
 *
 * A part may have pieces in several files (declarations in a .h, bodies in a .c) and a variant a precision.
 * templates/README.md describes the marks inside a part: slots, conditional lines, the default section. */
#pragma once
#include "base/diag.h"

typedef struct Parts Parts;             /* all there are */
typedef struct PartSet PartSet;         /* those of one program, with what they need */
struct Slot;                            /* emit/cpu/emit.h */

/* NULL and a complaint when a folder can't be read. A malformed mark or a need that nothing meets is a bug. */
Parts *parts_load(Arena *arena, Diagnostics *diag, const char *templates_dir, const char *runtime_dir);
bool parts_known(const Parts *parts, const char *name);
/* Identifiers that parts without slots define at file scope: what a program's own names must keep off. */
void parts_words(Arena *arena, const Parts *parts, TextArray *words);

PartSet *parts_set(Arena *arena, const Parts *parts, bool is_double);
void parts_use(PartSet *set, const char *name);             /* and all it needs; an unknown name is a bug */
void parts_use_needs(PartSet *set, const char *name);       /* only what it needs: the part itself comes as instances */
bool parts_used(const PartSet *set, const char *name);

/* The text of the used parts: file by file, what is needed before what needs it. */
const char *parts_kernels(const PartSet *set);              /* of templates/cpu */
const char *parts_declarations(const PartSet *set);         /* of the headers of runtime */
const char *parts_bodies(const PartSet *set);               /* of the C files of runtime */
void parts_includes(const PartSet *set, TextArray *lines);  /* "#include <math.h>", sorted, each once */

/* The text of a part with slots as one instance: lines of dead slots are gone, the text of live ones stands where
 * they are called, and each function and struct that the part defines has `suffix` behind its name. */
const char *parts_instance_text(Arena *arena, const Parts *parts, const char *part, const struct Slot *slots,
                                int count, const char *suffix);
