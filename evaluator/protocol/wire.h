/* What judge and runner say to each other, over one socket (the runner's descriptor KF_WIRE_FD).
 *
 * The judge sends commands of a fixed size, some followed by a payload of a size the command
 * states, some with one file descriptor attached; the runner answers each with one fixed-size
 * record. The judge believes nothing in an answer: a DONE tells it when to stop the clock, and
 * everything else is found out from the shared buffers. Each answer must repeat the command's
 * nonce, which the judge draws at random, so that no answer can be written ahead; bytes in the
 * socket when none are due are a forgery.
 *
 * Same machine, same build, so structs travel as they lie in memory.
 */
#ifndef KFORGE_WIRE_H
#define KFORGE_WIRE_H

#include <stdint.h>

#define KF_WIRE_FD 3
#define KF_WIRE_MAGIC 0x31676b66u /* "fkg1" */
#define KF_WIRE_MAX_SETS 1024
#define KF_WIRE_MAX_ARGUMENTS 512
/* a code beside DEVICE_ERROR: Python code raised an exception; the words are on standard error */
#define KF_WIRE_EXCEPTION 20001
/* likewise, and its constructor makes weights of another type or layout */
#define KF_WIRE_EXCEPTION_OF_OTHERS 20002

enum kf_wire_command_type {
    KF_WIRE_LOAD = 1, /* load the candidate; answered when its constructors have run */
    /* payload: count × 8 bytes, the storage of each scalar by argument number; comes while no
       buffer is mapped */
    KF_WIRE_SCALARS,
    KF_WIRE_MAP,   /* one buffer of one set; a descriptor is attached */
    KF_WIRE_UNMAP, /* forget all buffers */
    KF_WIRE_PING,  /* are you awake; answered at once */
    /* payload: count × 4 bytes, set numbers; calls the entry for each in order, then synchronises
       everything */
    KF_WIRE_BATCH,
    KF_WIRE_QUIT,
    /* counters of one call on `set`, repeated `count` times at most; behind the answer comes what
       counters_wire.h describes */
    KF_WIRE_COUNT,
};

enum kf_wire_flags {
    KF_WIRE_EMPTY = 1,     /* BATCH: do everything but call the entry: the fixed cost of a batch */
    KF_WIRE_READ_ONLY = 2, /* MAP: map without write access (the oracle's inputs) */
    /* MAP: not a buffer but where a runner in Python says where its results lie
       (output_directory_wire.h) */
    KF_WIRE_OUTPUT_DIRECTORY = 4,
    KF_WIRE_FORGET = 8, /* PING: the results of earlier batches have been read */
    /* MAP: not a buffer but where a runner in Python is to have its device memory; comes before
       LOAD */
    KF_WIRE_DEVICE_POOL = 16,
};

typedef struct kf_wire_command {
    uint32_t magic;
    uint32_t type;
    uint64_t nonce;
    uint32_t count; /* payload entries; COUNT: passes */
    uint32_t flags;
    uint32_t set, argument; /* MAP */
    uint64_t offset;        /* MAP: in the file, page-aligned: the start of the front guard page */
    uint64_t length;        /* MAP: bytes to map, a multiple of the page size, guards included */
    uint64_t data_offset;   /* MAP: of element 0 from the start of the mapping */
    uint64_t bytes;         /* MAP: of the data between the guards */
    uint64_t region_bytes;  /* MAP on a device: size of the whole allocation that the descriptor
                               stands for, in which `offset` counts */
    uint64_t address;       /* MAP on a device: where that allocation had best lie */
    /* MAP on a device: number of that allocation, the same for all buffers in it */
    uint32_t region;
    uint32_t unused;
} kf_wire_command;

enum kf_wire_result {
    KF_WIRE_OK = 0,
    KF_WIRE_LOAD_FAILED, /* dlopen or the entry's symbol; the reason is on standard error */
    /* the device reported an error after the batch: `code` is the cudaError_t */
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
    double claimed_seconds; /* what the runner's own clock says the calls took; a claim */
    /* of that, after the stream was done, until all else on the device was; a claim */
    double gap_seconds;
} kf_wire_answer;

#endif
