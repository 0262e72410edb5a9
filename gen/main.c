/* main.c -- the command line of composer-gen. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "front/model.h"
#include "pipeline.h"
#include "report/explain.h"

enum { EXIT_USAGE = 2, EXIT_IO = 8 };

typedef enum Mode { MODE_EMIT, MODE_EXPLAIN, MODE_CHECK, MODE_PRINT_CONFIG, MODE_SCHEMA, MODE_LIST, MODE_HELP, MODE_VERSION } Mode;

typedef struct CommandLine {
    Options options;
    Mode mode;
    const char *output, *list;
    TextArray overrides;
    bool verbose;
} CommandLine;

static const char usage[] =
    "composer-gen RECIPE.yaml [key.sub=value ...] -o train.c\n"
    "\n"
    "Compiles a training recipe, its model and its methods to one program.\n"
    "\n"
    "  -o FILE            write the program there (- for standard output)\n"
    "  --check            check the recipe, write nothing\n"
    "  --explain          methods in order, hooks live and dead, phases, memory, FLOPs\n"
    "  --print-config     the recipe with all defaults and overrides, as YAML\n"
    "  -d PASS            print the graphs after a pass (backward, simplify, prune, layout)\n"
    "  --bisect-pass N    run only the first N optional passes\n"
    "  --methods DIR      look for methods there first (may be given more than once)\n"
    "  --schema           JSON Schema of recipes\n"
    "  --list WHAT        methods, models or keys\n"
    "  --help, --version\n"
    "\n"
    "Exit codes: 0 done, 2 the recipe or the command line is wrong, 3 the data is, 8 the output can't be written.\n";

static const char *take_value(int argc, char **argv, int *i, const char *flag)
{
    size_t length = strlen(flag);
    if (strncmp(argv[*i], flag, length) == 0 && argv[*i][length] == '=')
        return argv[*i] + length + 1;
    if (strcmp(argv[*i], flag) != 0)
        return NULL;
    if (*i + 1 >= argc) {
        fprintf(stderr, "composer-gen: %s needs a value\n", flag);
        exit(EXIT_USAGE);
    }
    return argv[++*i];
}

static bool read_flag(Arena *run, CommandLine *line, int argc, char **argv, int *i)
{
    static const struct { const char *flag; Mode mode; } modes[] = {
        { "--explain", MODE_EXPLAIN }, { "--check", MODE_CHECK }, { "--print-config", MODE_PRINT_CONFIG },
        { "--schema", MODE_SCHEMA }, { "--help", MODE_HELP }, { "-h", MODE_HELP }, { "--version", MODE_VERSION },
    };
    for (size_t k = 0; k < sizeof modes / sizeof *modes; k++)
        if (strcmp(argv[*i], modes[k].flag) == 0) {
            line->mode = modes[k].mode;
            return true;
        }
    const char *value;
    if ((value = take_value(argc, argv, i, "-o")))
        line->output = value;
    else if ((value = take_value(argc, argv, i, "-d")))
        line->options.dump = value;
    else if ((value = take_value(argc, argv, i, "--methods")))
        array_push(run, &line->options.method_dirs, value);
    else if ((value = take_value(argc, argv, i, "--bisect-pass")))
        line->options.stop_after_pass = atoi(value);
    else if ((value = take_value(argc, argv, i, "--list")))
        line->mode = MODE_LIST, line->list = value;
    else
        return false;
    return true;
}

static void unknown_word(const char *word)
{
    static const char *const flags[] = { "--explain", "--check", "--print-config", "--schema", "--help", "--version", "-o", "-d",
                                         "--methods", "--bisect-pass", "--list" };
    const char *nearest = text_nearest(word, flags, sizeof flags / sizeof *flags);
    fprintf(stderr, "composer-gen: unknown option '%s'", word);
    fprintf(stderr, nearest ? "; did you mean '%s'?\n" : "; see --help\n", nearest);
    exit(EXIT_USAGE);
}

/* As typed, for the head of the program: what regenerates it. */
static const char *command_text(Arena *run, int argc, char **argv)
{
    Buffer text = { .arena = run };
    buffer_add(&text, "composer-gen");
    for (int i = 1; i < argc; i++)
        buffer_add(&text, strpbrk(argv[i], " '\"$&|;<>()*") ? " '%s'" : " %s", argv[i]);
    return buffer_text(&text);
}

static CommandLine read_command_line(Arena *run, int argc, char **argv)
{
    CommandLine line = { .options = { .stop_after_pass = -1 } };
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-' && argv[i][1]) {
            if (!read_flag(run, &line, argc, argv, &i))
                unknown_word(argv[i]);
        } else if (strchr(argv[i], '=')) {
            array_push(run, &line.overrides, (const char *)argv[i]);
        } else if (line.options.recipe) {
            fprintf(stderr, "composer-gen: two recipes, '%s' and '%s'; overrides are written key=value\n", line.options.recipe, argv[i]);
            exit(EXIT_USAGE);
        } else {
            line.options.recipe = argv[i];
        }
    }
    line.options.overrides = line.overrides.items;
    line.options.override_count = line.overrides.count;
    line.options.command = command_text(run, argc, argv);
    return line;
}

/* The installation is where the executable's folder is: its parent holds methods/, recipes/, templates/ and runtime/. */
static const char *find_home(Arena *run)
{
    const char *given = getenv("COMPOSER_GEN_HOME");
    if (given)
        return given;
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return ".";
    path[length] = 0;
    for (char *slash; (slash = strrchr(path, '/')) && slash != path;) {
        *slash = 0;
        if (access(text_format(run, "%s/methods/method.h", path), R_OK) == 0)
            return text_format(run, "%s", path);
    }
    return ".";
}

static void print(const char *text, FILE *file)
{
    fputs(text, file);
    fflush(file);
}

static int write_output(const char *path, const char *text)
{
    if (strcmp(path, "-") == 0) {
        print(text, stdout);
        return ferror(stdout) ? EXIT_IO : 0;
    }
    if (text_write_file(path, text, strlen(text)))
        return 0;
    fprintf(stderr, "composer-gen: can't write %s: %s\n", path, strerror(errno));
    return EXIT_IO;
}

static int list(Arena *run, const CommandLine *line)
{
    Buffer out = { .arena = run };
    const char *models = text_format(run, "%s/recipes/models", line->options.home);
    if (text_equal(line->list, "methods"))
        methods_list(run, &out, line->options.method_dirs.items, line->options.method_dirs.count);
    else if (text_equal(line->list, "models"))
        model_list(run, &out, models);
    else if (text_equal(line->list, "keys"))
        recipe_list_keys(&out);
    else {
        fprintf(stderr, "composer-gen: --list knows methods, models and keys, not '%s'\n", line->list);
        return EXIT_USAGE;
    }
    print(buffer_text(&out), stdout);
    return 0;
}

static int finish(Arena *run, const CommandLine *line, Diagnostics *diag, Buffer *dump, Program *program)
{
    Buffer out = { .arena = run };
    const char *home = line->options.home;
    if (line->mode == MODE_EXPLAIN) {
        report_explain(&out, program);
        print(buffer_text(&out), stdout);
        return 0;
    }
    if (line->options.dump)
        print(buffer_text(dump), stdout);
    if (line->mode == MODE_CHECK || (line->options.dump && !line->output))
        return 0;
    const char *text = emit_cpu(program, diag, text_format(run, "%s/templates", home), text_format(run, "%s/runtime", home));
    return text ? write_output(line->output, text) : EXIT_USAGE;
}

static int run_compiler(Arena *run, CommandLine *line)
{
    Diagnostics diag = { .arena = run };
    Buffer dump = { .arena = run }, said = { .arena = run };
    int code = EXIT_USAGE;
    if (line->mode == MODE_PRINT_CONFIG) {
        Recipe *recipe = recipe_read(run, &diag, line->options.recipe, line->options.overrides, line->options.override_count);
        if (recipe && !diag.errors) {
            Buffer out = { .arena = run };
            recipe_print(&out, recipe);
            print(buffer_text(&out), stdout);
            code = 0;
        }
    } else {
        Program *program = compile(run, &diag, &line->options, &dump);
        if (program && !diag.errors)
            code = finish(run, line, &diag, &dump, program);
    }
    diagnostics_print(&diag, &said);
    if (said.count)
        print(buffer_text(&said), stderr);
    if (diag.errors)
        fprintf(stderr, "%d error%s\n", diag.errors, diag.errors == 1 ? "" : "s");
    return code;
}

static int dispatch(Arena *run, CommandLine *line)
{
    if (line->mode == MODE_HELP)
        return print(usage, stdout), 0;
    if (line->mode == MODE_VERSION)
        return print("composer-gen 0.1\n", stdout), 0;
    if (line->mode == MODE_LIST)
        return list(run, line);
    if (line->mode == MODE_SCHEMA) {
        Buffer out = { .arena = run };
        recipe_schema(&out);
        return print(buffer_text(&out), stdout), 0;
    }
    if (!line->options.recipe) {
        print(usage, stderr);
        return EXIT_USAGE;
    }
    if (line->mode == MODE_EMIT && !line->output && !line->options.dump) {
        fputs("composer-gen: say where the program goes: -o train.c\n", stderr);
        return EXIT_USAGE;
    }
    return run_compiler(run, line);
}

int main(int argc, char **argv)
{
    Arena *run = arena_create();
    CommandLine line = read_command_line(run, argc, argv);
    line.options.home = find_home(run);
    array_push(run, &line.options.method_dirs, text_format(run, "%s/methods", line.options.home));
    int code = dispatch(run, &line);
    arena_destroy(run);
    return code;
}
