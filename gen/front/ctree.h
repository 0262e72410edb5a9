/* ctree.h -- the small C tree that is kept of a file: what parse*.c builds and eval*.c runs.
 *
 * Parentheses and clang's implicit casts are gone; names are resolved; constants are read; what the
 * evaluator can't run was complained about while parsing, so every kind here can be evaluated. */
#pragma once
#include "front/front.h"

/* ---- types: only as much of C's as evaluation needs ---- */
typedef enum CTypeKind {
    CTYPE_VOID, CTYPE_FLOAT, CTYPE_INT, CTYPE_BOOL,
    CTYPE_TEXT,                     /* pointer to char, array of char */
    CTYPE_TENSOR,                   /* pointer to struct tensor_handle */
    CTYPE_RECORD, CTYPE_ARRAY, CTYPE_POINTER, CTYPE_FUNCTION,
    CTYPE_OTHER,                    /* unions, complex numbers: values of it can't be made */
} CTypeKind;

typedef struct CType CType;

typedef struct CField {
    const char *name;
    const CType *type;
} CField;

struct CType {
    CTypeKind kind;
    const char *name;               /* records: as Value's record.type */
    const CType *element;           /* ARRAY, POINTER */
    int length;                     /* ARRAY */
    Array(CField) fields;           /* RECORD */
};

/* ---- tree ---- */
typedef enum TreeKind {
    /* expressions                     parts */
    TREE_INTEGER, TREE_NUMBER, TREE_TEXT,
    TREE_LOCAL,                     /* slot: `index` */
    TREE_GLOBAL,                    /* variable */
    TREE_FUNCTION,                  /* function */
    TREE_CALL,                      /* callee, arguments... */
    TREE_UNARY,                     /* operand; op: neg, not, BIT_NOT, PLUS */
    TREE_BINARY,                    /* left, right; op */
    TREE_LOGICAL,                   /* left, right; op: and, or */
    TREE_ASSIGN,                    /* target, value; op: NO_OPERATOR or that of a compound assignment */
    TREE_STEP,                      /* target; op: add or sub; index: 1 = the value before is the result */
    TREE_CONDITIONAL,               /* condition, then, else */
    TREE_COMMA,                     /* left, right */
    TREE_MEMBER,                    /* base: a record or a pointer to one; name; index: place of the field */
    TREE_SUBSCRIPT,                 /* base, index */
    TREE_ADDRESS, TREE_DEREFERENCE, TREE_CAST,
    TREE_LIST,                      /* { a, .b = c }: items; a designated one is a TREE_DESIGNATED */
    TREE_DESIGNATED,                /* name or (NULL) index; part: initializer, or another TREE_DESIGNATED */
    TREE_COMPOUND,                  /* (type){ ... }: TREE_LIST */
    /* statements */
    TREE_BLOCK,                     /* statements... */
    TREE_DECLARATION,               /* slot `index`, name, type; part: initializer, if any */
    TREE_EXPRESSION,                /* expression */
    TREE_IF,                        /* condition, then, [else] */
    TREE_FOR,                       /* init, condition, step, body; absent ones are NULL */
    TREE_WHILE,                     /* condition, body */
    TREE_DO,                        /* body, condition */
    TREE_SWITCH,                    /* value, block whose statements include TREE_CASE and TREE_DEFAULT */
    TREE_CASE,                      /* integer; what follows it is its sibling */
    TREE_DEFAULT,
    TREE_BREAK, TREE_CONTINUE,
    TREE_RETURN,                    /* [value] */
    TREE_KINDS
} TreeKind;

/* Operators are ExprOps where there is one, else these. */
enum {
    OPERATOR_GT = EXPR_COUNT, OPERATOR_GE, BIT_AND, BIT_OR, BIT_XOR, SHIFT_LEFT, SHIFT_RIGHT, BIT_NOT, PLUS,
    NO_OPERATOR,
};

typedef struct Tree Tree;
typedef Array(Tree *) TreeArray;

struct Tree {
    TreeKind kind;
    Place place;
    const CType *type;
    int op;
    const char *name;               /* of what is named: for messages and fields */
    union {
        int64_t integer;
        double number;
        const char *text;
        int index;
        const CVariable *variable;
        const CFunction *function;
    };
    Tree **parts;
    int part_count;
};

/* ---- declarations ---- */
typedef struct CParameter {
    const char *name, *type_name;
    const CType *type;
} CParameter;

struct CFunction {
    const char *name, *comment;
    Place place;
    const CType *result;
    Array(CParameter) parameters;   /* their slots are 0, 1, ... */
    bool variadic;
    int slots;                      /* locals, parameters included */
    Tree *body;                     /* NULL: the host's */
    bool touches_state;             /* itself or through what it calls: uses variables, the host or a pointer */
};

struct CVariable {
    const char *name, *type_name;
    Place place;
    const CType *type;
    bool is_const;
    TextArray choices;
    Tree *initializer;              /* NULL: zero */
    int index;                      /* in file->all_variables */
};

struct CFile {
    Source *source;
    Array(CFunction *) functions;       /* defined here */
    Array(CVariable *) variables;       /* of the file itself */
    Array(CFunction *) all_functions;   /* those of headers that are used too */
    Array(CVariable *) all_variables;
};

extern const CType ctype_void, ctype_float, ctype_int, ctype_bool, ctype_text, ctype_tensor, ctype_other;

const char *ctype_describe(Arena *arena, const CType *type);        /* "a number", "a struct box" */
void ctree_mark_state(CFile *file);             /* sets touches_state of all functions */
bool eval_is_math(const CFunction *function);   /* one of scalar.h's, which the evaluator knows itself */
