/* Which solutions in Python compile when they are called. */
#include <ctype.h>
#include <string.h>

#include "kforge/job.h"

/* Modules and functions that start compilers, or keep what they have compiled in folders, where
 * they are called. Those of torch.utils.cpp_extension are no part of it: the build jail compiles
 * them. Of libraries that consist of kernels in Triton those that are used most. */
static const char *const words[] = {"triton",
                                    "torch.compile",
                                    "torch._inductor",
                                    "torch._dynamo",
                                    "helion",
                                    "tilelang",
                                    "tvm",
                                    "cupy",
                                    "numba",
                                    "pycuda",
                                    "taichi",
                                    "import warp",
                                    "cutlass.cute",
                                    "subprocess",
                                    "os.system",
                                    "os.popen",
                                    "from torch import compile",
                                    "self.compile",
                                    "liger_kernel",
                                    "flag_gems",
                                    "import fla",
                                    "from fla"};

static bool is_part_of_a_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* One of the words begins here, where none goes on. */
static bool begins_one(const char *at)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        if (strncmp(at, words[i], length) == 0 && !is_part_of_a_word(at[length])) return true;
    }
    return false;
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* Behind the word that begins here. */
static const char *end_of_word(const char *at)
{
    while (is_part_of_a_word(*at)) at++;
    return at;
}

/* The quote of a string that begins here, perhaps with a prefix (r, b, f, rb…); NULL where none
 * does. */
static const char *quote_of_string(const char *at)
{
    const char *quote = at + strspn(at, "rbufRBUF");
    return quote - at <= 2 && is_quote(*quote) ? quote : NULL;
}

/* Behind the string whose quote this is. One of a single line ends with it where its quote is
 * missing. */
static const char *end_of_string(const char *quote)
{
    size_t count = quote[1] == *quote && quote[2] == *quote ? 3 : 1;
    const char *at = quote + count;
    for (; *at && !(count == 1 && *at == '\n'); at++) {
        if (*at == '\\' && at[1])
            at++;
        else if (strncmp(at, quote, count) == 0)
            return at + count;
    }
    return at;
}

/* Nothing more belongs to the statement. */
static bool ends_statement(const char *at)
{
    at += strspn(at, " \t\r");
    return strchr("\n;#", *at); /* or its end */
}

static bool mentions_one(const char *at, const char *end)
{
    while (at < end) {
        if (is_part_of_a_word(*at)) {
            if (begins_one(at)) return true;
            at = end_of_word(at);
        } else {
            at++;
        }
    }
    return false;
}

/* Goes through the text as Python's lexer does, as far as strings, comments and statements go: a
 * string that is a statement of its own documents something. A text that is no Python may be taken
 * for what it is not; it fails in any case. */
bool kf_compiles_when_called(const char *source)
{
    int depth = 0;     /* of brackets */
    bool fresh = true; /* nothing of the statement was seen */
    for (const char *at = source; *at;) {
        const char *quote = quote_of_string(at);
        if (quote) {
            const char *end = end_of_string(quote);
            bool documents = fresh && depth == 0 && ends_statement(end);
            if (!documents && mentions_one(quote, end)) return true;
            at = end;
            fresh = false;
        } else if (is_part_of_a_word(*at)) {
            if (begins_one(at)) return true;
            at = end_of_word(at);
            fresh = false;
        } else if (*at == '#') {
            at += strcspn(at, "\n");
        } else if (*at == '\\' && at[1]) { /* the line goes on */
            at += 2;
        } else {
            depth += strchr("([{", *at) ? 1 : strchr(")]}", *at) && depth > 0 ? -1 : 0;
            fresh = *at == ';' || *at == '\n' ? depth == 0 : fresh && isspace((unsigned char)*at);
            at++;
        }
    }
    return false;
}
