/* ctree.c -- questions about a parsed file (front.h). */
#include "front/ctree.h"

const CType ctype_void = { .kind = CTYPE_VOID, .name = "void" };
const CType ctype_float = { .kind = CTYPE_FLOAT, .name = "float" };
const CType ctype_int = { .kind = CTYPE_INT, .name = "int" };
const CType ctype_bool = { .kind = CTYPE_BOOL, .name = "bool" };
const CType ctype_text = { .kind = CTYPE_TEXT, .name = "text" };
const CType ctype_tensor = { .kind = CTYPE_TENSOR, .name = "tensor" };
const CType ctype_other = { .kind = CTYPE_OTHER, .name = "other" };

const char *ctype_describe(Arena *arena, const CType *type)
{
    switch (type->kind) {
    case CTYPE_VOID: return "nothing";
    case CTYPE_FLOAT: return "a number";
    case CTYPE_INT: return "an integer";
    case CTYPE_BOOL: return "a truth value";
    case CTYPE_TEXT: return "a text";
    case CTYPE_TENSOR: return "a tensor";
    case CTYPE_RECORD: return text_format(arena, "a struct %s", type->name);
    case CTYPE_ARRAY: return "an array";
    case CTYPE_POINTER: return "a pointer";
    case CTYPE_FUNCTION: return "a function";
    case CTYPE_OTHER: break;
    }
    return "a value of another type";
}

/* ---- which functions do or see more than their arguments say ---- */
static bool tree_touches(const Tree *tree)
{
    if (!tree)
        return false;
    if (tree->kind == TREE_GLOBAL && !tree->variable->is_const)
        return true;
    if (tree->kind == TREE_CALL && tree->parts[0]->kind != TREE_FUNCTION)
        return true;
    if (tree->kind == TREE_FUNCTION && tree->function->touches_state)
        return true;
    for (int i = 0; i < tree->part_count; i++)
        if (tree_touches(tree->parts[i]))
            return true;
    return false;
}

static bool touches(const CFunction *function)
{
    return function->body ? tree_touches(function->body) : !eval_is_math(function);
}

void ctree_mark_state(CFile *file)
{
    for (bool changed = true; changed;) {       /* through recursion too: until nothing is added */
        changed = false;
        for (int i = 0; i < file->all_functions.count; i++) {
            CFunction *function = file->all_functions.items[i];
            if (!function->touches_state && touches(function))
                function->touches_state = changed = true;
        }
    }
}

/* ---- front.h's questions ---- */
const char *cfile_path(const CFile *file)
{
    return file->source->path;
}

int cfile_function_count(const CFile *file)
{
    return file->functions.count;
}

const CFunction *cfile_function(const CFile *file, int index)
{
    return file->functions.items[index];
}

const CFunction *cfile_find_function(const CFile *file, const char *name)
{
    for (int i = 0; i < file->functions.count; i++)
        if (text_equal(file->functions.items[i]->name, name))
            return file->functions.items[i];
    return NULL;
}

int cfile_variable_count(const CFile *file)
{
    return file->variables.count;
}

const CVariable *cfile_variable(const CFile *file, int index)
{
    return file->variables.items[index];
}

const CVariable *cfile_find_variable(const CFile *file, const char *name)
{
    for (int i = 0; i < file->variables.count; i++)
        if (text_equal(file->variables.items[i]->name, name))
            return file->variables.items[i];
    return NULL;
}

const char *cfunction_name(const CFunction *function)
{
    return function->name;
}

Place cfunction_place(const CFunction *function)
{
    return function->place;
}

const char *cfunction_comment(const CFunction *function)
{
    return function->comment;
}

int cfunction_parameter_count(const CFunction *function)
{
    return function->parameters.count;
}

const char *cfunction_parameter_name(const CFunction *function, int index)
{
    return function->parameters.items[index].name;
}

const char *cfunction_parameter_type(const CFunction *function, int index)
{
    return function->parameters.items[index].type_name;
}

const char *cvariable_name(const CVariable *variable)
{
    return variable->name;
}

Place cvariable_place(const CVariable *variable)
{
    return variable->place;
}

const char *cvariable_type(const CVariable *variable)
{
    return variable->type_name;
}

bool cvariable_is_const(const CVariable *variable)
{
    return variable->is_const;
}

int cvariable_choice_count(const CVariable *variable)
{
    return variable->choices.count;
}

const char *cvariable_choice(const CVariable *variable, int index)
{
    return variable->choices.items[index];
}
