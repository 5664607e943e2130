/*
 * plan.h - which call fails, and how: one plan at a time, for the process.
 *
 *     name   "write"; "memory" is every allocation
 *     at     the at-th of them fails, from 1 on; 0: none
 *     error  an errno; -1: no error, but one byte is read or written
 *     good   and all that follow fail too
 */
#ifndef PLAN_H
#define PLAN_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

static struct {
	char name[32];
	long at;
	int error;
	bool good;
	atomic_long seen, hits;
} plan;

static bool hit(const char *name)
{
	if (plan.at == 0 || strcmp(name, plan.name) != 0)
		return false;
	long n = atomic_fetch_add(&plan.seen, 1) + 1;
	if (plan.good ? n < plan.at : n != plan.at)
		return false;
	atomic_fetch_add(&plan.hits, 1);
	errno = plan.error;
	return true;
}

static void make_plan(const char *name, long at, int error, bool good)
{
	plan.at = 0;
	strncpy(plan.name, name, sizeof(plan.name) - 1);
	plan.error = error;
	plan.good = good;
	plan.seen = plan.hits = 0;
	plan.at = at;
}

/* The system calls of agz, each with its parameters, their names, and what a failure gives. */
#define CALLS(X)                                                                         \
	X(int, open, (const char *path, int flags, mode_t mode), (path, flags, mode),    \
	  -1)                                                                            \
	X(int, fstat, (int fd, struct stat *st), (fd, st), -1)                           \
	X(off_t, lseek, (int fd, off_t at, int whence), (fd, at, whence), -1)            \
	X(int, poll, (struct pollfd * fds, unsigned long n, int ms), (fds, n, ms), -1)   \
	X(int, eventfd, (unsigned n, int flags), (n, flags), -1)                         \
	X(int, pthread_create, (void *t, const void *a, void *(*f)(void *), void *arg),  \
	  (t, a, f, arg), plan.error)                                                    \
	X(int, fsync, (int fd), (fd), -1)                                                \
	X(int, ftruncate, (int fd, off_t n), (fd, n), -1)

/* Eight bytes ring a bell (eventfd(2)): they go in one piece, or the bell is rung already. */
#define TRANSFERS(X)                                                                     \
	X(read, (int fd, void *ptr, size_t n), (fd, ptr, n), (fd, ptr, 1))               \
	X(write, (int fd, const void *ptr, size_t n), (fd, ptr, n), (fd, ptr, 1))        \
	X(pread, (int fd, void *ptr, size_t n, off_t at), (fd, ptr, n, at),              \
	  (fd, ptr, 1, at))

#endif
