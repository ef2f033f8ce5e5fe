#include "compiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/run_capture.h"
#include "kforge/cleanup.h"

#define ANSWER_BYTES (16u << 10)
/* Long enough to read the compiler from a network file system. */
#define SECONDS 20
#define NVCC_MARK ", V"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns NULL without one. */
static const char *find_version(const char *text)
{
    const char *mark = strstr(text, NVCC_MARK);
    if (mark) return is_digit(mark[strlen(NVCC_MARK)]) ? mark + strlen(NVCC_MARK) : NULL;
    int depth = 0;
    for (const char *at = text; *at && *at != '\n'; at++) {
        if (*at == '(') depth++;
        if (*at == ')' && depth) depth--;
        if (!depth && is_digit(*at) && at > text && at[-1] == ' ') return at;
    }
    return NULL;
}

bool kf_compiler_version(const char *text, char version[KF_COMPILER_WORDS / 2])
{
    const char *found = find_version(text);
    snprintf(version, KF_COMPILER_WORDS / 2, "%.*s", found ? (int)strspn(found, "0123456789.") : 0,
             found ? found : "");
    return found;
}

void kf_compiler_find(const char *program, const char *name, char words[KF_COMPILER_WORDS])
{
    char version[KF_COMPILER_WORDS / 2];
    const char *const argv[] = {program, "--version", NULL};
    static const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8",
                                              NULL};
    kf_autofree char *text =
        program ? kf_run_capture(argv, environment, ANSWER_BYTES, SECONDS) : NULL;
    if (!program)
        snprintf(words, KF_COMPILER_WORDS, "no %s", name);
    else if (text && kf_compiler_version(text, version))
        snprintf(words, KF_COMPILER_WORDS, "%s %s", name, version);
    else
        snprintf(words, KF_COMPILER_WORDS, "%s of an unknown version", name);
}
