/* The live page of a run: the page itself, the news of the run, and single attempts. The store
 * is read while another process writes it. A question for news waits until there are some.
 *
 * All users of a machine can reach its loopback, but the store is its user's alone. So each path
 * begins with a key that only the printed address has. */
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "run_page.h"
#include "serve.h"

/* Between two looks at the store. */
#define LOOK_SECONDS 0.3
/* The longest wait for news. */
#define MOST_WAIT 30.0

static void answer_error(kf_exchange *exchange, const kf_error *error)
{
    bool input = error->code == KF_ERROR_INPUT;
    kf_exchange_error(exchange, input ? 404 : 500, error->text, "",
                      input ? "Ask for an attempt of this run." : "Check the store.");
}

/* Nothing is kept by the browser, and no other page may show this one in a frame. */
static void add_headers(kf_exchange *exchange)
{
    kf_exchange_add_header(exchange, "Cache-Control", "no-store");
    kf_exchange_add_header(exchange, "X-Content-Type-Options", "nosniff");
}

/* Returns the watched run, or answers with 404 if the path lacks the key. */
static const kf_watched *watched_by(kf_exchange *exchange)
{
    const kf_watched *watched = kf_exchange_context(exchange);
    const char *key = kf_exchange_part(exchange, 0);
    unsigned difference = strlen(key) != strlen(watched->key);
    for (size_t i = 0; !difference && watched->key[i]; i++)
        difference |= (unsigned)(key[i] ^ watched->key[i]);
    if (!difference) return watched;
    kf_exchange_error(exchange, 404, "there is no such page", kf_exchange_path(exchange),
                      "Open the address that kforge watch has printed.");
    return NULL;
}

static void page(kf_exchange *exchange)
{
    if (!watched_by(exchange)) return;
    kf_autobuffer text = {0};
    kf_error error = {0};
    if (!kf_page_render(NULL, NULL, &text, &error)) return answer_error(exchange, &error);
    add_headers(exchange);
    /* The page's own policy is in its head; a frame is refused by a header alone. */
    kf_exchange_add_header(exchange, "Content-Security-Policy", "frame-ancestors 'none'");
    kf_exchange_text(exchange, 200, "text/html; charset=utf-8", text.data);
}

/* Reads a whole number of the query; 0 without one. */
static int64_t number_of(kf_exchange *exchange, const char *name)
{
    const char *text = kf_exchange_query(exchange, name);
    return text ? strtoll(text, NULL, 10) : 0;
}

/* The end of the wait of an exchange. */
static void free_wait(void *state)
{
    free(state);
}

/* True if the wait of the question is over. Without memory it does not wait. */
static bool is_late(kf_exchange *exchange)
{
    double *until = kf_exchange_state(exchange);
    if (!until) {
        double seconds = (double)number_of(exchange, "wait");
        until = malloc(sizeof *until);
        if (!until) return true;
        *until = kf_now() + (seconds < MOST_WAIT ? seconds : MOST_WAIT);
        kf_exchange_set_state(exchange, until, free_wait);
    }
    return kf_now() >= *until;
}

static void news(kf_exchange *exchange)
{
    const kf_watched *watched = watched_by(exchange);
    if (!watched) return;
    kf_page_position position = {number_of(exchange, "attempt"), number_of(exchange, "call")};
    kf_error error = {0};
    bool any;
    if (!kf_page_is_news(watched->store, watched->run, &position,
                         kf_exchange_query(exchange, "state"), &any, &error))
        return answer_error(exchange, &error);
    if (!any && !is_late(exchange)) return kf_exchange_wait(exchange, LOOK_SECONDS);
    cJSON *json = kf_page_news(watched->store, watched->run, &position, KF_PAGE_ATTEMPTS, &error);
    if (!json) return answer_error(exchange, &error);
    add_headers(exchange);
    kf_exchange_json(exchange, 200, json);
}

static void attempt(kf_exchange *exchange)
{
    const kf_watched *watched = watched_by(exchange);
    kf_error error = {0};
    if (!watched) return;
    cJSON *json = kf_page_attempt(watched->store, watched->run,
                                  strtoll(kf_exchange_part(exchange, 1), NULL, 10), &error);
    if (!json) return answer_error(exchange, &error);
    add_headers(exchange);
    kf_exchange_json(exchange, 200, json);
}

static void roofline(kf_exchange *exchange)
{
    const kf_watched *watched = watched_by(exchange);
    kf_autoresult kf_store_run run = {0};
    kf_error error = {0};
    if (!watched) return;
    if (!kf_store_find_run(watched->store, watched->run, &run, &error))
        return answer_error(exchange, &error);
    cJSON *json = kf_page_roofline(watched->store, &run, &error);
    add_headers(exchange);
    kf_exchange_json(exchange, 200, json ? json : cJSON_CreateObject());
}

const kf_route kf_serve_watch_routes[] = {
    {.method = "GET", .pattern = "/*/", .handle = page},
    {.method = "GET", .pattern = "/*/news", .handle = news},
    {.method = "GET", .pattern = "/*/attempts/*", .handle = attempt},
    {.method = "GET", .pattern = "/*/roofline", .handle = roofline},
    {0},
};
