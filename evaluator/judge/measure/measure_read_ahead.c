/* Calls that use inputs of later calls: they work ahead, or fetch into a cache. What they have read
 * may be right in the end, because the later call compares it with its inputs. So in a watched
 * batch (measure_watch.c) the judge also looks at pages. The processor marks each page that is
 * used, be it by a prefetch instruction, and the kernel shows the marks for each mapping.
 *
 * A mark may have another cause: a processor that guesses which call comes next, a kernel that
 * looks for memory to give away. Such marks are few. So a buffer counts if half of it is marked,
 * and a batch if so many pages of such buffers are. */
#include <stdlib.h>
#include <unistd.h>

#include "measure_internal.h"

#define PAGES 4
/* Batches that convict. */
#define BATCHES 3

typedef struct input {
    uint64_t offset, bytes;
    /* in the order of the batch */
    uint32_t place;
} input;

struct kf_read_ahead {
    kf_measurement *r;
    size_t count;
    uint32_t calls;
    /* marked, of inputs of calls that had not begun */
    uint64_t bytes;
    bool found;
    uint32_t (*begun)(void *context);
    void *context;
    /* by offset */
    input inputs[];
};

static int compare_offsets(const void *a, const void *b)
{
    const input *left = a, *right = b;
    return (left->offset > right->offset) - (left->offset < right->offset);
}

kf_read_ahead *kf_read_ahead_new(kf_measurement *r, uint32_t calls)
{
    const kf_problem *problem = r->bench->problem;
    size_t most = (size_t)calls * (size_t)problem->argument_count;
    if (!r->device->buffers.offset) return NULL;
    kf_read_ahead *ahead = calloc(1, sizeof *ahead + most * sizeof *ahead->inputs);
    if (!ahead || !kf_runner_forget_use(r->runners[CANDIDATE])) {
        free(ahead);
        return NULL;
    }
    ahead->r = r;
    ahead->calls = calls;
    for (uint32_t place = 0; place < calls; place++)
        for (int i = 0; i < problem->argument_count; i++) {
            const kf_problem_argument *argument = &problem->arguments[i];
            if (argument->kind != KF_INPUT && argument->kind != KF_INOUT) continue;
            ahead->inputs[ahead->count++] =
                (input){.offset = r->device->buffers.offset(r->sets, r->lists.order[place], i),
                        .bytes = argument->bytes,
                        .place = place};
        }
    qsort(ahead->inputs, ahead->count, sizeof *ahead->inputs, compare_offsets);
    return ahead;
}

/* The number of calls is read after the marks. */
static bool see(void *context, const kf_runner_use *use)
{
    kf_read_ahead *ahead = context;
    const input key = {.offset = use->offset};
    const input *found = bsearch(&key, ahead->inputs, ahead->count, sizeof key, compare_offsets);
    uint32_t begun = ahead->begun(ahead->context);
    if (found && found->place >= begun && 2 * use->bytes >= found->bytes)
        ahead->bytes += use->bytes;
    ahead->found = ahead->bytes >= PAGES * (uint64_t)sysconf(_SC_PAGESIZE);
    return begun < ahead->calls && !ahead->found;
}

void kf_read_ahead_look(kf_read_ahead *ahead, uint32_t (*begun)(void *context), void *context)
{
    ahead->begun = begun;
    ahead->context = context;
    kf_runner_see_use(ahead->r->runners[CANDIDATE], see, ahead);
}

bool kf_read_ahead_found(const kf_read_ahead *ahead)
{
    return ahead && ahead->found;
}

void kf_read_ahead_free(kf_read_ahead *ahead)
{
    free(ahead);
}

bool kf_measurement_convict_read_ahead(kf_measurement *r, kf_error *error)
{
    if (++r->watching.read_ahead < BATCHES) return true;
    r->over = true;
    return kf_verdict_add_finding(r->bench->verdict, r->bench->result, KF_CHEATING,
                                  KF_BLAME_CANDIDATE, "calls.early", BATCHES, 0,
                                  "in %d watched batches an earlier call had used inputs of a call "
                                  "that had not begun. Read the inputs of a call in it",
                                  BATCHES) != NULL ||
           kf_fail_memory(error, "a finding");
}
