/*
 * agz/reader.h - asynchronous reading: a gzip file becomes blocks.
 *
 *  source ─▶ header ─▶ inflate ─▶ trailer ─▶ text check ─▶ line ends ─▶ ring ─▶ take
 *  └────────────────────────── worker thread ──────────────────────────┘ └ caller ┘
 *
 * Life cycle:
 *
 *  1. agz_reader_open() returns at once; the file is opened on a worker, by the same
 *     job that reads a small file to its end.
 *  2. Every call answers at once. AGZ_WAIT means: nothing yet, and the waker will name
 *     `user` when it is worth calling again. At most one thing is waited for at a time.
 *  3. The reader decodes ahead, a few blocks, and stops until some are taken. Memory is
 *     bounded by that whatever the compression ratio: at most AGZ_READER_AHEAD blocks
 *     of at most 256 KiB, one input buffer of at most chunk_nbytes, one decoder.
 *     Blocks begin at 64 KiB and grow while they are taken, those of a pushed span up to
 *     its own size.
 *  4. A block taken belongs to the caller, and outlives the reader.
 *  5. What was decoded before a fault is handed out before it. Of a source that can go
 *     back, bytes, fault and place are as by zlib: where the engine may see it in another
 *     way (codec.h), the member is decoded once more.
 *  6. agz_reader_close() may be called at any time, also with a job in flight; the memory
 *     goes when the job ends. `user` is never named after it.
 *
 * One thread at a time, as rule 5 of agz.h.
 */
#ifndef AGZ_READER_H
#define AGZ_READER_H

#include "agz/codec.h"
#include "agz/pool.h"
#include "agz/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct agz_reader agz_reader;

#define AGZ_READER_AHEAD 4

enum agz_source {
	AGZ_SOURCE_PATH = 0,
	AGZ_SOURCE_FD = 1,     /* read from its current position */
	AGZ_SOURCE_MEMORY = 2, /* must outlive the reader */
	AGZ_SOURCE_PUSH = 3    /* agz_reader_push() */
};

#define AGZ_READER_LINES   1u /* find line ends on the worker */
#define AGZ_READER_MEMBERS 2u /* keep a record of each member */

typedef struct agz_reader_options {
	size_t struct_nbytes;
	agz_pool *pool;   /* NULL: agz_pool_shared() */
	agz_waker *waker; /* NULL: nobody is woken, the caller polls */
	void *user;       /* what the waker names */
	enum agz_source source;
	const char *path; /* copied; opened O_RDONLY | O_CLOEXEC */
	int fd;
	int close_fd; /* for AGZ_SOURCE_FD: close it in the end */
	const void *memory;
	size_t memory_nbytes;
	size_t chunk_nbytes;     /* of compressed bytes a read asks for; 0: 256 KiB */
	uint64_t max_out_nbytes; /* cap on the decompressed size; 0: none */
	enum agz_newline newline;
	unsigned flags;     /* AGZ_READER_* */
	const char *engine; /* as in agz_decoder_options */
} agz_reader_options;

#define AGZ_READER_OPTIONS_INIT                                                          \
	{                                                                                \
		sizeof(agz_reader_options), NULL, NULL, NULL, AGZ_SOURCE_PATH, NULL, -1, \
		        0, NULL, 0, 0, 0, AGZ_NEWLINE_LF, 0, NULL                        \
	}

/* *reader is NULL on failure. AGZ_E_SYSTEM: no thread could be started; errno says why. */
AGZ_API int agz_reader_open(const agz_reader_options *opts, agz_reader **reader);
AGZ_API void agz_reader_close(agz_reader *reader);

/*
 * Ends a job that is in flight, soon: AGZ_WAIT, then AGZ_OK when there is none, so that
 * agz_reader_close() closes the descriptor itself and at once. Only the close is allowed
 * after it.
 */
AGZ_API int agz_reader_stop(agz_reader *reader);

/* AGZ_OK once the source is open, AGZ_WAIT, or the error of opening it (AGZ_E_SYSTEM). */
AGZ_API int agz_reader_opened(agz_reader *reader);

/* The descriptor of an open path or fd source, else -1. It stays the reader's. */
AGZ_API int agz_reader_fd(const agz_reader *reader);

/*
 * The next block. AGZ_OK and *block (the caller's to free), AGZ_WAIT, AGZ_HUNGRY,
 * AGZ_END, or an error. AGZ_END and AGZ_E_TRUNCATED are not final for a path or
 * descriptor: a call after it looks again, since the file may have grown (the answer is
 * then AGZ_WAIT first). Another error is final until a seek to 0 succeeds.
 */
AGZ_API int agz_reader_take(agz_reader *reader, agz_block **block);

/*
 * Decodes straight into dst: what take() would hand out next, up to nbytes. The first
 * call starts it; calls that follow with the same dst and nbytes ask for the result:
 * AGZ_WAIT, AGZ_HUNGRY (pushed sources), or AGZ_OK and *got. Fewer than nbytes means
 * that the stream's end or a fault comes next, also one that was told already, and the
 * next take() says which. dst is written to until AGZ_OK was answered or
 * agz_reader_close() has returned.
 */
AGZ_API int agz_reader_into(agz_reader *reader, void *dst, size_t nbytes, size_t *got);

/*
 * Goes to a decompressed offset: forward by decoding and dropping, backward from the
 * start of the source. AGZ_WAIT, then, on the next call with the same offset, AGZ_OK
 * and *reached: the offset, or the stream's size if that is less. Blocks not taken are
 * gone with the first call. UINT64_MAX goes to the end: *reached is then the size of
 * the whole stream, every member checked. A backward seek of what cannot seek (pushed
 * sources, FIFOs) is AGZ_E_NOT_SEEKABLE and changes nothing.
 */
AGZ_API int agz_reader_seek(agz_reader *reader, uint64_t offset, uint64_t *reached);

/*
 * For AGZ_SOURCE_PUSH: the next compressed bytes. They are not copied: they must stay as
 * they are until release(arg), called on the caller's thread during a later call on the
 * reader. Allowed when take(), into() or seek() answered AGZ_HUNGRY, else AGZ_E_BUSY.
 * Small input is decoded by this call, on this thread: at most one block. `ends` says
 * that nothing follows. On an error release is not called.
 */
AGZ_API int agz_reader_push(agz_reader *reader, const void *ptr, size_t nbytes, int ends,
                            void (*release)(void *arg), void *arg);

/* For AGZ_SOURCE_PUSH: forget the stream and expect it from its start. AGZ_WAIT while a
 * job is in flight, else AGZ_OK. */
AGZ_API int agz_reader_restart(agz_reader *reader);

/* Finds line ends on the worker from now on, for a reader opened without. */
AGZ_API void agz_reader_want_lines(agz_reader *reader);

/*
 * How large the whole stream may be, from the last ISIZE of a regular file or of memory,
 * held against what its compressed size could give at most (1032:1). A hint; 0: unknown.
 */
AGZ_API uint64_t agz_reader_size_hint(const agz_reader *reader);

/* As of now, on the decoding side. */
AGZ_API uint64_t agz_reader_in_nbytes(const agz_reader *reader);
AGZ_API uint64_t agz_reader_out_nbytes(const agz_reader *reader);
AGZ_API uint64_t agz_reader_member_count(const agz_reader *reader);
AGZ_API int agz_reader_mtime(const agz_reader *reader, uint32_t *mtime);

/* With AGZ_READER_MEMBERS, after AGZ_END or an error: the records; they last until
 * the next seek or the close. NULL past the last. */
AGZ_API const agz_member *agz_reader_member(const agz_reader *reader, uint64_t i);

/* Valid after a call returned an error. Never NULL. */
AGZ_API const agz_fault *agz_reader_fault(const agz_reader *reader);

#ifdef __cplusplus
}
#endif

#endif
