#include "progress.h"

#include <math.h>
#include <string.h>

#include "kforge/file.h"
#include "table.h"
#include "terminal.h"

#define REDRAW_SECONDS 0.2
/* before the first worker is reported as missing */
#define WAIT_NOTICE_SECONDS 3
/* after which a job is a long one */
#define LONG_SECONDS 5
/* between two lines of a log without news */
#define LOG_SECONDS 30
/* candidates between two lines of counts in a log */
#define COUNT_EVERY 25

void kf_progress_clear(kf_progress_view *view)
{
    if (view->terminal && view->width) fputs(KF_STYLE_CLEAR, view->log);
    if (view->width) fflush(view->log);
    view->width = 0;
}

bool kf_progress_has_shown(const kf_progress_view *view, const char *text)
{
    return *text && view->news && view->news->data && strstr(view->news->data, text);
}

void kf_progress_events(kf_progress_view *view)
{
    kf_error why;
    if (!kf_event_stream_trouble(view->events, &why)) return;
    kf_progress_clear(view);
    fprintf(view->log, "kforge: %s\n", why.text);
    fflush(view->log);
}

/* What the line leaves out on a narrow terminal, one after the other. */
enum { ALL, NO_RATE, NO_JOB, NO_CORRECT, SLASHES, NO_MONEY, NO_REPLIES, BRIEFEST = NO_REPLIES };

/* Appends "12", or "12 of 64" with a budget. */
static void put_count(kf_buffer *text, int64_t count, int64_t limit, int brief)
{
    kf_buffer_format(text, "%lld", (long long)count);
    if (limit > 0) kf_buffer_format(text, brief < SLASHES ? " of %lld" : "/%lld", (long long)limit);
}

static void put_replies(const kf_search_progress *p, int brief, kf_buffer *text)
{
    kf_buffer_string(text, ", ");
    put_count(text, p->replies, p->budget.replies, brief);
    kf_buffer_string(text, " replies");
    if (p->useless) kf_buffer_format(text, " (%lld without code)", (long long)p->useless);
}

/* Appends "65 s" or "2 min 05 s". */
static void put_seconds(kf_buffer *text, double seconds)
{
    char figure[KF_FIGURE];
    if (seconds < 100)
        kf_buffer_format(text, "%.0f s", seconds);
    else
        kf_buffer_string(text, kf_figure_seconds(floor(seconds), figure));
}

/* Appends how long the job in flight takes, if that is long. */
static void put_judging(const kf_search_progress *p, kf_buffer *text)
{
    if (p->judging < LONG_SECONDS) return;
    kf_buffer_format(text, ", %s takes ", p->attempts ? "a candidate" : "the baseline");
    put_seconds(text, floor(p->judging));
    kf_buffer_string(text, " so far");
    if (p->usual > 0) kf_buffer_string(text, ", usually ");
    if (p->usual > 0) put_seconds(text, fmax(1, round(p->usual)));
}

static void put_words(const kf_search_progress *p, int brief, kf_buffer *text)
{
    char figure[KF_FIGURE];
    put_count(text, p->judged, p->budget.candidates, brief);
    kf_buffer_string(text, " judged");
    if (p->known) kf_buffer_format(text, " + %lld known", (long long)p->known);
    if (brief < NO_CORRECT) kf_buffer_format(text, ", %lld correct", (long long)p->correct);
    if (p->best)
        kf_buffer_format(text, ", best %s%s", kf_figure_speedup(p->best_speedup, figure),
                         p->best_reverified ? "" : "?");
    if (p->elapsed > 2 && p->judged && brief < NO_RATE)
        kf_buffer_format(text, ", %.0f/min", (double)p->judged / p->elapsed * 60);
    if (brief < NO_JOB) put_judging(p, text);
    if ((p->calls || p->calls_in_flight) && brief < NO_REPLIES) put_replies(p, brief, text);
    if (p->cost_usd > 0 && brief < NO_MONEY)
        kf_buffer_format(text, ", %s", kf_figure_cost(p->cost_usd, p->cost_unknown, figure));
    double left = p->budget.seconds - p->elapsed;
    if (p->ending)
        kf_buffer_string(text, ", finishing");
    else if (p->budget.seconds > 0)
        kf_buffer_format(text, ", %s left", kf_figure_seconds(left > 1 ? ceil(left) : 1, figure));
}

/* Writes at most `most` characters, if possible. */
static void word(const kf_search_progress *p, size_t most, char *line, size_t size)
{
    for (int brief = ALL; brief <= BRIEFEST; brief++) {
        kf_autobuffer text = {0};
        put_words(p, brief, &text);
        snprintf(line, size, "%s", text.data ? text.data : "");
        if (text.size <= most) return;
    }
}

/* Returns the number of characters in a line of the terminal. */
static size_t room_of(const kf_progress_view *view, size_t size)
{
    int columns = kf_terminal_columns(view->log);
    if (columns < 20) columns = 80;
    return (size_t)columns <= size ? (size_t)columns - 2 : size - 1;
}

static void redraw(kf_progress_view *view, const kf_search_progress *progress)
{
    double now = kf_now();
    char line[200];
    size_t room = room_of(view, sizeof line);
    if (now - view->drawn < REDRAW_SECONDS) return;
    view->drawn = now;
    if (*progress->hardware) {
        word(progress, room, line, sizeof line);
    } else {
        if (!view->waiting_since) view->waiting_since = now;
        if (now - view->waiting_since < WAIT_NOTICE_SECONDS) return;
        snprintf(line, sizeof line, "waiting for a worker");
    }
    kf_progress_clear(view);
    view->width = fprintf(view->log, "%.*s", (int)room, line);
    fflush(view->log);
}

static void tell_once_waiting(kf_progress_view *view)
{
    double now = kf_now();
    if (!view->waiting_since) view->waiting_since = now;
    if (view->waiting_since < 0 || now - view->waiting_since < WAIT_NOTICE_SECONDS) return;
    view->waiting_since = -1;
    fprintf(view->log, "waiting for a worker\n");
    fflush(view->log);
}

/* Prints a line if nothing was printed for so long. */
static void tell_sometimes(kf_progress_view *view, const kf_search_progress *progress)
{
    char line[200];
    double now = kf_now();
    if (!view->printed) view->printed = now;
    if (now - view->printed < LOG_SECONDS) return;
    view->printed = now;
    word(progress, sizeof line, line, sizeof line);
    fprintf(view->log, "%s\n", line);
    fflush(view->log);
}

void kf_progress_notify(void *context, kf_search_event event, const kf_search_progress *progress,
                        const char *text)
{
    kf_progress_view *view = context;
    char line[200], figure[KF_FIGURE];
    kf_progress_events(view);
    switch (event) {
    case KF_SEARCH_TICK:
        if (view->terminal)
            redraw(view, progress);
        else if (!*progress->hardware)
            tell_once_waiting(view);
        else
            tell_sometimes(view, progress);
        return;
    case KF_SEARCH_ATTEMPT:
        if (view->verbose) {
            kf_progress_clear(view);
            fprintf(view->log, "%8s  %s\n", kf_figure_seconds(progress->elapsed, figure), text);
            break;
        }
        if (view->terminal) {
            redraw(view, progress);
            return;
        }
        if (progress->judged < view->judged_told + COUNT_EVERY) return;
        view->judged_told = progress->judged;
        word(progress, sizeof line, line, sizeof line);
        fprintf(view->log, "%s\n", line);
        break;
    case KF_SEARCH_STARTED:
        kf_progress_clear(view);
        if (view->note) fprintf(view->log, "%s\n", view->note);
        fprintf(view->log, "run %s on %s\n", text, progress->hardware);
        if (view->trouble) kf_devices_explain_cpu(view->log, progress->hardware, view->trouble);
        break;
    default:
        kf_progress_clear(view);
        fprintf(view->log, "%8s  %s\n", kf_figure_seconds(progress->elapsed, figure), text);
        if (event == KF_SEARCH_NEWS && view->news) kf_buffer_format(view->news, "%s\n", text);
    }
    view->printed = kf_now();
    fflush(view->log);
}
