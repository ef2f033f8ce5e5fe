#include "verdict_event.h"

kf_attempt_result kf_attempt_result_of(const kf_verdict *verdict)
{
    return (kf_attempt_result){.status = kf_status_name(verdict->status),
                               .blame = kf_blame_name(verdict->blame),
                               .speedup = verdict->speedup,
                               .message = verdict->message,
                               .build_seconds = verdict->build_seconds,
                               .judge_seconds = verdict->judge_seconds};
}

void kf_event_result(cJSON *fields, const kf_attempt_result *result)
{
    kf_event_text(fields, "status", result->status);
    kf_event_text(fields, "blame", result->blame);
    kf_event_interval(fields, "speedup", result->speedup.value, result->speedup.low,
                      result->speedup.high);
    kf_event_number(fields, "build_s", result->build_seconds);
    kf_event_number(fields, "judge_s", result->judge_seconds);
    kf_event_text(fields, "message", result->message);
}
