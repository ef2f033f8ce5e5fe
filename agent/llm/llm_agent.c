/* agent:COMMAND: a coding agent answers with an episode (episode.h).
 *
 * A request becomes an episode with a folder of its own. The reply is the agent's stdout and a line
 * of kforge's own with the candidate that the agent left. An agent that reached a limit still gave
 * a reply: its candidate is judged like any other. An agent that failed before it changed anything
 * gave none (KF_LLM_FAILED). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api_key.h"
#include "episode.h"
#include "kforge/file.h"
#include "kforge/installation.h"
#include "kforge/verdict.h"
#include "llm_provider.h"
#include "prices.h"

#define MAX_PARALLEL 8
/* shortest value of a variable that is taken out of stored streams */
#define MIN_SECRET 8
#define MAX_TEXT 4096
/* of a command's name */
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+"

enum {
    OPTION_TIMEOUT,
    OPTION_EVALS,
    OPTION_DEVICE,
    OPTION_USD,
    OPTION_PARALLEL,
    OPTION_ENV,
    OPTION_HOME,
    OPTION_READ,
    OPTION_NAME
};

typedef struct held_episode {
    /* NULL: the place is free */
    kf_episode *episode;
    int64_t tag;
} held_episode;

typedef struct agent {
    char *command, *home;
    /* end with NULL, owned */
    char *environment[KF_EPISODE_NAMES + 1], *readable[KF_EPISODE_NAMES + 1],
        *secrets[KF_EPISODE_NAMES + 1];
    kf_episode_settings settings;
    int parallel, in_flight;
    /* Requests are being cancelled, and failed ones are replies. */
    bool cancelled;
    held_episode held[MAX_PARALLEL];
} agent;

/* ---- options --------------------------------------------------------------------------------- */

static bool append(char *list[KF_EPISODE_NAMES + 1], char *owned, kf_error *error)
{
    size_t count = 0;
    if (!owned) return kf_fail_memory(error, "a model");
    while (list[count]) count++;
    if (count == KF_EPISODE_NAMES) {
        free(owned);
        return kf_fail(error, KF_ERROR_INPUT, "agent: more than %d names in a list",
                       KF_EPISODE_NAMES);
    }
    list[count] = owned;
    return true;
}

/* Returns an absolute path, "~/" being the user's home; malloc'd. */
static char *path_of(const char *text)
{
    const char *home = getenv("HOME");
    char here[MAX_TEXT];
    if (text[0] == '~' && (text[1] == '/' || !text[1]) && home)
        return kf_path_join(home, text[1] ? text + 2 : "");
    return kf_path_join(getcwd(here, sizeof here) ? here : "/", text);
}

/* Adds NAME=VALUE of kforge's own environment or keys. */
static bool add_variable(agent *a, const char *name, kf_error *error)
{
    char *text;
    const char *value = getenv(name);
    size_t length = strlen(name);
    if (!value && length > 8 && strcmp(name + length - 8, "_API_KEY") == 0) {
        value = kf_api_key(name, error);
        if (!value && error && error->text[0]) return false;
    }
    if (!value)
        return kf_fail(error, KF_ERROR_INPUT,
                       "agent: env=%s: the variable is not set; set it or leave it out", name);
    return append(a->environment, asprintf(&text, "%s=%s", name, value) < 0 ? NULL : text, error);
}

static bool agent_set_text(void *state, int option, const char *text, kf_error *error)
{
    agent *a = state;
    if (option == OPTION_NAME) return true;
    if (option == OPTION_HOME) {
        free(a->home);
        a->home = path_of(text);
        a->settings.home = a->home;
        return a->home ? kf_episode_check(&a->settings, error) : kf_fail_memory(error, "a model");
    }
    kf_autofree char *copy = strdup(text);
    if (!copy) return kf_fail_memory(error, "a model");
    char *rest = NULL;
    for (char *name = strtok_r(copy, "+", &rest); name; name = strtok_r(NULL, "+", &rest))
        if (!(option == OPTION_ENV ? add_variable(a, name, error)
                                   : append(a->readable, path_of(name), error)))
            return false;
    return option == OPTION_ENV || kf_episode_check(&a->settings, error);
}

/* True for a shell's NAME=VALUE before a command. */
static bool is_assignment(const char *word, size_t size)
{
    const char *equals = memchr(word, '=', size);
    return equals && equals > word && !memchr(word, '/', (size_t)(equals - word));
}

char *kf_llm_agent_name(const char *spec)
{
    char *name = NULL;
    if (strncmp(spec, "agent", 5) != 0 || (spec[5] != ',' && spec[5] != ':')) return NULL;
    const char *colon = strchr(spec, ':'), *given = strstr(spec, ",name=");
    if (!colon) return NULL;
    if (given && given < colon) {
        given += 6;
        size_t size = strcspn(given, ",:");
        return asprintf(&name, "agent:%.*s", (int)size, given) < 0 ? NULL : name;
    }
    /* The first word of the command without its folder: the rest may hold secrets. */
    const char *word = colon + 1;
    size_t size;
    for (;; word += size) {
        word += strspn(word, " \t\n");
        size = strcspn(word, " \t\n;&|<>()\"'");
        if (!size || !is_assignment(word, size)) break;
    }
    for (size_t i = size; i-- > 0;)
        if (word[i] == '/') {
            word += i + 1;
            size -= i + 1;
            break;
        }
    if (!size || size > 64 || strspn(word, PLAIN) < size) return strdup("agent");
    return asprintf(&name, "agent:%.*s", (int)size, word) < 0 ? NULL : name;
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool agent_submit(void *state, const kf_llm_request *request, kf_error *error)
{
    agent *a = state;
    if (a->in_flight >= a->parallel)
        return kf_fail(error, KF_ERROR_BUSY,
                       "agent: %d episodes are in flight, as many as `parallel` allows",
                       a->in_flight);
    held_episode *place = a->held;
    while (place->episode) place++;
    const kf_episode_files files = {.task = request->prompt,
                                    .rules = request->system ? request->system : "",
                                    .candidate = request->candidate ? request->candidate : "",
                                    .baseline = request->baseline ? request->baseline : "",
                                    .baseline_module = request->baseline_module};
    kf_episode *episode = kf_episode_start(&a->settings, &files, error);
    if (!episode) return kf_fail_prefix(error, "agent");
    *place = (held_episode){.episode = episode, .tag = request->tag};
    a->in_flight++;
    return true;
}

/* Replaces the values of the variables that the agent got, which its stream may repeat. */
static void redact(const agent *a, char *text)
{
    for (char *const *variable = a->environment; *variable; variable++) {
        const char *value = strchr(*variable, '=') + 1;
        size_t size = strlen(value);
        if (size < MIN_SECRET) continue;
        for (char *at = text; (at = strstr(at, value)); at += size) memset(at, '*', size);
    }
}

/* Returns what the agent has cost: by its own figure, else by its tokens and the list price of its
 * model. NaN: unknown. */
static double cost_of(const kf_episode_usage *usage)
{
    static const char *const providers[] = {"anthropic", "openai", "gemini"};
    kf_price price = {0};
    if (!isnan(usage->cost_usd) || !*usage->model || usage->prompt_tokens < 0)
        return usage->cost_usd;
    for (size_t i = 0; i < sizeof providers / sizeof *providers && !price.known; i++)
        if (!kf_price_find(providers[i], usage->model, &price, NULL)) return NAN;
    return price.known ? kf_price_of(&price, usage->prompt_tokens, usage->cached_tokens,
                                     usage->cache_write_tokens, usage->completion_tokens)
                       : NAN;
}

static void watch_cost(const agent *a, kf_episode *episode)
{
    if (!(a->settings.cost_usd > 0)) return;
    const kf_episode_usage usage = kf_episode_spent(episode);
    if (cost_of(&usage) > a->settings.cost_usd)
        kf_episode_end(episode, "the money of the episode is spent", true);
}

static void finish(agent *a, held_episode *held, kf_llm_reply *reply)
{
    kf_episode_result result;
    *reply = kf_llm_reply_empty(held->tag);
    bool taken = kf_episode_take(held->episode, &result, &reply->error);
    reply->seconds = result.seconds;
    reply->waited_seconds = result.waited_seconds;
    if (taken) {
        kf_autofree char *raw = result.text;
        redact(a, raw);
        /* Bytes that are no UTF-8 have no place in the store. */
        char *text = kf_text_clean(raw, result.size, false);
        if (text)
            kf_llm_reply_set_text(reply, text, strlen(text));
        else
            kf_fail_memory(&reply->error, "the text of an episode");
        reply->prompt_tokens = result.usage.prompt_tokens;
        reply->completion_tokens = result.usage.completion_tokens;
        reply->cost_usd = cost_of(&result.usage);
        reply->model = strdup(*result.usage.model ? result.usage.model : "agent");
        if (result.failed || a->cancelled) {
            reply->outcome = KF_LLM_FAILED;
            if (a->cancelled)
                kf_fail(&reply->error, KF_ERROR_BUSY, "ended with the run");
            else
                reply->error = result.why;
            redact(a, reply->error.text);
        }
    }
    kf_episode_free(held->episode);
    *held = (held_episode){0};
    a->in_flight--;
}

static int agent_poll(void *state, double seconds, kf_llm_reply *reply)
{
    agent *a = state;
    double until = kf_now() + (seconds > 0 ? seconds : 0);
    for (;;) {
        struct pollfd fds[MAX_PARALLEL * (KF_EPISODE_CONNECTIONS + 3)];
        nfds_t count = 0;
        double wake = until;
        for (held_episode *held = a->held; held < a->held + MAX_PARALLEL; held++) {
            if (!held->episode) continue;
            if (kf_episode_step(held->episode)) return finish(a, held, reply), 1;
            watch_cost(a, held->episode);
            count += kf_episode_watch(held->episode, fds + count, sizeof fds / sizeof *fds - count,
                                      &wake);
        }
        double left = wake - kf_now();
        if (!count || until <= kf_now()) return 0;
        if (poll(fds, count, left > 0 ? (int)(left * 1000) + 1 : 0) < 0) return 0;
    }
}

static size_t agent_watch(const void *state, struct pollfd *fds, size_t most, double *wake)
{
    const agent *a = state;
    size_t count = 0;
    for (const held_episode *held = a->held; held < a->held + MAX_PARALLEL; held++)
        if (held->episode)
            count += kf_episode_watch(held->episode, fds + count, most - count, wake);
    return count;
}

static int agent_in_flight(const void *state)
{
    return ((const agent *)state)->in_flight;
}

/* Asks the agents to end, waits a few seconds for that, and leaves no process behind. */
static void agent_cancel(void *state)
{
    agent *a = state;
    a->cancelled = true;
    for (held_episode *held = a->held; held < a->held + MAX_PARALLEL; held++)
        if (held->episode) kf_episode_end(held->episode, "the run ended", true);
    for (held_episode *held = a->held; held < a->held + MAX_PARALLEL; held++)
        while (held->episode && !kf_episode_step(held->episode)) kf_episode_pause(held->episode);
}

static int agent_episodes(const void *state)
{
    return ((const agent *)state)->parallel;
}

static bool agent_hide(void *state, const char *path, kf_error *error)
{
    agent *a = state;
    return append(a->secrets, path_of(path), error) && kf_episode_check(&a->settings, error);
}

static bool agent_next_question(void *state, kf_llm_question *question)
{
    agent *a = state;
    for (held_episode *held = a->held; held < a->held + MAX_PARALLEL; held++) {
        kf_episode_question asked;
        if (!held->episode || !kf_episode_next(held->episode, &asked)) continue;
        *question = (kf_llm_question){.tag = held->tag,
                                      .id = asked.id,
                                      .wish = (kf_llm_wish)asked.wish,
                                      .source = asked.source,
                                      .size = asked.size};
        return true;
    }
    return false;
}
_Static_assert((int)KF_LLM_WISH_SUBMIT == (int)KF_EPISODE_SUBMIT &&
                   (int)KF_LLM_WISH_PROFILE == (int)KF_EPISODE_PROFILE &&
                   (int)KF_LLM_WISH_CHECK == (int)KF_EPISODE_CHECK,
               "one order of wishes");

static void agent_answer(void *state, int64_t tag, int64_t id, const char *json,
                         double device_seconds, double judging_seconds, const char *reason)
{
    agent *a = state;
    for (held_episode *held = a->held; held < a->held + MAX_PARALLEL; held++)
        if (held->episode && held->tag == tag)
            kf_episode_answer(held->episode, id, json, device_seconds, judging_seconds, reason);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void agent_close(void *state)
{
    agent *a = state;
    for (held_episode *held = a->held; held < a->held + MAX_PARALLEL; held++)
        kf_episode_free(held->episode);
    for (int i = 0; i < KF_EPISODE_NAMES; i++) {
        free(a->environment[i]);
        free(a->readable[i]);
        free(a->secrets[i]);
    }
    free(a->home);
    free(a->command);
    free(a);
}

/* Lists what no agent may see: kforge's tasks with their oracles, the user's keys, and the list of
 * trusted commands. */
static bool add_secrets(agent *a, kf_error *error)
{
    const char *keys = getenv("KFORGE_KEY_FILE"), *base = getenv("XDG_CONFIG_HOME");
    kf_autofree char *settings =
        base && base[0] == '/' ? kf_path_join(base, "kforge") : path_of("~/.config/kforge");
    return append(a->secrets, kf_path_join(kf_root(), "share/kforge"), error) &&
           append(a->secrets, kf_steal(&settings), error) &&
           (!keys || append(a->secrets, path_of(keys), error));
}

static void *agent_open(const char *argument, const double *options, kf_error *error)
{
    agent *a = calloc(1, sizeof *a);
    if (a) a->command = strdup(argument);
    if (!a || !a->command) {
        free(a);
        return kf_fail_memory(error, "a model"), NULL;
    }
    a->parallel = (int)options[OPTION_PARALLEL];
    a->settings = (kf_episode_settings){.command = a->command,
                                        .environment = (const char *const *)a->environment,
                                        .readable = (const char *const *)a->readable,
                                        .secrets = (const char *const *)a->secrets,
                                        .seconds = options[OPTION_TIMEOUT],
                                        .device_seconds = options[OPTION_DEVICE],
                                        .cost_usd = options[OPTION_USD],
                                        .evals = (int)options[OPTION_EVALS]};
    if (add_secrets(a, error) && kf_episode_check(&a->settings, error)) return a;
    agent_close(a);
    return NULL;
}

const kf_llm_provider kf_llm_agent = {
    .name = "agent",
    .form = "agent:COMMAND",
    .takes_argument = true,
    .options = {[OPTION_TIMEOUT] = {"timeout", 1200, 1, 86400, kf_llm_duration},
                [OPTION_EVALS] = {"evals", 30, 1, 10000, NULL},
                [OPTION_DEVICE] = {"device", 0, 0.001, 86400, kf_llm_duration},
                [OPTION_USD] = {"usd", 0, 0.001, 10000, NULL},
                [OPTION_PARALLEL] = {"parallel", 1, 1, MAX_PARALLEL, NULL},
                [OPTION_ENV] = {"env", 0, 0, 0, kf_llm_text},
                [OPTION_HOME] = {"home", 0, 0, 0, kf_llm_text},
                [OPTION_READ] = {"read", 0, 0, 0, kf_llm_text},
                [OPTION_NAME] = {"name", 0, 0, 0, kf_llm_text}},
    .open = agent_open,
    .submit = agent_submit,
    .in_flight = agent_in_flight,
    .poll = agent_poll,
    .close = agent_close,
    .watch = agent_watch,
    .cancel = agent_cancel,
    .set_text = agent_set_text,
    .episodes = agent_episodes,
    .hide = agent_hide,
    .next_question = agent_next_question,
    .answer = agent_answer,
};
