/* Names that a task may use. They become part of generated C++ (prototype, oracle, shim), of file
 * names and of shell commands, so the rules are narrow. Each function returns NULL, or a reason
 * that follows the name in a message. */
#include <string.h>

#include "math_names.h"
#include "task_internal.h"

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
static const char word_characters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

/* ISO/IEC 9899:2011 6.4.1 and ISO/IEC 14882:2020 5.11, alternative tokens included. */
static const char *const keywords[] = {
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char8_t",
    "char16_t",
    "char32_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
};

/* Macros, built-in variables and types that are in scope where the prototype is. `linux` and `unix`
 * are macros in GNU mode. */
static const char *const in_scope[] = {
    "NULL",     "EOF",     "INFINITY",  "NAN",      "HUGE_VAL",  "assert",    "errno",
    "stdin",    "stdout",  "stderr",    "linux",    "unix",      "threadIdx", "blockIdx",
    "blockDim", "gridDim", "warpSize",  "dim3",     "half",      "half2",     "nv_bfloat16",
    "int8_t",   "int16_t", "int32_t",   "int64_t",  "uint8_t",   "uint16_t",  "uint32_t",
    "uint64_t", "size_t",  "ptrdiff_t", "intptr_t", "uintptr_t", "std",       "signbit",
    "isnan",    "isinf",   "isfinite",  "offsetof", "va_list",   "va_start",  "va_end",
    "va_arg",   "va_copy", "setjmp",    "stream",
};

/* Further functions that every program has already: a definition with another signature does not
 * compile, one with the same replaces them. */
static const char *const library_functions[] = {
    "main",   "abort",     "accept",  "access",   "alarm",    "atexit",  "atof",    "atoi",
    "atol",   "bind",      "bsearch", "cabs",     "calloc",   "chdir",   "clock",   "clone",
    "close",  "connect",   "ctime",   "difftime", "div",      "dup",     "dup2",    "execv",
    "execve", "exit",      "fclose",  "ffs",      "fopen",    "fork",    "fprintf", "fputs",
    "fread",  "free",      "fwrite",  "gamma",    "getc",     "getenv",  "gets",    "index",
    "ioctl",  "isalpha",   "isdigit", "kill",     "ldiv",     "link",    "listen",  "longjmp",
    "lseek",  "malloc",    "memchr",  "memcmp",   "memcpy",   "memmove", "memset",  "mmap",
    "munmap", "nanosleep", "nice",    "open",     "pause",    "perror",  "pipe",    "poll",
    "printf", "putc",      "putenv",  "puts",     "qsort",    "raise",   "rand",    "random",
    "read",   "realloc",   "recv",    "remove",   "rename",   "rindex",  "sbrk",    "scanf",
    "select", "send",      "signal",  "sleep",    "snprintf", "socket",  "sprintf", "srand",
    "stat",   "strcat",    "strchr",  "strcmp",   "strcpy",   "strlen",  "strncmp", "strtod",
    "strtol", "sync",      "syscall", "system",   "time",     "times",   "tolower", "toupper",
    "unlink", "usleep",    "wait",    "write",
};

static bool is_among(const char *name, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], name) == 0) return true;
    return false;
}
#define IS_AMONG(name, words) is_among(name, words, sizeof words / sizeof *words)

static bool begins_with(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* True for the prefix followed by a capital, as in "cuMemAlloc". */
static bool begins_with_then_capital(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    return begins_with(name, prefix) && name[length] >= 'A' && name[length] <= 'Z';
}

static const char *identifier_fault(const char *name)
{
    if (!name[0]) return "is empty";
    if (strlen(name) >= KF_NAME_BYTES) return "is longer than 63 characters";
    if (!strchr(letters, name[0]) || name[strspn(name, word_characters)])
        return "is not a C identifier";
    if (name[0] == '_' || begins_with(name, "kf_") || begins_with(name, "KF_"))
        return "is reserved (begins with _, kf_ or KF_)";
    if (IS_AMONG(name, keywords)) return "is a keyword of C or C++";
    return NULL;
}

const char *kf_name_fault(const char *name)
{
    if (!name[0]) return "is empty";
    if (strlen(name) >= KF_NAME_BYTES) return "is longer than 63 characters";
    if (name[0] == '_' || name[0] == '-' || name[0] == '.')
        return "does not begin with a letter or a digit";
    for (const char *c = name; *c; c++)
        if (!strchr(word_characters, *c) && *c != '-' && *c != '.')
            return "may only have letters, digits, _, - and .";
    return NULL;
}

const char *kf_param_fault(const char *name)
{
    if (kf_expression_is_function(name)) return "is a function of the expression language";
    return identifier_fault(name);
}

const char *kf_argument_fault(const char *name)
{
    const char *fault = identifier_fault(name);
    if (!fault && strcmp(name, "stream") == 0)
        return "is reserved: it is the last parameter of every candidate";
    if (!fault && IS_AMONG(name, in_scope))
        return "is a macro, variable or type that CUDA or the standard headers define";
    return fault;
}

const char *kf_entry_fault(const char *name)
{
    const char *fault = identifier_fault(name);
    if (fault) return fault;
    if (strlen(name) + strlen("_oracle") >= KF_NAME_BYTES) return "is longer than 56 characters";
    if (IS_AMONG(name, in_scope))
        return "is a macro, variable or type that CUDA or the standard headers define";
    if (kf_is_math_function(name, strlen(name)) || IS_AMONG(name, library_functions))
        return "is a function of the C library";
    if (begins_with(name, "cuda") || begins_with(name, "cublas") || begins_with(name, "cudnn") ||
        begins_with(name, "nvrtc") || begins_with_then_capital(name, "cu") ||
        begins_with_then_capital(name, "nv"))
        return "begins like a function of CUDA";
    return NULL;
}

const char *kf_file_name_fault(const char *name)
{
    if (!name[0]) return "is empty";
    if (strlen(name) > 255) return "is longer than 255 bytes";
    if (name[0] == '/') return "is an absolute path; expected one relative to the task's folder";
    for (const char *c = name; *c; c++)
        if (!strchr(word_characters, *c) && !strchr("-+./", *c))
            return "may only have letters, digits and _ - + . /";
    for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
        size_t length = strcspn(part, "/");
        if (length == 0) return "has an empty part";
        if (length == 2 && memcmp(part, "..", 2) == 0) return "leaves the task's folder (..)";
        if (length == 1 && part[0] == '.') return "has a part \".\"";
    }
    return NULL;
}
