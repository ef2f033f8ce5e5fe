/* The parts of kforge-cpucc: its options (cpucc_options.c) and the runs of the compiler
 * (cpucc_run.c). */
#ifndef KFORGE_CPUCC_H
#define KFORGE_CPUCC_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/buffer.h"
#include "kforge/error.h"

#define KF_CPUCC_FILES 64
#define KF_CPUCC_DEFINES 128
#define KF_CPUCC_PATHS 32

enum {
    KF_CPUCC_OK = 0,
    KF_CPUCC_COMPILE_ERROR = 1,
    KF_CPUCC_USAGE = 2,
    KF_CPUCC_UNSUPPORTED = 3,
    /* A signal ended the compiler. A source cannot cause or feign this. */
    KF_CPUCC_KILLED = 4
};

typedef struct kf_cpucc_options {
    const char *output; /* "a.so", "a.out" for a program, "a.o" for an object file */
    const char *keep;   /* folder for the intermediate files, or NULL */
    /* Folder with a precompiled header for each set of flags; NULL: the installation's own. */
    const char *precompiled;
    const char *files[KF_CPUCC_FILES];
    int file_count;
    const char *defines[KF_CPUCC_DEFINES]; /* "NAME" or "NAME=VALUE" */
    int define_count;
    const char *includes[KF_CPUCC_PATHS]; /* -include */
    int include_count;
    const char *folders[KF_CPUCC_PATHS]; /* -I */
    int folder_count;
    const char *plain;    /* a file without the device's header, or NULL */
    const char *standard; /* "gnu++17" */
    int optimize;         /* 0 to 3 */
    bool fast_math, no_contraction, unroll, asan, light, program, object, precompile, help, verbose,
        version;
} kf_cpucc_options;

/* Reads the command line, which may hold options of nvcc. The strings belong to argv. */
bool kf_cpucc_read_options(int argc, char **argv, kf_cpucc_options *options, kf_error *error);
extern const char kf_cpucc_usage[];

/* A command line under construction. */
typedef struct kf_cpucc_command {
    char *words[512];
    int count;
    bool failed;
} kf_cpucc_command;

/* Appends one word, formatted. */
void kf_cpucc_add(kf_cpucc_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void kf_cpucc_command_free(kf_cpucc_command *command);
/* Runs words[0] (an absolute path) with a clean environment, no input, and `temporary` as TMPDIR.
 * Collects its output in `output`, up to the buffer's limit. Returns the exit status, 128 + signal,
 * or -1 with an error: KF_ERROR_BUSY if a signal that something else sent ended g++ or a program
 * that g++ started. */
int kf_cpucc_run(const kf_cpucc_command *command, const char *temporary, kf_buffer *output,
                 kf_error *error);

/* True if g++ did not find a header of an unsupported feature. `messages` are the preprocessor's.
 * Copies the header's name, as in #include <NAME>, to `name`. */
bool kf_cpucc_missing_header(const char *messages, char *name, size_t size);
/* Searches the compiler's messages for a failed static_assert of include/ with the text
 * "kforge-unsupported: CONSTRUCT". Writes "FILE:LINE: unsupported on the CPU device: …" to `line`
 * and returns true if there is one. */
bool kf_cpucc_unsupported_use(const char *messages, char *line, size_t size);

#endif
