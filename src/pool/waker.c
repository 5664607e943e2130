/*
 * waker.c - one descriptor for each event loop, and the list of files to look at.
 *
 *     worker ─ wake ─▶ [file]─[file]─[file] ─▶ agz_waker_next() ─ loop
 *                └ rings the bell if the list was empty
 *
 * A file is on the list at most once, and off it as soon as it is closed. The struct of a
 * waker outlives agz_waker_free() for as long as files name it.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* pipe2, dup3 */
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/eventfd.h>
#endif

#include "base/memory.h"
#include "pool/waker.h"

struct agz_waker {
	agz__bell bell;
	agz__sleeper *first, *last;
	unsigned n_refs;        /* the caller's, and one for each file */
	agz_waker *next, *prev; /* among all wakers, for fork */
};

static agz_waker *all_wakers;

/* ---- bells ------------------------------------------------------------------------- */

#ifdef __linux__
static int open_ends(int ends[2])
{
	ends[0] = ends[1] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return ends[0] < 0 ? -1 : 0;
}
#else
static int open_ends(int ends[2])
{
	if (pipe(ends) != 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		fcntl(ends[i], F_SETFD, FD_CLOEXEC);
		fcntl(ends[i], F_SETFL, O_NONBLOCK);
	}
	return 0;
}
#endif

int agz__bell_open(agz__bell *bell)
{
	int ends[2];

	*bell = (agz__bell){-1, -1};
	if (open_ends(ends) != 0)
		return AGZ_E_SYSTEM;
	*bell = (agz__bell){ends[0], ends[1]};
	return AGZ_OK;
}

void agz__bell_close(agz__bell *bell)
{
	if (bell->write_fd != bell->fd)
		close(bell->write_fd);
	if (bell->fd >= 0)
		close(bell->fd);
	*bell = (agz__bell){-1, -1};
}

void agz__bell_ring(const agz__bell *bell)
{
	const uint64_t one = 1;
	int saved = errno;

	/* Full means rung already. An eventfd takes exactly eight bytes. */
	while (write(bell->write_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	errno = saved;
}

void agz__bell_clear(const agz__bell *bell)
{
	uint64_t sink[16];
	int saved = errno;
	ssize_t n;

	do {
		n = read(bell->fd, sink, sizeof(sink));
	} while ((n < 0 && errno == EINTR) || n == sizeof(sink));
	errno = saved;
}

/* A child of fork shares the parent's bell, and each would eat the other's rings: give
 * the child one of its own under the same number. */
static void renew(agz__bell *bell)
{
	agz__bell fresh;

	if (bell->fd < 0 || agz__bell_open(&fresh) != AGZ_OK)
		return;
	dup2(fresh.fd, bell->fd);
	fcntl(bell->fd, F_SETFD, FD_CLOEXEC);
	if (bell->write_fd != bell->fd) {
		dup2(fresh.write_fd, bell->write_fd);
		fcntl(bell->write_fd, F_SETFD, FD_CLOEXEC);
	}
	agz__bell_close(&fresh);
}

void agz__wakers_forked(void)
{
	for (agz_waker *waker = all_wakers; waker != NULL; waker = waker->next) {
		renew(&waker->bell);
		/* Whoever was named and not asked for yet is so still. */
		if (waker->first != NULL)
			agz__bell_ring(&waker->bell);
	}
}

/* ---- sleepers ------------------------------------------------------------------------ */

static void unlist(agz__sleeper *sleeper)
{
	agz_waker *waker = sleeper->waker;

	*(sleeper->prev ? &sleeper->prev->next : &waker->first) = sleeper->next;
	*(sleeper->next ? &sleeper->next->prev : &waker->last) = sleeper->prev;
	sleeper->listed = false;
}

static void drop_ref(agz_waker *waker)
{
	if (--waker->n_refs == 0)
		agz__free(waker);
}

void agz__sleeper_init(agz__sleeper *sleeper, agz_waker *waker, void *user)
{
	*sleeper = (agz__sleeper){.waker = waker, .user = user};
	if (waker == NULL)
		return;
	agz__lock();
	waker->n_refs++;
	agz__unlock();
}

void agz__sleeper_wake(agz__sleeper *sleeper)
{
	agz_waker *waker = sleeper->waker;

	if (waker == NULL || waker->bell.fd < 0 || sleeper->listed)
		return;
	bool was_empty = waker->first == NULL;
	sleeper->listed = true;
	sleeper->next = NULL;
	sleeper->prev = waker->last;
	*(waker->last ? &waker->last->next : &waker->first) = sleeper;
	waker->last = sleeper;
	if (was_empty)
		agz__bell_ring(&waker->bell);
}

void agz__sleeper_leave(agz__sleeper *sleeper)
{
	if (sleeper->waker == NULL)
		return;
	if (sleeper->listed)
		unlist(sleeper);
	drop_ref(sleeper->waker);
	sleeper->waker = NULL;
}

/* ---- the waker ------------------------------------------------------------------------ */

int agz_waker_new(agz_waker **waker)
{
	*waker = NULL;
	agz_waker *made = agz__calloc(1, sizeof(*made));
	if (made == NULL)
		return AGZ_E_NOMEM;
	if (agz__bell_open(&made->bell) != AGZ_OK) {
		agz__free(made);
		return AGZ_E_SYSTEM;
	}
	made->n_refs = 1;
	agz__lock();
	made->next = all_wakers;
	if (made->next != NULL)
		made->next->prev = made;
	all_wakers = made;
	agz__unlock();
	*waker = made;
	return AGZ_OK;
}

void agz_waker_free(agz_waker *waker)
{
	if (waker == NULL)
		return;
	agz__lock();
	while (waker->first != NULL)
		unlist(waker->first);
	*(waker->prev ? &waker->prev->next : &all_wakers) = waker->next;
	if (waker->next != NULL)
		waker->next->prev = waker->prev;
	agz__bell_close(&waker->bell);
	drop_ref(waker);
	agz__unlock();
}

int agz_waker_fd(const agz_waker *waker)
{
	return waker->bell.fd;
}

void agz_waker_clear(agz_waker *waker)
{
	agz__bell_clear(&waker->bell);
}

void *agz_waker_next(agz_waker *waker)
{
	void *user = NULL;

	agz__lock();
	if (waker->first != NULL) {
		user = waker->first->user;
		unlist(waker->first);
	}
	agz__unlock();
	return user;
}
