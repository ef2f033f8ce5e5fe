/* The streams to which commands print. They let no control character through but newline and tab,
 * because text of tasks, stores, models and candidates may hold sequences that steer a terminal.
 *
 * The program's own text styles itself with the private characters below. The stream turns them
 * into the terminal's sequences. Foreign text with such a character can at worst be bold.
 *
 * On a terminal, long lines of results are broken at blanks, but not those of data.
 *
 * tests/ci/lint.sh forbids escape sequences and the standard streams elsewhere in agent/. One
 * thread at a time uses a stream. */
#ifndef KFORGE_TERMINAL_H
#define KFORGE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* U+F8F0 and following */
#define KF_STYLE_PLAIN "\xef\xa3\xb0"
#define KF_STYLE_BOLD "\xef\xa3\xb1"
#define KF_STYLE_RED "\xef\xa3\xb2"
#define KF_STYLE_GREEN "\xef\xa3\xb3"
#define KF_STYLE_YELLOW "\xef\xa3\xb4"
#define KF_STYLE_GREY "\xef\xa3\xb6"
/* Returns to the start of the line and clears it. */
#define KF_STYLE_CLEAR "\xef\xa3\xb5"

/* Returns a stream that prints to `under`, or `under` itself without memory. An object of the
 * process, never closed. `buffered` false: each call prints at once. */
FILE *kf_terminal_stream(FILE *under, bool buffered);
/* Returns the stream for data that a program reads: the one beneath, which prints every byte as it
 * is. For a terminal it is `out` itself, which no longer breaks lines. */
FILE *kf_exact_stream(FILE *out);
/* Prints such data: JSON, sources, prompts. False if it could not be written. */
bool kf_print_exact(FILE *out, const char *data, size_t size);
/* From now on the streams print "NAME eval" for "kforge eval", and so for each of `words` (ends
 * with NULL), so that hints can be pasted. Both are borrowed. NULL: as it is. */
void kf_terminal_name_program(const char *name, const char *const *words);
/* Moves to the top of the screen, or clears the rest of it below the cursor. Does nothing unless
 * the stream is a terminal. Not styles, because foreign text could hold them. */
void kf_terminal_top(FILE *out);
void kf_terminal_clear_below(FILE *out);
/* Returns the columns of the terminal of such a stream, as they are now; 0: not known. */
int kf_terminal_columns(FILE *out);
/* Prints a line in the place of the one before, cut to the columns of the terminal. */
void kf_terminal_redraw(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes what is buffered to the stream beneath. False if that failed before or now. */
bool kf_terminal_flush(FILE *out);

#endif
