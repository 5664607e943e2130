/*
 * waker.h - bells, and how a file is named to its waker.
 */
#ifndef AGZ_POOL_WAKER_H
#define AGZ_POOL_WAKER_H

#include "pool/pool.h"

/* A descriptor that is readable once somebody rang: an eventfd, or a pipe. */
typedef struct agz__bell {
	int fd;       /* -1: none */
	int write_fd; /* the same, for an eventfd */
} agz__bell;

int agz__bell_open(agz__bell *bell); /* AGZ_E_SYSTEM with errno, and none */
void agz__bell_close(agz__bell *bell);
void agz__bell_ring(const agz__bell *bell);
void agz__bell_clear(const agz__bell *bell);

/* What a file embeds, so that its waker can list it. */
typedef struct agz__sleeper agz__sleeper;
struct agz__sleeper {
	agz_waker *waker;
	void *user;
	agz__sleeper *next, *prev;
	bool listed;
};

/* The waker may be NULL. Without the lock. */
void agz__sleeper_init(agz__sleeper *sleeper, agz_waker *waker, void *user);

/* Under the lock: names the file; never again after _leave. */
void agz__sleeper_wake(agz__sleeper *sleeper);
void agz__sleeper_leave(agz__sleeper *sleeper);

#endif
