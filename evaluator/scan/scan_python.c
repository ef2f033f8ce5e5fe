/* Flags words of a Python solution. Comments and strings do not count. An assignment to an
 * attribute of an imported module counts, since other code of the process sees it. */
#include <stdlib.h>
#include <string.h>

#include "kforge/cleanup.h"
#include "kforge/list.h"
#include "scan_internal.h"

/* Imported names that are remembered. Each assignment to an attribute is compared with all. */
#define MOST_IMPORTED 512

static const kf_scan_rule rules[] = {
    {"time.read", "reads a clock: for tuning, or to detect timing",
     " perf_counter perf_counter_ns monotonic monotonic_ns process_time elapsed_time time_ns "},
    {"process.start", "starts another program or process",
     " subprocess multiprocessing fork Popen system posix_spawn "},
    {"process.signal", "handles or sends signals: its code may run outside of calls",
     " signal setitimer kill "},
    {"process.exit", "ends the process, or registers code for its end", " _exit atexit abort "},
    {"thread.start", "starts host threads: the call must join them",
     " Thread Timer ThreadPoolExecutor start_new_thread "},
    {"code.load", "loads code at run time", " ctypes CDLL cffi dlopen exec eval compile_string "},
    {"file.open", "opens files", " open memmap read_text read_bytes from_file "},
    {"network", "opens sockets or looks up names", " socket urllib requests http "},
    {"environment", "reads or changes the environment", " environ getenv putenv "},
    {"stream.side", "makes its own streams: the call must join them before it returns",
     " Stream ExternalStream "},
    {"graph", "uses graphs: they keep the pointers of their capture",
     " CUDAGraph make_graphed_callables "},
    {"state.kept", "keeps results by key between calls", " lru_cache WeakKeyDictionary "},
    {"precision.low", "computes with fewer bits than f32",
     " half bfloat16 float16 float8_e4m3fn float8_e5m2 allow_tf32 autocast "
     "set_float32_matmul_precision "},
    {"python.objects", "looks at other objects or frames of its process",
     " get_objects get_referrers _getframe currentframe settrace setprofile "},
    {"python.tensor", "makes tensors of a class of its own: they may compute later",
     " as_subclass _make_subclass _make_wrapper_subclass __torch_function__ __torch_dispatch__ "},
};

typedef struct word {
    const char *text;
    size_t size;
} word;

typedef struct reader {
    const char *at, *end;
    long line;
    /* brackets that are open: a line break inside of them ends no statement */
    long depth;
    word *imported;
    size_t imported_count;
    kf_scan_found found;
} reader;

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_word(const word *w, const char *text)
{
    return w->size == strlen(text) && memcmp(w->text, text, w->size) == 0;
}

static bool begins(const reader *r, const char *text)
{
    size_t size = strlen(text);
    return (size_t)(r->end - r->at) >= size && memcmp(r->at, text, size) == 0;
}

/* Skips a string. Returns its text in *inner. */
static void skip_string(reader *r, word *inner)
{
    char mark[4] = {*r->at, *r->at, *r->at, '\0'};
    if (!begins(r, mark)) mark[1] = '\0';
    r->at += strlen(mark);
    for (*inner = (word){.text = r->at}; r->at < r->end; r->at++) {
        inner->size = (size_t)(r->at - inner->text);
        if (begins(r, mark)) {
            r->at += strlen(mark);
            return;
        }
        if (*r->at == '\n' && !mark[1]) return;
        if (*r->at == '\\' && r->at + 1 < r->end) r->at++;
        if (*r->at == '\n') r->line++;
    }
    if (r->at > r->end) r->at = r->end;
}

/* ---- the language ---------------------------------------------------------------------------- */

static bool starts_with(const char *line, size_t size, const char *beginning)
{
    size_t length = strlen(beginning);
    return size >= length && memcmp(line, beginning, length) == 0;
}

/* True for "import X", "from X import Y", "class X:", "def f(x):" and a definition that continues
 * on the next line. C++ ends neither definition with a colon. */
static bool is_of_python(const char *line, size_t size)
{
    while (size && strchr(" \t\r", line[size - 1])) size--;
    if (starts_with(line, size, "import ")) return !memchr(line, ';', size);
    if (starts_with(line, size, "from ")) return memmem(line, size, " import ", 8) != NULL;
    bool is_class = starts_with(line, size, "class ");
    if (!is_class && !starts_with(line, size, "def ") && !starts_with(line, size, "async def "))
        return false;
    char last = line[size - 1];
    return last == ':' || (!is_class && (last == '(' || last == ','));
}

static bool is_of_cuda(const char *line, size_t size)
{
    static const char *const beginnings[] = {
        "#include <", "#include \"", "#pragma ",         "__global__", "__device__", "extern \"C\"",
        "template <", "template<",   "using namespace ", "//",         "/*"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (starts_with(line, size, beginnings[i])) return true;
    return false;
}

/* True if a line outside Python's strings is one that only Python has. Sets *cuda (may be NULL) if
 * one is a line that only CUDA C has. */
static bool has_python(const char *text, size_t size, bool *cuda)
{
    reader r = {.at = text, .end = text + size};
    bool python = false, first = true;
    while (r.at < r.end) {
        const char *at = r.at, *stop = r.end;
        if (first || *at == '#') stop = memchr(at, '\n', (size_t)(r.end - at));
        size_t length = (size_t)((stop ? stop : r.end) - at);
        python = python || (first && is_of_python(at, length));
        if (first && cuda) *cuda = *cuda || is_of_cuda(at, length);
        first = *at == '\n';
        word inner;
        if (*at == '"' || *at == '\'')
            skip_string(&r, &inner);
        else
            r.at += *at == '#' ? length : 1;
    }
    return python;
}

bool kf_source_is_python(const char *text, size_t size)
{
    bool cuda = false;
    return has_python(text, size, &cuda) && !cuda;
}

bool kf_file_is_python(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, ".py") == 0;
}

/* ---- the scan -------------------------------------------------------------------------------- */

/* Skips blanks, comments and joined lines within a statement. */
static void skip_blanks(reader *r)
{
    for (; r->at < r->end; r->at++) {
        if (*r->at == '#')
            while (r->at + 1 < r->end && r->at[1] != '\n') r->at++;
        else if (*r->at == '\\' && r->at + 1 < r->end && r->at[1] == '\n')
            r->at++, r->line++;
        else if (*r->at == '\n' && r->depth > 0)
            r->line++;
        else if (*r->at != ' ' && *r->at != '\t' && *r->at != '\r')
            return;
    }
}

static word read_word(reader *r)
{
    word w = {.text = r->at};
    while (r->at < r->end && is_name(*r->at)) r->at++;
    w.size = (size_t)(r->at - w.text);
    return w;
}

static bool add_imported(reader *r, word w)
{
    if (r->imported_count == MOST_IMPORTED) return true;
    if (!kf_list_grow(&r->imported, r->imported_count)) return false;
    r->imported[r->imported_count++] = w;
    return true;
}

/* Every word may be one, once the list is full. */
static bool is_imported(const reader *r, word w)
{
    for (size_t i = 0; i < r->imported_count; i++)
        if (r->imported[i].size == w.size && memcmp(r->imported[i].text, w.text, w.size) == 0)
            return true;
    return r->imported_count == MOST_IMPORTED;
}

static bool take_rule(reader *r, word w, long line)
{
    char wanted[KF_SCAN_WORD];
    if (!w.size || w.size + 3 > sizeof wanted) return true;
    wanted[0] = wanted[w.size + 1] = ' ';
    memcpy(wanted + 1, w.text, w.size);
    wanted[w.size + 2] = '\0';
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strstr(rules[i].words, wanted))
            return kf_scan_add(&r->found, rules[i].rule, rules[i].text, w.text, w.size, line);
    return true;
}

/* Notes the names that `import …` or `from … import …` binds, to the end of the line. */
static bool take_import(reader *r, bool from)
{
    bool names = !from, good = true, fresh = true;
    while (good) {
        skip_blanks(r);
        if (r->at == r->end || *r->at == '\n' || *r->at == ';') break;
        if (!is_name(*r->at)) {
            r->depth += (*r->at == '(') - (*r->at == ')');
            fresh = fresh || *r->at == ',';
            r->at++;
            continue;
        }
        long line = r->line;
        word w = read_word(r);
        if (from && is_word(&w, "import")) {
            names = fresh = true;
            continue;
        }
        bool as = is_word(&w, "as");
        if (!as) good = take_rule(r, w, line);
        if (good && names && fresh && !as) good = add_imported(r, w);
        fresh = as;
    }
    return good;
}

/* True if "= VALUE" comes next. */
static bool is_assigned(const reader *r)
{
    return r->at < r->end && *r->at == '=' && (r->at + 1 == r->end || r->at[1] != '=');
}

/* Reads NAME.NAME… and flags its words. At the start of a statement an attribute of an imported
 * module that is assigned counts, but for the settings of torch.backends. */
static bool take_names(reader *r, bool first)
{
    const char *start = r->at;
    long line = r->line;
    word w = read_word(r), one = w;
    if (first && (is_word(&w, "import") || is_word(&w, "from")))
        return take_import(r, w.text[0] == 'f');
    bool good = take_rule(r, w, line), attribute = false, setting = false;
    while (good && r->at + 1 < r->end && *r->at == '.' && is_name(r->at[1])) {
        r->at++;
        one = read_word(r);
        attribute = true;
        setting = setting || is_word(&one, "backends");
        good = take_rule(r, one, line);
    }
    const char *stop = r->at;
    skip_blanks(r);
    bool replaced = attribute && first && is_assigned(r) && is_imported(r, w) && !setting;
    if (good && is_word(&w, "setattr") && r->at < r->end && *r->at == '(') {
        r->at++;
        r->depth++;
        skip_blanks(r);
        start = r->at;
        word target = read_word(r);
        stop = r->at;
        replaced = is_imported(r, target);
    }
    return good && (!replaced ||
                    kf_scan_add(&r->found, "python.replaced",
                                "assigns to an imported module: other code of the process sees it",
                                start, (size_t)(stop - start), line));
}

static bool take_all(reader *r, bool inside);

/* Skips a string. An imported solution has the text that it executes in one: this is read, too. */
static bool take_string(reader *r, bool inside)
{
    long line = r->line;
    word inner;
    skip_string(r, &inner);
    if (inside || line == r->line || !has_python(inner.text, inner.size, NULL)) return true;
    reader text = *r;
    text.at = inner.text, text.end = inner.text + inner.size, text.line = line, text.depth = 0;
    bool good = take_all(&text, true);
    r->found = text.found, r->imported = text.imported, r->imported_count = text.imported_count;
    return good;
}

static bool take_all(reader *r, bool inside)
{
    bool good = true, first = true;
    while (good && r->at < r->end) {
        skip_blanks(r);
        if (r->at == r->end) break;
        char c = *r->at;
        if (is_name(c)) {
            good = take_names(r, first && r->depth <= 0);
            first = false;
        } else if (c == '"' || c == '\'') {
            good = take_string(r, inside);
            first = false;
        } else {
            if (c == '\n') r->line++;
            if (c == '(' || c == '[' || c == '{') r->depth++;
            if (c == ')' || c == ']' || c == '}') r->depth--;
            /* "if x: torch.relu = y" has a statement behind its colon. A chained assignment has
             * targets behind "=". */
            first = c == '\n' || c == ';' || c == ':' || c == '=';
            r->at++;
        }
    }
    return good;
}

bool kf_scan_python(const char *text, size_t size, kf_scan_report *report, void *context,
                    kf_error *error)
{
    reader r = {.at = text, .end = text + size, .line = 1};
    bool good = take_all(&r, false);
    free(r.imported);
    kf_scan_finish(&r.found, good ? report : NULL, context);
    return good || kf_fail_memory(error, "the flags of a scan");
}
