/* Takes hidden workloads out of a verdict for clients and models. They learn that one failed. */
#include <math.h>
#include <string.h>

#include "jobs.h"
#include "kforge/json.h"

/* Takes name, values and places out of the result of a workload. */
static bool hide(kf_workload_verdict *w)
{
    if (!kf_verdict_set_text(&w->workload, "(hidden)")) return false;
    for (size_t i = 0; i < w->finding_count; i++) {
        kf_finding *finding = &w->findings[i];
        finding->measured = finding->limit = NAN;
        if (!kf_verdict_set_text(&finding->text,
                                 finding->blame == KF_BLAME_CANDIDATE
                                     ? "at a size that is not shown; handle every legal size"
                                     : "in a workload that is not shown"))
            return false;
    }
    for (size_t i = 0; i < w->output_count; i++) {
        kf_error_figures *f = &w->outputs[i].figures;
        f->first_index = -1;
        f->compared = f->mismatched = 0;
        f->first_expected = f->first_got = NAN;
        f->pattern[0] = '\0';
    }
    return true;
}

/* Takes names of hidden workloads out of the findings on the whole verdict. *hidden becomes true if
 * there were names. */
static bool hide_names(kf_verdict *verdict, const kf_task *task, bool *hidden)
{
    for (size_t i = 0; i < verdict->finding_count; i++) {
        kf_finding *finding = &verdict->findings[i];
        if (!kf_task_names_hidden(task, finding->text)) continue;
        *hidden = true;
        if (!kf_verdict_set_text(&finding->text, "in a workload that is not shown")) return false;
    }
    return true;
}

kf_verdict *kf_verdict_shown(const kf_verdict *verdict, const kf_task *task)
{
    kf_auto(cJSON) json = kf_verdict_to_json(verdict);
    kf_auto(kf_verdict) copy = json ? kf_verdict_from_json(json, NULL) : NULL;
    bool hidden = false;
    for (size_t i = 0; copy && i < copy->workload_count; i++) {
        kf_workload_verdict *w = &copy->workloads[i];
        if (!kf_task_hides(task, w->workload)) continue;
        hidden = true;
        if (!hide(w)) return NULL;
    }
    if (copy && !hide_names(copy, task, &hidden)) return NULL;
    if (hidden) kf_verdict_conclude(copy);
    return kf_steal(&copy);
}
