/* Finds device code that uses the host's functions and variables. No GPU's compiler accepts that,
 * but on the CPU device host and device share one memory and one set of functions. Pure, in linear
 * time.
 *
 * The search reads brackets and words and resolves no names, so it reports a use only if the name
 * can mean nothing else:
 *   - It is declared once, at namespace scope of the file itself: a variable that is not constant,
 *     or a function that is no template and not constexpr. Neither has a CUDA qualifier.
 *   - No other declaration of the name is in sight, in a class or another namespace either.
 *   - The use is in a kernel or a function for the device alone, at namespace scope, that is no
 *     template and has no `if constexpr`.
 * So uses in members, in templates, through pointers and by qualified names pass. */
#ifndef KFORGE_CPU_REWRITE_HOST_H
#define KFORGE_CPU_REWRITE_HOST_H

#include "rewrite_internal.h"

/* Sets *use to the first use in the text. Leaves it as it is if the text has no use. */
void kf_host_use_find(const kf_tokens *tokens, kf_host_use *use);

#endif
