/* The compiler of a device, as the environment id has it: "g++ 12.2.0", "nvcc 13.0.88, gcc 12.2.0".
 * Another compiler makes another program of the same source, so their verdicts are not comparable.
 */
#ifndef KFORGE_JUDGE_COMPILER_H
#define KFORGE_JUDGE_COMPILER_H

#include <stdbool.h>

#define KF_COMPILER_WORDS 96

/* Finds the version in the output of `PROGRAM --version`: after ", V" (nvcc), or the first word of
 * the first line that begins with a digit. Skips text in brackets, which changes with every package
 * of a distribution. False, and "" in `version`, without a version. Pure. */
bool kf_compiler_version(const char *text, char version[KF_COMPILER_WORDS / 2]);

/* Runs `program` (may be NULL) and writes "NAME VERSION", "no NAME", or "NAME of an unknown
 * version". It takes two processes and some milliseconds. Call it once when a device opens, not for
 * each job. */
void kf_compiler_find(const char *program, const char *name, char words[KF_COMPILER_WORDS]);

#endif
