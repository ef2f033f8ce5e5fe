/* What an agent learns of a verdict: as much as a prompt would say of it. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "search_internal.h"

/* most compile errors, and bytes of one */
#define ERRORS 5
#define ERROR_BYTES 160
/* most bytes of a summary */
#define SUMMARY_BYTES 200
/* most bytes of a build log */
#define LOG_BYTES 4000

/* ---- compile errors -------------------------------------------------------------------------- */

/* Finds the last number before `at` with `open` before it: 12 in "candidate.cu:12:5: " or
 * "candidate.cu(12): ". */
static long number_after(const char *line, const char *end, char open, const char **rest)
{
    for (const char *at = line; at + 1 < end; at++) {
        if (*at != open || !isdigit((unsigned char)at[1])) continue;
        char *after;
        long number = strtol(at + 1, &after, 10);
        *rest = after;
        return number;
    }
    return 0;
}

/* Adds an error of the compiler. `line` ends at `end`; `word` is its "error". */
static void add_error(cJSON *list, const char *line, const char *word, const char *end)
{
    const char *rest = NULL;
    long column = 0, number = number_after(line, word, ':', &rest);
    if (number && *rest == ':' && isdigit((unsigned char)rest[1]))
        column = strtol(rest + 1, NULL, 10);
    if (!number) number = number_after(line, word, '(', &rest);
    const char *text = memchr(word, ':', (size_t)(end - word));
    text = text ? text + 1 : word;
    while (text < end && *text == ' ') text++;
    size_t size = (size_t)(end - text) < ERROR_BYTES ? (size_t)(end - text) : ERROR_BYTES;
    kf_autofree char *clean = kf_text_clean(text, size, true);
    cJSON *entry = cJSON_CreateObject();
    if (number) cJSON_AddNumberToObject(entry, "line", (double)number);
    if (column) cJSON_AddNumberToObject(entry, "col", (double)column);
    cJSON_AddStringToObject(entry, "text", clean ? clean : "");
    cJSON_AddItemToArray(list, entry);
}

static void add_errors(cJSON *list, const char *log)
{
    for (const char *line = log; *line && cJSON_GetArraySize(list) < ERRORS;) {
        const char *end = line + strcspn(line, "\n");
        const char *word = memmem(line, (size_t)(end - line), "error", 5);
        if (word && memchr(word, ':', (size_t)(end - word))) add_error(list, line, word, end);
        line = *end ? end + 1 : end;
    }
}

/* ---- the answer ------------------------------------------------------------------------------ */

static const char *log_of(const kf_verdict *verdict)
{
    const cJSON *log = cJSON_GetObjectItemCaseSensitive(verdict->build, "log");
    return cJSON_IsString(log) ? log->valuestring : "";
}

/* Copies one line that says how it went. `failure` begins with the status and a line feed. */
static void word_summary(const kf_verdict *verdict, bool timed, const char *failure, char *text,
                         size_t size)
{
    const kf_interval *speedup = &verdict->speedup;
    if (timed) {
        snprintf(text, size,
                 "correct, %.3f times as fast as the baseline (95 %% interval %.3f to %.3f)",
                 speedup->value, speedup->low, speedup->high);
        return;
    }
    if (verdict->status == KF_CORRECT) {
        snprintf(text, size, "correct; not timed");
        return;
    }
    const char *first = strchr(failure, '\n');
    first = first ? first + 1 + strspn(first + 1, "- ") : "";
    size_t name = strlen(kf_status_name(verdict->status));
    if (strncmp(first, kf_status_name(verdict->status), name) == 0 && first[name] == ':')
        first += name + 1 + strspn(first + name + 1, " ");
    snprintf(text, size, "%s%s%.*s", kf_status_name(verdict->status), *first ? ": " : "",
             (int)strcspn(first, "\n"), first);
}

/* Rounds to the digits that mean something. */
static double short_of(double value)
{
    return round(value * 1e4) / 1e4;
}

static const char *next_step(const kf_verdict *verdict, kf_llm_wish wish, bool timed)
{
    if (verdict->blame == KF_BLAME_MACHINE || verdict->blame == KF_BLAME_JUDGE)
        return "judge it again; the candidate is not at fault";
    switch (verdict->status) {
    case KF_CORRECT:
        return wish == KF_LLM_WISH_CHECK ? "kforge eval measures it"
               : !timed                  ? "the machine was too busy to time it; judge it again"
               : !(verdict->speedup.value > 1) ? "it is not faster than the baseline; change what "
                                                 "limits it, or go back to the best source"
                                               : "keep a copy; then change what limits it";
    case KF_COMPILE_ERROR: return "mend the first error; kforge check is the fastest test";
    case KF_WRONG_RESULT: return "mend the output; kforge check is the fastest test";
    case KF_TIMEOUT: return "look for a loop that does not end or far too much work";
    case KF_CHEATING:
    case KF_IMPOSSIBLE: return "compute every output from the inputs in every call";
    default: return "mend the fault; kforge check is the fastest test";
    }
}

char *kf_answer_json(const kf_search *s, kf_llm_wish wish, const kf_verdict *verdict,
                     const char *hash)
{
    static const char *const names[] = {"eval", "check", "profile", "submit"};
    kf_autobuffer figures = {0}, failure = {0}, text = {0};
    char line[SUMMARY_BYTES + 1], digits[16];
    bool correct = verdict->status == KF_CORRECT,
         timed = correct && wish != KF_LLM_WISH_CHECK && verdict->speedup.value > 0;
    kf_search_words(s, verdict, &figures, &failure);
    word_summary(verdict, timed, failure.data ? failure.data : "", line, sizeof line);
    /* A cut may have parted a character. */
    kf_autofree char *summary = kf_text_clean(line, strlen(line), true);
    if (!summary) return NULL;
    kf_buffer_format(&text, "%s\n%s", summary, timed && figures.data ? figures.data : "");
    if (!correct) kf_buffer_string(&text, failure.data ? failure.data : "");
    if (!correct && *log_of(verdict))
        kf_buffer_format(&text, "build log:\n%.*s\n", LOG_BYTES, log_of(verdict));
    kf_buffer_format(&text, "next: %s\n", next_step(verdict, wish, timed));
    snprintf(digits, sizeof digits, "%.12s", hash);
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "do", names[wish]);
    cJSON_AddStringToObject(json, "status", kf_status_name(verdict->status));
    cJSON_AddBoolToObject(json, "ok", correct);
    const double speedup[] = {short_of(verdict->speedup.value), short_of(verdict->speedup.low),
                              short_of(verdict->speedup.high)};
    if (timed)
        cJSON_AddItemToObject(json, "speedup", cJSON_CreateDoubleArray(speedup, 3));
    else
        cJSON_AddNullToObject(json, "speedup");
    kf_auto(cJSON) errors = cJSON_CreateArray();
    if (verdict->status == KF_COMPILE_ERROR) add_errors(errors, log_of(verdict));
    bool listed = cJSON_GetArraySize(errors) > 0;
    cJSON_AddStringToObject(json, "summary", listed ? kf_status_name(verdict->status) : summary);
    cJSON_AddItemToObject(json, "errors", kf_steal(&errors));
    cJSON_AddStringToObject(json, "next", next_step(verdict, wish, timed));
    cJSON_AddStringToObject(json, "candidate", digits);
    kf_autofree char *clean = text.failed ? NULL : kf_text_clean(text.data, text.size, false);
    bool complete = clean && cJSON_AddStringToObject(json, "text", clean);
    return complete ? cJSON_PrintUnformatted(json) : NULL;
}
