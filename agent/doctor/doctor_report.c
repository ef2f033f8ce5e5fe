/* The list of facts that `kforge doctor` collects, and its printed form. */
#include <stdarg.h>
#include <string.h>

#include "doctor.h"
#include "table.h"
#include "terminal.h"

static const char *state_name(kf_fact_state state)
{
    static const char *const names[] = {[KF_FACT_GOOD] = "ok",
                                        [KF_FACT_WARNING] = "warning",
                                        [KF_FACT_MISSING] = "missing",
                                        [KF_FACT_FAULT] = "fault"};
    return names[state];
}

void kf_doctor_add(kf_doctor *doctor, const char *subject, kf_fact_state state, const char *hint,
                   const char *format, ...)
{
    kf_autobuffer text = {0};
    va_list arguments;
    va_start(arguments, format);
    kf_buffer_format_va(&text, format, arguments);
    va_end(arguments);
    cJSON *fact = cJSON_CreateObject();
    cJSON_AddStringToObject(fact, "subject", subject);
    cJSON_AddStringToObject(fact, "state", state_name(state));
    cJSON_AddStringToObject(fact, "text", text.data ? text.data : "");
    cJSON_AddStringToObject(fact, "hint", hint);
    cJSON_AddItemToArray(doctor->facts, fact);
    if (doctor->on_fact) doctor->on_fact(fact);
}

void kf_doctor_print(const kf_doctor *doctor, const kf_view *view)
{
    int width = view->width ? view->width : 100;
    const cJSON *fact;
    cJSON_ArrayForEach(fact, doctor->facts)
    {
        const char *subject = cJSON_GetObjectItem(fact, "subject")->valuestring,
                   *state = cJSON_GetObjectItem(fact, "state")->valuestring;
        const char *text = cJSON_GetObjectItem(fact, "text")->valuestring,
                   *hint = cJSON_GetObjectItem(fact, "hint")->valuestring;
        const char *style = state[0] == 'o'   ? KF_STYLE_GREEN
                            : state[0] == 'f' ? KF_STYLE_RED
                                              : KF_STYLE_YELLOW;
        fprintf(view->out, "%s%-9s%s%-10s", view->color ? style : "", state,
                view->color ? KF_STYLE_PLAIN : "", subject);
        kf_text_wrap(view->out, text, strlen(text), width, 19, true);
        if (!*hint) continue;
        fprintf(view->out, "%19s", "-> ");
        kf_text_wrap(view->out, hint, strlen(hint), width, 19, true);
    }
}
