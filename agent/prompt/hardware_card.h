/* Limits and instructions of a GPU generation, as a prompt states them. */
#ifndef KFORGE_HARDWARE_CARD_H
#define KFORGE_HARDWARE_CARD_H

#include "kforge/buffer.h"

/* Appends limits and instructions of the GPU generation in `hardware` ("…compute capability
 * 9.0…"), or nothing without one. */
void kf_hardware_card(const char *hardware, kf_buffer *out);

#endif
