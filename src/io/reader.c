/*
 * reader.c - the caller's half of a reader, and the job that fills its ring.
 *
 *     stream ─▶ [block]─[block]─[block] ─▶ take()      at most `bound` blocks
 *                ▲skip│                                of at most `block_nbytes`
 *                taken (stream offset)
 *
 * Who touches what: the stream belongs to the job while one is in flight, else to the
 * caller. All the rest of the struct is shared, under the pool's lock. The job does one
 * piece of work after the other, each for the most urgent of three goals (seek, into,
 * fill the ring), and ends when there is none, or when other files wait for its thread.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "io/stream.h"
#include "text/block.h"

#define FIRST_BLOCK_NBYTES ((size_t)64 * 1024)
#define LAST_BLOCK_NBYTES  ((size_t)256 * 1024)
#define INLINE_NBYTES      ((size_t)16 * 1024) /* pushed, decoded by push() itself */
#define HUGE_NBYTES        ((size_t)4 * 1024 * 1024) /* of a result worth huge pages */
#define PIECE_NBYTES       ((size_t)1024 * 1024)     /* of a result, made in one turn */
#define TURNS              4 /* pieces of work before other files get the thread */

enum await { AWAIT_NOTHING, AWAIT_OPEN, AWAIT_BLOCK, AWAIT_INTO, AWAIT_SEEK, AWAIT_IDLE };

struct agz_reader {
	agz__job job; /* first: a job is its reader */
	agz__sleeper sleeper;
	enum await awaits; /* what the caller was last told to wait for */
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
static agz_block *ring_pop(agz_reader *r)
{
	agz_block *block = r->first;

	r->first = block->next;
	r->n_blocks--;
	r->in_ring -= block->nbytes - r->skip;
	r->skip = 0;
	if (r->begun && r->bound < AGZ_READER_AHEAD)
		r->bound++;
	if (r->begun && r->block_nbytes < LAST_BLOCK_NBYTES)
		r->block_nbytes *= 2;
	r->begun = true;
	return block;
}

/* Drops n bytes at the front. */
static void ring_drop(agz_reader *r, size_t n)
{
	r->taken += n;
	while (r->first != NULL && n >= r->first->nbytes - r->skip) {
		n -= r->first->nbytes - r->skip;
		agz_block_free(ring_pop(r));
	}
	r->skip += n;
	r->in_ring -= n;
}

/* Makes a block begin where its first `n` bytes end; its line ends are left to others. */
static void cut_front(agz_block *block, size_t n)
{
	block->nbytes -= n;
	memmove(block->ptr, block->ptr + n, block->nbytes);
	block->n_ends = block->ends_from = block->ends_to = 0;
}

/* ---- pieces of work -------------------------------------------------------------------
 *
 * Each is called with the lock and returns with it, and works without. It runs in the
 * job, or on the caller's thread while no job is in flight.
 */

static bool enter(void *arg)
{
	agz_reader *r = arg;

	agz__lock();
	bool go = !r->closed;
	r->borrowed = go;
	agz__unlock();
	return go;
}

static void leave(void *arg)
{
	agz_reader *r = arg;

	agz__lock();
	r->borrowed = false;
	if (r->closed)
		agz__pool_settle(r->job.pool);
	agz__unlock();
}

static void wake(agz_reader *r, enum await what)
{
	if (r->awaits != what || what == AWAIT_NOTHING)
		return;
	r->awaits = AWAIT_NOTHING;
	agz__sleeper_wake(&r->sleeper);
}

/* Takes over what the stream has come to; `rc` is from it. */
static void conclude(agz_reader *r, int rc)
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
	if (r->counts.out_nbytes == 0 && hint > 0 && hint <= LAST_BLOCK_NBYTES &&
	    agz__source_left(&r->stream.source) <= AGZ__SMALL_NBYTES)
		return (size_t)hint + 1;
	return r->block_nbytes;
}

static int no_memory(agz_reader *r)
{
	r->stream.fault = (agz_fault){.code = AGZ_E_NOMEM};
	return AGZ_E_NOMEM;
}

static void fill(agz_reader *r)
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
	conclude(r, rc);
	if (block != NULL || r->verdict != 0)
		wake(r, AWAIT_BLOCK);
}

/* Asks for huge pages for the inside of a large result, which is about to be written for
 * the first time: fresh pages of 4 KiB would cost as much as half the decoding. */
static void advise(agz_reader *r)
{
#ifdef MADV_HUGEPAGE
	const uintptr_t huge = (uintptr_t)2 * 1024 * 1024;
	uintptr_t from = ((uintptr_t)r->into.dst + huge - 1) & ~(huge - 1);
	uintptr_t to = ((uintptr_t)r->into.dst + r->into.nbytes) & ~(huge - 1);

	if (r->into.nbytes < HUGE_NBYTES || from >= to || r->into.advised || !enter(r))
		return;
	r->into.advised = true;
	madvise((void *)from, to - from, MADV_HUGEPAGE);
	leave(r);
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
	bool go = enter(r);
	if (go) {
		memcpy(to, from, n);
		leave(r);
	}
	agz__lock();
	if (go) {
		r->into.got += n;
		ring_drop(r, n);
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
	conclude(r, rc);
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
		wake(r, AWAIT_INTO);
}

static void seek_done(agz_reader *r, int rc)
{
	r->seek.done = true;
	r->seek.rc = rc;
	wake(r, AWAIT_SEEK);
}

static void seek(agz_reader *r)
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
		ring_drop(r, r->in_ring);
		conclude(r, rc);
		if (rc == AGZ_OK)
			r->taken = 0;
		else
			seek_done(r, rc);
		return;
	}

	uint64_t ahead = r->seek.offset - r->taken;
	ring_drop(r, ahead < r->in_ring ? (size_t)ahead : r->in_ring);
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
		conclude(r, rc);
		if (r->verdict == AGZ_HUNGRY)
			wake(r, AWAIT_SEEK);
	}
}

/* The piece to do next, or NULL. */
static void (*next_piece(const agz_reader *r))(agz_reader *)
{
	bool can = r->verdict != AGZ_HUNGRY || r->in_ring > 0;

	if (r->closed || r->stopping || r->opened != AGZ_OK)
		return NULL;
	if (r->seek.active && !r->seek.done && can)
		return seek;
	if (r->into.dst != NULL && !r->into.done && can)
		return into;
	if (r->wanted && r->verdict == 0 && r->n_blocks < r->bound)
		return fill;
	return NULL;
}

/* ---- the job --------------------------------------------------------------------------- */

static void dispose(agz_reader *r)
{
	agz__stream_close(&r->stream);
	ring_drop(r, r->in_ring);
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

static void run(agz__job *job)
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
			wake(r, AWAIT_OPEN);
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
		dispose(r);
}

/* ---- the caller's side ------------------------------------------------------------------ */

static bool idle(const agz_reader *r)
{
	return r->job.state == AGZ__JOB_IDLE;
}

/* The answers that are errors: of this call alone, and of the reader. */
static int refuse(agz_reader *r, int code)
{
	r->fault = (agz_fault){.code = code, .sys = code == AGZ_E_SYSTEM ? errno : 0};
	return code;
}

static int tell_fault(agz_reader *r)
{
	r->told = true;
	r->fault = r->cause;
	return r->cause.code;
}

/* The job was lost in a fork, in the middle of something: what it worked on is left
 * where it lies, and the reader stands failed until it is rewound. */
static void bury_job(agz_reader *r)
{
	r->job.state = AGZ__JOB_IDLE;
	r->borrowed = false;
	agz__stream_forget(&r->stream);
	r->into.dst = NULL;
	r->seek.active = false;
	if (r->opened == AGZ_WAIT) {
		r->stream.source.fd = -1;
		r->opened = AGZ_E_FORKED;
	}
	r->cause = (agz_fault){.code = AGZ_E_FORKED};
	r->verdict = AGZ_E_FORKED;
}

/* Every call of the caller begins here: takes the lock, and gives back a pushed span
 * that is used up. */
static void begin(agz_reader *r)
{
	agz__lock();
	if (r->job.state == AGZ__JOB_LOST)
		bury_job(r);
	if (r->release != NULL && idle(r) &&
	    (r->stream.in.pos == r->stream.in.nbytes || r->verdict < 0)) {
		void (*release)(void *) = r->release;
		r->release = NULL;
		agz__unlock();
		release(r->release_arg);
		agz__lock();
	}
}

static int finish(int rc)
{
	agz__unlock();
	return rc;
}

/* The answer of a call that cannot be answered now: sees that a job is in flight, and
 * that the end of the waiting will be told. */
static int wait_for(agz_reader *r, enum await what)
{
	if (idle(r)) {
		enum agz__lane lane = r->stream.source.live ? AGZ__BLOCKING : AGZ__BUSY;
		int rc = agz__job_submit(&r->job, lane);
		if (rc != AGZ_OK)
			return refuse(r, rc);
	}
	r->awaits = what;
	return AGZ_WAIT;
}

static int check(const agz_reader_options *o)
{
	if (o->chunk_nbytes > AGZ__MAX_CHUNK_NBYTES)
		return AGZ_E_ARGUMENT;
	if (o->engine != NULL && strlen(o->engine) >= sizeof(((agz__stream *)0)->engine))
		return AGZ_E_ENGINE;
	if (agz_engine_for_inflate(o->engine) == NULL)
		return AGZ_E_ENGINE;
	switch (o->source) {
	case AGZ_SOURCE_PATH:
		return o->path != NULL ? AGZ_OK : AGZ_E_ARGUMENT;
	case AGZ_SOURCE_FD:
		return o->fd >= 0 ? AGZ_OK : AGZ_E_ARGUMENT;
	case AGZ_SOURCE_MEMORY:
		return o->memory != NULL || o->memory_nbytes == 0 ? AGZ_OK
		                                                  : AGZ_E_ARGUMENT;
	case AGZ_SOURCE_PUSH:
		return AGZ_OK;
	}
	return AGZ_E_ARGUMENT;
}

int agz_reader_open(const agz_reader_options *opts, agz_reader **reader)
{
	agz_reader_options o = AGZ_READER_OPTIONS_INIT;

	*reader = NULL;
	memcpy(&o, opts,
	       opts->struct_nbytes < sizeof(o) ? opts->struct_nbytes : sizeof(o));
	int rc = check(&o);
	if (rc != AGZ_OK)
		return rc;
	if (o.pool == NULL)
		o.pool = agz_pool_shared();
	size_t path_nbytes = o.source == AGZ_SOURCE_PATH ? strlen(o.path) + 1 : 0;
	agz_reader *r = agz__calloc(1, sizeof(*r) + path_nbytes);
	if (o.pool == NULL || r == NULL) {
		agz__free(r);
		return AGZ_E_NOMEM;
	}

	r->job.run = run;
	r->job.pool = o.pool;
	r->job.sleeper = &r->sleeper;
	r->bound = 1;
	r->block_nbytes = FIRST_BLOCK_NBYTES;
	r->lines = (o.flags & AGZ_READER_LINES) != 0;
	r->newline = o.newline;
	r->fd = o.fd;
	r->close_fd = o.close_fd != 0;
	if (path_nbytes > 0)
		memcpy(r->path, o.path, path_nbytes);
	agz__stream_init(&r->stream, &o);
	r->stream.enter = enter;
	r->stream.leave = leave;
	r->stream.arg = r;
	agz__sleeper_init(&r->sleeper, o.waker, o.user);

	agz__lock();
	if (o.source == AGZ_SOURCE_PUSH) {
		r->verdict = AGZ_HUNGRY;
	} else if (o.source != AGZ_SOURCE_MEMORY) {
		r->opened = AGZ_WAIT;
		rc = agz__job_submit(&r->job, AGZ__BUSY);
	}
	if (rc != AGZ_OK)
		agz__sleeper_leave(&r->sleeper);
	agz__unlock();
	if (rc != AGZ_OK)
		agz__free(r);
	else
		*reader = r;
	return rc;
}

int agz_reader_stop(agz_reader *r)
{
	begin(r);
	r->stopping = true;
	agz__job_withdraw(&r->job);
	if (idle(r))
		return finish(AGZ_OK);
	if (r->opened == AGZ_OK && r->stream.source.live)
		agz__bell_ring(&r->stream.source.bell);
	r->awaits = AWAIT_IDLE;
	return finish(AGZ_WAIT);
}

void agz_reader_close(agz_reader *r)
{
	if (r == NULL)
		return;
	agz__lock();
	if (r->job.state == AGZ__JOB_LOST)
		bury_job(r);
	agz__sleeper_leave(&r->sleeper);
	r->closed = true;
	agz__job_withdraw(&r->job);
	if (!idle(r) && r->opened == AGZ_OK && r->stream.source.live)
		agz__bell_ring(&r->stream.source.bell);
	agz__job_outwait(&r->job, &r->borrowed);
	bool mine = idle(r);
	void (*release)(void *) = r->release;
	void *release_arg = r->release_arg;
	if (r->opened == AGZ_WAIT && mine && r->stream.kind == AGZ_SOURCE_FD) {
		r->stream.source.fd = r->fd;
		r->stream.source.owned = r->close_fd;
	}
	agz__unlock();
	if (mine)
		dispose(r);
	if (release != NULL)
		release(release_arg);
}

int agz_reader_opened(agz_reader *r)
{
	begin(r);
	if (r->opened < 0)
		return finish(tell_fault(r));
	return finish(r->opened == AGZ_WAIT ? wait_for(r, AWAIT_OPEN) : AGZ_OK);
}

int agz_reader_fd(const agz_reader *r)
{
	agz__lock();
	int fd = r->opened == AGZ_OK ? r->stream.source.fd : -1;
	agz__unlock();
	return fd;
}

/* What comes when the ring is empty and nothing is in flight; AGZ_WAIT: work to do. */
static int tell_verdict(agz_reader *r)
{
	bool file = r->stream.kind == AGZ_SOURCE_PATH || r->stream.kind == AGZ_SOURCE_FD;

	if (r->verdict < 0)
		return tell_fault(r);
	if (r->verdict == AGZ_END && r->told && file)
		r->verdict = 0; /* look again */
	r->told = true;
	return r->verdict != 0 ? r->verdict : AGZ_WAIT;
}

static agz_block *take_first(agz_reader *r)
{
	size_t skip = r->skip;
	agz_block *block = ring_pop(r);

	r->taken += block->nbytes - skip;
	if (skip > 0)
		cut_front(block, skip);
	return block;
}

/* Starts the job again once the ring is half empty, not after each block: a hand-over is
 * worth some of them. */
static void keep_ahead(agz_reader *r)
{
	if (idle(r) && r->verdict == 0 && r->n_blocks <= r->bound / 2)
		wait_for(r, AWAIT_NOTHING);
}

static bool busy(const agz_reader *r)
{
	return r->into.dst != NULL || (r->seek.active && !r->seek.done);
}

int agz_reader_take(agz_reader *r, agz_block **block)
{
	*block = NULL;
	begin(r);
	if (r->opened < 0)
		return finish(tell_fault(r));
	if (busy(r))
		return finish(refuse(r, AGZ_E_BUSY));
	r->seek.active = false;
	r->wanted = true;
	if (r->first != NULL) {
		*block = take_first(r);
		keep_ahead(r);
		return finish(AGZ_OK);
	}
	int rc = idle(r) ? tell_verdict(r) : AGZ_WAIT;
	return finish(rc == AGZ_WAIT ? wait_for(r, AWAIT_BLOCK) : rc);
}

/* Hands out what the ring has. A job in flight can only append to it meanwhile. */
static void copy_ring(agz_reader *r, uint8_t *dst, size_t nbytes)
{
	while (nbytes > 0) {
		const uint8_t *from = r->first->ptr + r->skip;
		size_t n = r->first->nbytes - r->skip;
		if (n > nbytes)
			n = nbytes;
		agz__unlock();
		memcpy(dst, from, n);
		agz__lock();
		ring_drop(r, n);
		dst += n;
		nbytes -= n;
	}
}

int agz_reader_into(agz_reader *r, void *dst, size_t nbytes, size_t *got)
{
	*got = 0;
	if (nbytes == 0)
		return AGZ_OK;
	if (dst == NULL)
		return refuse(r, AGZ_E_ARGUMENT);
	begin(r);
	if (r->opened < 0)
		return finish(tell_fault(r));
	if (r->into.dst == NULL ? busy(r)
	                        : dst != r->into.dst || nbytes != r->into.nbytes)
		return finish(refuse(r, AGZ_E_BUSY));
	if (r->verdict < 0 && r->told)
		return finish(tell_fault(r));
	r->seek.active = false;
	r->wanted = true;
	if (r->into.dst == NULL) {
		size_t n = nbytes < r->in_ring ? nbytes : r->in_ring;
		if (n == nbytes || r->verdict == AGZ_END || r->verdict < 0) {
			copy_ring(r, dst, n);
			*got = n;
		} else {
			memset(&r->into, 0, sizeof(r->into));
			r->into.dst = dst;
			r->into.nbytes = nbytes;
		}
	} else if (r->into.done) {
		*got = r->into.got;
		r->into.dst = NULL;
	}
	if (r->into.dst == NULL) {
		keep_ahead(r);
		return finish(AGZ_OK);
	}
	if (idle(r) && r->verdict == AGZ_HUNGRY && r->first == NULL)
		return finish(AGZ_HUNGRY);
	return finish(wait_for(r, AWAIT_INTO));
}

int agz_reader_seek(agz_reader *r, uint64_t offset, uint64_t *reached)
{
	*reached = 0;
	begin(r);
	if (r->opened < 0)
		return finish(tell_fault(r));
	if (r->into.dst != NULL)
		return finish(refuse(r, AGZ_E_BUSY));
	if (!r->seek.active || r->seek.offset != offset) {
		bool back = offset < r->taken || (r->verdict < 0 && r->told);
		if (back && r->verdict < 0 && r->told && offset != 0)
			return finish(tell_fault(r));
		if (back && !agz__stream_seekable(&r->stream))
			return finish(refuse(r, AGZ_E_NOT_SEEKABLE));
		if (!back && !busy(r) && offset - r->taken <= r->in_ring) {
			/* So near that a job in flight need not be waited for: it may be
			 * waiting for the bytes behind. */
			ring_drop(r, (size_t)(offset - r->taken));
			r->seek.active = false;
			*reached = offset;
			return finish(AGZ_OK);
		}
		r->seek.rewind = back || (r->seek.active && r->seek.rewind);
		r->seek.offset = offset;
		r->seek.active = true;
		r->seek.done = false;
	}
	/* What takes no decoding is done here and now. */
	if (idle(r) && !r->seek.done && r->seek.rewind)
		seek(r);
	if (idle(r) && !r->seek.done &&
	    (r->seek.offset == r->taken || r->verdict == AGZ_END || r->verdict < 0))
		seek(r);
	if (r->seek.done) {
		r->seek.active = false;
		*reached = r->taken;
		if (r->seek.rc == AGZ_E_NOT_SEEKABLE)
			return finish(refuse(r, r->seek.rc));
		return finish(r->seek.rc < 0 ? tell_fault(r) : AGZ_OK);
	}
	if (idle(r) && r->verdict == AGZ_HUNGRY && r->first == NULL)
		return finish(AGZ_HUNGRY);
	return finish(wait_for(r, AWAIT_SEEK));
}

int agz_reader_push(agz_reader *r, const void *ptr, size_t nbytes, int ends,
                    void (*release)(void *arg), void *arg)
{
	begin(r);
	if (r->stream.kind != AGZ_SOURCE_PUSH)
		return finish(refuse(r, AGZ_E_STATE));
	if (r->verdict < 0 && idle(r))
		return finish(tell_fault(r));
	if (!idle(r) || r->verdict != AGZ_HUNGRY || r->first != NULL)
		return finish(refuse(r, AGZ_E_BUSY));
	r->stream.in = (agz_input){ptr, nbytes, 0};
	r->stream.ends = ends != 0;
	r->release = release;
	r->release_arg = arg;
	r->verdict = 0;
	r->wanted = true;
	/* An unlucky thread start is not lost: the next call tries again. */
	if (nbytes <= INLINE_NBYTES && !busy(r))
		fill(r);
	else
		wait_for(r, AWAIT_NOTHING);
	return finish(AGZ_OK);
}

int agz_reader_restart(agz_reader *r)
{
	begin(r);
	if (r->stream.kind != AGZ_SOURCE_PUSH)
		return finish(refuse(r, AGZ_E_STATE));
	if (!idle(r) && !agz__job_withdraw(&r->job))
		return finish(wait_for(r, AWAIT_IDLE));
	agz__stream_rewind(&r->stream);
	ring_drop(r, r->in_ring);
	r->into.dst = NULL;
	r->seek.active = false;
	r->taken = 0;
	conclude(r, AGZ_HUNGRY);
	agz__unlock();
	begin(r); /* gives back the span */
	return finish(AGZ_OK);
}

void agz_reader_want_lines(agz_reader *r)
{
	agz__lock();
	r->lines = true;
	agz__unlock();
}

uint64_t agz_reader_size_hint(const agz_reader *r)
{
	agz__lock();
	uint64_t hint = r->opened == AGZ_OK ? r->stream.hint : 0;
	agz__unlock();
	return hint;
}

static agz__counts counts(const agz_reader *r)
{
	agz__lock();
	agz__counts c = r->counts;
	agz__unlock();
	return c;
}

uint64_t agz_reader_in_nbytes(const agz_reader *r)
{
	return counts(r).in_nbytes;
}

uint64_t agz_reader_out_nbytes(const agz_reader *r)
{
	return counts(r).out_nbytes;
}

uint64_t agz_reader_member_count(const agz_reader *r)
{
	return counts(r).members;
}

int agz_reader_mtime(const agz_reader *r, uint32_t *mtime)
{
	agz__counts c = counts(r);

	if (c.has_mtime)
		*mtime = c.mtime;
	return c.has_mtime;
}

const agz_member *agz_reader_member(const agz_reader *r, uint64_t i)
{
	const agz_member *member = NULL;

	agz__lock();
	if (idle(r) && i < r->stream.n_members)
		member = &r->stream.members[i].member;
	agz__unlock();
	return member;
}

const agz_fault *agz_reader_fault(const agz_reader *r)
{
	return &r->fault;
}
