/* Ownership of a run by a process (owner.c). */
#ifndef KFORGE_STORE_OWNER_H
#define KFORGE_STORE_OWNER_H

#include <stdbool.h>

#define KF_OWNER 256
/* Seconds without a write after which an owner on another host counts as dead. */
#define KF_OWNER_SILENCE 600.0

void kf_owner_host(char host[KF_OWNER]);
void kf_owner_self(char owner[KF_OWNER]);
/* True if the owner of a run is alive. `host` and `owner` are as stored in the run. */
bool kf_owner_alive(const char *host, const char *owner, double updated, double now);

#endif
