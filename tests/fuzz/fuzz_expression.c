/* Any text: parse, evaluate over a few bindings, visit the names. Values have to keep the promises
 * of kf_value. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/expression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void visit(void *context, const char *name)
{
    *(size_t *)context += strlen(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kf_autofree char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    kf_error error = {0};
    kf_auto(kf_expression) expression = kf_expression_parse(text, &error);
    if (!expression) {
        if (!error.text[0] || error.code == KF_ERROR_NONE) abort(); /* a failure without a reason */
        return 0;
    }
    static const kf_binding bindings[] = {
        {"n", 4096}, {"m", 0}, {"k", INT64_MAX}, {"j", INT64_MIN}, {"i", -3}};
    kf_value value;
    if (kf_expression_evaluate(expression, bindings, 5, &value, &error)) {
        if (!isfinite(value.number) || (value.is_integer && value.number != (double)value.integer))
            abort();
    } else if (!error.text[0]) {
        abort();
    }
    size_t bytes = 0;
    kf_expression_names(expression, visit, &bytes);
    if (bytes > size) abort();
    return 0;
}
