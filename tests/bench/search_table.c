/* The table of measured variants, and a worker that answers from it. */
#include "search_table.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kforge/file.h"
#include "kforge/hash.h"
#include "kforge/json.h"
#include "worker.h"

#define TABLE_BYTES (64u << 20)

char *table_path(void)
{
    return kf_path_join(KFORGE_SOURCE_DIR, "tests/bench/search_space/measured.jsonl");
}

static void copy(char *to, size_t size, const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    snprintf(to, size, "%s", cJSON_IsString(item) ? item->valuestring : "");
}

static bool read_row(table *t, const cJSON *json)
{
    char task[64], word[64];
    measured row = {0};
    copy(task, sizeof task, json, "task");
    if (strcmp(task, t->task) != 0) return true;
    copy(row.key, sizeof row.key, json, "variant");
    copy(row.code, sizeof row.code, json, "code");
    copy(row.message, sizeof row.message, json, "message");
    copy(word, sizeof word, json, "status");
    if (!kf_status_parse(word, &row.status)) return false;
    copy(word, sizeof word, json, "blame");
    if (!kf_blame_parse(word, &row.blame)) return false;
    row.speedup =
        (kf_interval){kf_json_get_number(json, "speedup", NAN),
                      kf_json_get_number(json, "low", NAN), kf_json_get_number(json, "high", NAN)};
    row.baseline_seconds = kf_json_get_number(json, "baseline_seconds", 0);
    row.candidate_seconds = kf_json_get_number(json, "candidate_seconds", 0);
    row.floor_seconds = kf_json_get_number(json, "floor_seconds", 0);
    measured *grown = realloc(t->rows, (t->count + 1) * sizeof *grown);
    if (!grown) return false;
    t->rows = grown;
    t->rows[t->count++] = row;
    return true;
}

bool table_read(table *t, const char *task, kf_error *error)
{
    *t = (table){0};
    snprintf(t->task, sizeof t->task, "%s", task);
    kf_autofree char *path = table_path();
    if (!path) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    if (access(path, F_OK) != 0) return true;
    kf_autofree char *text = kf_file_read(path, TABLE_BYTES, NULL, error);
    if (!text) return false;
    for (char *line = text, *end; *line; line = end) {
        size_t size = strcspn(line, "\n");
        end = line + size + (line[size] == '\n');
        kf_auto(cJSON) json = kf_json_parse(line, size, 0, path, error);
        if (!json) return false;
        if (!read_row(t, json))
            return kf_fail(error, KF_ERROR_INPUT, "%s: a line is no measurement: %.80s", path,
                           line);
    }
    return true;
}

void table_free(table *t)
{
    free(t->rows);
    *t = (table){0};
}

const measured *table_find(const table *t, const char *key)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->rows[i].key, key) == 0) return &t->rows[i];
    return NULL;
}

bool table_append(const char *task, const measured *row, kf_error *error)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "task", task);
    cJSON_AddStringToObject(json, "variant", row->key);
    cJSON_AddStringToObject(json, "status", kf_status_name(row->status));
    cJSON_AddStringToObject(json, "blame", kf_blame_name(row->blame));
    kf_json_add_number(json, "speedup", row->speedup.value);
    kf_json_add_number(json, "low", row->speedup.low);
    kf_json_add_number(json, "high", row->speedup.high);
    kf_json_add_number(json, "baseline_seconds", row->baseline_seconds);
    kf_json_add_number(json, "candidate_seconds", row->candidate_seconds);
    kf_json_add_number(json, "floor_seconds", row->floor_seconds);
    cJSON_AddStringToObject(json, "code", row->code);
    cJSON_AddStringToObject(json, "message", row->message);
    kf_autofree char *text = cJSON_PrintUnformatted(json), *path = table_path();
    kf_autobuffer line = {0};
    if (text) kf_buffer_format(&line, "%s\n", text);
    if (!text || !path || line.failed) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    kf_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    return (fd >= 0 && kf_write_all(fd, line.data, line.size)) ||
           kf_fail(error, KF_ERROR_IO, "%s: can't be written", path);
}

/* ---- a worker that answers from the table ---------------------------------------------------- */

struct kf_judge {
    space space;
    table table;
    bool instant;
    measured row; /* of the last candidate, when instant */
};

const char *kf_judge_device(const kf_judge *judge)
{
    (void)judge;
    return "cpu";
}

const char *kf_judge_hardware(const kf_judge *judge)
{
    (void)judge;
    return "cpu, verdicts from a table";
}

const char *kf_judge_environment_id(const kf_judge *judge)
{
    (void)judge;
    return "cpu, verdicts from a table";
}

void kf_judge_watch(kf_judge *judge, void (*step)(void *context, const char *words), void *context)
{
    (void)judge;
    (void)step;
    (void)context;
}

cJSON *kf_judge_describe(const kf_judge *judge)
{
    (void)judge;
    return cJSON_CreateObject();
}

/* The row of a job. A mistake makes the status, not the time, so it is measured in the plainest
 * variant alone. */
static const measured *row_of(const kf_judge *judge, const kf_job *job, char *key, size_t size)
{
    variant v;
    bool baseline = !space_parse(&judge->space, job->source, &v);
    snprintf(key, size, "%s", "baseline");
    if (baseline) return table_find(&judge->table, key);
    for (size_t i = 0; i < job->flag_count; i++) space_flag(&judge->space, &v, job->flags[i]);
    space_key(&judge->space, &v, key, size);
    if (v.bug) {
        enum bug bug = v.bug;
        v = space_naive(&judge->space);
        v.bug = bug;
        space_key(&judge->space, &v, key, size);
    }
    return table_find(&judge->table, key);
}

static void set_hash(char **field, const void *data, size_t size)
{
    char hex[KF_HASH_HEX];
    kf_hash hash = kf_hash_bytes(data, size);
    kf_hash_hex(&hash, hex);
    kf_verdict_set_text(field, hex);
}

static const measured *instant_row(kf_judge *judge, const kf_job *job)
{
    kf_hash hash = kf_hash_bytes(job->source, job->source_size);
    double speedup = 0.5 + hash.bytes[0] / 128.0;
    judge->row = (measured){.status = KF_CORRECT,
                            .speedup = {speedup, 0.99 * speedup, 1.01 * speedup},
                            .baseline_seconds = 1e-3,
                            .candidate_seconds = 1e-3 / speedup};
    kf_hash_hex(&hash, judge->row.code);
    return &judge->row;
}

static bool fill(kf_verdict *verdict, const kf_job *job, const measured *row)
{
    set_hash(&verdict->source_hash, job->source, job->source_size);
    kf_verdict_set_text(&verdict->task_hash, kf_task_hash(job->task));
    if (row->status == KF_CORRECT) kf_verdict_set_text(&verdict->code_hash, row->code);
    kf_workload_verdict *workload = kf_verdict_add_workload(verdict, "main", true);
    if (!workload) return false;
    if (row->status != KF_CORRECT) {
        bool compile = row->status == KF_COMPILE_ERROR;
        if (compile) {
            verdict->build = cJSON_CreateObject();
            cJSON_AddStringToObject(verdict->build, "log", row->message);
        }
        return kf_verdict_add_finding(verdict, compile ? NULL : workload, row->status, row->blame,
                                      "table", NAN, NAN, "%s", row->message);
    }
    workload->status = KF_CORRECT;
    workload->speedup = row->speedup;
    workload->baseline_seconds = row->baseline_seconds;
    workload->candidate_seconds = row->candidate_seconds;
    workload->floor_seconds = row->floor_seconds;
    verdict->reverified = job->options.verify;
    return kf_workload_add_sample(workload, &(kf_sample){.side = 'b',
                                                         .calls = 1,
                                                         .seconds = row->baseline_seconds,
                                                         .claimed = NAN,
                                                         .clock_mhz = NAN});
}

kf_verdict *kf_judge_run(kf_judge *judge, const kf_job *job, const volatile int *stopped,
                         kf_error *error)
{
    char key[256];
    (void)stopped;
    const measured *row =
        judge->instant ? instant_row(judge, job) : row_of(judge, job, key, sizeof key);
    if (!row) {
        kf_fail(error, KF_ERROR_INPUT,
                "%s: variant \"%s\" was not measured; run bench_search --measure",
                judge->table.task, key);
        return NULL;
    }
    kf_auto(kf_verdict) verdict = kf_verdict_new(job->id, kf_task_name(job->task), "cpu:0");
    if (!verdict || !fill(verdict, job, row)) {
        kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    kf_verdict_conclude(verdict);
    return kf_steal(&verdict);
}

int serve_instant(void)
{
    struct kf_judge judge = {.instant = true};
    kf_error error = {0};
    static volatile int never;
    if (!kf_worker_serve(&judge, 0, 1, &never, &error))
        return fprintf(stderr, "bench_search: %s\n", error.text), 3;
    return 0;
}

int serve_table(const char *task)
{
    struct kf_judge judge = {0};
    kf_error error = {0};
    static volatile int never;
    bool served = space_read(&judge.space, task, &error) &&
                  table_read(&judge.table, task, &error) &&
                  kf_worker_serve(&judge, 0, 1, &never, &error);
    if (!served) fprintf(stderr, "bench_search: %s\n", error.text);
    space_free(&judge.space);
    table_free(&judge.table);
    return served ? 0 : 3;
}
