/* Reports of the search to its observer. */
#include <stdarg.h>
#include <stdio.h>

#include "search_internal.h"

void kf_search_note_hardware(kf_search *s)
{
    const char *hardware = kf_workers_hardware(s->workers);
    snprintf(s->progress.hardware, sizeof s->progress.hardware, "%s", hardware ? hardware : "");
}

void kf_search_notify(kf_search *s, kf_search_event event, const char *format, ...)
{
    char text[1200];
    va_list arguments;
    /* A preview has no observer. */
    if (!s->workers) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    s->progress.elapsed = kf_search_elapsed(s);
    kf_search_note_hardware(s);
    s->progress.in_flight = kf_workers_in_flight(s->workers);
    s->progress.calls_in_flight = (size_t)kf_calls_count(&s->calls, -1);
    if (s->observer && s->observer->notify)
        s->observer->notify(s->observer->context, event, &s->progress, text);
}
