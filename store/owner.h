/* Ownership of a run by a process (owner.c). */
#ifndef KFORGE_STORE_OWNER_H
#define KFORGE_STORE_OWNER_H

#include <stdbool.h>

#define KF_OWNER 256
/* seconds without a write after which an owner on another host counts as gone */
#define KF_OWNER_SILENCE 600.0

void kf_owner_host(char host[KF_OWNER]);
void kf_owner_self(char owner[KF_OWNER]);
/* Both as stored in a run, with the time of its last write. */
bool kf_owner_alive(const char *host, const char *owner, double updated, double now);

#endif
