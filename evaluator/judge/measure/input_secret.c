#include "input_secret.h"

#include <stdio.h>
#include <string.h>

#include "kforge/file.h"
#include "kforge/hash.h"

bool kf_secret_new(kf_secret *secret, const char *replay, kf_error *error)
{
    if (replay) {
        char text[96];
        int length = snprintf(text, sizeof text, "kforge replay key:%.64s", replay);
        kf_hash hash = kf_hash_bytes(text, (size_t)length);
        /* 64 digits are a whole secret, as kf_secret_hex writes it. */
        bool whole = strlen(replay) == 64;
        for (int i = 0; whole && i < 32; i++) {
            unsigned byte;
            whole = sscanf(replay + 2 * i, "%2x", &byte) == 1;
            if (whole) hash.bytes[i] = (unsigned char)byte;
        }
        memcpy(secret->bytes, hash.bytes, sizeof secret->bytes);
        return true;
    }
    if (!kf_random(secret->bytes, sizeof secret->bytes))
        return kf_fail(error, KF_ERROR_MACHINE,
                       "the kernel's random source (getrandom) failed: allow that system call");
    return true;
}

void kf_secret_hex(const kf_secret *secret, char hex[65])
{
    for (int i = 0; i < 32; i++) snprintf(hex + 2 * i, 3, "%02x", secret->bytes[i]);
}

uint64_t kf_secret_draw(const kf_secret *secret, const char *purpose, uint32_t a, uint32_t b)
{
    unsigned char label[sizeof secret->bytes + 64];
    memcpy(label, secret->bytes, sizeof secret->bytes);
    int length = snprintf((char *)label + sizeof secret->bytes, 64, "%.32s:%u:%u", purpose, a, b);
    kf_hash hash = kf_hash_bytes(label, sizeof secret->bytes + (size_t)length);
    uint64_t drawn;
    memcpy(&drawn, hash.bytes, sizeof drawn);
    return drawn;
}

uint64_t kf_choices_next(kf_choices *choices)
{
    if (!choices->left) {
        const uint64_t label[2] = {choices->state, choices->counter++};
        kf_hash hash = kf_hash_bytes(label, sizeof label);
        memcpy(choices->ready, hash.bytes, sizeof choices->ready);
        choices->left = sizeof choices->ready / sizeof *choices->ready;
    }
    return choices->ready[--choices->left];
}

uint32_t kf_choices_below(kf_choices *choices, uint32_t limit)
{
    return (uint32_t)(((kf_choices_next(choices) >> 32) * limit) >> 32);
}

void kf_choices_permute(kf_choices *choices, uint32_t *items, uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = kf_choices_below(choices, i), kept = items[i - 1];
        items[i - 1] = items[other];
        items[other] = kept;
    }
}
