/* parse_types.c -- clang's types to the few that evaluation tells apart. */
#include "front/parse.h"

static bool is_char(CXType type)
{
    enum CXTypeKind kind = clang_getCanonicalType(type).kind;
    return kind == CXType_Char_S || kind == CXType_Char_U || kind == CXType_SChar || kind == CXType_UChar;
}

static CType *new_type(Parser *parser, CTypeKind kind, const char *name, const CType *element)
{
    CType *type = arena_new(parser->run, CType);
    *type = (CType){ .kind = kind, .name = name, .element = element };
    return type;
}

typedef struct FieldVisit {
    Parser *parser;
    CType *record;
} FieldVisit;

static enum CXVisitorResult add_field(CXCursor cursor, CXClientData data)
{
    FieldVisit *visit = data;
    CField field = { parse_text(visit->parser, clang_getCursorSpelling(cursor)),
                     parse_type(visit->parser, clang_getCursorType(cursor)) };
    array_push(visit->parser->run, &visit->record->fields, field);
    return CXVisit_Continue;
}

static const CType *record_type(Parser *parser, CXType type)
{
    CXCursor declaration = clang_getTypeDeclaration(type);
    for (int i = 0; i < parser->records.count; i++)
        if (clang_equalCursors(parser->records.items[i].declaration, declaration))
            return parser->records.items[i].type;
    if (clang_getCursorKind(declaration) != CXCursor_StructDecl)
        return &ctype_other;
    const char *name = parse_text(parser, clang_getTypeSpelling(clang_getUnqualifiedType(type)));
    if (text_starts(name, "struct "))
        name += strlen("struct ");
    CType *record = new_type(parser, CTYPE_RECORD, name, NULL);
    array_push(parser->scratch, &parser->records, (Record){ declaration, record });
    clang_Type_visitFields(type, add_field, &(FieldVisit){ parser, record });
    return record;
}

static const CType *pointer_type(Parser *parser, CXType type)
{
    CXType target = clang_getCanonicalType(clang_getPointeeType(type));
    if (is_char(target))
        return &ctype_text;
    if (target.kind == CXType_FunctionProto || target.kind == CXType_FunctionNoProto)
        return new_type(parser, CTYPE_FUNCTION, "function", NULL);
    const CType *element = parse_type(parser, target);
    if (element->kind == CTYPE_RECORD && text_equal(element->name, "tensor_handle"))
        return &ctype_tensor;
    return new_type(parser, CTYPE_POINTER, "pointer", element);
}

static const CType *array_type(Parser *parser, CXType type)
{
    CXType item = clang_getArrayElementType(type);
    if (is_char(item))
        return &ctype_text;
    CType *array = new_type(parser, CTYPE_ARRAY, "array", parse_type(parser, item));
    long long length = clang_getArraySize(type);
    array->length = length > 0 ? (int)length : 0;
    return array;
}

const CType *parse_type(Parser *parser, CXType type)
{
    type = clang_getCanonicalType(type);
    enum CXTypeKind kind = type.kind;
    if (kind == CXType_Void)
        return &ctype_void;
    if (kind == CXType_Bool)
        return &ctype_bool;
    if (kind == CXType_Enum || (kind >= CXType_Char_U && kind <= CXType_Int128))
        return &ctype_int;
    if (kind == CXType_Float || kind == CXType_Double || kind == CXType_LongDouble)
        return &ctype_float;
    if (kind == CXType_Pointer)
        return pointer_type(parser, type);
    if (kind == CXType_ConstantArray || kind == CXType_IncompleteArray)
        return array_type(parser, type);
    if (kind == CXType_Record)
        return record_type(parser, type);
    if (kind == CXType_FunctionProto)
        return new_type(parser, CTYPE_FUNCTION, "function", NULL);
    return &ctype_other;
}

const char *parse_type_name(Parser *parser, CXType type)
{
    if (clang_getCanonicalType(type).kind == CXType_Bool)
        return "_Bool";
    const char *name = parse_text(parser, clang_getTypeSpelling(type));
    while (text_starts(name, "const ") || text_starts(name, "volatile "))
        name = strchr(name, ' ') + 1;
    return name;
}

static enum CXChildVisitResult add_choice(CXCursor cursor, CXCursor parent, CXClientData data)
{
    (void)parent;
    CursorArray *choices = ((void **)data)[1];
    if (clang_getCursorKind(cursor) != CXCursor_EnumConstantDecl)
        return CXChildVisit_Continue;
    array_push(((Parser *)((void **)data)[0])->scratch, choices, cursor);
    for (int i = choices->count - 1; i > 0; i--) {
        CXCursor before = choices->items[i - 1];
        if (clang_getEnumConstantDeclValue(before) <= clang_getEnumConstantDeclValue(cursor))
            break;
        choices->items[i - 1] = choices->items[i];
        choices->items[i] = before;
    }
    return CXChildVisit_Continue;
}

TextArray parse_choices(Parser *parser, CXType type)
{
    TextArray names = { 0 };
    CursorArray choices = { 0 };
    type = clang_getCanonicalType(type);
    if (type.kind != CXType_Enum)
        return names;
    clang_visitChildren(clang_getTypeDeclaration(type), add_choice, (void *[]){ parser, &choices });
    for (int i = 0; i < choices.count; i++)
        array_push(parser->run, &names, parse_text(parser, clang_getCursorSpelling(choices.items[i])));
    return names;
}
