/* Bodies and errors of an exchange. judge_request.c does without a web server, for libkforge. */
#include "judge_request.h"

#include "kforge/json.h"

void kf_serve_fail(kf_exchange *exchange, const kf_serve_error *failure)
{
    if (failure->status == 429) kf_exchange_add_header(exchange, "Retry-After", "1");
    kf_exchange_json(exchange, failure->status, kf_serve_error_json(failure, NULL));
}

cJSON *kf_serve_body(kf_exchange *exchange)
{
    size_t size;
    kf_error why = {0};
    kf_serve_error failure;
    const char *text = kf_exchange_body(exchange, &size);
    kf_auto(cJSON) json = kf_json_parse(text, size, 0, "body", &why);
    if (json && cJSON_IsObject(json)) return kf_steal(&json);
    if (json) kf_fail(&why, KF_ERROR_INPUT, "body: expected a JSON object");
    kf_serve_error_set(&failure, 400, &why, "Send one JSON object; docs/guide/serve.md has it.");
    kf_serve_fail(exchange, &failure);
    return NULL;
}
