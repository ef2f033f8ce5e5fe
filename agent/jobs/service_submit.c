/* Takes a submission: checks it, finds equal work, else queues new work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "extract.h"
#include "jobs_internal.h"

/* Copies the source, or extracts it from the reply. *reason is set for a reply without one. */
static bool read_source(const kf_submission *submission, const kf_task *task, kf_work_input *input,
                        char **reason, kf_error *error)
{
    *reason = NULL;
    if (!submission->source == !submission->reply)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s of source and reply is given; give exactly one of them",
                       submission->source ? "each" : "neither");
    if (submission->source) {
        if (!kf_source_check(submission->source, submission->source_size, "source", error))
            return false;
        input->source = malloc(submission->source_size + 1);
        if (!input->source) return kf_fail_memory(error, "a source");
        memcpy(input->source, submission->source, submission->source_size);
        input->source[submission->source_size] = '\0';
        input->size = submission->source_size;
        return true;
    }
    kf_error why = {0};
    input->source =
        kf_extract_candidate(submission->reply, submission->reply_size, kf_task_entry(task),
                             kf_task_is_torch(task), &input->python, &why);
    if (input->source) {
        input->size = strlen(input->source);
        if (kf_source_check(input->source, input->size, "reply", &why)) return true;
    }
    if (why.code == KF_ERROR_MEMORY) return kf_fail_copy(error, &why);
    *reason = strdup(why.text);
    return *reason || kf_fail_memory(error, "a reply");
}

static bool copy_flags(const kf_submission *submission, kf_work_input *input, kf_error *error)
{
    if (submission->flag_count > KF_JOB_FLAGS)
        return kf_fail(error, KF_ERROR_INPUT, "flags: more than %d flags", KF_JOB_FLAGS);
    input->flags = calloc(submission->flag_count + 1, sizeof *input->flags);
    if (!input->flags) return kf_fail_memory(error, "flags");
    for (size_t i = 0; i < submission->flag_count; i++) {
        if (!kf_flag_check(submission->flags[i], error))
            return kf_fail_prefix(error, "flags[%zu]", i);
        if (!(input->flags[i] = strdup(submission->flags[i])))
            return kf_fail_memory(error, "flags");
        input->flag_count++;
    }
    return true;
}

static bool fill_input(const kf_submission *submission, kf_work_input *input, char **reason,
                       kf_error *error)
{
    const kf_task *task = input->task->task;
    if (!copy_flags(submission, input, error) ||
        !read_source(submission, task, input, reason, error))
        return false;
    if (*reason) return true;
    input->mode = submission->mode;
    if (submission->source) input->python = submission->python;
    if (input->python && !kf_task_is_torch(task))
        return kf_fail(error, KF_ERROR_INPUT,
                       "source: task %s has no problem file in Python; send a CUDA source",
                       kf_task_name(task));
    input->fresh = submission->fresh;
    input->seconds = submission->seconds;
    snprintf(input->proposer, sizeof input->proposer, "%s",
             submission->proposer ? submission->proposer : "service");
    kf_store_candidate_hash(input->source, input->size, (const char *const *)input->flags,
                            input->flag_count, input->candidate);
    return true;
}

/* Finds or makes the work for a ticket. With the lock held. */
static bool place(kf_service *service, kf_ticket *ticket, kf_work_input *input, kf_refusal *refusal,
                  kf_error *error)
{
    char key[KF_HASH_HEX];
    kf_work_key(input, input->mode, key);
    kf_work *known = input->fresh ? NULL : kf_work_known(service, input);
    if (known) {
        ticket->work = known;
        known->references++;
        ticket->is_cached = true;
        service->figures.cached++;
        kf_ticket_finish(ticket, KF_TICKET_DONE);
        return true;
    }
    kf_work *same = input->fresh ? NULL : kf_work_find(service, key);
    if (same && same->place != KF_WORK_DONE) {
        ticket->is_cached = true;
        kf_ticket_attach(ticket, same);
        return true;
    }
    size_t waiting = service->lists[KF_WORK_INCOMING].count + service->lists[KF_WORK_WAITING].count;
    if (waiting >= service->settings.queue_limit) {
        *refusal = KF_REFUSED_FULL;
        service->figures.refused++;
        return kf_fail(error, KF_ERROR_BUSY, "the queue is full: %zu jobs wait; try again later",
                       waiting);
    }
    bool fresh = input->fresh;
    kf_work *work = kf_work_new(input, error);
    if (!work) return false;
    kf_work_move(service, work, KF_WORK_INCOMING, false);
    if (!fresh) kf_work_list_in_table(service, work);
    kf_ticket_attach(ticket, work);
    return true;
}

/* Queues the input for a ticket, or answers it. */
static bool enqueue(kf_service *service, kf_ticket *ticket, kf_work_input *input,
                    const kf_submission *submission, kf_refusal *refusal, kf_error *error)
{
    pthread_mutex_lock(&service->lock);
    *refusal = KF_REFUSED_FAILED;
    bool placed = !service->is_closing ||
                  kf_fail(error, KF_ERROR_BUSY, "the service is closing; submit to another one");
    if (placed && ticket->own) {
        service->figures.no_source++;
        kf_ticket_finish(ticket, KF_TICKET_DONE);
    } else if (placed) {
        placed = place(service, ticket, input, refusal, error);
    }
    if (placed && submission->kept) kf_ticket_keep(ticket);
    if (placed) ticket->free_data = submission->free_data;
    bool waits = placed && ticket->state < KF_TICKET_DONE;
    pthread_mutex_unlock(&service->lock);
    if (waits) kf_service_wake(service);
    if (placed) kf_service_notify(service);
    return placed;
}

kf_ticket *kf_service_submit(kf_service *service, const kf_submission *submission,
                             kf_refusal *refusal, kf_error *error)
{
    kf_refusal why = KF_REFUSED_INPUT;
    __attribute__((cleanup(kf_work_input_clear))) kf_work_input input = {0};
    kf_autofree char *reason = NULL;
    kf_error failure = {0};
    kf_ticket *ticket = NULL;
    bool placed = false;
    if (!submission->loaded && !submission->bundle && !submission->task)
        kf_fail(&failure, KF_ERROR_INPUT, "task: missing; give a name, a hash or a bundle");
    else
        input.task = kf_service_resolve(service, submission, &why, &failure);
    if (input.task) {
        why = KF_REFUSED_INPUT;
        if (fill_input(submission, &input, &reason, &failure)) {
            why = KF_REFUSED_FAILED;
            ticket = kf_ticket_new(service, submission);
            bool made = ticket && (!reason || (ticket->own = kf_judgement_no_source(reason)));
            if (made) ticket->data = submission->data;
            placed = made ? enqueue(service, ticket, &input, submission, &why, &failure)
                          : kf_fail_memory(&failure, "a job");
        }
    }
    if (placed) return ticket;
    if (failure.code == KF_ERROR_MEMORY) why = KF_REFUSED_FAILED;
    if (refusal) *refusal = why;
    kf_fail_copy(error, &failure);
    kf_ticket_release(ticket);
    return NULL;
}
