/* `kforge doctor`: collects facts about this machine and prints them with remedies. */
#include "doctor.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "kforge/counters.h"
#include "kforge/file.h"
#include "kforge/judge.h"
#include "llm.h"
#include "kforge/sanitize_report.h"
#include "kforge/sandbox.h"
#include "kforge/store.h"
#include "options.h"
#include "api_key.h"
#include "named_task.h"
#include "noise.h"
#include "output.h"
#include "table.h"
#include "terminal.h"

typedef struct settings {
    const char *store, *model;
    bool full, json;
} settings;

/* Times the baseline of a task against itself. Their speeds are equal, so another figure is noise.
 */
static void time_baseline(kf_doctor *doctor, kf_judge *judge)
{
    kf_error error = {0};
    char figure[KF_FIGURE], interval[KF_FIGURE];
    const char *device = kf_judge_device(judge);
    kf_autobuffer words = {0};
    kf_autofree char *tasks = kf_installed_tasks(&error);
    kf_autofree char *path = tasks ? kf_path_join(tasks, "axpy") : NULL;
    kf_auto(kf_task) task = path ? kf_task_load(path, &error) : NULL;
    kf_auto(kf_job) job = task ? kf_job_of_baseline("doctor", task, NULL, &error) : NULL;
    if (job) job->options.unseen = false;
    kf_auto(kf_verdict) verdict = job ? kf_judge_run(judge, job, NULL, &error) : NULL;
    bool timed = verdict && verdict->status == KF_CORRECT && !isnan(verdict->speedup.value);
    if (!timed)
        kf_doctor_add(doctor, "noise", KF_FACT_WARNING, "end other programs, and try again",
                      "the baseline of axpy could not be timed on %s: %s", device,
                      verdict ? kf_status_name(verdict->status) : error.text);
    else if (kf_noise_words(NULL, NULL, verdict->speedup, &words) && words.data)
        kf_doctor_add(doctor, "noise", KF_FACT_WARNING, kf_noise_remedy(words.data), "on %s %s",
                      device, words.data);
    else
        kf_doctor_add(doctor, "noise", KF_FACT_GOOD, "", "on %s the baseline over itself is %s %s",
                      device, kf_figure_speedup(verdict->speedup, figure),
                      kf_figure_interval(verdict->speedup, interval));
}

/* True if a judge starts on `device`. Adds its description to `judges`. */
static bool judge_starts(kf_doctor *doctor, const char *device, cJSON *judges)
{
    kf_error error = {0};
    double start = kf_now();
    kf_auto(kf_judge) judge =
        kf_judge_new(&(kf_judge_settings){.device = device, .cache = ""}, &error);
    char figure[KF_FIGURE];
    if (judge) {
        kf_doctor_add(doctor, "judge", KF_FACT_GOOD, "", "judges on %s (%s), ready after %s",
                      kf_judge_device(judge), kf_judge_hardware(judge),
                      kf_figure_seconds(kf_now() - start, figure));
        cJSON_AddItemToArray(judges, kf_judge_describe(judge));
        if (doctor->full) time_baseline(doctor, judge);
    } else {
        char *todo = strstr(error.text, "; ");
        if (todo) *todo = '\0', todo += 2;
        kf_doctor_add(doctor, "judge", KF_FACT_MISSING, todo ? todo : "", "no judge on %s: %s",
                      device, error.text);
    }
    return judge != NULL;
}

static void gpu_tools(kf_doctor *doctor)
{
    char text[512], remedy[512];
    bool there = kf_counters_available(text, remedy);
    char path[4096];
    kf_doctor_add(doctor, "counters", there ? KF_FACT_GOOD : KF_FACT_MISSING, remedy, "%s", text);
    if (kf_sanitizer_find(path))
        kf_doctor_add(doctor, "sanitizer", KF_FACT_GOOD, "", "%s", path);
    else
        kf_doctor_add(doctor, "sanitizer", KF_FACT_MISSING, "install it (package cuda-sanitizer)",
                      "no compute-sanitizer in the CUDA toolkit: the best candidates are not "
                      "checked for memory errors");
}

static bool gpu_judges(kf_doctor *doctor, cJSON *judges)
{
    bool judging = kf_doctor_gpu(doctor) > 0 && judge_starts(doctor, "cuda", judges);
    if (judging) gpu_tools(doctor);
    return judging;
}

static void sandbox(kf_doctor *doctor)
{
    kf_autobuffer reasons = {0}, granted = {0};
    int layers = kf_sandbox_available(&reasons), refused = 0;
    for (int bit = 1; bit < KF_LAYER_ALL; bit <<= 1)
        if (layers & bit)
            kf_buffer_format(&granted, "%s%s", granted.size ? " " : "",
                             kf_sandbox_layer_name((kf_sandbox_layer)bit));
        else
            refused++;
    kf_doctor_add(
        doctor, "sandbox", granted.size ? KF_FACT_GOOD : KF_FACT_FAULT,
        refused ? "verdicts name the layers that were active; --sandbox=strict refuses to judge "
                  "without all of them"
                : "",
        "%s",
        granted.size ? granted.data : "no layer is available: candidates run with your own rights");
    for (char *rest = reasons.data, *line; rest && (line = strsep(&rest, "\n"));) {
        char *remedy = strstr(line, "remedy: ");
        if (!*line) continue;
        if (remedy) {
            /* "…; remedy: …": cut the text before the separator */
            char *end = remedy;
            while (end > line && strchr("; ,(", end[-1])) end--;
            *end = '\0';
            remedy += 8;
        }
        kf_doctor_add(doctor, "sandbox", KF_FACT_WARNING, remedy ? remedy : "", "%s", line);
    }
    if (!kf_sandbox_same_addresses())
        kf_doctor_add(doctor, "addresses", KF_FACT_WARNING,
                      "start the container with --security-opt seccomp=unconfined",
                      "personality(ADDR_NO_RANDOMIZE) is refused: processes differ in their "
                      "addresses, so intervals on the CPU device are wider");
}

/* Returns the free bytes on the file system of `path`. *writable is true if the nearest existing
 * folder can be written. */
static double free_bytes(const char *path, bool *writable)
{
    kf_autofree char *folder = strdup(path);
    struct stat status;
    while (folder && (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode))) {
        char *slash = strrchr(folder, '/');
        if (!slash)
            strcpy(folder, ".");
        else if (slash == folder)
            slash[1] = '\0';
        else
            *slash = '\0';
    }
    struct statvfs space;
    *writable = folder && access(folder, W_OK) == 0;
    return folder && statvfs(folder, &space) == 0 ? (double)space.f_bavail * (double)space.f_frsize
                                                  : -1;
}

static void store_health(kf_doctor *doctor, const settings *wanted, const char *path)
{
    struct stat status;
    char size[KF_FIGURE];
    kf_error error = {0};
    if (stat(path, &status) != 0 && errno == ENOENT) {
        kf_doctor_add(doctor, "store", KF_FACT_GOOD, "",
                      "%s: does not exist yet; the first run creates it", path);
        return;
    }
    kf_auto(kf_store) store = kf_store_open(path, KF_STORE_READ, &error);
    if (!store || (wanted->full && !kf_store_check(store, &error))) {
        kf_doctor_add(doctor, "store", KF_FACT_FAULT,
                      store ? "restore the store from a backup" : "", "%s", error.text);
        return;
    }
    kf_doctor_add(doctor, "store", KF_FACT_GOOD, "", "%s, %s, %s", path,
                  kf_figure_bytes((double)status.st_size, size),
                  wanted->full ? "checked completely" : "opens (--full checks all of it)");
}

#define LOW_SPACE (1u << 30)

static void free_space(kf_doctor *doctor, const char *subject, const char *path)
{
    bool writable;
    char figure[KF_FIGURE];
    double bytes = free_bytes(path, &writable);
    if (!writable)
        kf_doctor_add(doctor, subject, KF_FACT_FAULT,
                      "choose another place, or make the folder writable", "%s: cannot be written",
                      path);
    else if (bytes >= 0)
        kf_doctor_add(doctor, subject, bytes < LOW_SPACE ? KF_FACT_FAULT : KF_FACT_GOOD,
                      bytes < LOW_SPACE ? "free some space: verdicts with their samples need it"
                                        : "",
                      "%s: %s free", path, kf_figure_bytes(bytes, figure));
}

static void storage(kf_doctor *doctor, const settings *wanted)
{
    kf_error error = {0};
    kf_autofree char *path = wanted->store ? strdup(wanted->store) : kf_store_default_path(&error);
    if (!path)
        kf_doctor_add(doctor, "store", KF_FACT_FAULT, "", "%s", error.text);
    else {
        store_health(doctor, wanted, path);
        free_space(doctor, "disk", path);
    }
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    kf_autofree char *folder = NULL;
    if (cache && cache[0] == '/')
        folder = kf_path_join(cache, "kforge");
    else if (home && home[0] == '/')
        folder = kf_path_join(home, ".cache/kforge");
    if (folder)
        free_space(doctor, "cache", folder);
    else
        kf_doctor_add(doctor, "cache", KF_FACT_MISSING, "set HOME or XDG_CACHE_HOME",
                      "no cache folder: each run builds its oracles and baselines again");
}

/* Reports which keys are set, never their values. */
static void keys(kf_doctor *doctor)
{
    static const char *const names[] = {"OPENAI_API_KEY",       "ANTHROPIC_API_KEY",
                                        "GEMINI_API_KEY",       "OPENROUTER_API_KEY",
                                        "AZURE_OPENAI_API_KEY", "KFORGE_API_KEY"};
    static const char *const places[] = {"OPENAI_BASE_URL", "ANTHROPIC_BASE_URL",
                                         "AZURE_OPENAI_ENDPOINT"};
    kf_autobuffer set = {0}, unset = {0};
    kf_error error = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        kf_buffer *list = kf_api_key(names[i], &error) ? &set : &unset;
        kf_buffer_format(list, "%s%s", list->size ? ", " : "", names[i]);
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *value = getenv(places[i]);
        if (value && *value) kf_buffer_format(&set, "%s%s", set.size ? ", " : "", places[i]);
    }
    if (error.code)
        kf_doctor_add(doctor, "models", KF_FACT_FAULT,
                      "repair the file; until then its keys are not used", "%s", error.text);
    if (set.size)
        kf_doctor_add(doctor, "models", KF_FACT_GOOD, "", "set: %s%s%s", set.data,
                      unset.size ? "; not set: " : "", unset.size ? unset.data : "");
    else
        kf_doctor_add(doctor, "models", KF_FACT_MISSING,
                      "set the key of a provider (docs/guide/models.md). Your own server, the "
                      "tuner, exec:COMMAND and replay:FILE need no key",
                      "not set: %s", unset.data ? unset.data : "");
}

/* Returns the reply on one line in quotes, cut between two characters. */
static char *quote_reply(const char *text, size_t size)
{
    enum { MAX_BYTES = 48 };
    kf_autofree char *clean = kf_text_clean(text, size, true);
    if (!clean) return NULL;
    size_t length = strlen(clean);
    bool whole = length <= MAX_BYTES;
    if (!whole)
        for (length = MAX_BYTES; length && ((unsigned char)clean[length] & 0xc0) == 0x80;) length--;
    char *quoted;
    return asprintf(&quoted, "\"%.*s%s\"", (int)length, clean, whole ? "" : "…") < 0 ? NULL
                                                                                     : quoted;
}

/* Waits for the reply. On a terminal it shows a line, because a model may take minutes. */
static void await_reply(const kf_invocation *invocation, kf_llm *llm, kf_llm_reply *reply)
{
    double start = kf_now(), said = 0;
    while (!*invocation->interrupts && kf_llm_in_flight(llm) && kf_llm_poll(llm, 0.2, reply) == 0) {
        double now = kf_now() - start;
        if (!invocation->terminal || now - said < 1) continue;
        said = now;
        kf_terminal_redraw(invocation->log, "asking the model: %.0f s (Ctrl-C gives up)", now);
    }
    if (said > 0) fputs(KF_STYLE_CLEAR, invocation->log);
}

/* Sends one small request, which tests name, connection, certificate, key, model, stream and
 * accounting. */
static bool try_model(kf_doctor *doctor, const char *spec, const kf_invocation *invocation)
{
    kf_error error = {0};
    kf_auto(kf_llm) llm = kf_llm_open(spec, &error);
    const kf_llm_request request = {.system = "You are being tested.",
                                    .prompt = "Reply with the word: ready",
                                    .temperature = -1,
                                    .max_tokens = 512};
    if (!llm || !kf_llm_submit(llm, &request, &error)) {
        kf_doctor_add(doctor, "model", KF_FACT_FAULT,
                      "docs/reference/settings.md describes specs and keys", "%s", error.text);
        return false;
    }
    kf_llm_reply reply = {0};
    await_reply(invocation, llm, &reply);
    bool answered = reply.outcome == KF_LLM_OK || reply.outcome == KF_LLM_TRUNCATED;
    char seconds[KF_FIGURE], tokens[64] = "tokens not counted", cost[64] = "price not known";
    if (reply.prompt_tokens >= 0)
        snprintf(tokens, sizeof tokens, "%lld + %lld tokens", (long long)reply.prompt_tokens,
                 (long long)reply.completion_tokens);
    if (!isnan(reply.cost_usd)) snprintf(cost, sizeof cost, "$%.6f", reply.cost_usd);
    kf_autofree char *text = answered && reply.text ? quote_reply(reply.text, reply.size) : NULL;
    if (reply.model && answered)
        kf_doctor_add(doctor, "model", KF_FACT_GOOD, "", "%s answered after %s (%s, %s): %s",
                      reply.model, kf_figure_seconds(reply.seconds, seconds), tokens, cost,
                      text ? text : "");
    else
        kf_doctor_add(doctor, "model", KF_FACT_FAULT,
                      reply.outcome == KF_LLM_EMPTY
                          ? "the model can be reached; a larger max_tokens may help"
                          : "",
                      "%s",
                      reply.error.text[0] ? reply.error.text
                      : reply.model       ? kf_llm_outcome_name(reply.outcome)
                                          : "interrupted");
    kf_llm_reply_free(&reply);
    return answered;
}

static void configuration(kf_doctor *doctor, const kf_invocation *invocation)
{
    const kf_config *config = invocation->config;
    if (invocation->config_error)
        kf_doctor_add(doctor, "settings", KF_FACT_FAULT,
                      "repair this setting; until then all other commands refuse to run", "%s",
                      invocation->config_error->text);
    else if (config && config->count == 0)
        kf_doctor_add(doctor, "settings", KF_FACT_GOOD, "", "no kforge.json is used");
    for (size_t i = 0; config && i < config->count; i++)
        kf_doctor_add(doctor, "settings", KF_FACT_GOOD, "", "%s", config->files[i].path);
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    kf_view view = kf_view_of(invocation, wanted->json);
    kf_auto(cJSON) json = kf_json_document("kforge-doctor/1");
    cJSON_AddStringToObject(json, "version", KFORGE_VERSION);
    cJSON *judges = cJSON_CreateArray();
    kf_doctor doctor = {.facts = cJSON_AddArrayToObject(json, "facts"), .full = wanted->full};
    cJSON_AddItemToObject(json, "judges", judges);
    kf_doctor_machine(&doctor);
    bool cpu = judge_starts(&doctor, "cpu", judges),
         gpu = kf_doctor_gpu_child(&doctor, gpu_judges, judges);
    sandbox(&doctor);
    storage(&doctor, wanted);
    keys(&doctor);
    bool answered = !wanted->model || try_model(&doctor, wanted->model, invocation);
    configuration(&doctor, invocation);
    cJSON_AddBoolToObject(json, "can_judge", cpu || gpu);
    if (wanted->json) {
        kf_verdict_publish(judges);
        if (!kf_print_json(view.out, kf_steal(&json), error)) return -1;
    } else {
        kf_doctor_print(&doctor, &view);
        fprintf(view.out, "\nkforge %s %s%s.\n", KFORGE_VERSION,
                gpu && cpu ? "can judge kernels on a GPU and on the CPU here"
                : gpu      ? "can judge kernels on a GPU here"
                : cpu      ? "can judge kernels on the CPU here"
                           : "can't judge kernels here",
                answered ? "" : ", and the model does not answer");
    }
    return (cpu || gpu) && answered ? KF_EXIT_DONE : KF_EXIT_MACHINE;
}

static const kf_option options[] = {
    KF_ROW_STORE(settings),
    {KF_OPTION(FLAG, "full", NULL, settings, full),
     .help = "Check the whole store, and time a baseline against itself."},
    {KF_OPTION(TEXT, "model", "SPEC", settings, model), .letter = 'm',
     .help = "Send this model a tiny request and report the result. It costs about 100 tokens."},
    KF_ROW_JSON(settings),
    {0},
};

const kf_command kf_command_doctor = {
    .name = "doctor",
    .synopsis = "",
    .summary = "Check this machine, and say how to repair faults",
    .description = "Checks processor, GPUs, compilers, sandbox, store, cache, API keys (only "
                   "whether they are set) and kforge.json. A line is ok, warning, missing "
                   "(fewer features) or fault (needs repair).\n\nExit status: 0, or 3 if no "
                   "device can judge kernels, or the model of --model does not answer.",
    .examples = "kforge doctor --model openai:gpt-5-mini\ttests key, model and network\n"
                "kforge doctor --json | jq '.facts[] | select(.state != \"ok\")'\tleaves good "
                "lines out",
    .options = options,
    .settings_size = sizeof(settings),
    .tolerant = true,
    .run = run,
};
