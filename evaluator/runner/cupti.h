/* CUPTI's range profiler, callbacks and activity records, loaded at run time: types and numbers are
 * those of cupti_range_profiler.h, cupti_profiler_host.h, cupti_profiler_target.h, cupti_target.h,
 * cupti_activity.h and cupti_callbacks.h, of which the C compiler cannot read the second. Every
 * parameter struct begins with its size up to the last field, so that the library knows which
 * version the caller speaks. */
#ifndef KFORGE_CUPTI_H
#define KFORGE_CUPTI_H

#include <stddef.h>
#include <stdint.h>

#include "driver_cuda.h"

typedef int cupti_result; /* 0: success */
enum {
    CUPTI_CALLBACKS_DRIVER = 1, /* CUPTI_CB_DOMAIN_DRIVER_API */
    CUPTI_LAUNCH_KERNEL = 307,
    CUPTI_LAUNCH_KERNEL_PTSZ = 442,
    CUPTI_LAUNCH_COOPERATIVE = 477,
    CUPTI_LAUNCH_COOPERATIVE_PTSZ = 478,
    CUPTI_LAUNCH_GRAPH = 514,
    CUPTI_LAUNCH_GRAPH_PTSZ = 515,
    CUPTI_LAUNCH_EX = 652,
    CUPTI_LAUNCH_EX_PTSZ = 653,
    CUPTI_RECORD_COPY = 1, /* CUPTI_ACTIVITY_KIND_MEMCPY */
    CUPTI_RECORD_FILL = 2,
    CUPTI_RECORD_KERNEL = 3,
    CUPTI_RECORD_CONCURRENT_KERNEL = 10,
    CUPTI_AUTO_RANGE = 1,  /* a range a kernel */
    CUPTI_USER_REPLAY = 3, /* the caller repeats the work for each pass */
};

/* All ids of functions that launch kernels. */
#define KF_CUPTI_LAUNCHES                                                           \
    CUPTI_LAUNCH_KERNEL, CUPTI_LAUNCH_KERNEL_PTSZ, CUPTI_LAUNCH_COOPERATIVE,        \
        CUPTI_LAUNCH_COOPERATIVE_PTSZ, CUPTI_LAUNCH_GRAPH, CUPTI_LAUNCH_GRAPH_PTSZ, \
        CUPTI_LAUNCH_EX, CUPTI_LAUNCH_EX_PTSZ

#define CUPTI_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

typedef struct cupti_callback {
    int site; /* 0: entering */
    const char *function;
    const void *parameters;
    void *returned;
    const char *symbol;
    cu_context context;
    uint32_t context_number;
    uint64_t *correlation_data;
    uint32_t correlation;
} cupti_callback;
typedef void (*cupti_callback_function)(void *user, int domain, uint32_t number,
                                        const cupti_callback *callback);

typedef struct cupti_launch { /* cuLaunchKernel, cuLaunchCooperativeKernel */
    cu_function function;
    unsigned grid[3], block[3], shared;
} cupti_launch;
typedef struct cupti_launch_config { /* CUlaunchConfig */
    unsigned grid[3], block[3], shared;
} cupti_launch_config;
typedef struct cupti_launch_ex { /* cuLaunchKernelEx */
    const cupti_launch_config *config;
    cu_function function;
} cupti_launch_ex;

typedef struct cupti_initialize {
    size_t size;
    void *private_data;
} cupti_initialize;
typedef struct cupti_chip {
    size_t size;
    void *private_data;
    size_t device;
    const char *name;
} cupti_chip;
typedef struct cupti_availability {
    size_t size;
    void *private_data;
    cu_context context;
    size_t image_size;
    uint8_t *image;
} cupti_availability;
typedef struct cupti_host {
    size_t size;
    void *private_data;
    int type; /* 0: range profiler */
    const char *chip;
    const uint8_t *availability;
    void *host;
} cupti_host;
typedef struct cupti_host_end {
    size_t size;
    void *private_data, *host;
} cupti_host_end;
typedef struct cupti_add_metrics {
    size_t size;
    void *private_data, *host;
    const char **names;
    size_t count;
} cupti_add_metrics;
typedef struct cupti_config_size {
    size_t size;
    void *private_data, *host;
    size_t config_size;
} cupti_config_size;
typedef struct cupti_config_image {
    size_t size;
    void *private_data, *host;
    size_t config_size;
    uint8_t *config;
} cupti_config_image;
typedef struct cupti_passes {
    size_t size;
    void *private_data;
    size_t config_size;
    uint8_t *config;
    size_t passes;
} cupti_passes;
typedef struct cupti_evaluate {
    size_t size;
    void *private_data, *host;
    const uint8_t *data;
    size_t data_size, range;
    const char **names;
    size_t count;
    double *values;
} cupti_evaluate;
typedef struct cupti_enable {
    size_t size;
    void *private_data;
    cu_context context;
    void *profiler;
} cupti_enable;
typedef struct cupti_data_size {
    size_t size;
    void *private_data, *profiler;
    const char **names;
    size_t count, most_ranges;
    uint32_t most_nodes;
    size_t data_size;
} cupti_data_size;
typedef struct cupti_data_initialize {
    size_t size;
    void *private_data, *profiler;
    size_t data_size;
    uint8_t *data;
} cupti_data_initialize;
typedef struct cupti_set_config {
    size_t size;
    void *private_data, *profiler;
    size_t config_size;
    const uint8_t *config;
    size_t data_size;
    uint8_t *data;
    int range, replay;
    size_t ranges_a_pass;
    uint16_t nesting_levels, least_nesting;
    size_t pass;
    uint16_t target_nesting;
} cupti_set_config;
typedef struct cupti_start {
    size_t size;
    void *private_data, *profiler;
} cupti_start;
typedef struct cupti_stop {
    size_t size;
    void *private_data, *profiler;
    size_t pass, target_nesting;
    uint8_t all_submitted;
} cupti_stop;
typedef struct cupti_decode {
    size_t size;
    void *private_data, *profiler;
    size_t dropped;
} cupti_decode;
typedef struct cupti_data_info {
    size_t size;
    void *private_data;
    const uint8_t *data;
    size_t data_size, ranges;
} cupti_data_info;

#define KF_CUPTI_FUNCTIONS(X)                                                        \
    X(initialize, "cuptiProfilerInitialize", (cupti_initialize * p))                 \
    X(chip_name, "cuptiDeviceGetChipName", (cupti_chip * p))                         \
    X(availability, "cuptiProfilerGetCounterAvailability", (cupti_availability * p)) \
    X(host_initialize, "cuptiProfilerHostInitialize", (cupti_host * p))              \
    X(host_end, "cuptiProfilerHostDeinitialize", (cupti_host_end * p))               \
    X(add_metrics, "cuptiProfilerHostConfigAddMetrics", (cupti_add_metrics * p))     \
    X(config_size, "cuptiProfilerHostGetConfigImageSize", (cupti_config_size * p))   \
    X(config_image, "cuptiProfilerHostGetConfigImage", (cupti_config_image * p))     \
    X(passes, "cuptiProfilerHostGetNumOfPasses", (cupti_passes * p))                 \
    X(evaluate, "cuptiProfilerHostEvaluateToGpuValues", (cupti_evaluate * p))        \
    X(enable, "cuptiRangeProfilerEnable", (cupti_enable * p))                        \
    X(data_size, "cuptiRangeProfilerGetCounterDataSize", (cupti_data_size * p))      \
    X(data_initialize, "cuptiRangeProfilerCounterDataImageInitialize",               \
      (cupti_data_initialize * p))                                                   \
    X(set_config, "cuptiRangeProfilerSetConfig", (cupti_set_config * p))             \
    X(start, "cuptiRangeProfilerStart", (cupti_start * p))                           \
    X(stop, "cuptiRangeProfilerStop", (cupti_stop * p))                              \
    X(decode, "cuptiRangeProfilerDecodeData", (cupti_decode * p))                    \
    X(data_info, "cuptiRangeProfilerGetCounterDataInfo", (cupti_data_info * p))      \
    X(subscribe, "cuptiSubscribe",                                                   \
      (void **subscriber, cupti_callback_function function, void *user))             \
    X(enable_callback, "cuptiEnableCallback",                                        \
      (uint32_t enable, void *subscriber, int domain, uint32_t number))              \
    X(result_text, "cuptiGetResultString", (cupti_result result, const char **text))

/* Activity records. The layout of their first fields is the same in CUDA 11 to 13
 * (CUpti_ActivityKernel4 to 10, CUpti_ActivityMemcpy to 6, CUpti_ActivityMemset to 4). */
typedef struct cupti_record {
    int kind;
} cupti_record;
typedef struct cupti_kernel_record {
    int kind;
    uint8_t caches, shared_config;
    uint16_t registers;
    int global_cache[2];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3], static_shared, dynamic_shared;
    uint32_t local, local_total, correlation;
    int64_t number;
    const char *name;
} cupti_kernel_record;
typedef struct cupti_copy_record { /* and of a fill */
    int kind;
    uint8_t kinds[4];
    uint64_t bytes, start, end;
} cupti_copy_record;

typedef void (*cupti_give_buffer)(uint8_t **buffer, size_t *size, size_t *records);
typedef void (*cupti_take_buffer)(cu_context context, uint32_t stream, uint8_t *buffer, size_t size,
                                  size_t valid);

#define KF_CUPTI_ACTIVITY(X)                                             \
    X(set_buffers, "cuptiActivityRegisterCallbacks",                     \
      (cupti_give_buffer give, cupti_take_buffer take))                  \
    X(enable, "cuptiActivityEnable", (int kind))                         \
    X(disable, "cuptiActivityDisable", (int kind))                       \
    X(flush, "cuptiActivityFlushAll", (uint32_t flags))                  \
    X(next_record, "cuptiActivityGetNextRecord",                         \
      (uint8_t * buffer, size_t valid, cupti_record * *record))          \
    X(subscribe, "cuptiSubscribe",                                       \
      (void **subscriber, cupti_callback_function function, void *user)) \
    X(enable_callback, "cuptiEnableCallback",                            \
      (uint32_t on, void *subscriber, int domain, uint32_t number))      \
    X(result_text, "cuptiGetResultString", (cupti_result result, const char **text))

/* PC sampling: cupti_pcsampling.h, and the resource callbacks that show loaded modules. */
enum {
    CUPTI_CALLBACKS_RESOURCE = 3,
    CUPTI_MODULE_LOADED = 6,
    CUPTI_SAMPLING_PERIOD = 1,
    CUPTI_SAMPLING_REASONS = 2,
    CUPTI_SAMPLING_SCRATCH = 3,
    CUPTI_SAMPLING_HARDWARE_BUFFER = 4,
    CUPTI_SAMPLING_MODE = 5,
    CUPTI_SAMPLING_START_STOP = 6,
    CUPTI_SAMPLING_BUFFER = 8,
    CUPTI_SAMPLING_CONTINUOUS = 1,
    CUPTI_REASON_BYTES = 128,
};

typedef struct cupti_module { /* CUpti_ModuleResourceData */
    uint32_t number;
    size_t size;
    const char *cubin;
} cupti_module;
typedef struct cupti_resource {
    cu_context context;
    void *handle;
    const cupti_module *module;
} cupti_resource;
typedef struct cupti_reason_samples {
    uint32_t reason, samples;
} cupti_reason_samples;
typedef struct cupti_pc {
    size_t size;
    uint64_t cubin_crc, offset;
    uint32_t function_index, padding;
    char *function;
    size_t reason_count;
    cupti_reason_samples *reasons;
    uint32_t correlation;
} cupti_pc;
typedef struct cupti_samples {
    size_t size, most_pcs;
    uint64_t samples, dropped;
    size_t pcs, remaining;
    uint64_t range;
    cupti_pc *pc;
    uint64_t foreign_samples;
    uint8_t buffer_full;
} cupti_samples;
typedef struct cupti_sampling_setting {
    int type, result;
    union {
        uint64_t all[3];
        uint32_t number;
        size_t bytes;
        void *pointer;
        struct {
            size_t count;
            uint32_t *index;
        } reasons;
    } value;
} cupti_sampling_setting;
typedef struct cupti_sampling { /* enable, disable, start, stop */
    size_t size;
    void *private_data;
    cu_context context;
} cupti_sampling;
typedef struct cupti_sampling_settings {
    size_t size;
    void *private_data;
    cu_context context;
    size_t count;
    cupti_sampling_setting *settings;
} cupti_sampling_settings;
typedef struct cupti_sampling_data {
    size_t size;
    void *private_data;
    cu_context context;
    cupti_samples *data;
} cupti_sampling_data;
typedef struct cupti_reason_count {
    size_t size;
    void *private_data;
    cu_context context;
    size_t *count;
} cupti_reason_count;
typedef struct cupti_reason_names {
    size_t size;
    void *private_data;
    cu_context context;
    size_t count;
    uint32_t *index;
    char **names;
} cupti_reason_names;
typedef struct cupti_source_line {
    size_t size;
    const void *cubin;
    const char *function;
    size_t cubin_size;
    uint32_t line;
    uint64_t offset;
    char *file, *folder;
} cupti_source_line;
typedef struct cupti_cubin_crc {
    size_t size, cubin_size;
    const void *cubin;
    uint64_t crc;
} cupti_cubin_crc;

#define KF_CUPTI_SAMPLING(X)                                                                \
    X(enable, "cuptiPCSamplingEnable", (cupti_sampling * p))                                \
    X(disable, "cuptiPCSamplingDisable", (cupti_sampling * p))                              \
    X(start, "cuptiPCSamplingStart", (cupti_sampling * p))                                  \
    X(stop, "cuptiPCSamplingStop", (cupti_sampling * p))                                    \
    X(configure, "cuptiPCSamplingSetConfigurationAttribute", (cupti_sampling_settings * p)) \
    X(get_data, "cuptiPCSamplingGetData", (cupti_sampling_data * p))                        \
    X(reason_count_of, "cuptiPCSamplingGetNumStallReasons", (cupti_reason_count * p))       \
    X(reason_names, "cuptiPCSamplingGetStallReasons", (cupti_reason_names * p))             \
    X(source_line, "cuptiGetSassToSourceCorrelation", (cupti_source_line * p))              \
    X(cubin_crc, "cuptiGetCubinCrc", (cupti_cubin_crc * p))                                 \
    X(result_text, "cuptiGetResultString", (cupti_result result, const char **text))

typedef struct kf_cupti {
    void *library;
#define X(name, symbol, arguments) cupti_result(*name) arguments;
    KF_CUPTI_FUNCTIONS(X)
#undef X
} kf_cupti;

#endif
