/* Which compiler a device builds candidates with, in the words that a judge's conditions hold:
 * "g++ 12.2.0", "nvcc 13.0.88, gcc 12.2.0". Another compiler makes another program of the same
 * source, so what was measured under one says nothing about the other. */
#ifndef KFORGE_JUDGE_COMPILER_H
#define KFORGE_JUDGE_COMPILER_H

#include <stdbool.h>

#define KF_COMPILER_WORDS 96

/* The version in what `PROGRAM --version` writes: behind ", V" (nvcc), else the first word of the
 * first line outside of brackets that begins with a digit. What a distribution adds in brackets is
 * left out: it changes with every packaging. False, and "" in `version`, where there is none. Pure.
 */
bool kf_compiler_version(const char *text, char version[KF_COMPILER_WORDS / 2]);

/* Asks `program` (NULL: there is none): "NAME VERSION", "no NAME", or "NAME of an unknown version"
 * of one that does not answer. Two processes and some milliseconds at most: once for a device that
 * opens, not for each job. */
void kf_compiler_find(const char *program, const char *name, char words[KF_COMPILER_WORDS]);

#endif
