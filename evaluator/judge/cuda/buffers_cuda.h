/* Buffer sets of the CUDA device: the struct, its operations, and the functions that sets_cuda.c,
 * inspect_cuda.c, host_copies_cuda.c and device_pool_cuda.c share (buffers_cuda.c). */
#ifndef KFORGE_BUFFERS_CUDA_H
#define KFORGE_BUFFERS_CUDA_H

#include "cache_look.h"
#include "device_cuda.h"
#include "stream_page.h"

/* One allocation. Runners map it as a whole, between unmapped addresses. */
typedef struct kf_cuda_region {
    cu_handle handle;
    cu_pointer reserved, base;
    uint64_t bytes;
    /* The descriptor that all runners get, since the driver takes a millisecond to make one. -1
     * before the first runner. */
    int descriptor;
} kf_cuda_region;

typedef struct kf_cuda_buffer {
    uint32_t region;
    /* `offset` and `length`: with guards, in the region. `data_offset`: of element 0, from
     * `offset` on. `bytes`: of the elements. */
    uint64_t offset, length, data_offset, bytes;
    uint64_t digest;
    /* The candidate's copy of an input is older than the input. */
    bool stale;
} kf_cuda_buffer;

/* Host copies of buffers. They are valid until the next fill or poison. */
typedef struct kf_cuda_copies {
    void **data;
    size_t count;
} kf_cuda_copies;

typedef struct kf_cuda_secrets {
    /* Of digests, of inputs and, by side, of poison. */
    uint64_t digests, inputs, poison[2];
} kf_cuda_secrets;

/* A sample of an output, as the candidate's stream saw it. */
typedef struct kf_cuda_sample {
    uint32_t set;
    int argument;
    /* In the judge's context, and in bytes from element 0. */
    cu_pointer address;
    kf_stream_sample layout;
    unsigned char bytes[KF_SAMPLE_ROWS * KF_SAMPLE_WIDTH];
} kf_cuda_sample;

/* Of a batch and of the single call after it. */
#define KF_CUDA_SAMPLES (2 * KF_SAMPLE_SLOTS)

typedef struct kf_cuda_order {
    /* The region of the stream page. */
    uint32_t region;
    /* Samples since the last poison: at most KF_CUDA_SAMPLES. */
    uint32_t sample_count;
    kf_cuda_sample *samples;
    /* The first look of a held batch, right after flushing. */
    kf_cache_shares flushed;
    /* Secret: which lines the first look has. */
    uint64_t lines;
} kf_cuda_order;

typedef struct kf_cuda_sets {
    kf_cuda_device *gpu;
    const kf_problem *problem;
    uint32_t count;
    bool truth;
    /* The number of sets with a truth of their own. The other sets share the truth of set 0. */
    uint32_t truth_room;
    kf_cuda_region *regions;
    uint32_t region_count;
    /* [set * argument_count + argument]. By side, KF_ROLE_CANDIDATE or KF_ROLE_BASELINE: equal if
     * memory is short. The oracle reads the baseline's inputs. */
    kf_cuda_buffer *sides[2], *truths;
    /* The side that has its turn, and its buffers. */
    kf_role side;
    kf_cuda_buffer *buffers;
    kf_cuda_secrets secrets;
    /* By side: true if its inouts were digested since the last fill. */
    bool inouts_digested[2];
    kf_set_variation *variations;
    /* By entry, the set from which the numbers of a buffer are drawn: its own, except for copies.
     */
    uint32_t *sources;
    kf_cuda_copies copies;
    /* The snapshot at the end of the last batch. Its bytes are in the device's `snapshots`. */
    kf_snapshot_task *snapshot_tasks;
    uint32_t *snapshot_sets;
    size_t snapshot_count;
    uint64_t snapshot_seed;
    /* Outputs that changed after an earlier snapshot. */
    kf_damage late;
    kf_cuda_order order;
    /* Of runners in Python: of the candidate and of the baseline. */
    struct kf_output_directory *output_directories[2];
    /* The candidate's runner. NULL if the candidate is not in Python. */
    const kf_runner *python;
} kf_cuda_sets;

/* ---- operations of the device (device.h) ----------------------------------------------------- */

/* sets_cuda.c */
kf_sets *kf_cuda_sets_new(kf_device *device, const kf_problem *problem, uint32_t count, bool truth,
                          kf_error *error);
void kf_cuda_sets_free(kf_sets *sets);
kf_runner_event kf_cuda_hand_over(kf_sets *sets, kf_runner *runner, kf_role role);
bool kf_cuda_turn_to(kf_sets *sets, kf_role side, kf_error *error);
bool kf_cuda_fill(kf_sets *sets, uint64_t secret, const kf_set_variation *variations,
                  kf_error *error);
bool kf_cuda_poison(kf_sets *sets, kf_role side, uint64_t secret, kf_error *error);
uint32_t kf_cuda_truth_room(const kf_sets *sets);
void kf_cuda_cache_flush(kf_sets *sets, const uint32_t *list, uint32_t count);
bool kf_cuda_prepare_truth(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error);
bool kf_cuda_copy_input(kf_sets *sets, uint32_t from, uint32_t to, int argument, kf_error *error);
bool kf_cuda_make_fresh(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error);
/* buffers_cuda.c */
bool kf_cuda_sides_share(const kf_sets *sets);
/* occupy_cuda.c */
bool kf_cuda_occupy(kf_sets *sets, kf_error *error);
bool kf_cuda_withhold(kf_sets *sets, kf_error *error);
void kf_cuda_vacate(kf_sets *sets);
bool kf_cuda_interruption(kf_sets *sets, double *seconds, kf_error *error);
/* inspect_cuda.c */
/* Compares nothing. The driver allocates local memory for this kernel when it first runs. A
 * candidate must not see in the free memory that the first comparison has come. */
bool kf_cuda_device_compare_begin(kf_cuda_device *gpu, kf_error *error);
bool kf_cuda_inspect(kf_sets *sets, const bool *chosen, kf_damage *damage, kf_error *error);
bool kf_cuda_device_compare(kf_sets *sets, const uint32_t *list, uint32_t count,
                            kf_device_compare *comparisons, kf_error *error);
bool kf_cuda_output_snapshot(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error);
bool kf_cuda_settled(kf_sets *sets, kf_damage *damage, kf_error *error);
/* order_cuda.c */
bool kf_cuda_hold(kf_sets *sets, uint32_t open, kf_error *error);
bool kf_cuda_cached(kf_sets *sets, uint32_t set, bool again, double *share, kf_error *error);
bool kf_cuda_release(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error);
bool kf_cuda_take_samples(kf_sets *sets, uint64_t nonce, const uint32_t *order, uint32_t count,
                          kf_error *error);
bool kf_cuda_check_samples(kf_sets *sets, kf_damage *damage, kf_error *error);
double kf_cuda_gate_seconds(const kf_device *device);
/* host_copies_cuda.c */
const void *kf_cuda_output(kf_sets *sets, uint32_t set, int argument, kf_error *error);
const void *kf_cuda_truth(kf_sets *sets, uint32_t set, int argument, kf_error *error);
const void *kf_cuda_input(kf_sets *sets, uint32_t set, int argument, kf_error *error);
bool kf_cuda_nudge_input(kf_sets *sets, uint32_t set, int argument, uint64_t seed, double share,
                         kf_error *error);
void kf_cuda_poison_read(kf_sets *sets, uint32_t set, int argument, uint64_t first, uint64_t count,
                         void *bytes);

/* ---- shared by the files of the sets --------------------------------------------------------- */

/* Returns the key of one buffer's numbers. */
kf_key kf_cuda_key(uint64_t secret, uint32_t set, int argument);
/* Returns the judge's address of element 0. */
uint64_t kf_cuda_address(const kf_cuda_sets *sets, const kf_cuda_buffer *buffer);
/* Writes the digests of the listed buffers of a side to `digests`. */
bool kf_cuda_digests(kf_cuda_sets *sets, kf_role side, const size_t *entries, size_t count,
                     uint64_t *digests, kf_error *error);
/* True if the oracle computes the argument in float64. Pure. */
bool kf_cuda_is_widened(const kf_problem_argument *argument);
/* True if the oracle gets a buffer of its own for the argument. Pure. */
bool kf_cuda_has_truth(const kf_problem_argument *argument);
/* Returns the bytes of the truth of one argument of one set. Pure. */
uint64_t kf_cuda_truth_argument_bytes(const kf_problem_argument *argument);
/* Returns the bytes of the truth of one set. Pure. */
uint64_t kf_cuda_truth_bytes(const kf_problem *problem);
/* Fills in the page's buffer for the candidate. */
kf_runner_buffer kf_cuda_page_buffer(const kf_cuda_sets *sets);
/* Gives the inputs of the listed sets new numbers of the same distribution (sets_cuda.c). */
bool kf_cuda_redraw(kf_cuda_sets *sets, const uint32_t *list, uint32_t count, kf_error *error);
/* Frees all host copies (host_copies_cuda.c). */
void kf_cuda_forget_copies(kf_cuda_sets *sets);

#endif
