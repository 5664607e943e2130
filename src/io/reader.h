/*
 * reader.h - the inside of a reader.
 *
 *     stream ─▶ [block]─[block]─[block] ─▶ take()      at most `bound` blocks
 *                ▲skip│                                of at most `block_nbytes`
 *                taken (stream offset)
 *
 * Who touches what: the stream belongs to the job while one is in flight, else to the
 * caller. All the rest of the struct is shared, under the pool's lock. reader_job.c is the
 * job's half, reader.c the caller's.
 */
#ifndef AGZ_IO_READER_H
#define AGZ_IO_READER_H

#include "io/stream.h"
#include "text/block.h"

#define AGZ__FIRST_BLOCK_NBYTES ((size_t)64 * 1024)
#define AGZ__LAST_BLOCK_NBYTES  ((size_t)256 * 1024)

enum agz__await {
	AGZ__AWAIT_NOTHING,
	AGZ__AWAIT_OPEN,
	AGZ__AWAIT_BLOCK,
	AGZ__AWAIT_INTO,
	AGZ__AWAIT_SEEK,
	AGZ__AWAIT_IDLE
};

struct agz_reader {
	agz__job job; /* first: a job is its reader */
	agz__sleeper sleeper;
	enum agz__await awaits; /* what the caller was last told to wait for */
	bool closed;
	bool stopping; /* agz_reader_stop() */
	bool wanted;   /* something was asked for: decode ahead */
	bool borrowed; /* a step is in memory, or a read in a descriptor, of the caller's */
	bool lines;
	int opened; /* AGZ_OK, AGZ_WAIT or the error */

	agz_block *first, *last;
	unsigned n_blocks, bound;
	bool begun;     /* a block was taken */
	size_t skip;    /* bytes of `first` that are handed out already */
	size_t in_ring; /* bytes, less those */
	size_t block_nbytes;
	uint64_t taken; /* stream offset of what is handed out next */
	int verdict; /* what follows the ring: 0 (more), AGZ_END, AGZ_HUNGRY, an error */
	bool told;   /* and the caller knows */
	agz_fault cause; /* of `verdict` or `opened`, where that is an error */
	agz__counts counts;

	struct {
		uint8_t *dst; /* NULL: none */
		size_t nbytes, got;
		bool advised, done;
	} into;
	struct {
		uint64_t offset;
		bool active, rewind, done;
		int rc;
	} seek;

	agz_fault fault;            /* the caller's: of the last error he was told */
	void (*release)(void *arg); /* of the span that was pushed */
	void *release_arg;

	agz__stream stream;
	enum agz_newline newline;
	int fd;
	bool close_fd;
	char path[];
};

static inline bool agz__reader_idle(const agz_reader *r)
{
	return r->job.state == AGZ__JOB_IDLE;
}

/* The ring; under the lock. */
agz_block *agz__ring_pop(agz_reader *r);
void agz__ring_drop(agz_reader *r, size_t nbytes);

/*
 * Pieces of work. Each is called with the lock and returns with it, and works without. It
 * runs in the job, or on the caller's thread while no job is in flight.
 */
void agz__reader_fill(agz_reader *r); /* one block */
void agz__reader_seek(agz_reader *r); /* one step towards seek.offset */

/* Takes over what the stream has come to; `rc` is from it. */
void agz__reader_conclude(agz_reader *r, int rc);

/* The job, and the guards of the caller's memory that agz__stream is given. */
void agz__reader_run(agz__job *job);
bool agz__reader_enter(void *reader);
void agz__reader_leave(void *reader);

/* Frees it; no job is in flight, nor will be. */
void agz__reader_dispose(agz_reader *r);

#endif
