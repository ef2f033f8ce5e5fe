/* Figures that have something to reach: a line for people each, and one of JSON for the file that
 * GPU_FIGURES names. run.sh puts them together. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu_check.h"
#include "kforge/json.h"

bool gpu_figure(const char *name, double value, const char *unit, gpu_sense sense, double target)
{
    const char *path = getenv("GPU_FIGURES"), *part = getenv("GPU_PART"),
               *words = sense == GPU_AT_LEAST ? "at least" : "at most";
    bool reached = sense == GPU_AT_LEAST ? value >= target : value <= target; /* false for NaN */
    printf("  %s: %.4g%s%s, to reach: %s %g; %s\n", name, value, *unit ? " " : "", unit, words,
           target, reached ? "reached" : "MISSED");
    kf_auto(cJSON) object = cJSON_CreateObject();
    FILE *file = path ? fopen(path, "ae") : NULL;
    if (!object || (path && !file)) return printf("  %s can't be noted down\n", name), false;
    cJSON_AddStringToObject(object, "part", part ? part : "");
    cJSON_AddStringToObject(object, "figure", name);
    kf_json_add_number(object, "value", value);
    cJSON_AddStringToObject(object, "unit", unit);
    cJSON_AddStringToObject(object, "to_reach", words);
    kf_json_add_number(object, "target", target);
    cJSON_AddBoolToObject(object, "reached", reached);
    char *text = cJSON_PrintUnformatted(object);
    if (text && file) fprintf(file, "%s\n", text);
    free(text);
    if (file) fclose(file);
    return reached;
}
