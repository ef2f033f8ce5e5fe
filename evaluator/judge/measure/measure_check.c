/* A task's own check of results, where it accepts more than a comparison with one truth: factors of
 * a matrix, eigenvectors. The oracle's runner calls it (torch.check), in no candidate's process. It
 * gets copies of the candidate's outputs, and the set's inputs as the judge drew them.
 *
 * The import has seen that the check takes the reference's result. So outputs on which it fails, or
 * ends its process, are refused. An error of the machine stays one. A CUDA error stays in the
 * process, so another oracle follows. If the check does not end in time, another oracle checks the
 * reference's outputs: the task is to blame only if that does not end, either. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "error_codes.h"
#include "kforge/dtype.h"
#include "measure_internal.h"
#include "wire.h"

/* Rounds the reference's outputs to the type of the argument. NULL without memory. */
static void *round_truth(const kf_problem_argument *argument, const double *truth)
{
    size_t size = kf_dtype_size(argument->dtype);
    char *rounded = malloc(argument->bytes ? argument->bytes : 1);
    for (int64_t i = 0; rounded && i < argument->elements; i++)
        kf_dtype_store(argument->dtype, rounded + (size_t)i * size, truth[i]);
    return rounded;
}

/* Copies the outputs of a set, or the reference's (`truth`), into one file, each from the start of
 * a page, and describes them. */
static bool copy_outputs(kf_measurement *r, uint32_t set, bool truth, int fd,
                         kf_runner_buffer *buffers, size_t *used, kf_error *error)
{
    const kf_problem *problem = r->bench->problem;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), offset = 0;
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        if (argument->kind != KF_OUTPUT) continue;
        const void *data = truth ? r->device->buffers.truth(r->sets, set, i, error)
                                 : r->device->buffers.output(r->sets, set, i, error);
        if (!data) return false;
        kf_autofree void *rounded = NULL;
        if (truth && kf_dtype_is_float(argument->dtype))
            data = rounded = round_truth(argument, data);
        uint64_t length = (argument->bytes + page - 1) / page * page;
        if (!data || ftruncate(fd, (off_t)(offset + length)) != 0 ||
            pwrite(fd, data, argument->bytes, (off_t)offset) != (ssize_t)argument->bytes)
            return kf_fail(error, KF_ERROR_MACHINE, "no memory for the check of the results");
        buffers[(*used)++] = (kf_runner_buffer){.fd = fd,
                                                .set = set,
                                                .argument = (uint32_t)i,
                                                .offset = offset,
                                                .length = length,
                                                .bytes = argument->bytes,
                                                .check = true};
        offset += length;
    }
    return true;
}

/* True if the outputs made the check fail, by an error of the device or the end of the process. A
 * process that ended at its limit of memory shows nothing. */
static bool failed_on_outputs(const kf_measurement *r, kf_runner_event event, int code)
{
    const char *name;
    if (event == KF_RUNNER_ENDED) {
        kf_runner_explanation why;
        kf_runner_explain(r->oracle, event, "checking results", &why);
        return why.status == KF_CRASH && !why.outside;
    }
    return event == KF_RUNNER_DEVICE_ERROR && !kf_cuda_error_is_machine(code) &&
           r->device->error_status(code, &name) != KF_OUT_OF_MEMORY;
}

/* Finds out whether an error of the device is left in the process of a check that has refused. */
static kf_runner_event find_error(kf_measurement *r, kf_batch *batch)
{
    if (r->bench->device->calls_block) return KF_RUNNER_OK;
    *batch = (kf_batch){.order = batch->order, .null = true, .timeout = batch->timeout};
    return kf_runner_batch(r->oracle, batch);
}

static bool restart_oracle(kf_measurement *r, kf_error *error)
{
    r->check_broke = true;
    kf_runner_pool_retire(r->bench->pool, kf_measurement_take_oracle(r), true);
    return kf_measurement_start_runner(r, KF_ROLE_ORACLE, &r->oracle, error) &&
           (r->over || kf_measurement_hand_over(r, KF_ROLE_ORACLE, r->oracle, error));
}

/* Has the oracle check a set's outputs, or the reference's. False with *error: nothing was checked.
 */
static bool check(kf_measurement *r, uint32_t *set, bool truth, kf_batch *batch,
                  kf_runner_event *event, kf_error *error)
{
    kf_autofree kf_runner_buffer *buffers = calloc(KF_MAX_ARGUMENTS, sizeof *buffers);
    kf_autoclose int fd = memfd_create("kforge-check", MFD_CLOEXEC);
    size_t used = 0;
    if (!buffers || fd < 0) return kf_fail_memory(error, "the check of the results");
    if (!copy_outputs(r, *set, truth, fd, buffers, &used, error)) return false;
    *batch = (kf_batch){.order = set,
                        .count = 1,
                        .check = true,
                        .timeout = 60 + r->bench->options->timeout_seconds};
    *event = kf_runner_map(r->oracle, buffers, used);
    if (*event == KF_RUNNER_OK) *event = kf_runner_batch(r->oracle, batch);
    return true;
}

bool kf_measurement_accepts(void *context, uint32_t set, bool *accepted, kf_error *error)
{
    kf_measurement *r = context;
    kf_batch batch;
    kf_runner_event event;
    *accepted = false;
    /* Starting an oracle takes seconds, and one refusal is enough. */
    if (r->check_broke || r->over) return true;
    if (!check(r, &set, false, &batch, &event, error)) return false;
    *accepted = event == KF_RUNNER_OK;
    if (*accepted) return true;
    if (event == KF_RUNNER_DEVICE_ERROR && batch.code == KF_WIRE_REFUSED &&
        (event = find_error(r, &batch)) == KF_RUNNER_OK)
        return true;
    if (failed_on_outputs(r, event, batch.code)) return restart_oracle(r, error);
    if (event == KF_RUNNER_TIMEOUT && !kf_measurement_ends_with_job(r->bench, KF_ROLE_ORACLE)) {
        if (!restart_oracle(r, error)) return false;
        if (r->over) return true;
        if (!check(r, &set, true, &batch, &event, error)) return false;
        if (event == KF_RUNNER_OK ||
            (event == KF_RUNNER_DEVICE_ERROR && batch.code == KF_WIRE_REFUSED))
            return true;
    }
    return kf_measurement_report(r, r->oracle, KF_ROLE_ORACLE, event, batch.code,
                                 "checking results", error);
}

bool kf_measurement_has_check(const kf_measurement *r)
{
    const cJSON *torch = cJSON_GetObjectItemCaseSensitive(kf_task_json(r->bench->task), "torch");
    return r->bench->kinds[KF_ROLE_ORACLE] == KF_RUNNER_TORCH &&
           cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(torch, "check"));
}
