/* The family tree of a run: every candidate under its parent, as text, Graphviz or SVG.
 *
 * A candidate is placed at its first attempt. Its parent came before it, so there are no circles,
 * even if it was proposed again. Graphviz shows exemplars and the second parent of a crossover as
 * dotted lines, the text as a sign. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/list.h"
#include "refuted.h"
#include "show.h"
#include "table.h"
#include "terminal.h"

#define STEP_BYTES 24
/* of the SVG, in pixels */
#define ROW_HEIGHT 22
#define COLUMN_WIDTH 190
/* maximum of indented levels in the text */
#define DEEPEST 512

typedef struct node {
    int64_t candidate, attempt;
    char step[STEP_BYTES];
    bool judged, best, refuted;
    /* The attempt measured the candidate again, and no other part than the candidate failed. */
    bool again;
    kf_status status;
    kf_interval speedup;
    int parent, first, last, next; /* indices, or -1 */
    /* other candidates in its prompt */
    int others;
    int depth, row;
} node;

typedef struct edge {
    int64_t child, parent, attempt;
    bool made_from; /* False for exemplars */
} edge;

typedef struct tree {
    node *nodes;
    size_t count;
    size_t *by_candidate; /* indices sorted by candidate */
    edge *edges;
    size_t edge_count;
} tree;

static void tree_clear(tree *t)
{
    free(t->nodes);
    free(t->by_candidate);
    free(t->edges);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int by_candidate(const void *a, const void *b, void *nodes)
{
    const node *n = nodes, *x = &n[*(const size_t *)a], *y = &n[*(const size_t *)b];
    if (x->candidate != y->candidate) return x->candidate < y->candidate ? -1 : 1;
    return x->attempt < y->attempt ? -1 : x->attempt > y->attempt;
}

static node *find(const tree *t, int64_t candidate)
{
    size_t low = 0, high = t->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (t->nodes[t->by_candidate[middle]].candidate < candidate)
            low = middle + 1;
        else
            high = middle;
    }
    node *found = low < t->count ? &t->nodes[t->by_candidate[low]] : NULL;
    return found && found->candidate == candidate ? found : NULL;
}

static bool add_node(tree *t, const kf_store_attempt *a, int64_t best, kf_error *error)
{
    if (!kf_list_grow(&t->nodes, t->count)) return kf_fail_memory(error, "the family tree");
    node *n = &t->nodes[t->count++];
    *n = (node){.candidate = a->candidate,
                .attempt = a->number,
                .judged = a->verdict > 0,
                .best = a->candidate == best,
                .again = a->outcome == KF_ATTEMPT_REVERIFIED &&
                         (a->blame == KF_BLAME_NOBODY || a->blame == KF_BLAME_CANDIDATE),
                .status = a->status,
                .speedup = a->verdict ? a->speedup : (kf_interval){NAN, NAN, NAN},
                .parent = -1,
                .first = -1,
                .last = -1,
                .next = -1};
    snprintf(n->step, sizeof n->step, "%s", a->step);
    return true;
}

/* Keeps the first attempt of each candidate, with the figures of the latest measurement. */
static bool read_nodes(tree *t, kf_store *store, const kf_store_run *run, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(store, run->id, 1, error);
    kf_autoresult kf_store_attempt attempt = {0};
    /* A candidate that is slower than the baseline is no result. */
    int64_t best = run->best_speedup.value > 1 ? run->best : 0;
    int row = cursor ? 1 : -1;
    while ((row = row == 1 ? kf_store_next_attempt(cursor, &attempt, error) : row) == 1)
        if (attempt.candidate && !add_node(t, &attempt, best, error)) return false;
    if (row < 0) return false;
    t->by_candidate = malloc((t->count + 1) * sizeof *t->by_candidate);
    if (!t->by_candidate) return kf_fail_memory(error, "the family tree");
    for (size_t i = 0; i < t->count; i++) t->by_candidate[i] = i;
    qsort_r(t->by_candidate, t->count, sizeof *t->by_candidate, by_candidate, t->nodes);
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++) {
        node *n = &t->nodes[t->by_candidate[i]],
             *first = kept ? &t->nodes[t->by_candidate[kept - 1]] : NULL;
        if (!first || first->candidate != n->candidate) {
            t->by_candidate[kept++] = t->by_candidate[i];
            continue;
        }
        if (n->judged && (!first->judged || n->again)) {
            first->judged = true;
            first->status = n->status;
            if (n->speedup.value > 0 || n->status != KF_CORRECT) first->speedup = n->speedup;
        }
        n->candidate = 0; /* not shown */
    }
    /* entries of by_candidate; nodes without an entry are left out */
    t->count = kept;
    return true;
}

static bool read_edges(tree *t, kf_store *store, const kf_store_run *run, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_family(store, run->id, error);
    kf_autoresult kf_store_edge found = {0};
    int row = cursor ? 1 : -1;
    while ((row = row == 1 ? kf_store_next_edge(cursor, &found, error) : row) == 1) {
        if (!kf_list_grow(&t->edges, t->edge_count))
            return kf_fail_memory(error, "the family tree");
        bool made_from = strcmp(found.role, "exemplar") != 0 && strcmp(found.role, "crossed") != 0;
        t->edges[t->edge_count++] = (edge){found.child, found.parent, found.attempt, made_from};
    }
    return row == 0;
}

static void link_nodes(tree *t)
{
    for (size_t i = 0; i < t->edge_count; i++) {
        const edge *e = &t->edges[i];
        node *child = find(t, e->child), *parent = find(t, e->parent);
        if (!child || !parent || child->attempt != e->attempt || parent->attempt >= child->attempt)
            continue;
        if (!e->made_from || child->parent >= 0) {
            child->others++;
            continue;
        }
        int at = (int)(child - t->nodes);
        child->parent = (int)(parent - t->nodes);
        if (parent->last >= 0)
            t->nodes[parent->last].next = at;
        else
            parent->first = at;
        parent->last = at;
    }
}

/* ---- walking --------------------------------------------------------------------------------- */

/* Returns the next node in depth-first order, -1 at the end. `at` -1 gives the first. Roots are in
 * order of candidates. */
static int next_root(const tree *t, size_t *root)
{
    for (; *root < t->count; ++*root)
        if (t->nodes[t->by_candidate[*root]].parent < 0) return (int)t->by_candidate[(*root)++];
    return -1;
}

static int next_node(const tree *t, int at, size_t *root)
{
    if (at < 0) return next_root(t, root);
    if (t->nodes[at].first >= 0) return t->nodes[at].first;
    for (; at >= 0; at = t->nodes[at].parent)
        if (t->nodes[at].next >= 0) return t->nodes[at].next;
    return next_root(t, root);
}

static int place_nodes(tree *t)
{
    size_t root = 0;
    int rows = 0, deepest = 0;
    for (int at = next_node(t, -1, &root); at >= 0; at = next_node(t, at, &root)) {
        node *n = &t->nodes[at];
        n->row = rows++;
        n->depth = n->parent < 0 ? 0 : t->nodes[n->parent].depth + 1;
        if (n->depth > deepest) deepest = n->depth;
    }
    return deepest;
}

/* "c12 improve 1.52x", or the status of a failed candidate, and "not confirmed" */
static void label(const node *n, char *text, size_t size)
{
    char figure[KF_FIGURE];
    if (n->judged && n->status == KF_CORRECT && n->speedup.value > 0)
        snprintf(text, size, "c%lld %s %s%s", (long long)n->candidate, n->step,
                 kf_figure_speedup(n->speedup, figure), n->refuted ? ", not confirmed" : "");
    else
        snprintf(text, size, "c%lld %s %s%s", (long long)n->candidate, n->step,
                 n->judged ? kf_status_name(n->status) : "not judged",
                 n->refuted ? ", not confirmed" : "");
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_text(const kf_view *view, const tree *t)
{
    size_t root = 0;
    for (int at = next_node(t, -1, &root); at >= 0; at = next_node(t, at, &root)) {
        const node *n = &t->nodes[at];
        int up[DEEPEST], depth = 0;
        char text[128];
        for (int a = at; t->nodes[a].parent >= 0 && depth < DEEPEST; a = t->nodes[a].parent)
            up[depth++] = a;
        for (int k = depth - 1; k > 0; k--)
            fputs(t->nodes[up[k]].next >= 0 ? "│  " : "   ", view->out);
        if (depth) fputs(n->next >= 0 ? "├─ " : "└─ ", view->out);
        label(n, text, sizeof text);
        const char *style = !view->color ? ""
                            : n->best    ? KF_STYLE_BOLD
                            : n->refuted ? KF_STYLE_GREY
                                         : "";
        fprintf(view->out, "%s%s%s%s", style, text, n->best ? "  best" : "",
                *style ? KF_STYLE_PLAIN : "");
        if (n->others) fprintf(view->out, "  +%d shown", n->others);
        fputc('\n', view->out);
    }
}

/* ---- pictures -------------------------------------------------------------------------------- */

static const char *color_of(const node *n)
{
    if (!n->judged || (n->refuted && n->status == KF_CORRECT)) return "#dddddd";
    if (n->status != KF_CORRECT) return "#f4c7c3";
    return n->speedup.value > 1.02 ? "#b7e1cd" : "#fce8b2";
}

static void print_dot(FILE *out, const tree *t, const kf_store_run *run)
{
    fprintf(out,
            "digraph \"%s\" {\n  rankdir=LR;\n  node [shape=box, style=filled, "
            "fontname=\"sans-serif\", fontsize=10];\n",
            run->id);
    for (size_t i = 0; i < t->count; i++) {
        const node *n = &t->nodes[t->by_candidate[i]];
        char text[128];
        label(n, text, sizeof text);
        fprintf(out, "  c%lld [label=\"%s\", fillcolor=\"%s\"%s];\n", (long long)n->candidate, text,
                color_of(n), n->best ? ", penwidth=3" : "");
    }
    for (size_t i = 0; i < t->edge_count; i++) {
        const edge *e = &t->edges[i];
        const node *child = find(t, e->child), *parent = find(t, e->parent);
        if (!child || !parent || child->attempt != e->attempt || parent->attempt >= child->attempt)
            continue;
        fprintf(out, "  c%lld -> c%lld%s;\n", (long long)e->parent, (long long)e->child,
                e->made_from ? "" : " [style=dotted]");
    }
    fputs("}\n", out);
}

static void print_svg(FILE *out, const tree *t, int deepest)
{
    int width = (deepest + 1) * COLUMN_WIDTH + 20, height = (int)t->count * ROW_HEIGHT + 20;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"11\">\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
            width, height, width, height);
    for (size_t i = 0; i < t->count; i++) {
        const node *n = &t->nodes[t->by_candidate[i]];
        char text[128];
        int x = 10 + n->depth * COLUMN_WIDTH, y = 10 + n->row * ROW_HEIGHT;
        if (n->parent >= 0) {
            const node *p = &t->nodes[n->parent];
            int from = 10 + p->depth * COLUMN_WIDTH + 12;
            fprintf(out, "<path d=\"M%d %d V%d H%d\" fill=\"none\" stroke=\"#888888\"/>\n", from,
                    10 + p->row * ROW_HEIGHT + ROW_HEIGHT - 4, y + ROW_HEIGHT / 2 - 2, x);
        }
        label(n, text, sizeof text);
        fprintf(out,
                "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\" fill=\"%s\" "
                "stroke=\"%s\" stroke-width=\"%d\"/>"
                "<text x=\"%d\" y=\"%d\">%s</text>\n",
                x, y, COLUMN_WIDTH - 20, ROW_HEIGHT - 4, color_of(n), n->best ? "black" : "#888888",
                n->best ? 2 : 1, x + 6, y + ROW_HEIGHT - 9, text);
    }
    fputs("</svg>\n", out);
}

bool kf_show_tree(const kf_view *view, kf_store *store, const kf_store_run *run, const char *format,
                  kf_error *error)
{
    __attribute__((cleanup(tree_clear))) tree t = {0};
    if (!read_nodes(&t, store, run, error) || !read_edges(&t, store, run, error)) return false;
    link_nodes(&t);
    int deepest = place_nodes(&t);
    kf_autorefuted refuted;
    if (!kf_refuted_read(store, run->id, &refuted, error)) return false;
    for (size_t i = 0; i < refuted.count; i++) {
        node *n = find(&t, refuted.items[i]);
        if (n) n->refuted = true;
    }
    if (strcmp(format, "dot") == 0)
        print_dot(view->out, &t, run);
    else if (strcmp(format, "svg") == 0)
        print_svg(view->out, &t, deepest);
    else
        print_text(view, &t);
    return true;
}
