/* Which solutions in Python compile when they are called. */
#include <ctype.h>
#include <string.h>

#include "kforge/job.h"

/* Modules and functions that start compilers, or keep what they have compiled in folders, where they are called. Those of torch.utils.cpp_extension are no part of it: the
 * build jail compiles them. */
static const char *const words[] = {"triton",       "torch.compile", "torch._inductor", "torch._dynamo", "helion", "tilelang",
                                    "tvm",          "cupy",          "numba",           "pycuda",        "taichi", "import warp",
                                    "cutlass.cute", "subprocess"};

static bool is_part_of_a_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Behind a '#' of its line that is in no quotes. Of a text over several lines, in which an apostrophe opens none, that may be said wrongly: then it is no comment, and the
 * solution has its dry run. */
static bool is_in_comment(const char *source, const char *at)
{
    const char *line = at;
    while (line > source && line[-1] != '\n') line--;
    char quote = '\0';
    for (; line < at; line++) {
        if (*line == '\\' && quote)
            line++;
        else if (quote)
            quote = *line == quote ? '\0' : quote;
        else if (*line == '"' || *line == '\'')
            quote = *line;
        else if (*line == '#')
            return true;
    }
    return false;
}

static bool mentions(const char *source, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = source; (at = strstr(at, word)); at += length)
        if ((at == source || !is_part_of_a_word(at[-1])) && !is_part_of_a_word(at[length]) && !is_in_comment(source, at))
            return true;
    return false;
}

bool kf_compiles_when_called(const char *source)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (mentions(source, words[i])) return true;
    return false;
}
