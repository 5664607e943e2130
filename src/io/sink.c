/*
 * sink.c - writing descriptors.
 */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* O_CLOEXEC */
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "io/sink.h"

#ifndef PIPE_BUF
#define PIPE_BUF 512 /* what POSIX promises */
#endif

#define sys (*agz__system_table)

/* Learns what the descriptor is. */
static int look(agz__sink *sink)
{
	struct stat st;

	if (sys.fstat(sink->fd, &st) != 0)
		return AGZ_E_SYSTEM;
	sink->live = !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode);
	if (!sink->live)
		return AGZ_OK;
	int flags = fcntl(sink->fd, F_GETFL);
	sink->patient = flags < 0 || !(flags & O_NONBLOCK);
	return agz__bell_open(&sink->bell);
}

static int open_retried(const char *path, int flags, mode_t mode)
{
	int fd;

	do {
		fd = sys.open(path, flags, mode);
	} while (fd < 0 && errno == EINTR);
	return fd;
}

/* O_NONBLOCK as in agz__source_open(): a write to a FIFO can then be called off. Where
 * nobody reads the FIFO yet, open(2) says ENXIO. */
int agz__sink_open(agz__sink *sink, const char *path, enum agz_create create, mode_t mode,
                   bool may_wait)
{
	static const int how[] = {
	        [AGZ_CREATE] = O_CREAT | O_TRUNC,
	        [AGZ_CREATE_APPEND] = O_CREAT | O_APPEND,
	        [AGZ_CREATE_NEW] = O_CREAT | O_EXCL,
	};
	int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY | how[create];

	*sink = (agz__sink){.owned = true, .bell = {-1, -1}};
	sink->fd = open_retried(path, flags | O_NONBLOCK, mode);
	if (sink->fd < 0 && (errno == ENXIO || errno == EWOULDBLOCK)) {
		if (!may_wait)
			return AGZ_WAIT;
		sink->fd = open_retried(path, flags, mode);
	}
	if (sink->fd < 0)
		return AGZ_E_SYSTEM;
	int rc = look(sink);
	if (rc != AGZ_OK) {
		int saved = errno;
		agz__sink_close(sink);
		errno = saved;
	}
	return rc;
}

int agz__sink_adopt(agz__sink *sink, int fd, bool owned)
{
	*sink = (agz__sink){.fd = fd, .owned = owned, .bell = {-1, -1}};
	return look(sink);
}

int agz__sink_lure(const char *path)
{
	struct stat st;
	int fd = open_retried(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0);

	if (fd >= 0 && (sys.fstat(fd, &st) != 0 || !S_ISFIFO(st.st_mode))) {
		sys.close(fd);
		fd = -1;
	}
	return fd;
}

int agz__sink_wait(const agz__sink *sink)
{
	return sink->live ? agz__wait_for(sink->fd, POLLOUT, &sink->bell) : AGZ_OK;
}

int agz__sink_write(agz__sink *sink, const void *ptr, size_t nbytes, size_t *taken)
{
	ssize_t n;

	*taken = 0;
	/* So much fits into a pipe that has room at all. */
	if (sink->live && sink->patient && nbytes > PIPE_BUF)
		nbytes = PIPE_BUF;
	do {
		n = sys.write(sink->fd, ptr, nbytes);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && sink->live && (errno == EAGAIN || errno == EWOULDBLOCK))
		return AGZ_WAIT;
	if (n == 0)
		errno = EIO; /* no progress, and nothing says why */
	if (n <= 0)
		return AGZ_E_SYSTEM;
	*taken = (size_t)n;
	return AGZ_OK;
}

/* EINTR of close(2) leaves nothing to do again: on Linux the descriptor is gone. */
int agz__sink_close(agz__sink *sink)
{
	int rc = AGZ_OK;

	if (sink->owned && sink->fd >= 0 && sys.close(sink->fd) != 0 && errno != EINTR)
		rc = AGZ_E_SYSTEM;
	sink->fd = -1;
	int saved = errno;
	agz__bell_close(&sink->bell);
	errno = saved;
	return rc;
}
