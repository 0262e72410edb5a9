/* parse_expressions.c -- clang's expressions to the small tree. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "front/parse.h"

enum { DEEPEST_TREE = 500 };

Tree *tree_new(Parser *parser, TreeKind kind, CXCursor cursor)
{
    Tree *tree = arena_new(parser->run, Tree);
    tree->kind = kind;
    tree->place = parse_place(parser, cursor);
    tree->op = NO_OPERATOR;
    return tree;
}

Tree *tree_of(Parser *parser, TreeKind kind, CXCursor cursor, const CursorArray *parts)
{
    Tree *tree = tree_new(parser, kind, cursor);
    tree->type = parse_type(parser, clang_getCursorType(cursor));
    tree->part_count = parts->count;
    tree->parts = arena_array(parser->run, Tree *, parts->count);
    for (int i = 0; i < parts->count; i++)
        tree->parts[i] = parse_expression(parser, parts->items[i]);
    return tree;
}

static Tree *with_children(Parser *parser, TreeKind kind, CXCursor cursor)
{
    CursorArray parts = parse_children(parser, cursor);
    return tree_of(parser, kind, cursor, &parts);
}

/* The last child alone: casts and compound literals show the pieces of their type first. */
static Tree *with_last_child(Parser *parser, TreeKind kind, CXCursor cursor)
{
    CursorArray parts = parse_children(parser, cursor);
    if (parts.count > 1)
        parts = (CursorArray){ .items = parts.items + parts.count - 1, .count = 1 };
    return tree_of(parser, kind, cursor, &parts);
}

bool parse_integer(CXCursor cursor, int64_t *value)
{
    CXEvalResult result = clang_Cursor_Evaluate(cursor);
    bool known = result && clang_EvalResult_getKind(result) == CXEval_Int;
    if (known)
        *value = clang_EvalResult_getAsLongLong(result);
    if (result)
        clang_EvalResult_dispose(result);
    return known;
}

static Tree *integer_literal(Parser *parser, CXCursor cursor)
{
    Tree *tree = tree_new(parser, TREE_INTEGER, cursor);
    tree->type = parse_type(parser, clang_getCursorType(cursor));
    if (!parse_integer(cursor, &tree->integer))
        return parse_unsupported(parser, cursor, "this constant");
    return tree;
}

/* The decimal nearest to a float: what its author wrote, where macros made the text up. */
static double shortest_decimal(double value)
{
    char digits[40];
    for (int precision = 1; precision <= 9; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtof(digits, NULL) == (float)value)
            return strtod(digits, NULL);
    }
    return value;
}

/* Constants are decimals, not floats: 0.1f is 0.1. A literal is read from the text of the file; where
 * that text is not the literal, clang's value is rounded to the shortest decimal. */
static Tree *float_literal(Parser *parser, CXCursor cursor)
{
    Tree *tree = tree_new(parser, TREE_NUMBER, cursor);
    tree->type = &ctype_float;
    CXEvalResult result = clang_Cursor_Evaluate(cursor);
    double value = result ? clang_EvalResult_getAsDouble(result) : 0;
    if (result)
        clang_EvalResult_dispose(result);
    const char *end = NULL, *text = parse_spelling(parser, cursor, &end);
    if (text && (isdigit((unsigned char)*text) || *text == '.')) {
        tree->number = strtod(text, NULL);
        if ((float)tree->number == (float)value)
            return tree;
    }
    bool is_double = clang_getCanonicalType(clang_getCursorType(cursor)).kind == CXType_Double;
    tree->number = is_double ? value : shortest_decimal(value);
    return tree;
}

static char unescaped(const char **at)
{
    static const char letters[] = "n\nt\tr\ra\ab\bf\fv\v";
    char letter = *(*at)++;
    if (letter >= '0' && letter <= '7') {
        int code = letter - '0';
        for (int digits = 1; digits < 3 && **at >= '0' && **at <= '7'; digits++)
            code = 8 * code + *(*at)++ - '0';
        return (char)code;
    }
    if (letter == 'x')
        return (char)strtol(*at, (char **)at, 16);
    for (int i = 0; letters[i]; i += 2)
        if (letters[i] == letter)
            return letters[i + 1];
    return letter;
}

/* clang spells a string as one C literal, the pieces joined. */
static Tree *string_literal(Parser *parser, CXCursor cursor)
{
    Tree *tree = tree_new(parser, TREE_TEXT, cursor);
    tree->type = &ctype_text;
    const char *spelled = parse_text(parser, clang_getCursorSpelling(cursor));
    size_t length = strlen(spelled);
    if (length < 2 || *spelled != '"')
        return parse_unsupported(parser, cursor, "this kind of string");
    const char *at = spelled + 1, *end = spelled + length - 1;
    Buffer text = { .arena = parser->run };
    while (at < end) {
        char letter = *at++;
        if (letter == '\\')
            letter = unescaped(&at);
        buffer_bytes(&text, &letter, 1);
    }
    tree->text = buffer_text(&text);
    return tree;
}

static Tree *name_of_variable(Parser *parser, CXCursor cursor, CXCursor declaration)
{
    for (int i = parser->locals.count - 1; i >= 0; i--)
        if (clang_equalCursors(parser->locals.items[i].declaration, declaration)) {
            Tree *tree = tree_new(parser, TREE_LOCAL, cursor);
            tree->index = parser->locals.items[i].slot;
            return tree;
        }
    Tree *tree = tree_new(parser, TREE_GLOBAL, cursor);
    tree->variable = parse_variable(parser, declaration);
    return tree;
}

static Tree *name_reference(Parser *parser, CXCursor cursor)
{
    CXCursor declaration = clang_getCursorReferenced(cursor);
    Tree *tree;
    switch (clang_getCursorKind(declaration)) {
    case CXCursor_EnumConstantDecl:
        tree = tree_new(parser, TREE_INTEGER, cursor);
        tree->integer = clang_getEnumConstantDeclValue(declaration);
        break;
    case CXCursor_FunctionDecl:
        tree = tree_new(parser, TREE_FUNCTION, cursor);
        tree->function = parse_function(parser, declaration);
        break;
    case CXCursor_VarDecl:
    case CXCursor_ParmDecl:
        tree = name_of_variable(parser, cursor, declaration);
        break;
    default:
        return parse_unsupported(parser, cursor, "this name");
    }
    tree->type = parse_type(parser, clang_getCursorType(cursor));
    tree->name = parse_text(parser, clang_getCursorSpelling(declaration));
    return tree;
}

static Tree *member(Parser *parser, CXCursor cursor)
{
    Tree *tree = with_children(parser, TREE_MEMBER, cursor);
    tree->name = parse_text(parser, clang_getCursorSpelling(cursor));
    if (tree->part_count != 1)
        return parse_unsupported(parser, cursor, "an anonymous member");
    const CType *record = tree->parts[0]->type;
    if (record->kind == CTYPE_POINTER)
        record = record->element;
    for (int i = 0; i < record->fields.count; i++)
        if (text_equal(record->fields.items[i].name, tree->name))
            tree->index = i;
    return tree;
}

typedef struct OperatorRow {
    TreeKind kind;                  /* 0: not supported */
    int op;
} OperatorRow;

static const OperatorRow binary_operators[] = {
    [CXBinaryOperator_Mul] = { TREE_BINARY, EXPR_mul },
    [CXBinaryOperator_Div] = { TREE_BINARY, EXPR_div },
    [CXBinaryOperator_Rem] = { TREE_BINARY, EXPR_mod },
    [CXBinaryOperator_Add] = { TREE_BINARY, EXPR_add },
    [CXBinaryOperator_Sub] = { TREE_BINARY, EXPR_sub },
    [CXBinaryOperator_Shl] = { TREE_BINARY, SHIFT_LEFT },
    [CXBinaryOperator_Shr] = { TREE_BINARY, SHIFT_RIGHT },
    [CXBinaryOperator_LT] = { TREE_BINARY, EXPR_lt },
    [CXBinaryOperator_GT] = { TREE_BINARY, OPERATOR_GT },
    [CXBinaryOperator_LE] = { TREE_BINARY, EXPR_le },
    [CXBinaryOperator_GE] = { TREE_BINARY, OPERATOR_GE },
    [CXBinaryOperator_EQ] = { TREE_BINARY, EXPR_eq },
    [CXBinaryOperator_NE] = { TREE_BINARY, EXPR_ne },
    [CXBinaryOperator_And] = { TREE_BINARY, BIT_AND },
    [CXBinaryOperator_Xor] = { TREE_BINARY, BIT_XOR },
    [CXBinaryOperator_Or] = { TREE_BINARY, BIT_OR },
    [CXBinaryOperator_LAnd] = { TREE_LOGICAL, EXPR_and },
    [CXBinaryOperator_LOr] = { TREE_LOGICAL, EXPR_or },
    [CXBinaryOperator_Assign] = { TREE_ASSIGN, NO_OPERATOR },
    [CXBinaryOperator_MulAssign] = { TREE_ASSIGN, EXPR_mul },
    [CXBinaryOperator_DivAssign] = { TREE_ASSIGN, EXPR_div },
    [CXBinaryOperator_RemAssign] = { TREE_ASSIGN, EXPR_mod },
    [CXBinaryOperator_AddAssign] = { TREE_ASSIGN, EXPR_add },
    [CXBinaryOperator_SubAssign] = { TREE_ASSIGN, EXPR_sub },
    [CXBinaryOperator_ShlAssign] = { TREE_ASSIGN, SHIFT_LEFT },
    [CXBinaryOperator_ShrAssign] = { TREE_ASSIGN, SHIFT_RIGHT },
    [CXBinaryOperator_AndAssign] = { TREE_ASSIGN, BIT_AND },
    [CXBinaryOperator_XorAssign] = { TREE_ASSIGN, BIT_XOR },
    [CXBinaryOperator_OrAssign] = { TREE_ASSIGN, BIT_OR },
    [CXBinaryOperator_Comma] = { TREE_COMMA, NO_OPERATOR },
};

/* Arithmetic on pointers (and their order) would need addresses, which values don't have. */
static bool computes_with_pointers(const Tree *tree)
{
    if (tree->kind != TREE_BINARY && (tree->kind != TREE_ASSIGN || tree->op == NO_OPERATOR))
        return false;
    if (tree->op == EXPR_eq || tree->op == EXPR_ne)
        return false;
    CTypeKind left = tree->parts[0]->type->kind, right = tree->parts[1]->type->kind;
    return left > CTYPE_BOOL || right > CTYPE_BOOL;
}

static Tree *binary(Parser *parser, CXCursor cursor)
{
    enum CXBinaryOperatorKind which = clang_getCursorBinaryOperatorKind(cursor);
    OperatorRow row = binary_operators[which];
    CursorArray parts = parse_children(parser, cursor);
    if (!row.kind || parts.count != 2)
        return parse_unsupported(parser, cursor, "this operator");
    Tree *tree = tree_of(parser, row.kind, cursor, &parts);
    tree->op = row.op;
    if (computes_with_pointers(tree))
        return parse_unsupported(parser, cursor, "arithmetic on pointers");
    return tree;
}

static const struct UnaryRow { TreeKind kind; int op; int before; } unary_operators[] = {
    [CXUnaryOperator_PostInc] = { TREE_STEP, EXPR_add, 1 },
    [CXUnaryOperator_PostDec] = { TREE_STEP, EXPR_sub, 1 },
    [CXUnaryOperator_PreInc] = { TREE_STEP, EXPR_add, 0 },
    [CXUnaryOperator_PreDec] = { TREE_STEP, EXPR_sub, 0 },
    [CXUnaryOperator_AddrOf] = { TREE_ADDRESS, NO_OPERATOR, 0 },
    [CXUnaryOperator_Deref] = { TREE_DEREFERENCE, NO_OPERATOR, 0 },
    [CXUnaryOperator_Plus] = { TREE_UNARY, PLUS, 0 },
    [CXUnaryOperator_Minus] = { TREE_UNARY, EXPR_neg, 0 },
    [CXUnaryOperator_Not] = { TREE_UNARY, BIT_NOT, 0 },
    [CXUnaryOperator_LNot] = { TREE_UNARY, EXPR_not, 0 },
    [CXUnaryOperator_Coawait] = { 0 },
};

static Tree *unary(Parser *parser, CXCursor cursor)
{
    enum CXUnaryOperatorKind which = clang_getCursorUnaryOperatorKind(cursor);
    if (which == CXUnaryOperator_Extension)
        return parse_expression(parser, parse_children(parser, cursor).items[0]);
    struct UnaryRow row = unary_operators[which];
    if (!row.kind)
        return parse_unsupported(parser, cursor, "this operator");
    Tree *tree = with_children(parser, row.kind, cursor);
    tree->op = row.op;
    tree->index = row.before;
    if (row.kind == TREE_STEP && tree->parts[0]->type->kind > CTYPE_BOOL)
        return parse_unsupported(parser, cursor, "arithmetic on pointers");
    if (row.kind == TREE_ADDRESS && tree->parts[0]->kind == TREE_FUNCTION)
        return tree->parts[0];
    return tree;
}

/* `.a.b[2] = x` inside a list: clang shows the designators (fields and index expressions), then x. */
static Tree *designated(Parser *parser, CXCursor cursor, const CursorArray *parts)
{
    Tree *inner = parse_expression(parser, parts->items[parts->count - 1]);
    for (int i = parts->count - 2; i >= 0; i--) {
        Tree *tree = tree_new(parser, TREE_DESIGNATED, cursor);
        CXCursor designator = parts->items[i];
        int64_t index = 0;
        if (clang_getCursorKind(designator) == CXCursor_MemberRef)
            tree->name = parse_text(parser, clang_getCursorSpelling(designator));
        else if (!parse_integer(designator, &index))
            return parse_unsupported(parser, cursor, "this designator");
        else
            tree->index = (int)index;
        tree->part_count = 1;
        tree->parts = arena_array(parser->run, Tree *, 1);
        tree->parts[0] = inner;
        tree->type = inner->type;
        inner = tree;
    }
    return inner;
}

static Tree *list(Parser *parser, CXCursor cursor)
{
    CursorArray parts = parse_children(parser, cursor);
    Tree *tree = tree_new(parser, TREE_LIST, cursor);
    tree->type = parse_type(parser, clang_getCursorType(cursor));
    tree->parts = arena_array(parser->run, Tree *, parts.count);
    tree->part_count = parts.count;
    for (int i = 0; i < parts.count; i++) {
        CursorArray inner = { 0 };
        if (clang_getCursorKind(parts.items[i]) == CXCursor_UnexposedExpr)
            inner = parse_children(parser, parts.items[i]);
        tree->parts[i] = inner.count > 1 ? designated(parser, parts.items[i], &inner)
                                         : parse_expression(parser, parts.items[i]);
        bool whole = tree->type->kind == CTYPE_RECORD || tree->type->kind == CTYPE_ARRAY;
        if (!whole && (tree->type->kind == CTYPE_OTHER || tree->parts[i]->kind == TREE_DESIGNATED))
            return parse_unsupported(parser, cursor, "a list of this type");
    }
    return tree;
}

static Tree *transparent(Parser *parser, CXCursor cursor)
{
    CursorArray parts = parse_children(parser, cursor);
    if (parts.count != 1)
        return parse_unsupported(parser, cursor, "this expression");
    return parse_expression(parser, parts.items[0]);
}

Tree *parse_expression(Parser *parser, CXCursor cursor)
{
    if (parser->depth > DEEPEST_TREE)
        return parse_unsupported(parser, cursor, "an expression nested this deeply");
    parser->depth++;
    Tree *tree;
    switch ((int)clang_getCursorKind(cursor)) {
    case CXCursor_IntegerLiteral:
    case CXCursor_CharacterLiteral:
    case CXCursor_UnaryExpr:                    /* sizeof */
        tree = integer_literal(parser, cursor);
        break;
    case CXCursor_FloatingLiteral: tree = float_literal(parser, cursor); break;
    case CXCursor_StringLiteral: tree = string_literal(parser, cursor); break;
    case CXCursor_DeclRefExpr: tree = name_reference(parser, cursor); break;
    case CXCursor_MemberRefExpr: tree = member(parser, cursor); break;
    case CXCursor_CallExpr: tree = with_children(parser, TREE_CALL, cursor); break;
    case CXCursor_UnaryOperator: tree = unary(parser, cursor); break;
    case CXCursor_BinaryOperator:
    case CXCursor_CompoundAssignOperator: tree = binary(parser, cursor); break;
    case CXCursor_ConditionalOperator: tree = with_children(parser, TREE_CONDITIONAL, cursor); break;
    case CXCursor_ArraySubscriptExpr: tree = with_children(parser, TREE_SUBSCRIPT, cursor); break;
    case CXCursor_CStyleCastExpr: tree = with_last_child(parser, TREE_CAST, cursor); break;
    case CXCursor_CompoundLiteralExpr: tree = with_last_child(parser, TREE_COMPOUND, cursor); break;
    case CXCursor_InitListExpr: tree = list(parser, cursor); break;
    case CXCursor_ParenExpr:
    case CXCursor_UnexposedExpr: tree = transparent(parser, cursor); break;
    default: tree = parse_unsupported(parser, cursor, "this expression"); break;
    }
    parser->depth--;
    return tree;
}
