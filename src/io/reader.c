/*
 * reader.c - the caller's half of a reader: what is ready is handed out, what is not is
 * left to the job.
 */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "io/reader.h"

#define INLINE_NBYTES ((size_t)16 * 1024) /* pushed, decoded by push() itself */

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
	if (r->release != NULL && agz__reader_idle(r) &&
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
static int wait_for(agz_reader *r, enum agz__await what)
{
	if (agz__reader_idle(r)) {
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

	r->job.run = agz__reader_run;
	r->job.pool = o.pool;
	r->job.sleeper = &r->sleeper;
	r->bound = 1;
	r->block_nbytes = AGZ__FIRST_BLOCK_NBYTES;
	r->lines = (o.flags & AGZ_READER_LINES) != 0;
	r->newline = o.newline;
	r->fd = o.fd;
	r->close_fd = o.close_fd != 0;
	if (path_nbytes > 0)
		memcpy(r->path, o.path, path_nbytes);
	agz__stream_init(&r->stream, &o);
	r->stream.enter = agz__reader_enter;
	r->stream.leave = agz__reader_leave;
	r->stream.arg = r;
	agz__sleeper_init(&r->sleeper, o.waker, o.user);

	bool at_hand =
	        o.source == AGZ_SOURCE_PATH && agz__stream_open_now(&r->stream, r->path);
	agz__lock();
	if (o.source == AGZ_SOURCE_PUSH) {
		r->verdict = AGZ_HUNGRY;
	} else if (o.source != AGZ_SOURCE_MEMORY && !at_hand) {
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
	if (agz__reader_idle(r))
		return finish(AGZ_OK);
	if (r->opened == AGZ_OK && r->stream.source.live)
		agz__bell_ring(&r->stream.source.bell);
	r->awaits = AGZ__AWAIT_IDLE;
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
	if (!agz__reader_idle(r) && r->opened == AGZ_OK && r->stream.source.live)
		agz__bell_ring(&r->stream.source.bell);
	agz__job_outwait(&r->job, &r->borrowed);
	bool mine = agz__reader_idle(r);
	void (*release)(void *) = r->release;
	void *release_arg = r->release_arg;
	if (r->opened == AGZ_WAIT && mine && r->stream.kind == AGZ_SOURCE_FD) {
		r->stream.source.fd = r->fd;
		r->stream.source.owned = r->close_fd;
	}
	agz__unlock();
	if (mine)
		agz__reader_dispose(r);
	if (release != NULL)
		release(release_arg);
}

int agz_reader_opened(agz_reader *r)
{
	begin(r);
	if (r->opened < 0)
		return finish(tell_fault(r));
	return finish(r->opened == AGZ_WAIT ? wait_for(r, AGZ__AWAIT_OPEN) : AGZ_OK);
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
	bool file = agz__stream_is_file(&r->stream);
	bool cut = r->verdict == AGZ_E_TRUNCATED && r->stream.decoder != NULL;

	if (file && r->told && (r->verdict == AGZ_END || cut))
		r->verdict = 0; /* look again */
	if (r->verdict < 0)
		return tell_fault(r);
	r->told = true;
	return r->verdict != 0 ? r->verdict : AGZ_WAIT;
}

/* Makes a block begin where its first `n` bytes end; its line ends are left to others. */
static void cut_front(agz_block *block, size_t n)
{
	block->nbytes -= n;
	memmove(block->ptr, block->ptr + n, block->nbytes);
	block->n_ends = block->ends_from = block->ends_to = 0;
}

static agz_block *take_first(agz_reader *r)
{
	size_t skip = r->skip;
	agz_block *block = agz__ring_pop(r);

	r->taken += block->nbytes - skip;
	if (skip > 0)
		cut_front(block, skip);
	return block;
}

/* Starts the job again once the ring is half empty, not after each block: a hand-over is
 * worth some of them. */
static void keep_ahead(agz_reader *r)
{
	if (agz__reader_idle(r) && r->verdict == 0 && r->n_blocks <= r->bound / 2)
		wait_for(r, AGZ__AWAIT_NOTHING);
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
	/* The first block of what lies here is made sooner than handed over. */
	if (!r->begun && r->first == NULL && r->verdict == 0 && agz__reader_idle(r) &&
	    r->stream.source.regular && agz__stream_at_hand(&r->stream))
		agz__reader_fill(r);
	if (r->first != NULL) {
		*block = take_first(r);
		keep_ahead(r);
		return finish(AGZ_OK);
	}
	int rc = agz__reader_idle(r) ? tell_verdict(r) : AGZ_WAIT;
	return finish(rc == AGZ_WAIT ? wait_for(r, AGZ__AWAIT_BLOCK) : rc);
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
		agz__ring_drop(r, n);
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
	if (agz__reader_idle(r) && r->verdict == AGZ_HUNGRY && r->first == NULL)
		return finish(AGZ_HUNGRY);
	return finish(wait_for(r, AGZ__AWAIT_INTO));
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
			agz__ring_drop(r, (size_t)(offset - r->taken));
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
	if (agz__reader_idle(r) && !r->seek.done && r->seek.rewind)
		agz__reader_seek(r);
	if (agz__reader_idle(r) && !r->seek.done &&
	    (r->seek.offset == r->taken || r->verdict == AGZ_END || r->verdict < 0))
		agz__reader_seek(r);
	if (r->seek.done) {
		r->seek.active = false;
		*reached = r->taken;
		if (r->seek.rc == AGZ_E_NOT_SEEKABLE)
			return finish(refuse(r, r->seek.rc));
		return finish(r->seek.rc < 0 ? tell_fault(r) : AGZ_OK);
	}
	if (agz__reader_idle(r) && r->verdict == AGZ_HUNGRY && r->first == NULL)
		return finish(AGZ_HUNGRY);
	return finish(wait_for(r, AGZ__AWAIT_SEEK));
}

int agz_reader_push(agz_reader *r, const void *ptr, size_t nbytes, int ends,
                    void (*release)(void *arg), void *arg)
{
	begin(r);
	if (r->stream.kind != AGZ_SOURCE_PUSH)
		return finish(refuse(r, AGZ_E_STATE));
	if (r->verdict < 0 && agz__reader_idle(r))
		return finish(tell_fault(r));
	if (!agz__reader_idle(r) || r->verdict != AGZ_HUNGRY || r->first != NULL)
		return finish(refuse(r, AGZ_E_BUSY));
	r->stream.in = (agz_input){ptr, nbytes, 0};
	r->stream.ends = ends != 0;
	r->release = release;
	r->release_arg = arg;
	r->verdict = 0;
	r->wanted = true;
	/* An unlucky thread start is not lost: the next call tries again. */
	if (nbytes <= INLINE_NBYTES && !busy(r))
		agz__reader_fill(r);
	else
		wait_for(r, AGZ__AWAIT_NOTHING);
	return finish(AGZ_OK);
}

int agz_reader_restart(agz_reader *r)
{
	begin(r);
	if (r->stream.kind != AGZ_SOURCE_PUSH)
		return finish(refuse(r, AGZ_E_STATE));
	if (!agz__reader_idle(r) && !agz__job_withdraw(&r->job))
		return finish(wait_for(r, AGZ__AWAIT_IDLE));
	agz__stream_rewind(&r->stream);
	agz__ring_drop(r, r->in_ring);
	r->into.dst = NULL;
	r->seek.active = false;
	r->taken = 0;
	agz__reader_conclude(r, AGZ_HUNGRY);
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
	if (agz__reader_idle(r) && i < r->stream.n_members)
		member = &r->stream.members[i].member;
	agz__unlock();
	return member;
}

const agz_fault *agz_reader_fault(const agz_reader *r)
{
	return &r->fault;
}
