/*
 * source.h - where compressed bytes come from: a path or a descriptor.
 *
 * (Memory and pushed bytes are decoded where they lie; nothing reads them.)
 */
#ifndef AGZ_IO_SOURCE_H
#define AGZ_IO_SOURCE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "pool/waker.h"

/*
 * The system calls of readers and writers, each as per its manual page. A test puts a
 * table of its own here to make one fail, stop short or wait.
 */
typedef struct agz__system {
	int (*open)(const char *path, int flags, mode_t mode);
	int (*fstat)(int fd, struct stat *st);
	ssize_t (*read)(int fd, void *ptr, size_t nbytes);
	ssize_t (*pread)(int fd, void *ptr, size_t nbytes, off_t offset);
	ssize_t (*write)(int fd, const void *ptr, size_t nbytes);
	off_t (*lseek)(int fd, off_t offset, int whence);
	int (*poll)(struct pollfd *fds, nfds_t n, int timeout);
	int (*close)(int fd);
	/* Where the system has them, else NULL: for reading, of a regular file and only if
	 * that need not wait; *st is its state. And as pread, of what is in memory. */
	int (*open_now)(const char *path, struct stat *st);
	ssize_t (*pread_now)(int fd, void *ptr, size_t nbytes, off_t offset);
} agz__system;

extern const agz__system agz__real_system;
extern const agz__system *agz__system_table;

/* Until fd is ready for such poll(2) events: AGZ_OK. AGZ_END: the bell was rung. */
int agz__wait_for(int fd, short events, const agz__bell *bell);

typedef struct agz__source {
	int fd;          /* -1: not open */
	bool owned;      /* closed by agz__source_close() */
	bool positional; /* read with pread(2) at `offset`: nobody else's reads move it */
	bool regular;
	bool live; /* bytes come when they come: a FIFO, a socket, a terminal */
	bool seekable;
	uint64_t start;  /* where the stream begins */
	uint64_t offset; /* of the next read */
	uint64_t nbytes; /* of a regular file, when it was opened */
	agz__bell bell;  /* of a live one: ends a wait for bytes */
} agz__source;

/* AGZ_OK, or AGZ_E_SYSTEM with errno; then nothing is open (but a borrowed descriptor). */
int agz__source_open(agz__source *source, const char *path);
int agz__source_adopt(agz__source *source, int fd, bool owned);

/*
 * Opens a regular file of at most `most` bytes without ever waiting; ptr, of most + 1
 * bytes, gets all of it. False: that cannot be done, and nothing is open.
 */
bool agz__source_open_now(agz__source *source, const char *path, void *ptr, size_t most);

/* Waits until a live source has bytes or ends: AGZ_OK. AGZ_END: the bell was rung. For
 * any other source AGZ_OK at once. */
int agz__source_wait(const agz__source *source);

/* As per read(2), EINTR retried; *got 0 is the end. AGZ_WAIT: a live one has nothing. */
int agz__source_read(agz__source *source, void *ptr, size_t nbytes, size_t *got);

/* To so many bytes behind the stream's start. AGZ_E_NOT_SEEKABLE, or AGZ_E_SYSTEM with
 * errno. */
int agz__source_seek(agz__source *source, uint64_t offset);

/* Fills tail with the last bytes of a regular file; false if that cannot be done. */
bool agz__source_tail(const agz__source *source, void *tail, size_t nbytes);

/* What a regular file has left, as far as its size when opened goes. */
uint64_t agz__source_left(const agz__source *source);

void agz__source_close(agz__source *source);

#endif
