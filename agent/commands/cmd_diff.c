/* `kforge diff`: the difference of two candidates or files. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "kforge/file.h"
#include "kforge/verdict.h"
#include "output.h"
#include "search.h"
#include "table.h"
#include "terminal.h"
#include "text_diff.h"

#define SOURCE_BYTES (16u << 20)

typedef struct settings {
    const char *store;
    int64_t context;
} settings;

/* One side: a candidate, or a file without a verdict. */
typedef struct side {
    /* "c12", or the cleaned path. */
    char *label;
    char *source;
    kf_store_candidate candidate;
} side;

static void side_clear(side *s)
{
    free(s->label);
    free(s->source);
    kf_store_clear(&s->candidate);
}
#define autoside __attribute__((cleanup(side_clear))) side

static bool read_file(const char *path, side *s, kf_error *error)
{
    size_t size;
    s->label = kf_text_clean(path, strlen(path), true);
    s->source = kf_file_read(path, SOURCE_BYTES, &size, error);
    if (!s->source) return false;
    if (strlen(s->source) != size)
        return kf_fail(error, KF_ERROR_INPUT, "%s: the file has NUL bytes; diff compares texts",
                       path);
    return s->label || kf_fail_memory(error, "a difference");
}

static bool read_candidate(kf_store *store, side *s, kf_error *error)
{
    char label[24];
    snprintf(label, sizeof label, "c%lld", (long long)s->candidate.id);
    s->label = strdup(label);
    s->source = kf_search_source(store, NULL, s->candidate.id, error);
    return s->source && (s->label || kf_fail_memory(error, "a difference"));
}

static bool read_side(kf_store *store, const char *word, side *s, kf_error *error)
{
    int64_t number;
    struct stat status;
    bool numbered = kf_candidate_parse(word, &number);
    if (!numbered && stat(word, &status) == 0) return read_file(word, s, error);
    if (!store)
        return kf_fail(error, KF_ERROR_INPUT, "%s: no such file, and the store has no runs yet",
                       word);
    if (numbered)
        return kf_store_get_candidate(store, number, NULL, &s->candidate, error) &&
               read_candidate(store, s, error);
    if (!strchr(word, '/') && strspn(word, "0123456789abcdef") == strlen(word))
        return kf_store_find_candidate_prefix(store, NULL, word, &s->candidate, error) &&
               read_candidate(store, s, error);
    return kf_fail(error, KF_ERROR_INPUT,
                   "%s: no such file; a candidate is c and its number, or the digits of its hash",
                   word);
}

/* Prints "c12  correct, 1.84x [1.83, 1.85], measured twice; -DITEMS=8". */
static void print_figures(const kf_view *view, const side *s, int width)
{
    char figure[KF_FIGURE], interval[KF_FIGURE];
    const kf_store_candidate *c = &s->candidate;
    kf_autobuffer flags = {0};
    fprintf(view->out, "%-*s  ", width, s->label);
    if (!c->id) {
        fprintf(view->out, "a file, not judged here\n");
        return;
    }
    if (!c->verdict)
        fprintf(view->out, "never judged");
    else if (isnan(c->speedup.value))
        fprintf(view->out, "%s%s", kf_status_name(c->status),
                c->status == KF_CORRECT ? ", speed not measured" : "");
    else
        fprintf(view->out, "%s, %s %s, measured %s", kf_status_name(c->status),
                kf_figure_speedup(c->speedup, figure), kf_figure_interval(c->speedup, interval),
                c->reverified ? "twice" : "once");
    kf_flags_text(c->flags, &flags);
    fprintf(view->out, flags.size ? "; %s\n" : "%s\n", flags.size ? flags.data : "");
}

static void print_line(const kf_view *view, const char *line, size_t size)
{
    bool head = strncmp(line, "--- ", 4) == 0 || strncmp(line, "+++ ", 4) == 0;
    const char *style = head           ? KF_STYLE_BOLD
                        : *line == '+' ? KF_STYLE_GREEN
                        : *line == '-' ? KF_STYLE_RED
                        : *line == '@' ? KF_STYLE_YELLOW
                                       : "";
    bool styled = view->color && *style;
    fprintf(view->out, "%s%.*s%s\n", styled ? style : "", (int)size, line,
            styled ? KF_STYLE_PLAIN : "");
}

static bool print_diff(const kf_view *view, const side *a, const side *b, int context,
                       kf_error *error)
{
    kf_autofree char *text = kf_text_diff(&(kf_diff_side){a->label, a->source},
                                          &(kf_diff_side){b->label, b->source}, context, error);
    if (!text) return false;
    int width = (int)strlen(strlen(a->label) > strlen(b->label) ? a->label : b->label);
    print_figures(view, a, width);
    print_figures(view, b, width);
    fputc('\n', view->out);
    if (!*text) fprintf(view->out, "The sources are equal.\n");
    for (const char *line = text; *line;) {
        size_t size = strcspn(line, "\n");
        print_line(view, line, size);
        line += size + (line[size] == '\n');
    }
    return true;
}

/* Finds the first parent of a candidate. */
static bool read_parent(kf_store *store, const side *child, side *parent, kf_error *error)
{
    kf_autoresult kf_store_edge edge = {0};
    if (!child->candidate.id)
        return kf_fail(error, KF_ERROR_INPUT, "%s: name a second file or candidate", child->label);
    kf_auto(kf_store_cursor) cursor = kf_store_ancestors(store, child->candidate.id, NULL, error);
    int more = cursor ? kf_store_next_edge(cursor, &edge, error) : -1;
    if (more == 0)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s has no parent; name the candidate to compare it with", child->label);
    return more == 1 &&
           kf_store_get_candidate(store, edge.parent, NULL, &parent->candidate, error) &&
           read_candidate(store, parent, error);
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    kf_view view = kf_view_of(invocation, false);
    kf_auto(kf_store) store = NULL;
    autoside a = {0}, b = {0};
    bool pair = invocation->argument_count == 2;
    if (!kf_open_to_read(wanted->store, &store, error)) return -1;
    bool read = pair ? read_side(store, invocation->arguments[0], &a, error) &&
                           read_side(store, invocation->arguments[1], &b, error)
                     : read_side(store, invocation->arguments[0], &b, error) &&
                           read_parent(store, &b, &a, error);
    return read && print_diff(&view, &a, &b, (int)wanted->context, error) ? KF_EXIT_DONE : -1;
}

static const kf_option options[] = {
    {KF_OPTION(INTEGER, "context", "LINES", settings, context), .letter = 'U', .fallback = "3",
     .low = 0, .high = 1000000, .help = "Lines around each change."},
    KF_ROW_STORE(settings),
    {0},
};

const kf_command kf_command_diff = {
    .name = "diff",
    .synopsis = "A [B]",
    .summary = "Compare the sources of two candidates",
    .description =
        "A and B are candidates (c and a number, or at least 4 digits of a hash) or files. The "
        "figures of their verdicts are above the difference. With one candidate, A is compared "
        "with the parent that it was made from. Sources have the values of their tunables.",
    .examples = "kforge diff c12\tthe change that made c12\n"
                "kforge diff c12 best.cu\ta candidate and a file\n",
    .least_arguments = 1,
    .most_arguments = 2,
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
