/*
 * writer.h - the inside of a writer.
 *
 *     write() ─▶ batch ─▶ [span]─[span]─▶ current ─▶ encoder ─▶ out ─▶ sink
 *     give() ──────────────▲                                     └ or ─▶ blocks ─▶ take()
 *
 *     at most four spans, batch and current included
 *
 * Who touches what: the batch is the caller's; encoder, out and sink belong to the job
 * while one is in flight, else to the caller. All the rest is shared, under the pool's
 * lock. writer_job.c is the job's half, writer.c the caller's.
 */
#ifndef AGZ_IO_WRITER_H
#define AGZ_IO_WRITER_H

#include "io/sink.h"
#include "text/block.h"

enum agz__await {
	AGZ__AWAIT_NOTHING,
	AGZ__AWAIT_OPEN,
	AGZ__AWAIT_ROOM,
	AGZ__AWAIT_FLUSH,
	AGZ__AWAIT_FINISH,
	AGZ__AWAIT_BLOCK
};

/* A run of accepted bytes: copied, behind the struct, or where the caller has it. */
typedef struct agz__span {
	struct agz__span *next;
	const uint8_t *ptr;
	size_t nbytes, pos;
	size_t capacity; /* of what lies behind; 0: the caller's */
	void (*release)(void *arg);
	void *arg;
} agz__span;

struct agz_writer {
	agz__job job; /* first: a job is its writer */
	agz__sleeper sleeper;
	enum agz__await awaits; /* what the caller was last told to wait for */
	bool closed;
	bool borrowed; /* a step is in a span of the caller's */
	bool may_wait; /* opening the sink waits for somebody */
	int opened;    /* AGZ_OK, AGZ_WAIT or the error */
	int verdict;   /* 0 or the first error */
	agz_fault cause;

	agz__span *first, *last;             /* the queue */
	agz__span *current;                  /* what the job works on */
	unsigned n_spans;                    /* in both */
	agz__span *done;                     /* given ones that are used up */
	agz__span *spare;                    /* an owned one for the next batch */
	agz_block *first_block, *last_block; /* for take() */
	unsigned n_blocks;
	uint64_t accepted, encoded, flushed; /* stream offsets */
	uint64_t out_nbytes;
	bool flushing, finishing, finished;

	agz_fault fault;  /* the caller's: of the last error he was told */
	agz__span *batch; /* the same */
	size_t chunk_nbytes;

	agz_encoder *encoder; /* the job's */
	agz_output out;       /* in out_block or out_buffer */
	agz_block *out_block;
	uint8_t *out_buffer;
	uint64_t made;
	agz__sink sink;
	int lure; /* closed in the end: it let a job that waited to open the sink go on */

	enum agz_sink kind;
	enum agz_create create;
	mode_t mode;
	int fd;
	bool close_fd;
	agz_encoder_options options;
	char engine[24];
	const char *path;
	char text[]; /* path and options.name */
};

static inline bool agz__writer_idle(const agz_writer *w)
{
	return w->job.state == AGZ__JOB_IDLE;
}

/* All of these under the lock. */

/* The first failure stays, and ends whatever is waited for. Returns the verdict. */
int agz__writer_fail(agz_writer *w, int code, int sys);

/*
 * Pieces of work. Each is called with the lock and returns with it, and works without. It
 * runs in the job, or on the caller's thread while no job is in flight.
 */
typedef void agz__writer_piece(agz_writer *w);

/* The piece to do next, or NULL. */
agz__writer_piece *agz__writer_next(const agz_writer *w);

agz__writer_piece agz__writer_encode; /* a span, or a window of one */
agz__writer_piece agz__writer_header; /* before any input */

/* The job, and where it runs. */
void agz__writer_run(agz__job *job);
enum agz__lane agz__writer_lane(const agz_writer *w);

/* A descriptor that was never looked at is the writer's to close all the same. */
void agz__writer_adopt(agz_writer *w);

/* Frees it, without the lock; no job is in flight, nor will be. */
void agz__writer_dispose(agz_writer *w);

#endif
