/* parse.c -- runs clang over one file, reports what it says, and keeps the file as a small tree. */
#include "front/parse.h"

#include <errno.h>

/* A bare target spares the driver its search for a host toolchain; sizes are those of every 64-bit host. */
static const char *const options[] = {
    "-x", "c", "-std=c17", "--target=x86_64-unknown-none-elf", "-ffreestanding", "-fno-builtin", "-nostdinc",
    "-fspell-checking", "-Wall", "-Wno-unused", "-Wno-initializer-overrides", "-Wno-missing-braces",
    "-Wno-gnu-zero-variadic-macro-arguments", "-Wno-incompatible-library-redeclaration", "-Wno-parentheses",
    "-Wno-undefined-internal", "-Wno-division-by-zero", "-Wno-tautological-compare",
    "-Wno-constant-logical-operand",
};
enum { OPTION_COUNT = sizeof options / sizeof *options };

/* ---- texts and places ---- */
const char *parse_text(Parser *parser, CXString text)
{
    const char *bytes = clang_getCString(text);
    const char *copy = bytes ? text_slice(parser->run, bytes, strlen(bytes)) : "";
    clang_disposeString(text);
    return copy;
}

static const Source *source_of(Parser *parser, CXFile handle)
{
    if (clang_File_isEqual(handle, parser->main_file))
        return parser->file->source;
    for (int i = 0; i < parser->files.count; i++)
        if (clang_File_isEqual(handle, parser->files.items[i].handle))
            return parser->files.items[i].source;
    size_t length = 0;
    const char *bytes = clang_getFileContents(parser->unit, handle, &length);
    Source *source = arena_new(parser->run, Source);
    source->path = parse_text(parser, clang_getFileName(handle));
    source->bytes = bytes ? text_slice(parser->run, bytes, length) : NULL;
    source->length = length;
    array_push(parser->scratch, &parser->files, (OpenFile){ handle, source });
    return source;
}

/* Where the text itself was written, were it in a macro's body; NULL where macros made it up. */
const char *parse_spelling(Parser *parser, CXCursor cursor, const char **end)
{
    CXFile handle = NULL;
    unsigned offset = 0;
    clang_getSpellingLocation(clang_getCursorLocation(cursor), &handle, NULL, NULL, &offset);
    const Source *source = handle ? source_of(parser, handle) : NULL;
    if (!source || !source->bytes || offset >= source->length)
        return NULL;
    *end = source->bytes + source->length;
    return source->bytes + offset;
}

/* The argument of a macro where the text came from one, else the macro's use: always in the user's file. */
Place parse_location(Parser *parser, CXSourceLocation location)
{
    CXFile handle = NULL;
    unsigned line = 0, column = 0;
    clang_getFileLocation(location, &handle, &line, &column, NULL);
    if (!handle)
        return (Place){ parser->file->source, 0, 0 };
    return (Place){ source_of(parser, handle), (int)line, (int)column };
}

Place parse_place(Parser *parser, CXCursor cursor)
{
    return parse_location(parser, clang_getCursorLocation(cursor));
}

Tree *parse_unsupported(Parser *parser, CXCursor cursor, const char *what)
{
    Place place = parse_place(parser, cursor);
    complain(parser->diag, place, "%s is not part of the language of models and methods", what);
    Tree *tree = tree_new(parser, TREE_INTEGER, cursor);
    tree->type = &ctype_int;
    return tree;
}

typedef struct ChildVisit {
    Parser *parser;
    CursorArray children;
} ChildVisit;

static enum CXChildVisitResult add_child(CXCursor cursor, CXCursor parent, CXClientData data)
{
    (void)parent;
    ChildVisit *visit = data;
    if (clang_getCursorKind(cursor) != CXCursor_TypeRef)
        array_push(visit->parser->scratch, &visit->children, cursor);
    return CXChildVisit_Continue;
}

CursorArray parse_children(Parser *parser, CXCursor cursor)
{
    ChildVisit visit = { .parser = parser };
    clang_visitChildren(cursor, add_child, &visit);
    return visit.children;
}

/* ---- declarations ---- */

/* The words of a doc comment, without its frame of stars. */
static const char *comment_text(Parser *parser, CXCursor cursor)
{
    const char *raw = parse_text(parser, clang_Cursor_getRawCommentText(cursor));
    if (!*raw)
        return NULL;
    Buffer text = { .arena = parser->run };
    const char *end = raw + strlen(raw);
    if (text_ends(raw, "*/"))
        end -= 2;
    for (const char *line = raw; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop ? stop : end;
        while (line < stop && strchr("/* \t!", *line))
            line++;
        const char *last = stop;
        while (last > line && strchr(" \t\r", last[-1]))
            last--;
        buffer_add(&text, "%s%.*s", text.count ? "\n" : "", (int)(last - line), line);
        line = stop + 1;
    }
    return buffer_text(&text);
}

static void add_parameters(Parser *parser, CFunction *function, CXCursor declaration)
{
    int count = clang_Cursor_getNumArguments(declaration);
    for (int i = 0; i < count; i++) {
        CXCursor argument = clang_Cursor_getArgument(declaration, (unsigned)i);
        CXType type = clang_getCursorType(argument);
        CParameter parameter = { parse_text(parser, clang_getCursorSpelling(argument)),
                                 parse_text(parser, clang_getTypeSpelling(type)), parse_type(parser, type) };
        array_push(parser->run, &function->parameters, parameter);
    }
    function->slots = count;
}

CFunction *parse_function(Parser *parser, CXCursor declaration)
{
    const char *name = parse_text(parser, clang_getCursorSpelling(declaration));
    CFile *file = parser->file;
    for (int i = 0; i < file->all_functions.count; i++)
        if (text_equal(file->all_functions.items[i]->name, name))
            return file->all_functions.items[i];
    CXCursor definition = clang_getCursorDefinition(declaration);
    bool defined = clang_getCursorKind(definition) == CXCursor_FunctionDecl;
    if (defined)
        declaration = definition;
    CFunction *function = arena_new(parser->run, CFunction);
    function->name = name;
    function->place = parse_place(parser, declaration);
    function->result = parse_type(parser, clang_getCursorResultType(declaration));
    function->variadic = clang_Cursor_isVariadic(declaration);
    add_parameters(parser, function, declaration);
    array_push(parser->run, &file->all_functions, function);
    if (defined)
        array_push(parser->scratch, &parser->pending, (Pending){ function, definition });
    return function;
}

static void read_body(Parser *parser, const Pending *pending)
{
    CFunction *function = pending->function;
    parser->function = function;
    parser->locals.count = 0;
    for (int i = 0; i < function->parameters.count; i++)
        array_push(parser->scratch, &parser->locals,
                   (Local){ clang_Cursor_getArgument(pending->definition, (unsigned)i), i });
    CursorArray children = parse_children(parser, pending->definition);
    for (int i = 0; i < children.count; i++)
        if (clang_getCursorKind(children.items[i]) == CXCursor_CompoundStmt)
            function->body = parse_statement(parser, children.items[i]);
    parser->locals.count = 0;
}

static bool is_const(CXType type)
{
    while (type.kind == CXType_ConstantArray || type.kind == CXType_IncompleteArray)
        type = clang_getArrayElementType(type);
    return clang_isConstQualifiedType(type);
}

CVariable *parse_variable(Parser *parser, CXCursor declaration)
{
    const char *name = parse_text(parser, clang_getCursorSpelling(declaration));
    CFile *file = parser->file;
    CVariable *variable = NULL;
    for (int i = 0; i < file->all_variables.count && !variable; i++)
        if (text_equal(file->all_variables.items[i]->name, name))
            variable = file->all_variables.items[i];
    if (!variable) {
        variable = arena_new(parser->run, CVariable);
        *variable = (CVariable){ .name = name, .place = parse_place(parser, declaration),
                                 .index = file->all_variables.count };
        CXType type = clang_getCursorType(declaration);
        variable->type = parse_type(parser, type);
        variable->type_name = parse_type_name(parser, type);
        variable->is_const = is_const(type);
        variable->choices = parse_choices(parser, type);
        array_push(parser->run, &file->all_variables, variable);
    }
    CXCursor initializer = clang_Cursor_getVarDeclInitializer(declaration);
    if (!variable->initializer && !clang_Cursor_isNull(initializer))
        variable->initializer = parse_expression(parser, initializer);
    return variable;
}

static bool in_main_file(Parser *parser, CXCursor cursor)
{
    CXFile handle = NULL;
    clang_getExpansionLocation(clang_getCursorLocation(cursor), &handle, NULL, NULL, NULL);
    return handle && clang_File_isEqual(handle, parser->main_file);
}

static void add_own_variable(Parser *parser, CXCursor cursor)
{
    int known = parser->file->all_variables.count;
    CVariable *variable = parse_variable(parser, cursor);
    if (variable->index >= known || !cfile_find_variable(parser->file, variable->name))
        array_push(parser->run, &parser->file->variables, variable);
}

static enum CXChildVisitResult add_declaration(CXCursor cursor, CXCursor parent, CXClientData data)
{
    (void)parent;
    Parser *parser = data;
    if (!in_main_file(parser, cursor))
        return CXChildVisit_Continue;
    enum CXCursorKind kind = clang_getCursorKind(cursor);
    if (kind == CXCursor_VarDecl)
        add_own_variable(parser, cursor);
    if (kind == CXCursor_FunctionDecl && clang_isCursorDefinition(cursor)) {
        CFunction *function = parse_function(parser, cursor);
        function->comment = comment_text(parser, cursor);
        array_push(parser->run, &parser->file->functions, function);
    }
    return CXChildVisit_Continue;
}

/* ---- clang's own messages ---- */
static void pass_notes(Parser *parser, CXDiagnostic message)
{
    CXDiagnosticSet notes = clang_getChildDiagnostics(message);
    for (unsigned i = 0; i < clang_getNumDiagnosticsInSet(notes); i++) {
        CXDiagnostic child = clang_getDiagnosticInSet(notes, i);
        const char *text = parse_text(parser, clang_getDiagnosticSpelling(child));
        if (!text_starts(text, "expanded from"))
            note(parser->diag, parse_location(parser, clang_getDiagnosticLocation(child)), "%s", text);
    }
}

static void pass_messages(Parser *parser)
{
    for (unsigned i = 0; i < clang_getNumDiagnostics(parser->unit); i++) {
        CXDiagnostic message = clang_getDiagnostic(parser->unit, i);
        enum CXDiagnosticSeverity severity = clang_getDiagnosticSeverity(message);
        if (severity >= CXDiagnostic_Warning) {
            Place place = parse_location(parser, clang_getDiagnosticLocation(message));
            const char *text = parse_text(parser, clang_getDiagnosticSpelling(message));
            if (severity == CXDiagnostic_Warning)
                warn(parser->diag, place, "-Wclang", "%s", text);
            else
                complain(parser->diag, place, "%s", text);
            pass_notes(parser, message);
        }
        clang_disposeDiagnostic(message);
    }
}

/* ---- the file ---- */
static void read_unit(Parser *parser)
{
    clang_visitChildren(clang_getTranslationUnitCursor(parser->unit), add_declaration, parser);
    for (int i = 0; i < parser->pending.count; i++)     /* grows while helpers of headers are found */
        read_body(parser, &parser->pending.items[i]);
    ctree_mark_state(parser->file);
}

static CXTranslationUnit run_clang(Parser *parser, CXIndex index, const char *const *dirs, int dir_count)
{
    const Source *source = parser->file->source;
    const char **arguments = arena_array(parser->scratch, const char *, OPTION_COUNT + dir_count);
    memcpy(arguments, options, sizeof options);
    for (int i = 0; i < dir_count; i++)
        arguments[OPTION_COUNT + i] = text_format(parser->scratch, "-I%s", dirs[i]);
    struct CXUnsavedFile text = { source->path, source->bytes, source->length };
    CXTranslationUnit unit = NULL;
    int count = OPTION_COUNT + dir_count;
    enum CXErrorCode code = clang_parseTranslationUnit2(index, source->path, arguments, count, &text, 1,
                                                        CXTranslationUnit_None, &unit);
    if (code != CXError_Success) {
        complain(parser->diag, (Place){ source, 0, 0 }, "clang %s", code == CXError_Crashed
                 ? "crashed on this file; is something in it nested very deeply?" : "can't read this file");
        return NULL;
    }
    return unit;
}

static Source *read_source(Arena *run, Diagnostics *diag, const char *path)
{
    Source *source = arena_new(run, Source);
    source->path = text_format(run, "%s", path);
    source->bytes = text_read_file(run, path, &source->length);
    if (source->bytes)
        return source;
    complain(diag, (Place){ source, 0, 0 }, "can't read this file: %s", strerror(errno));
    return NULL;
}

CFile *front_parse(Arena *run, Diagnostics *diag, const char *path, const char *const *include_dirs,
                   int dir_count)
{
    Source *source = read_source(run, diag, path);
    if (!source)
        return NULL;
    int errors_before = diag->errors;
    Parser parser = { .run = run, .scratch = arena_create(), .diag = diag, .file = arena_new(run, CFile) };
    parser.file->source = source;
    CXIndex index = clang_createIndex(0, 0);
    parser.unit = run_clang(&parser, index, include_dirs, dir_count);
    if (parser.unit) {
        parser.main_file = clang_getFile(parser.unit, source->path);
        pass_messages(&parser);
        if (diag->errors == errors_before)
            read_unit(&parser);
        clang_disposeTranslationUnit(parser.unit);
    }
    clang_disposeIndex(index);
    arena_destroy(parser.scratch);
    return diag->errors == errors_before ? parser.file : NULL;
}
