/* parse_statements.c -- clang's statements to the small tree. */
#include "front/parse.h"

static void set_parts(Tree *tree, TreeArray parts)
{
    tree->parts = parts.items;
    tree->part_count = parts.count;
}

static Tree *statement_with(Parser *parser, TreeKind kind, CXCursor cursor, TreeArray parts)
{
    Tree *tree = tree_new(parser, kind, cursor);
    set_parts(tree, parts);
    return tree;
}

/* ---- declarations ---- */
static Tree *local_variable(Parser *parser, CXCursor cursor)
{
    CXType type = clang_getCursorType(cursor);
    enum CX_StorageClass storage = clang_Cursor_getStorageClass(cursor);
    if (clang_getCanonicalType(type).kind == CXType_VariableArray)
        return parse_unsupported(parser, cursor, "an array whose size is not a constant");
    if (storage == CX_SC_Extern)
        return parse_unsupported(parser, cursor, "an extern declaration inside a function");
    CXType item = type.kind == CXType_ConstantArray ? clang_getArrayElementType(type) : type;
    if (storage == CX_SC_Static && !clang_isConstQualifiedType(item))
        return parse_unsupported(parser, cursor, "a static variable inside a function");
    Tree *tree = tree_new(parser, TREE_DECLARATION, cursor);
    tree->type = parse_type(parser, type);
    tree->name = parse_text(parser, clang_getCursorSpelling(cursor));
    tree->index = parser->function->slots++;
    array_push(parser->scratch, &parser->locals, (Local){ cursor, tree->index });
    if (tree->type->kind == CTYPE_OTHER)
        return parse_unsupported(parser, cursor, "a variable of this type");
    CXCursor initializer = clang_Cursor_getVarDeclInitializer(cursor);
    if (!clang_Cursor_isNull(initializer)) {
        TreeArray parts = { 0 };
        array_push(parser->run, &parts, parse_expression(parser, initializer));
        set_parts(tree, parts);
    }
    return tree;
}

static Tree *declarations(Parser *parser, CXCursor cursor)
{
    CursorArray children = parse_children(parser, cursor);
    TreeArray parts = { 0 };
    for (int i = 0; i < children.count; i++)
        if (clang_getCursorKind(children.items[i]) == CXCursor_VarDecl)
            array_push(parser->run, &parts, local_variable(parser, children.items[i]));
    return statement_with(parser, TREE_BLOCK, cursor, parts);
}

/* ---- blocks and switch ---- */
static void add_statement(Parser *parser, TreeArray *parts, CXCursor cursor, bool in_switch);

/* `case 1: case 2: x;` is nested for clang; here labels are statements of their own. */
static void add_label(Parser *parser, TreeArray *parts, CXCursor cursor)
{
    CursorArray children = parse_children(parser, cursor);
    bool is_case = clang_getCursorKind(cursor) == CXCursor_CaseStmt;
    Tree *label = tree_new(parser, is_case ? TREE_CASE : TREE_DEFAULT, cursor);
    if (is_case && (children.count != 2 || !parse_integer(children.items[0], &label->integer)))
        label = parse_unsupported(parser, cursor, "this case");
    array_push(parser->run, parts, label);
    if (children.count)
        add_statement(parser, parts, children.items[children.count - 1], true);
}

static void add_statement(Parser *parser, TreeArray *parts, CXCursor cursor, bool in_switch)
{
    enum CXCursorKind kind = clang_getCursorKind(cursor);
    if (in_switch && (kind == CXCursor_CaseStmt || kind == CXCursor_DefaultStmt))
        add_label(parser, parts, cursor);
    else
        array_push(parser->run, parts, parse_statement(parser, cursor));
}

static Tree *block(Parser *parser, CXCursor cursor, bool in_switch)
{
    CursorArray children = parse_children(parser, cursor);
    TreeArray parts = { 0 };
    for (int i = 0; i < children.count; i++)
        add_statement(parser, &parts, children.items[i], in_switch);
    return statement_with(parser, TREE_BLOCK, cursor, parts);
}

static Tree *switch_statement(Parser *parser, CXCursor cursor)
{
    CursorArray children = parse_children(parser, cursor);
    if (children.count != 2 || clang_getCursorKind(children.items[1]) != CXCursor_CompoundStmt)
        return parse_unsupported(parser, cursor, "a switch without a block");
    TreeArray parts = { 0 };
    array_push(parser->run, &parts, parse_expression(parser, children.items[0]));
    array_push(parser->run, &parts, block(parser, children.items[1], true));
    return statement_with(parser, TREE_SWITCH, cursor, parts);
}

/* ---- for: clang leaves absent parts out of the children, so the text tells which are there ---- */
static const char *skip_quoted(const char *at, const char *end)
{
    char quote = *at++;
    while (at < end && *at != quote)
        at += *at == '\\' ? 2 : 1;
    return at < end ? at + 1 : end;
}

/* Past blanks and comments. */
static const char *skip_space(const char *at, const char *end)
{
    while (at < end) {
        if (strchr(" \t\r\n\\", *at)) {
            at++;
        } else if (end - at > 1 && at[0] == '/' && at[1] == '/') {
            while (at < end && *at != '\n')
                at++;
        } else if (end - at > 1 && at[0] == '/' && at[1] == '*') {
            at += 2;
            while (end - at > 1 && !(at[0] == '*' && at[1] == '/'))
                at++;
            at += 2;
        } else {
            break;
        }
    }
    return at < end ? at : end;
}

/* Which of init, condition and step stand between the parentheses of the `for` at `at`. */
static bool find_for_parts(const char *at, const char *end, bool present[3])
{
    if (end - at < 4 || strncmp(at, "for", 3) != 0)
        return false;
    at = skip_space(at + 3, end);
    if (at >= end || *at != '(')
        return false;
    int part = 0, depth = 1;
    for (at = skip_space(at + 1, end); at < end; at = skip_space(at, end)) {
        if (*at == ';' && depth == 1) {
            part++;
        } else if (*at == ')' && --depth == 0) {
            return part == 2;
        } else if (part < 3) {
            present[part] = true;
            depth += *at == '(';
        }
        at = *at == '"' || *at == '\'' ? skip_quoted(at, end) : at + 1;
    }
    return false;
}

static Tree *for_statement(Parser *parser, CXCursor cursor)
{
    CursorArray children = parse_children(parser, cursor);
    bool present[4] = { false, false, false, true };
    const char *end = NULL, *text = parse_spelling(parser, cursor, &end);
    bool known = text && find_for_parts(text, end, present);
    if (children.count == 4 || !known)          /* made up by macros: what is absent is absent from the end */
        for (int i = 0; i < 3; i++)
            present[i] = i < children.count - 1;
    if (present[0] + present[1] + present[2] + 1 != children.count)
        return parse_unsupported(parser, cursor, "this for");
    TreeArray parts = { 0 };
    for (int i = 0, next = 0; i < 4; i++) {
        Tree *part = present[i] ? parse_statement(parser, children.items[next++]) : NULL;
        if (part && i == 1)
            part = part->kind == TREE_EXPRESSION ? part->parts[0] : part;
        array_push(parser->run, &parts, part);
    }
    return statement_with(parser, TREE_FOR, cursor, parts);
}

/* ---- the rest ---- */

/* Parts that are conditions or values are expressions (`values`: bit i = part i), the others statements. */
static Tree *of_parts(Parser *parser, TreeKind kind, CXCursor cursor, unsigned values)
{
    CursorArray children = parse_children(parser, cursor);
    TreeArray parts = { 0 };
    for (int i = 0; i < children.count; i++)
        array_push(parser->run, &parts, values >> i & 1 ? parse_expression(parser, children.items[i])
                                                        : parse_statement(parser, children.items[i]));
    return statement_with(parser, kind, cursor, parts);
}

static Tree *expression_statement(Parser *parser, CXCursor cursor)
{
    TreeArray parts = { 0 };
    array_push(parser->run, &parts, parse_expression(parser, cursor));
    return statement_with(parser, TREE_EXPRESSION, cursor, parts);
}

static Tree *statement_of_kind(Parser *parser, CXCursor cursor)
{
    switch ((int)clang_getCursorKind(cursor)) {
    case CXCursor_CompoundStmt: return block(parser, cursor, false);
    case CXCursor_DeclStmt: return declarations(parser, cursor);
    case CXCursor_NullStmt: return tree_new(parser, TREE_BLOCK, cursor);
    case CXCursor_IfStmt: return of_parts(parser, TREE_IF, cursor, 1u << 0);
    case CXCursor_WhileStmt: return of_parts(parser, TREE_WHILE, cursor, 1u << 0);
    case CXCursor_DoStmt: return of_parts(parser, TREE_DO, cursor, 1u << 1);
    case CXCursor_ForStmt: return for_statement(parser, cursor);
    case CXCursor_SwitchStmt: return switch_statement(parser, cursor);
    case CXCursor_ReturnStmt: return of_parts(parser, TREE_RETURN, cursor, 1u << 0);
    case CXCursor_BreakStmt: return tree_new(parser, TREE_BREAK, cursor);
    case CXCursor_ContinueStmt: return tree_new(parser, TREE_CONTINUE, cursor);
    case CXCursor_CaseStmt:
    case CXCursor_DefaultStmt: return parse_unsupported(parser, cursor, "a case deeper than its switch's block");
    case CXCursor_GotoStmt:
    case CXCursor_IndirectGotoStmt: return parse_unsupported(parser, cursor, "goto");
    case CXCursor_LabelStmt: return parse_unsupported(parser, cursor, "a label");
    case CXCursor_GCCAsmStmt:
    case CXCursor_MSAsmStmt: return parse_unsupported(parser, cursor, "assembler");
    default: return expression_statement(parser, cursor);
    }
}

enum { DEEPEST_STATEMENT = 500 };

Tree *parse_statement(Parser *parser, CXCursor cursor)
{
    if (parser->depth > DEEPEST_STATEMENT)
        return parse_unsupported(parser, cursor, "a statement nested this deeply");
    parser->depth++;
    Tree *tree = statement_of_kind(parser, cursor);
    parser->depth--;
    return tree;
}
