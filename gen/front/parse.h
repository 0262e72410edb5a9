/* parse.h -- what the parts of the parser share; the only place, with parse*.c, that sees libclang. */
#pragma once
#include <clang-c/Index.h>

#include "front/ctree.h"

typedef Array(CXCursor) CursorArray;

typedef struct Local {
    CXCursor declaration;
    int slot;
} Local;

typedef struct Record {
    CXCursor declaration;
    CType *type;
} Record;

typedef struct Pending {            /* a function whose body is still to be read */
    CFunction *function;
    CXCursor definition;
} Pending;

typedef struct OpenFile {
    CXFile handle;
    Source *source;
} OpenFile;

typedef struct Parser {
    Arena *run;                     /* the tree */
    Arena *scratch;                 /* dropped with libclang's unit */
    Diagnostics *diag;
    CXTranslationUnit unit;
    CXFile main_file;
    CFile *file;
    Array(Local) locals;            /* of the function being read */
    CFunction *function;
    Array(Record) records;
    Array(Pending) pending;
    Array(OpenFile) files;
    int depth;
} Parser;

/* parse.c */
const char *parse_text(Parser *parser, CXString text);          /* copies and disposes */
Place parse_place(Parser *parser, CXCursor cursor);     /* in a macro: of its use, or its argument */
Place parse_location(Parser *parser, CXSourceLocation location);
const char *parse_spelling(Parser *parser, CXCursor cursor, const char **end);  /* the text itself, or NULL */
CursorArray parse_children(Parser *parser, CXCursor cursor);    /* without references to types */
CFunction *parse_function(Parser *parser, CXCursor declaration);    /* its body is read later */
CVariable *parse_variable(Parser *parser, CXCursor declaration);
Tree *parse_unsupported(Parser *parser, CXCursor cursor, const char *what);

/* parse_types.c */
const CType *parse_type(Parser *parser, CXType type);
const char *parse_type_name(Parser *parser, CXType type);       /* as spelled, without const */
TextArray parse_choices(Parser *parser, CXType type);

/* parse_expressions.c */
Tree *tree_new(Parser *parser, TreeKind kind, CXCursor cursor);
Tree *tree_of(Parser *parser, TreeKind kind, CXCursor cursor, const CursorArray *parts);    /* of expressions */
Tree *parse_expression(Parser *parser, CXCursor cursor);
bool parse_integer(CXCursor cursor, int64_t *value);            /* of a constant expression */

/* parse_statements.c */
Tree *parse_statement(Parser *parser, CXCursor cursor);
