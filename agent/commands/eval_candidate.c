#include "eval_candidate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "extract.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/scan.h"
#include "output.h"

static const char stdin_name[] = "the standard input";

/* Reads the standard input to its end. */
static char *read_stdin(size_t limit, size_t *size, kf_error *error)
{
    kf_autobuffer text = {0};
    char part[65536];
    for (ssize_t got; (got = read(STDIN_FILENO, part, sizeof part)) != 0;) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            kf_fail(error, KF_ERROR_IO, "%s: %s", stdin_name, strerror(errno));
            return NULL;
        }
        if (text.size + (size_t)got > limit) {
            kf_fail(error, KF_ERROR_LIMIT, "%s: more than the limit of %zu bytes", stdin_name,
                    limit);
            return NULL;
        }
        kf_buffer_append(&text, part, (size_t)got);
    }
    *size = text.size;
    char *taken = kf_buffer_take(&text);
    if (!taken) kf_fail_memory(error, stdin_name);
    return taken;
}

static char *read_text(const char *path, size_t limit, size_t *size, kf_error *error)
{
    return strcmp(path, "-") == 0 ? read_stdin(limit, size, error)
                                  : kf_file_read(path, limit, size, error);
}

/* True for "c12" if there is no file of that name. */
static bool is_stored(const char *word, int64_t *number)
{
    struct stat status;
    return kf_candidate_parse(word, number) && stat(word, &status) != 0;
}

/* Takes the flags of a stored candidate. */
static bool take_flags(kf_eval_candidate *candidate, const char *json, kf_error *error)
{
    kf_auto(cJSON) flags = kf_json_parse(json, strlen(json), KF_JOB_BYTES, "flags", error);
    const cJSON *flag;
    if (!flags) return false;
    cJSON_ArrayForEach(flag, flags)
    {
        if (!cJSON_IsString(flag) || candidate->flag_count == KF_JOB_FLAGS) continue;
        char *copy = strdup(flag->valuestring);
        if (!copy) return kf_fail_memory(error, "the candidates");
        candidate->flags[candidate->flag_count++] = copy;
    }
    return true;
}

static bool read_stored(int64_t number, const char *path, kf_eval_candidate *candidate,
                        kf_error *error)
{
    kf_auto(kf_store) store = NULL;
    kf_autoresult kf_store_candidate row = {0};
    if (!kf_open_to_read(path, &store, error)) return false;
    if (!store)
        return kf_fail(error, KF_ERROR_INPUT, "%s: no such file, and there is no store yet",
                       candidate->name);
    if (!kf_store_get_candidate(store, number, NULL, &row, error)) return false;
    candidate->source = kf_store_source(store, number, &candidate->size, error);
    candidate->python =
        candidate->source && kf_judged_as_python(row.device, candidate->source, candidate->size);
    return candidate->source &&
           (!row.flags || !row.flags[0] || take_flags(candidate, row.flags, error));
}

bool kf_eval_candidate_read(const char *word, bool torch, const char *store,
                            kf_eval_candidate *candidate, kf_error *error)
{
    int64_t number;
    bool standard = strcmp(word, "-") == 0;
    *candidate = (kf_eval_candidate){.name = standard ? stdin_name : word};
    if (is_stored(word, &number)) {
        if (!read_stored(number, store, candidate, error)) return false;
        candidate->python = torch && candidate->python;
        return true;
    }
    candidate->source = read_text(word, KF_SOURCE_BYTES, &candidate->size, error);
    if (!candidate->source ||
        !kf_source_check(candidate->source, candidate->size, candidate->name, error))
        return false;
    candidate->is_file = !standard;
    candidate->python = standard ? torch && kf_source_is_python(candidate->source, candidate->size)
                                 : kf_file_is_python(word);
    return true;
}

bool kf_eval_candidate_from_reply(const char *path, const kf_task *task,
                                  kf_eval_candidate *candidate, bool *no_source, kf_error *error)
{
    size_t size;
    *no_source = false;
    *candidate = (kf_eval_candidate){.name = strcmp(path, "-") == 0 ? stdin_name : path};
    kf_autofree char *reply = read_text(path, KF_REPLY_BYTES, &size, error);
    if (!reply) return false;
    candidate->source = kf_extract_candidate(reply, size, kf_task_entry(task),
                                             kf_task_is_torch(task), &candidate->python, error);
    if (candidate->source) candidate->size = strlen(candidate->source);
    bool usable = candidate->source &&
                  kf_source_check(candidate->source, candidate->size, "the reply's source", error);
    *no_source = !usable && error->code != KF_ERROR_MEMORY;
    return usable;
}

void kf_eval_candidate_free(kf_eval_candidate *candidate)
{
    free(candidate->source);
    for (size_t i = 0; i < candidate->flag_count; i++) free(candidate->flags[i]);
    *candidate = (kf_eval_candidate){0};
}
