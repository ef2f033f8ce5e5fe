/* Proposals: a source at a point of its tunables. */
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "search_internal.h"

void kf_proposal_free(kf_proposal *proposal)
{
    if (!proposal) return;
    for (int i = 0; i < proposal->flag_count; i++) free(proposal->flags[i]);
    free(proposal->source);
    free(proposal);
}

kf_proposal *kf_proposal_new(kf_step step, kf_tunable_source *tunable, const kf_tune_point *point,
                             kf_error *error)
{
    kf_proposal *proposal = calloc(1, sizeof *proposal);
    if (proposal) proposal->source = malloc(tunable->size + 1);
    if (!proposal || !proposal->source) {
        kf_proposal_free(proposal);
        kf_fail_memory(error, "a candidate");
        return NULL;
    }
    memcpy(proposal->source, tunable->source, tunable->size + 1);
    proposal->size = tunable->size;
    proposal->origin.step = step;
    proposal->tunable = tunable;
    proposal->point = *point;
    proposal->origin.model = -1;
    int count = kf_tune_point_flags(tunable->space, point, proposal->flags, error);
    if (count < 0) {
        kf_proposal_free(proposal);
        return NULL;
    }
    proposal->flag_count = count;
    if (!kf_tunable_source_form(tunable, error)) {
        kf_proposal_free(proposal);
        return NULL;
    }
    if (*tunable->form)
        kf_store_candidate_hash(tunable->form, strlen(tunable->form),
                                (const char *const *)proposal->flags, (size_t)count,
                                proposal->form);
    return proposal;
}
