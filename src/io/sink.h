/*
 * sink.h - where compressed bytes go: a path or a descriptor.
 */
#ifndef AGZ_IO_SINK_H
#define AGZ_IO_SINK_H

#include "agz/writer.h"
#include "io/source.h"

typedef struct agz__sink {
	int fd;         /* -1: not open */
	bool owned;     /* closed by agz__sink_close() */
	bool live;      /* takes bytes when it takes them: a FIFO, a socket, a terminal */
	bool patient;   /* a write waits until all is taken, so it must be given little */
	agz__bell bell; /* of a live one: ends a wait */
} agz__sink;

/*
 * AGZ_OK, or AGZ_E_SYSTEM with errno; then nothing is open. `mode` as per open(2).
 * AGZ_WAIT: it would wait, for the reader of a FIFO; with `may_wait` it does.
 */
int agz__sink_open(agz__sink *sink, const char *path, enum agz_create create, mode_t mode,
                   bool may_wait);
int agz__sink_adopt(agz__sink *sink, int fd, bool owned);

/* Ends such a wait, in another thread: the FIFO gets a reader, whose descriptor this is, to
 * be closed when that thread has gone on. -1: it cannot be had. */
int agz__sink_lure(const char *path);

/* Waits until a live sink takes something: AGZ_OK. AGZ_END: the bell was rung. For any
 * other sink AGZ_OK at once. */
int agz__sink_wait(const agz__sink *sink);

/* As per write(2), EINTR retried. AGZ_WAIT: a live sink takes nothing now. */
int agz__sink_write(agz__sink *sink, const void *ptr, size_t nbytes, size_t *taken);

/* AGZ_OK, or AGZ_E_SYSTEM with errno; it is closed in any case. */
int agz__sink_close(agz__sink *sink);

#endif
