/* A task's own check of results, where it accepts more than a comparison with one truth: factors of
 * a matrix, eigenvectors. The oracle's runner calls it (torch.check), in no candidate's process. It
 * gets copies of the candidate's outputs, and the set's inputs as the judge drew them.
 *
 * The import has seen that the check takes the reference's result. So outputs on which it fails, or
 * ends its process, are refused. An error of the machine stays one. A CUDA error stays in the
 * process, so another oracle follows. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "error_codes.h"
#include "measure_internal.h"
#include "wire.h"

/* Copies the outputs of a set into one file, each from the start of a page, and describes them. */
static bool copy_outputs(kf_measurement *r, uint32_t set, int fd, kf_runner_buffer *buffers,
                         size_t *used, kf_error *error)
{
    const kf_problem *problem = r->bench->problem;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), offset = 0;
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        if (argument->kind != KF_OUTPUT) continue;
        const void *data = r->device->buffers.output(r->sets, set, i, error);
        if (!data) return false;
        uint64_t length = (argument->bytes + page - 1) / page * page;
        if (ftruncate(fd, (off_t)(offset + length)) != 0 ||
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
    kf_runner_pool_retire(r->bench->pool, kf_steal(&r->oracle), true);
    return kf_measurement_start_runner(r, KF_ROLE_ORACLE, &r->oracle, error) &&
           (r->over || kf_measurement_hand_over(r, KF_ROLE_ORACLE, r->oracle, error));
}

bool kf_measurement_accepts(void *context, uint32_t set, bool *accepted, kf_error *error)
{
    kf_measurement *r = context;
    kf_autofree kf_runner_buffer *buffers = calloc(KF_MAX_ARGUMENTS, sizeof *buffers);
    kf_autoclose int fd = memfd_create("kforge-check", MFD_CLOEXEC);
    size_t used = 0;
    *accepted = false;
    /* Starting an oracle takes seconds, and one refusal is enough. */
    if (r->check_broke || r->over) return true;
    if (!buffers || fd < 0) return kf_fail_memory(error, "the check of the results");
    if (!copy_outputs(r, set, fd, buffers, &used, error)) return false;
    kf_batch batch = {.order = &set,
                      .count = 1,
                      .check = true,
                      .timeout = 60 + r->bench->options->timeout_seconds};
    kf_runner_event event = kf_runner_map(r->oracle, buffers, used);
    if (event == KF_RUNNER_OK) event = kf_runner_batch(r->oracle, &batch);
    *accepted = event == KF_RUNNER_OK;
    if (*accepted) return true;
    if (event == KF_RUNNER_DEVICE_ERROR && batch.code == KF_WIRE_REFUSED &&
        (event = find_error(r, &batch)) == KF_RUNNER_OK)
        return true;
    if (failed_on_outputs(r, event, batch.code)) return restart_oracle(r, error);
    return kf_measurement_report(r, r->oracle, KF_ROLE_ORACLE, event, batch.code,
                                 "checking results", error);
}

bool kf_measurement_has_check(const kf_measurement *r)
{
    const cJSON *torch = cJSON_GetObjectItemCaseSensitive(kf_task_json(r->bench->task), "torch");
    return r->bench->kinds[KF_ROLE_ORACLE] == KF_RUNNER_TORCH &&
           cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(torch, "check"));
}
