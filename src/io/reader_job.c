/*
 * reader_job.c - the job of a reader.
 *
 * It does one piece of work after the other, each for the most urgent of three goals (seek,
 * into, fill the ring), and ends when there is none, or when other files wait for its thread.
 */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* MADV_HUGEPAGE */
#endif
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "io/reader.h"

#if defined(__linux__) && !defined(MADV_HUGEPAGE)
#error "<sys/mman.h> gives no MADV_HUGEPAGE"
#endif

#define HUGE_NBYTES  ((size_t)4 * 1024 * 1024) /* of a result worth huge pages */
#define PIECE_NBYTES ((size_t)1024 * 1024)     /* of a result, made in one turn */
#define TURNS        4 /* pieces of work before other files get the thread */

/* ---- the ring ------------------------------------------------------------------------ */

static void ring_append(agz_reader *r, agz_block *block)
{
	block->next = NULL;
	*(r->first ? &r->last->next : &r->first) = block;
	r->last = block;
	r->n_blocks++;
	r->in_ring += block->nbytes;
}

/* Takes the first block out. From the second on, the reader keeps up to more blocks, and
 * larger ones: for a caller who goes on taking, not for one who took a line. */
agz_block *agz__ring_pop(agz_reader *r)
{
	agz_block *block = r->first;

	r->first = block->next;
	r->n_blocks--;
	r->in_ring -= block->nbytes - r->skip;
	r->skip = 0;
	if (r->begun && r->bound < AGZ_READER_AHEAD)
		r->bound++;
	if (r->begun && r->block_nbytes < AGZ__LAST_BLOCK_NBYTES)
		r->block_nbytes *= 2;
	r->begun = true;
	return block;
}

/* Drops n bytes at the front. */
void agz__ring_drop(agz_reader *r, size_t n)
{
	r->taken += n;
	while (r->first != NULL && n >= r->first->nbytes - r->skip) {
		n -= r->first->nbytes - r->skip;
		agz_block_free(agz__ring_pop(r));
	}
	r->skip += n;
	r->in_ring -= n;
}

/* ---- pieces of work ------------------------------------------------------------------- */

bool agz__reader_enter(void *arg)
{
	agz_reader *r = arg;

	agz__lock();
	bool go = !r->closed;
	r->borrowed = go;
	agz__unlock();
	return go;
}

void agz__reader_leave(void *arg)
{
	agz_reader *r = arg;

	agz__lock();
	r->borrowed = false;
	if (r->closed)
		agz__pool_settle(r->job.pool);
	agz__unlock();
}

static void wake(agz_reader *r, enum agz__await what)
{
	if (r->awaits != what || what == AGZ__AWAIT_NOTHING)
		return;
	r->awaits = AGZ__AWAIT_NOTHING;
	agz__sleeper_wake(&r->sleeper);
}

void agz__reader_conclude(agz_reader *r, int rc)
{
	r->counts = agz__stream_counts(&r->stream);
	if (rc == AGZ_OUTPUT_FULL || rc == AGZ_WAIT)
		rc = AGZ_OK;
	if (rc < 0)
		r->cause = r->stream.fault;
	r->verdict = rc;
	r->told = false;
}

static size_t next_block_nbytes(const agz_reader *r)
{
	uint64_t hint = r->stream.hint;

	/* All of a small file in one block, if its ISIZE is true. */
	if (r->counts.out_nbytes == 0 && hint > 0 && hint <= AGZ__LAST_BLOCK_NBYTES &&
	    agz__source_left(&r->stream.source) <= AGZ__SMALL_NBYTES)
		return (size_t)hint + 1;
	/* Of a small pushed span: the caller, who brings the next only when this one is used
	 * up, has something to do while the rest is decoded. */
	if (r->stream.kind == AGZ_SOURCE_PUSH && r->stream.in.nbytes < r->block_nbytes)
		return r->stream.in.nbytes < AGZ__FIRST_BLOCK_NBYTES
		               ? AGZ__FIRST_BLOCK_NBYTES
		               : r->stream.in.nbytes;
	return r->block_nbytes;
}

static int no_memory(agz_reader *r)
{
	r->stream.fault = (agz_fault){.code = AGZ_E_NOMEM};
	return AGZ_E_NOMEM;
}

void agz__reader_fill(agz_reader *r)
{
	size_t room = next_block_nbytes(r);
	bool lines = r->lines;

	agz__unlock();
	int rc;
	agz_block *block = agz__block_new(room);
	if (block != NULL) {
		agz_output out = {block->ptr, block->capacity, 0};
		rc = agz__stream_decode(&r->stream, &out);
		block->nbytes = out.pos;
		agz__block_trim(block);
		if (lines)
			agz__block_find(block, r->newline);
	} else {
		rc = no_memory(r);
	}
	if (block != NULL && block->nbytes == 0) {
		agz_block_free(block);
		block = NULL;
	}

	agz__lock();
	if (block != NULL)
		ring_append(r, block);
	agz__reader_conclude(r, rc);
	if (block != NULL || r->verdict != 0)
		wake(r, AGZ__AWAIT_BLOCK);
}

/* Asks for huge pages for the inside of a large result, which is about to be written for
 * the first time: fresh pages of 4 KiB would cost as much as half the decoding. */
static void advise(agz_reader *r)
{
#ifdef MADV_HUGEPAGE
	const uintptr_t huge = (uintptr_t)2 * 1024 * 1024;
	uintptr_t from = ((uintptr_t)r->into.dst + huge - 1) & ~(huge - 1);
	uintptr_t to = ((uintptr_t)r->into.dst + r->into.nbytes) & ~(huge - 1);

	if (r->into.nbytes < HUGE_NBYTES || from >= to || r->into.advised ||
	    !agz__reader_enter(r))
		return;
	r->into.advised = true;
	madvise((void *)from, to - from, MADV_HUGEPAGE);
	agz__reader_leave(r);
#else
	(void)r;
#endif
}

/* Copies from the ring's first block; true if there was one. */
static bool into_from_ring(agz_reader *r)
{
	if (r->first == NULL)
		return false;
	size_t n = r->first->nbytes - r->skip;
	if (n > r->into.nbytes - r->into.got)
		n = r->into.nbytes - r->into.got;
	/* The block stays in the ring: nobody else takes it while into() is going on. */
	const uint8_t *from = r->first->ptr + r->skip;
	uint8_t *to = r->into.dst + r->into.got;
	agz__unlock();
	bool go = agz__reader_enter(r);
	if (go) {
		memcpy(to, from, n);
		agz__reader_leave(r);
	}
	agz__lock();
	if (go) {
		r->into.got += n;
		agz__ring_drop(r, n);
	}
	return true;
}

static void into_from_stream(agz_reader *r)
{
	size_t end = r->into.nbytes;
	if (end - r->into.got > PIECE_NBYTES)
		end = r->into.got + PIECE_NBYTES;
	agz_output dst = {r->into.dst, end, r->into.got};

	agz__unlock();
	advise(r);
	int rc = agz__stream_decode(&r->stream, &dst);
	agz__lock();
	r->taken += dst.pos - r->into.got;
	r->into.got = dst.pos;
	agz__reader_conclude(r, rc);
}

static void into(agz_reader *r)
{
	if (!into_from_ring(r) && r->verdict == 0 && r->into.got < r->into.nbytes)
		into_from_stream(r);
	bool full = r->into.got == r->into.nbytes;
	if (r->first != NULL && !full)
		return;
	r->into.done = full || r->verdict == AGZ_END || r->verdict < 0;
	if (r->into.done || r->verdict == AGZ_HUNGRY)
		wake(r, AGZ__AWAIT_INTO);
}

static void seek_done(agz_reader *r, int rc)
{
	r->seek.done = true;
	r->seek.rc = rc;
	wake(r, AGZ__AWAIT_SEEK);
}

void agz__reader_seek(agz_reader *r)
{
	/* The target may have changed while it was passed. */
	if (r->seek.offset < r->taken && !agz__stream_seekable(&r->stream)) {
		seek_done(r, AGZ_E_NOT_SEEKABLE);
		return;
	}
	if (r->seek.rewind || r->seek.offset < r->taken) {
		agz__unlock();
		int rc = agz__stream_rewind(&r->stream);
		agz__lock();
		r->seek.rewind = false;
		agz__ring_drop(r, r->in_ring);
		agz__reader_conclude(r, rc);
		if (rc == AGZ_OK)
			r->taken = 0;
		else
			seek_done(r, rc);
		return;
	}

	uint64_t ahead = r->seek.offset - r->taken;
	agz__ring_drop(r, ahead < r->in_ring ? (size_t)ahead : r->in_ring);
	ahead = r->seek.offset - r->taken;
	if (ahead == 0 || r->verdict == AGZ_END) {
		seek_done(r, AGZ_OK);
	} else if (r->verdict < 0) {
		seek_done(r, r->verdict);
	} else {
		size_t room = ahead < r->block_nbytes ? (size_t)ahead : r->block_nbytes;
		agz__unlock();
		agz_block *scratch = agz__block_new(room);
		agz_output out = {scratch ? scratch->ptr : NULL, room, 0};
		int rc = scratch ? agz__stream_decode(&r->stream, &out) : no_memory(r);
		agz_block_free(scratch);
		agz__lock();
		r->taken += out.pos;
		agz__reader_conclude(r, rc);
		if (r->verdict == AGZ_HUNGRY)
			wake(r, AGZ__AWAIT_SEEK);
	}
}

/* The piece to do next, or NULL. */
static void (*next_piece(const agz_reader *r))(agz_reader *)
{
	bool can = r->verdict != AGZ_HUNGRY || r->in_ring > 0;

	if (r->closed || r->stopping || r->opened != AGZ_OK)
		return NULL;
	if (r->seek.active && !r->seek.done && can)
		return agz__reader_seek;
	if (r->into.dst != NULL && !r->into.done && can)
		return into;
	if (r->wanted && r->verdict == 0 && r->n_blocks < r->bound)
		return agz__reader_fill;
	return NULL;
}

/* ---- the job --------------------------------------------------------------------------- */

void agz__reader_dispose(agz_reader *r)
{
	agz__stream_close(&r->stream);
	agz__ring_drop(r, r->in_ring);
	agz__free(r);
}

/* Opens the source. A small file is wanted at once: it is read to its end, and all of it
 * costs the caller one hand-over. */
static void open_source(agz_reader *r)
{
	const char *path = r->stream.kind == AGZ_SOURCE_PATH ? r->path : NULL;
	int rc = agz__stream_open(&r->stream, path, r->fd, r->close_fd);

	agz__lock();
	r->opened = rc;
	if (rc != AGZ_OK) {
		r->cause = r->stream.fault;
	} else if (r->stream.source.regular &&
	           agz__source_left(&r->stream.source) <= AGZ__SMALL_NBYTES) {
		r->wanted = true;
	}
}

void agz__reader_run(agz__job *job)
{
	agz_reader *r = (agz_reader *)job;
	void (*piece)(agz_reader *);
	unsigned turn = 0;

	if (r->opened == AGZ_WAIT)
		open_source(r);
	else
		agz__lock();
	while ((piece = next_piece(r)) != NULL) {
		/* What may block goes on among its kind; what does not, takes turns. */
		bool moves = r->stream.source.live && job->lane != AGZ__BLOCKING;
		if (moves)
			wake(r, AGZ__AWAIT_OPEN);
		if (moves ? agz__job_move(job, AGZ__BLOCKING)
		          : ++turn % TURNS == 0 && agz__job_yield(job)) {
			agz__unlock();
			return;
		}
		piece(r);
	}
	agz__job_done(job);
	/* Whatever is waited for, there is no more to come. */
	wake(r, r->awaits);
	bool closed = r->closed && !job->kept;
	agz__unlock();
	if (closed)
		agz__reader_dispose(r);
}
