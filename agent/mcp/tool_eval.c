/* kforge_eval, kforge_result and kforge_submit: jobs and their brief verdicts. */
#include <string.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/scan.h"
#include "mcp_tools.h"
#include "verdict_brief.h"

/* between two looks at a cancellation */
#define LOOK_SECONDS 0.1

/* ---- answers --------------------------------------------------------------------------------- */

/* Finds the judged candidate in the store: itself, or the one with the same machine code that was
 * judged before. Returns its number, 0 if the store has none. */
static int64_t find_candidate(kf_store *store, const kf_judgement *judgement)
{
    kf_autoresult kf_store_candidate candidate = {0};
    const char *code = judgement->verdict->code_hash;
    bool found = false;
    if (!store) return 0;
    if (kf_store_find_candidate(store, judgement->task, judgement->candidate, NULL, &candidate,
                                &found, NULL) &&
        found)
        return candidate.id;
    if (code && *code &&
        kf_store_find_code(store, judgement->task, code, NULL, &candidate, &found, NULL) && found)
        return candidate.id;
    return 0;
}

/* Returns the brief verdict of a job without one: the machine or all workers failed. */
static cJSON *brief_loss(const kf_judgement *judgement)
{
    cJSON *brief = cJSON_CreateObject();
    cJSON_AddStringToObject(brief, "status", kf_judgement_status(judgement));
    cJSON_AddBoolToObject(brief, "ok", false);
    cJSON_AddNullToObject(brief, "speedup");
    cJSON_AddStringToObject(brief, "summary", judgement->summary ? judgement->summary : "");
    cJSON_AddArrayToObject(brief, "errors");
    cJSON_AddStringToObject(brief, "next", judgement->next ? judgement->next : "");
    cJSON_AddNullToObject(brief, "candidate");
    return brief;
}

/* Returns the step for a client of the tools where the verdict's own step names an option or a
 * command of kforge. NULL if it names none. */
static const char *step_with_tools(const kf_verdict *verdict, kf_judge_mode mode, const char *step)
{
    switch (kf_verdict_next_action(verdict)) {
    case KF_NEXT_TIME: return "Time it with mode time: its results are right.";
    case KF_NEXT_LONGER:
        return mode == KF_MODE_VERIFY
                   ? "Measure it again with kforge_submit: the figure is too uncertain."
                   : "Measure it again with mode verify: the figure is too uncertain.";
    default: break;
    }
    if (!strstr(step, "--") && !strstr(step, "`kforge task")) return NULL;
    if (verdict->blame != KF_BLAME_CANDIDATE) return "Judge the same source again later.";
    if (verdict->status == KF_TIMEOUT) return "Make it faster, or look for an endless loop.";
    if (verdict->status == KF_COMPILE_ERROR)
        return "Define the entry exactly as the prototype that kforge_task shows.";
    return "Check the bounds of every access.";
}

static cJSON *brief(kf_mcp_call *call, const kf_judgement *judgement, kf_error *error)
{
    if (!judgement->verdict)
        return judgement->no_source ? kf_brief_no_source(judgement->summary)
                                    : brief_loss(judgement);
    kf_auto(kf_store) store = kf_mcp_store(call->server, KF_STORE_READ, NULL);
    kf_auto(kf_task) task = store ? kf_mcp_stored_task(store, judgement->task, NULL) : NULL;
    if (!task) task = kf_service_task(call->server->jobs, judgement->task, NULL);
    kf_auto(kf_verdict) shown = kf_verdict_shown(judgement->verdict, task);
    cJSON *answer = shown ? kf_verdict_brief(shown, NULL) : NULL;
    if (!answer) {
        kf_fail_memory(error, "a verdict");
        return NULL;
    }
    const char *step = step_with_tools(shown, judgement->mode,
                                       cJSON_GetStringValue(cJSON_GetObjectItem(answer, "next")));
    if (step) cJSON_SetValuestring(cJSON_GetObjectItem(answer, "next"), step);
    int64_t id = find_candidate(store, judgement);
    cJSON_DeleteItemFromObject(answer, "candidate");
    if (id)
        kf_mcp_add_candidate(answer, "candidate", id);
    else
        cJSON_AddNullToObject(answer, "candidate");
    return answer;
}

static cJSON *pending(kf_ticket *ticket)
{
    cJSON *answer = cJSON_CreateObject();
    cJSON_AddStringToObject(answer, "job", kf_ticket_id(ticket));
    cJSON_AddStringToObject(answer, "state", kf_ticket_state_name(kf_ticket_state_now(ticket)));
    cJSON_AddStringToObject(answer, "next", "Call kforge_result with this job.");
    return answer;
}

cJSON *kf_mcp_await(kf_mcp_call *call, kf_ticket *ticket, double seconds, bool cancels,
                    kf_error *error)
{
    double begin = kf_now();
    kf_ticket_state state = kf_ticket_wait(ticket, 0);
    while (state == KF_TICKET_QUEUED || state == KF_TICKET_RUNNING) {
        double now = kf_now(), left = begin + seconds - now;
        if (kf_mcp_is_cancelled(call)) {
            if (cancels) kf_ticket_cancel(ticket);
            kf_fail(error, KF_ERROR_BUSY, "cancelled");
            return NULL;
        }
        if (left <= 0) return pending(ticket);
        kf_mcp_progress(call, now - begin, 0,
                        state == KF_TICKET_QUEUED ? "waiting for a worker" : "judging");
        state = kf_ticket_wait(ticket, left < LOOK_SECONDS ? left : LOOK_SECONDS);
    }
    if (state == KF_TICKET_DONE) return brief(call, kf_ticket_judgement(ticket), error);
    kf_fail(error, KF_ERROR_LIMIT, "the job was %s; call kforge_eval again",
            kf_ticket_state_name(state));
    return NULL;
}

cJSON *kf_mcp_judge(kf_mcp_call *call, const kf_submission *submission, double seconds,
                    kf_error *error)
{
    kf_refusal refusal;
    kf_auto(kf_ticket) ticket = kf_service_submit(call->server->jobs, submission, &refusal, error);
    if (!ticket) {
        if (refusal == KF_REFUSED_FULL) kf_fail_prefix(error, "try again in some seconds");
        return NULL;
    }
    return kf_mcp_await(call, ticket, seconds, true, error);
}

/* ---- kforge_eval ----------------------------------------------------------------------------- */

static bool is_python(const kf_task *task, const char *path, const char *source)
{
    return path ? kf_file_is_python(path) : kf_task_is_solution(task, source);
}

/* Reads the source of the argument "file" or "source"; the caller frees. */
static char *read_source(const kf_mcp_call *call, const cJSON *arguments, size_t *size,
                         kf_error *error)
{
    const char *file = kf_json_get_text(arguments, "file", NULL),
               *source = kf_json_get_text(arguments, "source", NULL);
    if (!file == !source) {
        kf_fail(error, KF_ERROR_INPUT, "give either file or source");
        return NULL;
    }
    if (file) return kf_served_read(&call->server->served, file, size, error);
    *size = strlen(source);
    if (*size > KF_SERVED_BYTES) {
        kf_fail(error, KF_ERROR_LIMIT, "source: has %zu bytes; the limit is %u", *size,
                KF_SERVED_BYTES);
        return NULL;
    }
    char *copy = strdup(source);
    if (!copy) kf_fail_memory(error, "the source");
    return copy;
}

cJSON *kf_tool_eval(kf_mcp_call *call, const cJSON *arguments, kf_error *error)
{
    size_t size;
    kf_autofree char *source = read_source(call, arguments, &size, error);
    kf_auto(kf_task) task =
        source ? kf_mcp_task(call->server, kf_json_get_text(arguments, "task", ""), error) : NULL;
    if (!task) return NULL;
    const char *flags[KF_JOB_FLAGS];
    kf_submission submission = {.loaded = task,
                                .source = source,
                                .source_size = size,
                                .flags = flags,
                                .mode = KF_MODE_TIME,
                                .kept = true,
                                .proposer = "mcp"};
    const cJSON *flag;
    cJSON_ArrayForEach(flag, cJSON_GetObjectItemCaseSensitive(arguments, "flags"))
    {
        if (submission.flag_count == KF_JOB_FLAGS) {
            kf_fail(error, KF_ERROR_INPUT, "flags: more than %d", KF_JOB_FLAGS);
            return NULL;
        }
        flags[submission.flag_count++] = flag->valuestring;
    }
    kf_judge_mode_parse(kf_json_get_text(arguments, "mode", "time"), &submission.mode);
    submission.python = is_python(task, kf_json_get_text(arguments, "file", NULL), source);
    return kf_mcp_judge(call, &submission, kf_json_get_number(arguments, "wait_s", KF_MCP_WAIT),
                        error);
}

/* ---- kforge_result --------------------------------------------------------------------------- */

cJSON *kf_tool_result(kf_mcp_call *call, const cJSON *arguments, kf_error *error)
{
    const char *id = kf_json_get_text(arguments, "job", "");
    kf_auto(kf_ticket) ticket = kf_service_find(call->server->jobs, id);
    if (!ticket) {
        kf_fail(error, KF_ERROR_INPUT, "%.40s: no such job; call kforge_eval again", id);
        return NULL;
    }
    return kf_mcp_await(call, ticket, kf_json_get_number(arguments, "wait_s", KF_MCP_WAIT), false,
                        error);
}

/* ---- kforge_submit --------------------------------------------------------------------------- */

/* Reads the flags of a candidate from the store's JSON, which has to outlive them. */
static size_t read_flags(const cJSON *json, const char *flags[KF_JOB_FLAGS])
{
    size_t count = 0;
    const cJSON *flag;
    cJSON_ArrayForEach(flag, json)
    {
        if (cJSON_IsString(flag) && count < KF_JOB_FLAGS) flags[count++] = flag->valuestring;
    }
    return count;
}

static bool keep_note(kf_mcp_call *call, const kf_store_candidate *candidate, const char *text,
                      kf_error *error)
{
    kf_auto(kf_store) store = kf_mcp_store(call->server, KF_STORE_WRITE, error);
    return store && kf_store_put_note(store,
                                      &(kf_store_note_new){.task = candidate->task,
                                                           .kind = "agent",
                                                           .text = text,
                                                           .effect = candidate->speedup.value,
                                                           .candidate = candidate->id},
                                      error);
}

cJSON *kf_tool_submit(kf_mcp_call *call, const cJSON *arguments, kf_error *error)
{
    const char *note = kf_json_get_text(arguments, "note", NULL), *flags[KF_JOB_FLAGS];
    kf_autoresult kf_store_candidate candidate = {0};
    kf_auto(kf_store) store = kf_mcp_store(call->server, KF_STORE_READ, error);
    if (!store ||
        !kf_mcp_candidate(store, kf_json_get_text(arguments, "candidate", ""), &candidate, error))
        return NULL;
    size_t size;
    kf_auto(kf_task) task = kf_mcp_stored_task(store, candidate.task, error);
    kf_autofree char *source = task ? kf_store_source(store, candidate.id, &size, error) : NULL;
    if (!source || (note && !keep_note(call, &candidate, note, error))) return NULL;
    kf_auto(cJSON) list = cJSON_Parse(candidate.flags);
    kf_submission submission = {.loaded = task,
                                .source = source,
                                .source_size = size,
                                .flags = flags,
                                .flag_count = read_flags(list, flags),
                                .mode = KF_MODE_VERIFY,
                                .python = is_python(task, NULL, source),
                                .fresh = true,
                                .kept = true,
                                .proposer = "mcp"};
    return kf_mcp_judge(call, &submission, KF_MCP_WAIT, error);
}
