/* Format raw on all processors: threads turn chunks of attempts into rows, and the caller's thread
 * hands them to the sink in order.
 *
 * Each thread has a connection of its own with the caller's snapshot. Connections are opened again
 * until all agree, and threads are not used if another process writes without pause. Threads only
 * read the shared data (tasks, fingerprints, patterns), and set bits of `used` atomically. A thread
 * is at most a few chunks ahead of the sink, which bounds the memory. */
#include <pthread.h>
#include <sched.h>

#include "export_internal.h"

#define MAX_THREADS 16
#define AHEAD (4 * MAX_THREADS)
#define TRIES 5

/* The rows of a chunk one after another: size, split, text. */
typedef struct packed_row {
    uint32_t size;
    bool test;
} packed_row;

typedef struct slot {
    kf_buffer rows;
    bool ready, failed;
    kf_error error;
} slot;

typedef struct pool {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const kf_raw_chunk *chunks;
    size_t count, next, written; /* chunks: all, handed out, given to the sink */
    size_t ahead;                /* most that are handed out and not written */
    bool stop;
    unsigned char *used;
    int64_t verdicts;
    slot slots[AHEAD];
} pool;

typedef struct worker {
    pool *pool;
    kf_exporter exporter;
    kf_export_report report;
    kf_buffer *rows; /* of the chunk at hand */
    pthread_t thread;
    bool started;
} worker;

static bool collect(void *context, const char *split, const char *row, size_t size, kf_error *error)
{
    worker *w = context;
    packed_row head = {(uint32_t)size, split[1] == 'e'};
    kf_buffer_append(w->rows, &head, sizeof head);
    kf_buffer_append(w->rows, row, size);
    return !w->rows->failed || kf_fail_memory(error, "an export");
}

static void *work(void *context)
{
    worker *w = context;
    pool *p = w->pool;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (!p->stop && p->next < p->count && p->next >= p->written + p->ahead)
            pthread_cond_wait(&p->changed, &p->lock);
        if (p->stop || p->next == p->count) break;
        size_t index = p->next++;
        slot *s = &p->slots[index % AHEAD];
        pthread_mutex_unlock(&p->lock);
        kf_buffer_clear(&s->rows);
        w->rows = &s->rows;
        bool ok = kf_raw_attempts(&w->exporter, &p->chunks[index], p->used, p->verdicts, &s->error);
        pthread_mutex_lock(&p->lock);
        s->failed = !ok;
        s->ready = true;
        pthread_cond_broadcast(&p->changed);
        if (!ok) break;
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Reads a number that changes with every write of a run. */
static bool moment(kf_store *store, double sums[3], kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_cursor(
        store, error,
        "SELECT total(attempts), total(updated), (SELECT max(id) FROM verdict) FROM run", "");
    if (!cursor || kf_cursor_step(cursor, error) != 1) return false;
    for (int i = 0; i < 3; i++) sums[i] = sqlite3_column_double(cursor->statement, i);
    return true;
}

/* Opens a connection with the snapshot of `exporter`; NULL if that fails. */
static kf_store *twin(const kf_exporter *exporter)
{
    double mine[3], its[3];
    for (int try = 0; try < TRIES; try++) {
        kf_auto(kf_store) store = kf_store_open(exporter->store->path, KF_STORE_READ, NULL);
        if (!store || !kf_sql_do(store, NULL, "BEGIN", "") ||
            !moment(exporter->store, mine, NULL) || !moment(store, its, NULL))
            return NULL;
        if (mine[0] == its[0] && mine[1] == its[1] && mine[2] == its[2]) return kf_steal(&store);
    }
    return NULL;
}

static bool hand_over(kf_exporter *e, const slot *s, kf_error *error)
{
    if (s->failed) return kf_fail_copy(error, &s->error);
    for (size_t at = 0; at < s->rows.size;) {
        packed_row head;
        memcpy(&head, s->rows.data + at, sizeof head);
        at += sizeof head;
        if (!e->sink(e->context, head.test ? "test" : "train", s->rows.data + at, head.size, error))
            return false;
        at += head.size;
    }
    return true;
}

static bool write_in_order(kf_exporter *e, pool *p, size_t *done, kf_error *error)
{
    bool ok = true;
    pthread_mutex_lock(&p->lock);
    while (ok && p->written < p->count) {
        slot *s = &p->slots[p->written % AHEAD];
        while (!s->ready) pthread_cond_wait(&p->changed, &p->lock);
        pthread_mutex_unlock(&p->lock);
        ok = hand_over(e, s, error);
        pthread_mutex_lock(&p->lock);
        s->ready = false;
        p->written += ok;
        pthread_cond_broadcast(&p->changed);
    }
    p->stop = true;
    *done = p->written;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return ok;
}

static void add_report(kf_export_report *to, const kf_export_report *from)
{
    to->rows += from->rows;
    to->train += from->train;
    to->test += from->test;
    to->filtered += from->filtered;
    to->unused += from->unused;
    to->unlabelled += from->unlabelled;
    to->duplicates += from->duplicates;
    to->leaks += from->leaks;
    to->held_out += from->held_out;
    kf_scrub_count_add(&to->scrubbed, &from->scrubbed);
}

/* Returns the number of processors for this process, 0 if they are too few for threads. */
static size_t processors(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count < 2 ? 0 : count > MAX_THREADS ? MAX_THREADS : (size_t)count;
}

bool kf_raw_parallel(kf_exporter *e, const kf_raw_chunk *chunks, size_t count, size_t *done,
                     unsigned char *used, int64_t verdicts, kf_error *error)
{
    size_t wanted = processors(), threads = 0;
    *done = 0;
    if (!wanted) return true;
    kf_autofree pool *p = calloc(1, sizeof *p);
    kf_autofree worker *workers = calloc(wanted, sizeof *workers);
    if (!p || !workers) return kf_fail_memory(error, "an export");
    *p = (pool){
        .chunks = chunks, .count = count, .used = used, .verdicts = verdicts, .ahead = 4 * wanted};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    for (size_t i = 0; i < wanted; i++) {
        worker *w = &workers[i];
        *w = (worker){.pool = p, .exporter = *e};
        w->exporter.row = w->exporter.shaped = (kf_buffer){0};
        memset(w->exporter.kept, 0, sizeof w->exporter.kept);
        w->exporter.tools = (kf_export_tools){0};
        w->exporter.last_tools = (kf_export_tool_cache){0};
        w->exporter.report = &w->report;
        w->exporter.sink = collect;
        w->exporter.context = w;
        w->exporter.store = twin(e);
        w->started = w->exporter.store && pthread_create(&w->thread, NULL, work, w) == 0;
        threads += w->started;
    }
    bool ok = !threads || write_in_order(e, p, done, error);
    for (size_t i = 0; i < wanted; i++) {
        if (workers[i].started) pthread_join(workers[i].thread, NULL);
        kf_store_close(workers[i].exporter.store);
        kf_buffer_free(&workers[i].exporter.row);
        kf_buffer_free(&workers[i].exporter.shaped);
        for (size_t k = 0; k < 3; k++) kf_buffer_free(&workers[i].exporter.kept[k].json);
        kf_buffer_free(&workers[i].exporter.last_tools.text);
        kf_export_tools_free(&workers[i].exporter.last_tools.tools);
        if (!kf_export_tools_add(&e->tools, &workers[i].exporter.tools) && ok)
            ok = kf_fail_memory(error, "an export");
        kf_export_tools_free(&workers[i].exporter.tools);
        add_report(e->report, &workers[i].report);
    }
    for (size_t i = 0; i < AHEAD; i++) kf_buffer_free(&p->slots[i].rows);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    return ok;
}
