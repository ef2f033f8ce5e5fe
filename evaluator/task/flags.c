/* The compiler flags that a candidate or the tuner may use; all others are refused. No allowed flag
 * names a file or a program, or reaches the linker. Each is one argument, so no flag can take the
 * next as its value. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "kforge/job.h"

/* Flags without a value to check. */
// clang-format off
static const char *const plain_flags[] = {
    "-O0", "-O1", "-O2", "-O3",
    "--use_fast_math", "-use_fast_math",
    "--fmad=true", "--fmad=false", "-fmad=true", "-fmad=false",
    "--ftz=true", "--ftz=false", "-ftz=true", "-ftz=false",
    "--prec-div=true", "--prec-div=false", "-prec-div=true", "-prec-div=false",
    "--prec-sqrt=true", "--prec-sqrt=false", "-prec-sqrt=true", "-prec-sqrt=false",
    "-lineinfo", "--generate-line-info",
    "--extra-device-vectorization", "-extra-device-vectorization",
    "-Xptxas=-O0", "-Xptxas=-O1", "-Xptxas=-O2", "-Xptxas=-O3",
    "-Xptxas=-v", "-Xptxas=-warn-spills", "-Xptxas=-warn-lmem-usage",
    "-Xptxas=-dlcm=ca", "-Xptxas=-dlcm=cg", "-Xptxas=-dlcm=cs", "-Xptxas=-dlcm=cv",
    "-Xptxas=-dscm=wb", "-Xptxas=-dscm=cg", "-Xptxas=-dscm=cs", "-Xptxas=-dscm=wt",
    "-Xcompiler=-funroll-loops",
    "-Xptxas=--allow-expensive-optimizations=true", "-Xptxas=--allow-expensive-optimizations=false",
};
// clang-format on

/* True for NAME or NAME=VALUE. Values have letters, digits and . _ + - only, which are safe in a
 * shell and in the preprocessor. Names that begin with an underscore belong to compilers, and those
 * that begin with kf_ to the generated prototype. */
static bool is_definition(const char *text)
{
    if (!isalpha((unsigned char)*text) || strncasecmp(text, "kf_", 3) == 0) return false;
    while (isalnum((unsigned char)*text) || *text == '_') text++;
    if (*text == '\0') return true;
    if (*text++ != '=') return false;
    while (isalnum((unsigned char)*text) || (*text && strchr("._+-", *text))) text++;
    return *text == '\0';
}

/* True for 16 to 255. nvcc fails with fewer, and a thread has at most 255. */
static bool is_register_count(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    if (digits < 2 || digits > 3 || text[digits] || *text == '0') return false;
    int count = 0;
    for (; *text; text++) count = 10 * count + (*text - '0');
    return count >= 16 && count <= 255;
}

static const struct {
    const char *prefix;
    bool (*accepts)(const char *rest);
} prefixed_flags[] = {
    {"-D", is_definition},
    {"-maxrregcount=", is_register_count},
    {"--maxrregcount=", is_register_count},
};

bool kf_flag_check(const char *flag, kf_error *error)
{
    if (strlen(flag) > KF_FLAG_BYTES)
        return kf_fail(error, KF_ERROR_INPUT, "compiler flag \"%.40s...\" is longer than %d bytes",
                       flag, KF_FLAG_BYTES);
    for (size_t i = 0; i < sizeof plain_flags / sizeof *plain_flags; i++)
        if (strcmp(flag, plain_flags[i]) == 0) return true;
    for (size_t i = 0; i < sizeof prefixed_flags / sizeof *prefixed_flags; i++) {
        size_t length = strlen(prefixed_flags[i].prefix);
        if (strncmp(flag, prefixed_flags[i].prefix, length) == 0 &&
            prefixed_flags[i].accepts(flag + length))
            return true;
    }
    return kf_fail(error, KF_ERROR_INPUT,
                   "compiler flag \"%s\" is not allowed; allowed are -DNAME, -DNAME=VALUE, "
                   "-maxrregcount=16 to 255, "
                   "--use_fast_math, -O0 to -O3, "
                   "--fmad=, --ftz=, --prec-div= and --prec-sqrt=true or false, -lineinfo, "
                   "--extra-device-vectorization, "
                   "-Xcompiler=-funroll-loops and "
                   "-Xptxas=-O0 to -O3, -v, -dlcm=, -dscm=",
                   flag);
}
