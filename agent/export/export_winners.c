#include "export_winners.h"

#include <string.h>

#include "export_names.h"
#include "extract.h"
#include "kforge/list.h"
#include "modelnew_internal.h"
#include "output.h"

/* best candidates of a task that are read */
#define ROWS 10000

/* ---- tasks ----------------------------------------------------------------------------------- */

void kf_selected_tasks_free(kf_selected_tasks *tasks)
{
    free(tasks->hashes);
    *tasks = (kf_selected_tasks){0};
}

static bool is_held_out(const kf_selection *s, const kf_task *task)
{
    return kf_export_listed(s->held_out, s->held_out_count, kf_task_name(task), kf_task_hash(task),
                            kf_export_family(task)) ||
           (kf_task_held_out(task) && !s->include_held_out);
}

bool kf_selection_goes_on(const kf_selection *s, kf_error *error)
{
    return !s->interrupts || !*s->interrupts || kf_fail(error, KF_ERROR_IO, "interrupted");
}

static bool add(kf_store *store, const kf_selection *s, const char *hash, bool named,
                kf_selected_tasks *tasks, kf_error *error)
{
    kf_auto(kf_task) task =
        kf_selection_goes_on(s, error) ? kf_stored_task(store, hash, error) : NULL;
    if (!task) return false;
    if (is_held_out(s, task)) {
        tasks->held_out++;
        return !named ||
               kf_fail(error, KF_ERROR_INPUT, "task %s is held out%s", kf_task_name(task),
                       kf_task_held_out(task) ? " by its task.json; --include-held-out includes it"
                                              : " by --held-out, so nothing is left to export");
    }
    if (!kf_list_grow(&tasks->hashes, tasks->count))
        return kf_fail_memory(error, "the list of tasks");
    snprintf(tasks->hashes[tasks->count++], KF_HASH_HEX, "%s", hash);
    return true;
}

bool kf_select_tasks(kf_store *store, const kf_selection *s, kf_selected_tasks *tasks,
                     kf_error *error)
{
    kf_autoresult kf_store_task task = {0};
    kf_autoresult kf_store_run run = {0};
    if (s->task && !kf_store_find_task(store, s->task, &task, error)) return false;
    if (s->run) {
        if (!kf_store_find_run(store, s->run, &run, error)) return false;
        if (s->task && strcmp(run.task, task.hash) != 0)
            return kf_fail(error, KF_ERROR_INPUT, "run %s is on task %s, not on %s", run.id,
                           run.task_name, task.name);
        snprintf(tasks->run, sizeof tasks->run, "%s", run.id);
        return add(store, s, run.task, true, tasks, error);
    }
    if (s->task) return add(store, s, task.hash, true, tasks, error);
    kf_auto(kf_store_cursor) cursor = kf_store_tasks(store, error);
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_store_next_task(cursor, &task, error)) == 1)
        if (!add(store, s, task.hash, false, tasks, error)) return false;
    return row == 0;
}

/* ---- candidates ------------------------------------------------------------------------------ */

void kf_winner_free(kf_winner *winner)
{
    free(winner->source);
    free(winner->flags);
    free(winner->device);
    *winner = (kf_winner){0};
}

/* Returns 1 if taken, 0 if not wanted, -1 on an error. */
static int take(kf_store *store, const kf_store_candidate *candidate, const kf_winner_query *query,
                const kf_scrubber *scrubber, kf_winner *winner, kf_error *error)
{
    size_t size;
    kf_scrub_count count = {0};
    kf_autofree char *source = kf_store_source(store, candidate->id, &size, error);
    if (!source) return -1;
    if (query->cuda_only && kf_judged_as_python(candidate->device, source, size)) return 0;
    *winner = (kf_winner){.verdict = candidate->verdict,
                          .speedup = candidate->speedup,
                          .status = candidate->status,
                          .reverified = candidate->reverified,
                          .on_cpu = strncmp(candidate->device, "cpu", 3) == 0};
    memcpy(winner->hash, candidate->hash, sizeof winner->hash);
    winner->source = kf_scrub_text(scrubber, source, size, false, &count, error);
    winner->flags = winner->source ? kf_scrub_text(scrubber, candidate->flags,
                                                   strlen(candidate->flags), false, &count, error)
                                   : NULL;
    winner->device = strdup(candidate->device);
    if (!winner->flags || !winner->device) {
        kf_winner_free(winner);
        kf_fail_memory(error, "the list of kernels");
        return -1;
    }
    winner->size = strlen(winner->source);
    winner->as_judged =
        strcmp(winner->source, source) == 0 && strcmp(winner->flags, candidate->flags) == 0;
    return 1;
}

/* Reads the best candidates on one device. */
static bool choose(kf_store *store, const kf_winner_query *query, const char *device,
                   bool reverified, const kf_scrubber *scrubber, kf_winner *winners, size_t *count,
                   kf_error *error)
{
    const char *run = *query->tasks->run ? query->tasks->run : NULL;
    kf_store_scope scope = {
        .run = run, .task = query->task, .device = device, .island = -1, .reverified = reverified};
    kf_auto(kf_store_cursor) cursor = kf_store_best(store, &scope, ROWS, error);
    kf_autoresult kf_store_candidate candidate = {0};
    int row = cursor ? 1 : -1;
    while (row == 1 && *count < query->most &&
           (row = kf_store_next_candidate(cursor, &candidate, error)) == 1) {
        if (!kf_selection_goes_on(query->selection, error)) return false;
        if (query->faster && !(candidate.speedup.low > 1)) continue;
        int taken = take(store, &candidate, query, scrubber, &winners[*count], error);
        if (taken < 0) return false;
        *count += (size_t)taken;
    }
    return row >= 0;
}

static void drop(kf_winner *winners, size_t count)
{
    for (size_t i = 0; i < count; i++) kf_winner_free(&winners[i]);
}

/* Finds the device of one kind with the largest speedup of its best candidate. */
static bool choose_device(kf_store *store, const kf_winner_query *query, bool on_cpu,
                          bool reverified, const kf_scrubber *scrubber, kf_winner *winners,
                          size_t *count, kf_error *error)
{
    kf_auto(kf_store_cursor) devices = kf_store_devices(store, error);
    const char *device;
    int row = devices ? 1 : -1;
    while (row == 1 && (row = kf_store_next_device(devices, &device, error)) == 1) {
        size_t here = 0;
        if ((strncmp(device, "cpu", 3) == 0) != on_cpu) continue;
        kf_autofree kf_winner *found = calloc(query->most, sizeof *found);
        if (!found) return kf_fail_memory(error, "the list of kernels");
        bool good = choose(store, query, device, reverified, scrubber, found, &here, error);
        if (good && here && (!*count || found[0].speedup.value > winners[0].speedup.value)) {
            drop(winners, *count);
            memcpy(winners, found, here * sizeof *found);
            *count = here;
        } else
            drop(found, here);
        if (!good) return false;
    }
    return row >= 0;
}

bool kf_winners_choose(kf_store *store, const kf_winner_query *query, const kf_scrubber *scrubber,
                       kf_winner *winners, size_t *count, kf_error *error)
{
    *count = 0;
    for (int on_cpu = 0; on_cpu < 2 && !*count; on_cpu++)
        for (int again = 1; again >= query->reverified && !*count; again--)
            if (!choose_device(store, query, on_cpu, again, scrubber, winners, count, error))
                return false;
    return true;
}

bool kf_winner_best(kf_store *store, const kf_selection *selection, const kf_selected_tasks *tasks,
                    const char *task, const kf_scrubber *scrubber, kf_winner *winner, bool *found,
                    kf_error *error)
{
    const kf_winner_query query = {.selection = selection,
                                   .tasks = tasks,
                                   .task = task,
                                   .faster = selection->faster,
                                   .most = 1};
    size_t count;
    *winner = (kf_winner){0};
    bool good = kf_winners_choose(store, &query, scrubber, winner, &count, error);
    *found = good && count;
    return good;
}

/* ---- files ----------------------------------------------------------------------------------- */

bool kf_winner_put(kf_winner_files *files, const char *name, const char *text, size_t size,
                   kf_error *error)
{
    kf_autofree char *clean =
        kf_scrub_text(files->scrubber, text, size, false, &files->scrubbed, error);
    if (!clean || !kf_atomic_output_write(files->output, name, clean, strlen(clean), error))
        return false;
    files->count++;
    return kf_selection_goes_on(files->selection, error);
}
