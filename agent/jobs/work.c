/* Work: the lists it moves through, and the table in which equal work is found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs_internal.h"

void kf_work_input_clear(kf_work_input *input)
{
    kf_shared_task_release(input->task);
    for (size_t i = 0; i < input->flag_count; i++) free(input->flags[i]);
    free(input->flags);
    free(input->source);
    *input = (kf_work_input){0};
}

void kf_work_key(const kf_work_input *input, kf_judge_mode mode, char key[KF_HASH_HEX])
{
    char seconds[40];
    snprintf(seconds, sizeof seconds, "%.17g", mode == KF_MODE_CHECK ? 0 : input->seconds);
    const char *parts[] = {kf_task_hash(input->task->task), input->candidate,
                           kf_judge_mode_name(mode), input->python ? "python" : "cuda", seconds};
    size_t sizes[] = {KF_HASH_HEX - 1, KF_HASH_HEX - 1, strlen(parts[2]), strlen(parts[3]),
                      strlen(seconds)};
    kf_hash_parts_hex(key, parts, sizes, 5);
}

kf_work *kf_work_new(kf_work_input *input, kf_error *error)
{
    kf_work *work = calloc(1, sizeof *work);
    if (!work) {
        kf_work_input_clear(input);
        kf_fail_memory(error, "a job");
        return NULL;
    }
    work->input = *input;
    *input = (kf_work_input){0};
    work->place = KF_WORK_DONE;
    kf_work_key(&work->input, work->input.mode, work->key);
    return work;
}

void kf_work_release(kf_work *work)
{
    if (!work || --work->references) return;
    kf_work_input_clear(&work->input);
    kf_judgement_free(work->judgement);
    free(work);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void unlink_work(kf_service *service, kf_work *work)
{
    if (work->place == KF_WORK_DONE) return;
    kf_work_list *list = &service->lists[work->place];
    *(work->previous ? &work->previous->next : &list->first) = work->next;
    *(work->next ? &work->next->previous : &list->last) = work->previous;
    list->count--;
    work->next = work->previous = NULL;
}

/* A list holds one reference to its work. */
void kf_work_move(kf_service *service, kf_work *work, kf_work_place place, bool front)
{
    bool was_in_list = work->place != KF_WORK_DONE;
    unlink_work(service, work);
    work->place = place;
    if (place == KF_WORK_DONE) {
        if (was_in_list) kf_work_release(work);
        return;
    }
    if (!was_in_list) work->references++;
    kf_work_list *list = &service->lists[place];
    work->next = front ? list->first : NULL;
    work->previous = front ? NULL : list->last;
    *(work->next ? &work->next->previous : &list->last) = work;
    *(work->previous ? &work->previous->next : &list->first) = work;
    list->count++;
}

void kf_work_drop(kf_service *service, kf_work *work)
{
    kf_work_unlist(service, work);
    kf_work_move(service, work, KF_WORK_DONE, false);
}

/* ---- the table ------------------------------------------------------------------------------- */

static kf_work **bucket_of(kf_service *service, const char *key)
{
    unsigned number = 0;
    for (int i = 0; i < 3; i++)
        number = number * 16 + (unsigned)(key[i] <= '9' ? key[i] - '0' : key[i] - 'a' + 10);
    return &service->buckets[number % KF_WORK_BUCKETS];
}

kf_work *kf_work_find(kf_service *service, const char *key)
{
    kf_work *work = *bucket_of(service, key);
    while (work && strcmp(work->key, key) != 0) work = work->next_in_bucket;
    return work;
}

void kf_work_unlist(kf_service *service, kf_work *work)
{
    if (!work->is_listed) return;
    kf_work **at = bucket_of(service, work->key);
    while (*at != work) at = &(*at)->next_in_bucket;
    *at = work->next_in_bucket;
    work->is_listed = false;
    kf_work_release(work);
}

void kf_work_list_in_table(kf_service *service, kf_work *work)
{
    kf_work *older = kf_work_find(service, work->key);
    if (older == work) return;
    if (older) kf_work_unlist(service, older);
    kf_work **bucket = bucket_of(service, work->key);
    work->next_in_bucket = *bucket;
    *bucket = work;
    work->is_listed = true;
    work->references++;
}

void kf_work_remember(kf_service *service, kf_work *work)
{
    kf_work_list_in_table(service, work);
    work->references++;
    *(service->last_remembered ? &service->last_remembered->next_remembered
                               : &service->first_remembered) = work;
    service->last_remembered = work;
    if (++service->remembered <= KF_SERVICE_REMEMBERED) return;
    kf_work *oldest = service->first_remembered;
    service->first_remembered = oldest->next_remembered;
    service->remembered--;
    kf_work_unlist(service, oldest);
    kf_work_release(oldest);
}

kf_work *kf_work_known(kf_service *service, const kf_work_input *input)
{
    for (int mode = KF_MODE_CHECK; mode <= KF_MODE_VERIFY; mode++) {
        char key[KF_HASH_HEX];
        kf_work_key(input, (kf_judge_mode)mode, key);
        kf_work *work = kf_work_find(service, key);
        if (work && work->place == KF_WORK_DONE && work->judgement &&
            kf_judgement_answers(work->judgement, input->mode))
            return work;
    }
    return NULL;
}

void kf_work_finish(kf_service *service, kf_work *work, kf_judgement *judgement, bool cached)
{
    kf_service_figures *figures = &service->figures;
    work->judgement = judgement;
    /* The list's reference ends with kf_work_move. */
    work->references++;
    kf_work_move(service, work, KF_WORK_DONE, false);
    if (kf_judgement_answers(judgement, work->input.mode))
        kf_work_remember(service, work);
    else
        kf_work_unlist(service, work);
    if (!cached) {
        figures->verdicts[judgement->status]++;
        figures->judged++;
        if (judgement->judge_seconds > 0) figures->judge_seconds += judgement->judge_seconds;
        if (judgement->build_seconds > 0) figures->build_seconds += judgement->build_seconds;
    }
    while (work->tickets) {
        kf_ticket *ticket = work->tickets;
        ticket->is_cached |= cached;
        figures->cached += ticket->is_cached;
        kf_ticket_finish(ticket, KF_TICKET_DONE);
    }
    /* A remembered judgement needs no source. */
    free(work->input.source);
    work->input.source = NULL;
    work->input.size = 0;
    kf_work_release(work);
}
