/* Formulas: numbers of task.json, or expressions over its params. Reading checks that every name is
 * a param of the task; evaluation needs the values of the params (task_param_precedence.c). */
#include <math.h>
#include <string.h>

#include "task_internal.h"
#include "nearest.h"

typedef struct kf_name_check {
    const kf_task *task;
    const char *unknown;
} kf_name_check;

static void check_name(void *context, const char *name)
{
    kf_name_check *check = context;
    bool known = false;
    for (int i = 0; i < check->task->params.count && !known; i++)
        known = strcmp(check->task->params.names[i], name) == 0;
    if (!known && !check->unknown) check->unknown = name;
}

kf_formula kf_formula_number(double number)
{
    bool is_integer = number == floor(number) && fabs(number) <= (double)KF_EXACT_INTEGER;
    return (kf_formula){.present = true,
                        .constant = {.is_integer = is_integer,
                                     .integer = is_integer ? (int64_t)number : 0,
                                     .number = number}};
}

void kf_formula_free(kf_formula *formula)
{
    kf_expression_free(formula->expression);
    formula->expression = NULL;
}

const char *kf_formula_text(const kf_formula *formula, char text[KF_NAME_BYTES])
{
    if (formula->expression)
        snprintf(text, KF_NAME_BYTES, "\"%.58s\"", kf_expression_text(formula->expression));
    else
        snprintf(text, KF_NAME_BYTES, "it");
    return text;
}

bool kf_formula_read(const kf_task *task, kf_json_reader *reader, const char *key,
                     const cJSON *value, kf_formula *formula)
{
    if (cJSON_IsNumber(value)) {
        if (!isfinite(value->valuedouble))
            return kf_json_complain(reader, key, "the number is beyond what a double can hold");
        *formula = kf_formula_number(value->valuedouble);
        return true;
    }
    if (cJSON_IsBool(value)) {
        *formula = kf_formula_number(cJSON_IsTrue(value) ? 1 : 0);
        return true;
    }
    if (!cJSON_IsString(value))
        return kf_json_complain(reader, key, "expected a number or an expression in a string");

    kf_error inner = {0};
    kf_auto(kf_expression) expression = kf_expression_parse(value->valuestring, &inner);
    if (!expression) {
        kf_json_complain(reader, key, "%s", inner.text);
        if (reader->error) reader->error->code = inner.code;
        return false;
    }
    kf_name_check check = {.task = task};
    kf_expression_names(expression, check_name, &check);
    if (check.unknown) {
        const char *near =
            kf_nearest(check.unknown, task->params.names, (size_t)task->params.count);
        if (near)
            return kf_json_complain(reader, key, "\"%s\" is no param; did you mean \"%s\"?",
                                    check.unknown, near);
        return kf_json_complain(reader, key, "\"%s\" is no param; declare it in \"params\"",
                                check.unknown);
    }
    *formula = (kf_formula){.present = true, .expression = kf_steal(&expression)};
    return true;
}

bool kf_formula_evaluate(const kf_formula *formula, const kf_binding *bindings, size_t count,
                         kf_value *value, kf_error *error)
{
    if (formula->expression)
        return kf_expression_evaluate(formula->expression, bindings, count, value, error);
    *value = formula->constant;
    return true;
}

bool kf_formula_integer(const kf_formula *formula, const kf_binding *bindings, size_t count,
                        int64_t *integer, kf_error *error)
{
    kf_value value;
    if (!kf_formula_evaluate(formula, bindings, count, &value, error)) return false;
    *integer = value.integer;
    if (value.is_integer) return true;
    if (value.number != floor(value.number) || fabs(value.number) > (double)KF_EXACT_INTEGER)
        return kf_fail(error, KF_ERROR_INPUT, "expected an integer, found %.17g", value.number);
    /* log2(4096) is the decimal 12.0 */
    *integer = (int64_t)value.number;
    return true;
}
