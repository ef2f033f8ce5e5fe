/* Messages between judge and runner, over one socket (the runner's descriptor KF_WIRE_FD).
 *
 * The judge sends commands of a fixed size. A command may have a payload, and may carry one file
 * descriptor. The runner answers each command with one record of a fixed size.
 *
 * The judge believes nothing in an answer. The answer to a BATCH only says when to stop the clock;
 * the judge finds everything else in the shared buffers. Each answer must repeat the command's
 * nonce, which the judge draws at random. So no answer can be written ahead. Bytes in the socket
 * while no answer is due are a forgery.
 *
 * Both sides are on one machine and of one build, so structs travel as they lie in memory.
 */
#ifndef KFORGE_WIRE_H
#define KFORGE_WIRE_H

#include <stdint.h>

#define KF_WIRE_FD 3
#define KF_WIRE_MAGIC 0x31676b66u /* "fkg1" */
#define KF_WIRE_MAX_SETS 1024
#define KF_WIRE_MAX_ARGUMENTS 512
/* A code of DEVICE_ERROR: Python code raised an exception. Its text is on standard error. */
#define KF_WIRE_EXCEPTION 20001
/* The same, and the constructor makes weights of another type or layout. */
#define KF_WIRE_EXCEPTION_OF_OTHERS 20002
/* Of a batch with KF_WIRE_CHECK: the task's own check refuses the results. */
#define KF_WIRE_REFUSED 20003

enum kf_wire_command_type {
    /* Loads the candidate. The answer comes after its constructors. */
    KF_WIRE_LOAD = 1,
    /* Sets the scalars. Payload: count × 8 bytes, the storage of each scalar by argument number. No
     * buffer may be mapped. */
    KF_WIRE_SCALARS,
    /* Maps one buffer of one set. Carries a descriptor. */
    KF_WIRE_MAP,
    /* Unmaps all buffers. */
    KF_WIRE_UNMAP,
    /* Asks if the runner is awake. The answer comes at once. */
    KF_WIRE_PING,
    /* Calls the entry for each set in order, then synchronises everything. Payload: count × 4
     * bytes, the set numbers. */
    KF_WIRE_BATCH,
    KF_WIRE_QUIT,
    /* Counts one call on `set`, with at most `count` repetitions. After the answer follow the
     * records of counters_wire.h. */
    KF_WIRE_COUNT,
};

enum kf_wire_flags {
    /* BATCH: does everything but the calls of the entry. It gives the fixed cost of a batch. */
    KF_WIRE_EMPTY = 1,
    /* MAP: maps without write access (the oracle's inputs). */
    KF_WIRE_READ_ONLY = 2,
    /* MAP: maps the memory in which a runner in Python says where its results lie
     * (output_directory_wire.h). */
    KF_WIRE_OUTPUT_DIRECTORY = 4,
    /* PING: the judge has read the results of earlier batches. */
    KF_WIRE_FORGET = 8,
    /* MAP, before LOAD: maps the device memory of a runner in Python. */
    KF_WIRE_DEVICE_POOL = 16,
    /* MAP: maps the stream page (stream_page.h). */
    KF_WIRE_STREAM_PAGE = 32,
    /* MAP: maps a buffer that a call writes its results to. */
    KF_WIRE_RESULT = 64,
    /* MAP, before LOAD: maps a kf_wire_progress. */
    KF_WIRE_PROGRESS = 128,
    /* BATCH, CPU device: the warps of each block start in falling order. */
    KF_WIRE_REVERSED = 256,
    /* The same, but the last warp stays last. */
    KF_WIRE_REVERSED_BUT_LAST = 512,
    /* MAP: maps a copy of an output, in host memory, for a check. BATCH: the oracle's runner calls
     * the task's own check with the copies of one set. */
    KF_WIRE_CHECK = 1024,
    /* MAP: maps host memory for an argument, in the row `set`. BATCH: the oracle's runner fills a
     * row with inputs of the problem's own generator. Payload: the row, and the seed as two numbers
     * of 32 bits, the lower first. */
    KF_WIRE_GENERATE = 2048,
};

/* Memory that a runner shares with the judge. The judge looks at it while a batch runs. */
typedef struct kf_wire_progress {
    /* Calls of this batch that have begun: when it is k, all calls before the last of k have ended.
     * The judge sets it to 0 before each batch. */
    uint32_t begun;
    /* 1: `begun` is kept. The runner writes it before it loads the candidate. */
    uint32_t kept;
} kf_wire_progress;

typedef struct kf_wire_command {
    uint32_t magic;
    uint32_t type;
    uint64_t nonce;
    /* Entries of the payload. COUNT: passes. */
    uint32_t count;
    uint32_t flags;
    /* The other fields are for MAP. */
    uint32_t set, argument;
    /* The start of the front guard's page in the file, a multiple of the page size. On a GPU: in
     * the allocation. */
    uint64_t offset;
    /* Bytes to map, with guards; a multiple of the page size. */
    uint64_t length;
    /* Of element 0, from the start of the mapping. */
    uint64_t data_offset;
    /* Of the data between the guards. */
    uint64_t bytes;
    /* On a GPU: the size of the allocation that the descriptor stands for, its wanted address, and
     * its number, which is equal for all its buffers. */
    uint64_t region_bytes;
    uint64_t address;
    uint32_t region;
    uint32_t unused;
} kf_wire_command;

enum kf_wire_result {
    KF_WIRE_OK = 0,
    /* dlopen failed, or the binary lacks the entry. The reason is on standard error. */
    KF_WIRE_LOAD_FAILED,
    /* The device reported an error after the batch. `code` is the cudaError_t. */
    KF_WIRE_DEVICE_ERROR,
    KF_WIRE_MAP_FAILED,
    KF_WIRE_BAD_COMMAND,
};

typedef struct kf_wire_answer {
    uint32_t magic;
    uint32_t result;
    uint64_t nonce;
    int32_t code;
    uint32_t reserved;
    /* The seconds of the calls by the runner's own clock. A claim. */
    double claimed_seconds;
    /* The part of them from the end of the stream until the device was idle. A claim. */
    double gap_seconds;
} kf_wire_answer;

#endif
