/*
 * agz/writer.h - asynchronous writing: bytes become a gzip file.
 *
 *   write ─▶ batch ─▶ queue ─▶ deflate ─▶ header/trailer ─▶ sink
 *   └────── caller ───────┘ └────────── worker thread ─────────┘
 *
 * Life cycle:
 *
 *  1. agz_writer_open() returns at once; the file is opened on a worker.
 *  2. Every call answers at once; AGZ_WAIT as in agz/reader.h.
 *  3. Bytes accepted are written, in order, unless the writer fails or is aborted.
 *     What is accepted and not yet written is bounded (chunk_nbytes times 4).
 *  4. An error of the worker is reported by the next call, whichever that is, and by
 *     every call after it: a writer that failed stays failed.
 *  5. agz_writer_finish() makes the file complete: last block, trailer, close. Only its
 *     AGZ_OK says that all is with the sink. agz_writer_close() frees the writer; if it
 *     was not finished, what is on disk is a prefix of the right stream.
 */
#ifndef AGZ_WRITER_H
#define AGZ_WRITER_H

#include "agz/codec.h"
#include "agz/pool.h"
#include "agz/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct agz_writer agz_writer;

enum agz_sink {
	AGZ_SINK_PATH = 0,
	AGZ_SINK_FD = 1,
	AGZ_SINK_TAKE = 2 /* the caller takes the compressed blocks: agz_writer_take() */
};

enum agz_create {
	AGZ_CREATE = 0,        /* O_CREAT | O_TRUNC, "w" */
	AGZ_CREATE_APPEND = 1, /* O_CREAT | O_APPEND, "a": a further member */
	AGZ_CREATE_NEW = 2     /* O_CREAT | O_EXCL, "x" */
};

typedef struct agz_writer_options {
	size_t struct_nbytes;
	agz_pool *pool;   /* NULL: agz_pool_shared() */
	agz_waker *waker; /* NULL: nobody is woken */
	void *user;
	enum agz_sink sink;
	enum agz_create create;
	const char *path; /* copied */
	unsigned mode;    /* permissions of a new file, less the umask; 0: 0666 */
	int fd;
	int close_fd; /* for AGZ_SINK_FD: finish closes it */
	size_t chunk_nbytes; /* of input handed to a worker at a time, at least 64 KiB; 0: 256 KiB */
	const agz_encoder_options *encoder; /* NULL: defaults; copied */
} agz_writer_options;

#define AGZ_WRITER_OPTIONS_INIT                                                          \
	{                                                                                \
		sizeof(agz_writer_options), NULL, NULL, NULL, AGZ_SINK_PATH, AGZ_CREATE, \
		        NULL, 0, -1, 0, 0, NULL                                          \
	}

/* As agz_reader_open(). */
AGZ_API int agz_writer_open(const agz_writer_options *opts, agz_writer **writer);

/* Frees it at any time, the sink closed if it is the writer's. Waits for nothing. */
AGZ_API void agz_writer_close(agz_writer *writer);

/* AGZ_OK once the sink is open, AGZ_WAIT, or the error of opening it. */
AGZ_API int agz_writer_opened(agz_writer *writer);
AGZ_API int agz_writer_fd(const agz_writer *writer);

/*
 * Accepts up to nbytes, copied; *accepted says how many. AGZ_OK if all, AGZ_WAIT if the
 * queue is full: call again with the rest after the wake-up. An error accepts nothing.
 * (With AGZ_SINK_TAKE, take what there is before waiting: the queue may be full of it.)
 */
AGZ_API int agz_writer_write(agz_writer *writer, const void *ptr, size_t nbytes,
                             size_t *accepted);

/*
 * The same for a large span, not copied: it must stay as it is until release(arg), called
 * on the caller's thread during a later call on the writer or its close. All or nothing:
 * on AGZ_WAIT (the queue is full) or an error it was not taken.
 */
AGZ_API int agz_writer_give(agz_writer *writer, const void *ptr, size_t nbytes,
                            void (*release)(void *arg), void *arg);

/*
 * All accepted bytes to the sink, decodable (Z_SYNC_FLUSH); nothing is written if nothing
 * was accepted since the last flush. AGZ_WAIT, then AGZ_OK. With AGZ_SINK_TAKE, AGZ_OK
 * means that the bytes can be taken.
 */
AGZ_API int agz_writer_flush(agz_writer *writer);

/* The end of the member: AGZ_WAIT, then AGZ_OK, the sink closed if it is the writer's. A
 * failed writer still closes its sink, and its first error is reported. */
AGZ_API int agz_writer_finish(agz_writer *writer);

/* With AGZ_SINK_TAKE: the next compressed block, the first one with the header before
 * anything was written. AGZ_OK, AGZ_WAIT, AGZ_HUNGRY (nothing comes before more is
 * written, flushed or finished), AGZ_END (after finish, when all is taken), or an error,
 * after all that came before it. */
AGZ_API int agz_writer_take(agz_writer *writer, agz_block **block);

AGZ_API uint64_t agz_writer_in_nbytes(const agz_writer *writer);  /* accepted */
AGZ_API uint64_t agz_writer_out_nbytes(const agz_writer *writer); /* made */
AGZ_API const agz_fault *agz_writer_fault(const agz_writer *writer);

#ifdef __cplusplus
}
#endif

#endif
