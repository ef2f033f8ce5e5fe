/* The command line of kforge-cpucc: one table of its own options and of nvcc's. */
#include "cpucc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char kf_cpucc_usage[] =
    "usage: kforge-cpucc [options] FILE.cu [FILE.cu|FILE.cpp]…\n"
    "Compiles CUDA C for the CPU device of kforge. It rewrites .cu files first and compiles other\n"
    "files as they are.\n"
    "  -o FILE             names the output: a shared object (default a.so), a program with\n"
    "                      --exe (a.out), an object file with -c (a.o)\n"
    "  -DNAME[=VALUE]      defines a macro\n"
    "  -include FILE       includes FILE before the first line\n"
    "  -I FOLDER           also looks for headers in FOLDER\n"
    "  -std=c++14|17|20    the language (default c++17)\n"
    "  -O0 … -O3           optimisation (default -O3; others compile more slowly)\n"
    "  --use_fast_math     allows reassociation and reciprocals, ignores the sign of zero\n"
    "  -fmad=false         does not fuse multiplications and additions\n"
    "  -Xcompiler=-funroll-loops\n"
    "                      unrolls loops\n"
    "  --light             compiles faster, for a source that does not use the C++ library\n"
    "  --asan              adds AddressSanitizer: one worker thread, errors name the line\n"
    "  --exe               makes a program\n"
    "  -c                  makes an object file of one source, to be linked with -lkfcpu\n"
    "  --keep FOLDER       keeps the intermediate files in FOLDER\n"
    "  --precompile        compiles a header for --precompiled: FILE is FOLDER/plain/kforge_cpu.h\n"
    "                      (light, fast, asan with --light, --use_fast_math, --asan;\n"
    "                      light-c++20 and so on with -std=c++20), -o names the result\n"
    "  --precompiled FOLDER\n"
    "                      uses the headers in FOLDER that --precompile made\n"
    "  --plain FILE        compiles FILE, too, without the device's header, which is faster;\n"
    "                      with -c alone\n"
    "  -v                  shows the compiler's commands\n"
    "  --version           shows the version of g++\n"
    "Other options of nvcc (-arch, -gencode, -maxrregcount, -lineinfo, -Xptxas, …) are ignored.\n"
    "Exit status: 0 done, 1 compile error, 2 wrong usage or incomplete installation, 3 the source "
    "uses\n"
    "a feature that the CPU device does not support, 4 a signal ended the compiler.\n";

enum action {
    IGNORE,
    OUTPUT,
    DEFINE,
    INCLUDE,
    FOLDER,
    STANDARD,
    LEVEL,
    FAST,
    MAD,
    ASAN,
    LIGHT,
    PROGRAM,
    OBJECT,
    KEEP,
    HELP,
    VERBOSE,
    VERSION,
    RDC,
    XCOMPILER,
    PRECOMPILE,
    PRECOMPILED,
    PLAIN,
};

/* How an option takes its value: JOINED as -xV, SEPARATE as -x V, EITHER as -xV or -x V, EQUALS as
 * -x=V or -x V. */
enum value { NONE, JOINED, SEPARATE, EITHER /* -o X, -oX */, EQUALS /* -x=V or -x V */ };

static const struct option {
    const char *name;
    enum value value;
    enum action action;
} options_table[] = {
    {"-o", EITHER, OUTPUT},
    {"--output-file", EQUALS, OUTPUT},
    {"-D", EITHER, DEFINE},
    {"--define-macro", EQUALS, DEFINE},
    {"-include", SEPARATE, INCLUDE},
    {"--pre-include", EQUALS, INCLUDE},
    {"-I", EITHER, FOLDER},
    {"--include-path", EQUALS, FOLDER},
    {"-std", EQUALS, STANDARD},
    {"--std", EQUALS, STANDARD},
    {"-O", JOINED, LEVEL},
    {"--optimize", EQUALS, LEVEL},
    {"--use_fast_math", NONE, FAST},
    {"-use_fast_math", NONE, FAST},
    {"-fmad", EQUALS, MAD},
    {"--fmad", EQUALS, MAD},
    {"--asan", NONE, ASAN},
    {"--light", NONE, LIGHT},
    {"--exe", NONE, PROGRAM},
    {"-c", NONE, OBJECT},
    {"--compile", NONE, OBJECT},
    {"--keep", SEPARATE, KEEP},
    {"--precompile", NONE, PRECOMPILE},
    {"--precompiled", EQUALS, PRECOMPILED},
    {"--plain", EQUALS, PLAIN},
    {"--help", NONE, HELP},
    {"-h", NONE, HELP},
    {"--version", NONE, VERSION},
    {"-v", NONE, VERBOSE},
    {"--verbose", NONE, VERBOSE},
    {"-rdc", EQUALS, RDC},
    {"--relocatable-device-code", EQUALS, RDC},
    {"-Xcompiler", EQUALS, XCOMPILER},
    {"--compiler-options", EQUALS, XCOMPILER},
    /* Options of nvcc that have no meaning on the CPU device. */
    {"-maxrregcount", EQUALS, IGNORE},
    {"--maxrregcount", EQUALS, IGNORE},
    {"-arch", EQUALS, IGNORE},
    {"--gpu-architecture", EQUALS, IGNORE},
    {"-code", EQUALS, IGNORE},
    {"--gpu-code", EQUALS, IGNORE},
    {"-gencode", EQUALS, IGNORE},
    {"--generate-code", EQUALS, IGNORE},
    {"-lineinfo", NONE, IGNORE},
    {"--generate-line-info", NONE, IGNORE},
    {"-G", NONE, IGNORE},
    {"-g", NONE, IGNORE},
    {"-w", NONE, IGNORE},
    {"-shared", NONE, IGNORE},
    {"--shared", NONE, IGNORE},
    {"-cudart", EQUALS, IGNORE},
    {"--cudart", EQUALS, IGNORE},
    {"-Xptxas", EQUALS, IGNORE},
    {"--ptxas-options", EQUALS, IGNORE},
    {"-ftz", EQUALS, IGNORE},
    {"--ftz", EQUALS, IGNORE},
    {"-prec-div", EQUALS, IGNORE},
    {"--prec-div", EQUALS, IGNORE},
    {"-prec-sqrt", EQUALS, IGNORE},
    {"--prec-sqrt", EQUALS, IGNORE},
    {"-extra-device-vectorization", NONE, IGNORE},
    {"--extra-device-vectorization", NONE, IGNORE},
    {"-restrict", NONE, IGNORE},
    {"--restrict", NONE, IGNORE},
    {"--expt-relaxed-constexpr", NONE, IGNORE},
    {"-expt-relaxed-constexpr", NONE, IGNORE},
    {"--extended-lambda", NONE, IGNORE},
    {"-extended-lambda", NONE, IGNORE},
    {"--expt-extended-lambda", NONE, IGNORE},
    {"-expt-extended-lambda", NONE, IGNORE},
    {"-lcudart", NONE, IGNORE},
    {"-lcuda", NONE, IGNORE},
    {"-dlto", NONE, IGNORE},
    {"--threads", EQUALS, IGNORE},
    {"-t", EQUALS, IGNORE},
    {"-diag-suppress", EQUALS, IGNORE},
    {"--diag-suppress", EQUALS, IGNORE},
};

/* Returns the option that `word` names. *value is the value's place in the word, or NULL if the
 * next word is the value. */
static const struct option *find_option(const char *word, const char **value)
{
    *value = NULL;
    for (size_t i = 0; i < sizeof options_table / sizeof *options_table; i++) {
        const struct option *option = &options_table[i];
        size_t length = strlen(option->name);
        if (strncmp(word, option->name, length) != 0) continue;
        const char *rest = word + length;
        if (*rest == '\0' && option->value != JOINED) return option;
        bool joined = option->value == JOINED || option->value == EITHER;
        if (joined || (option->value == EQUALS && *rest == '=')) {
            *value = rest + (option->value == EQUALS);
            return option;
        }
    }
    return NULL;
}

static bool add(const char **list, int *count, int limit, const char *value, const char *what,
                kf_error *error)
{
    if (*count == limit)
        return kf_fail(error, KF_ERROR_INPUT, "more than %d %s on the command line; give fewer",
                       limit, what);
    list[(*count)++] = value;
    return true;
}

/* True if the name is an identifier and the value one line: the pair becomes a line of a header. */
static bool check_define(const char *define, kf_error *error)
{
    size_t length = strcspn(define, "=");
    bool good = length > 0 && (isalpha((unsigned char)define[0]) || define[0] == '_') &&
                !strpbrk(define, "\n\r");
    for (size_t i = 0; i < length; i++)
        good = good && (isalnum((unsigned char)define[i]) || define[i] == '_');
    return good ||
           kf_fail(error, KF_ERROR_INPUT, "-D%s: expected NAME or NAME=VALUE on one line", define);
}

static bool set_standard(kf_cpucc_options *options, const char *value, kf_error *error)
{
    static const char *const known[][2] = {{"c++14", "gnu++14"},
                                           {"c++17", "gnu++17"},
                                           {"c++20", "gnu++20"},
                                           {"gnu++17", "gnu++17"},
                                           {"gnu++20", "gnu++20"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(value, known[i][0]) == 0) {
            options->standard =
                /* The headers need C++17, which contains nearly all of C++14. */
                strcmp(value, "c++14") == 0 ? "gnu++17" : known[i][1];
            return true;
        }
    return kf_fail(error, KF_ERROR_INPUT, "-std=%s: expected c++14, c++17 or c++20", value);
}

static bool apply(const struct option *option, const char *value, kf_cpucc_options *options,
                  kf_error *error)
{
    switch (option->action) {
    case IGNORE: return true;
    case OUTPUT: options->output = value; return true;
    case DEFINE:
        return check_define(value, error) && add(options->defines, &options->define_count,
                                                 KF_CPUCC_DEFINES, value, "macros", error);
    case INCLUDE:
        return add(options->includes, &options->include_count, KF_CPUCC_PATHS, value, "-include",
                   error);
    case FOLDER:
        return add(options->folders, &options->folder_count, KF_CPUCC_PATHS, value, "-I", error);
    case STANDARD: return set_standard(options, value, error);
    case LEVEL:
        if (value[0] < '0' || value[0] > '3' || value[1])
            return kf_fail(error, KF_ERROR_INPUT, "-O%s: expected -O0 to -O3", value);
        options->optimize = value[0] - '0';
        return true;
    case FAST: options->fast_math = true; return true;
    case MAD: options->no_contraction = strcmp(value, "false") == 0; return true;
    case ASAN: options->asan = true; return true;
    case LIGHT: options->light = true; return true;
    case PROGRAM: options->program = true; return true;
    case OBJECT: options->object = true; return true;
    case KEEP: options->keep = value; return true;
    case PRECOMPILE: options->precompile = true; return true;
    case PRECOMPILED: options->precompiled = value; return true;
    case PLAIN: options->plain = value; return true;
    case HELP: options->help = true; return true;
    case VERBOSE: options->verbose = true; return true;
    case VERSION: options->version = true; return true;
    case RDC:
        return strcmp(value, "false") == 0 || kf_fail(error, KF_ERROR_INPUT,
                                                      "-rdc=%s: relocatable device code is not "
                                                      "supported on the CPU device; leave it out",
                                                      value);
    case XCOMPILER:
        if (strcmp(value, "-funroll-loops") == 0) return options->unroll = true;
        return strcmp(value, "-fPIC") == 0 || strcmp(value, "-O3") == 0 ||
               strcmp(value, "-Wall") == 0 || strcmp(value, "-w") == 0 ||
               kf_fail(error, KF_ERROR_INPUT, "-Xcompiler %s: not passed on to g++; leave it out",
                       value);
    }
    return true;
}

bool kf_cpucc_read_options(int argc, char **argv, kf_cpucc_options *options, kf_error *error)
{
    *options = (kf_cpucc_options){.standard = "gnu++17", .optimize = 3};
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-' || argv[i][1] == '\0') {
            if (!add(options->files, &options->file_count, KF_CPUCC_FILES, argv[i], "files", error))
                return false;
            continue;
        }
        const char *value;
        const struct option *option = find_option(argv[i], &value);
        if (!option)
            return kf_fail(error, KF_ERROR_INPUT, "unknown option %s; --help lists the options",
                           argv[i]);
        if (option->value != NONE && !value) {
            if (i + 1 == argc)
                return kf_fail(error, KF_ERROR_INPUT, "%s needs a value; --help lists the options",
                               argv[i]);
            value = argv[++i];
        }
        if (!apply(option, value, options, error)) return false;
    }
    if (options->help || options->version) return true;
    if (!options->file_count && !(options->plain && options->object))
        return kf_fail(error, KF_ERROR_INPUT, "no source file given; --help shows the usage");
    if (options->object && (options->program || options->file_count > 1))
        return kf_fail(error, KF_ERROR_INPUT,
                       "-c makes an object file of one source; give one file and leave out --exe");
    if (options->precompile && (options->file_count > 1 || !options->output))
        return kf_fail(error, KF_ERROR_INPUT,
                       "--precompile takes one header, and -o for the result");
    if (!options->output)
        options->output = options->program ? "a.out" : options->object ? "a.o" : "a.so";
    return true;
}
