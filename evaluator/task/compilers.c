/* Finds Python solutions that compile during calls. */
#include <ctype.h>
#include <string.h>

#include "kforge/job.h"

/* Modules and functions that start compilers during calls, or keep compiled code in folders. The
 * list has the most used libraries of Triton kernels. It leaves out torch.utils.cpp_extension,
 * which the build sandbox compiles. */
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

/* True if one of the words begins at the start of an identifier and ends with it. */
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

/* Returns the end of the identifier. */
static const char *end_of_word(const char *at)
{
    while (is_part_of_a_word(*at)) at++;
    return at;
}

/* Returns the quote of a string that begins here, after its prefix (r, b, f, rb…); NULL if no
 * string begins here. */
static const char *quote_of_string(const char *at)
{
    const char *quote = at + strspn(at, "rbufRBUF");
    return quote - at <= 2 && is_quote(*quote) ? quote : NULL;
}

/* Returns the end of the string with this quote. A string of one line ends with the line if its
 * closing quote is missing. */
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

/* True if the statement ends here. */
static bool ends_statement(const char *at)
{
    at += strspn(at, " \t\r");
    /* also true for the NUL at the end of the text */
    return strchr("\n;#", *at);
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

/* Follows Python's lexer as far as strings, comments and statements are concerned. A string that is
 * a whole statement is documentation, and does not count. The result for invalid Python does not
 * matter, because it fails anyway. */
bool kf_compiles_when_called(const char *source)
{
    /* of brackets */
    int depth = 0;
    /* at the start of a statement */
    bool fresh = true;
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
        } else if (*at == '\\' && at[1]) {
            /* a continued line */
            at += 2;
        } else {
            depth += strchr("([{", *at) ? 1 : strchr(")]}", *at) && depth > 0 ? -1 : 0;
            fresh = *at == ';' || *at == '\n' ? depth == 0 : fresh && isspace((unsigned char)*at);
            at++;
        }
    }
    return false;
}
