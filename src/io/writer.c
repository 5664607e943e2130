/*
 * writer.c - the caller's half of a writer: bytes are gathered and handed to the job.
 */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "io/writer.h"

#define CHUNK_NBYTES       ((size_t)256 * 1024)
#define MAX_CHUNK_NBYTES   ((size_t)1024 * 1024 * 1024)
#define LEAST_CHUNK_NBYTES ((size_t)64 * 1024) /* less is not worth a hand-over */
#define FIRST_BATCH_NBYTES ((size_t)4 * 1024)
#define INLINE_NBYTES      ((size_t)4 * 1024) /* of a write that its caller encodes */
#define MAX_SPANS          4

/* Gives the caller's spans back, and frees the others. Without the lock. */
static void release_spans(agz__span *s)
{
	while (s != NULL) {
		agz__span *next = s->next;
		if (s->release != NULL)
			s->release(s->arg);
		agz__free(s);
		s = next;
	}
}

/* The job was lost in a fork: what it worked on is left where it lies. Its descriptor is
 * left open if it was perhaps just being closed: the number may be somebody else's. */
static void bury_job(agz_writer *w)
{
	w->job.state = AGZ__JOB_IDLE;
	w->borrowed = false;
	w->encoder = NULL;
	w->out_block = NULL;
	w->out_buffer = NULL;
	w->out = (agz_output){NULL, 0, 0};
	if (w->opened == AGZ_WAIT || w->finishing)
		w->sink.fd = -1;
	if (w->opened == AGZ_WAIT)
		w->opened = AGZ_E_FORKED;
	agz__writer_fail(w, AGZ_E_FORKED, 0);
}

/* Every call of the caller begins here: takes the lock, and gives back spans that are
 * used up. */
static void begin(agz_writer *w)
{
	agz__lock();
	if (w->job.state == AGZ__JOB_LOST)
		bury_job(w);
	agz__span *done = w->done;
	w->done = NULL;
	if (done != NULL) {
		agz__unlock();
		release_spans(done);
		agz__lock();
	}
}

static int end(agz_writer *w, int rc)
{
	if (rc < 0 && rc == w->verdict)
		w->fault = w->cause;
	else if (rc < 0)
		w->fault = (agz_fault){.code = rc};
	agz__unlock();
	return rc;
}

/* Sees that a job is in flight, if there is work. AGZ_OK or an error. */
static int start(agz_writer *w)
{
	if (!agz__writer_idle(w) || agz__writer_next(w) == NULL)
		return AGZ_OK;
	int rc = agz__job_submit(&w->job, agz__writer_lane(w));
	return rc == AGZ_OK ? rc : agz__writer_fail(w, rc, errno);
}

static int wait_for(agz_writer *w, enum agz__await what)
{
	int rc = start(w);

	if (rc != AGZ_OK)
		return rc;
	w->awaits = what;
	return AGZ_WAIT;
}

static void enqueue(agz_writer *w, agz__span *s)
{
	s->next = NULL;
	*(w->first ? &w->last->next : &w->first) = s;
	w->last = s;
	w->n_spans++;
}

static void enqueue_batch(agz_writer *w)
{
	if (w->batch != NULL)
		enqueue(w, w->batch);
	w->batch = NULL;
}

static int check(const agz_writer_options *o, const agz_encoder_options *e)
{
	if (e->level < -1 || e->level > 9 || o->chunk_nbytes > MAX_CHUNK_NBYTES ||
	    (e->name != NULL && memchr(e->name, 0, e->name_nbytes) != NULL))
		return AGZ_E_ARGUMENT;
	if (e->engine != NULL && strlen(e->engine) >= sizeof(((agz_writer *)0)->engine))
		return AGZ_E_ENGINE;
	if (agz_engine_for_deflate(e->engine, e->level, e->fast) == NULL)
		return AGZ_E_ENGINE;
	switch (o->sink) {
	case AGZ_SINK_PATH:
		return o->path != NULL && o->create >= AGZ_CREATE &&
		                       o->create <= AGZ_CREATE_NEW
		               ? AGZ_OK
		               : AGZ_E_ARGUMENT;
	case AGZ_SINK_FD:
		return o->fd >= 0 ? AGZ_OK : AGZ_E_ARGUMENT;
	case AGZ_SINK_TAKE:
		return AGZ_OK;
	}
	return AGZ_E_ARGUMENT;
}

static agz_writer *new_writer(const agz_writer_options *o, const agz_encoder_options *e)
{
	size_t path_nbytes = o->sink == AGZ_SINK_PATH ? strlen(o->path) + 1 : 0;
	size_t name_nbytes = e->name != NULL ? e->name_nbytes : 0;

	if (name_nbytes > SIZE_MAX / 2)
		return NULL;
	agz_writer *w = agz__calloc(1, sizeof(*w) + path_nbytes + name_nbytes);
	if (w == NULL)
		return NULL;
	w->job.run = agz__writer_run;
	w->job.pool = o->pool;
	w->job.sleeper = &w->sleeper;
	w->kind = o->sink;
	w->create = o->create;
	w->mode = o->mode != 0 ? (mode_t)o->mode : 0666;
	w->fd = o->fd;
	w->close_fd = o->close_fd != 0;
	w->sink.fd = w->sink.bell.fd = w->sink.bell.write_fd = w->lure = -1;
	w->chunk_nbytes = o->chunk_nbytes != 0 ? o->chunk_nbytes : CHUNK_NBYTES;
	if (w->chunk_nbytes < LEAST_CHUNK_NBYTES)
		w->chunk_nbytes = LEAST_CHUNK_NBYTES;
	w->options = *e;
	if (e->engine != NULL)
		w->options.engine = strcpy(w->engine, e->engine);
	if (path_nbytes > 0)
		w->path = memcpy(w->text, o->path, path_nbytes);
	if (name_nbytes > 0)
		w->options.name = memcpy(w->text + path_nbytes, e->name, name_nbytes);
	return w;
}

int agz_writer_open(const agz_writer_options *opts, agz_writer **writer)
{
	agz_writer_options o = AGZ_WRITER_OPTIONS_INIT;
	agz_encoder_options e = AGZ_ENCODER_OPTIONS_INIT;

	*writer = NULL;
	memcpy(&o, opts,
	       opts->struct_nbytes < sizeof(o) ? opts->struct_nbytes : sizeof(o));
	if (o.encoder != NULL)
		memcpy(&e, o.encoder,
		       o.encoder->struct_nbytes < sizeof(e) ? o.encoder->struct_nbytes
		                                            : sizeof(e));
	e.struct_nbytes = sizeof(e);
	int rc = check(&o, &e);
	if (rc != AGZ_OK)
		return rc;
	if (o.pool == NULL)
		o.pool = agz_pool_shared();
	agz_writer *w = o.pool != NULL ? new_writer(&o, &e) : NULL;
	if (w == NULL)
		return AGZ_E_NOMEM;
	agz__sleeper_init(&w->sleeper, o.waker, o.user);

	agz__lock();
	if (w->kind == AGZ_SINK_TAKE) {
		agz__writer_header(w); /* it can be taken at once */
		rc = w->verdict;
	} else {
		w->opened = AGZ_WAIT;
		rc = start(w);
	}
	if (rc != AGZ_OK)
		agz__sleeper_leave(&w->sleeper);
	agz__unlock();
	if (rc != AGZ_OK) {
		w->opened = rc; /* the descriptor stays the caller's */
		agz__writer_dispose(w);
	} else {
		*writer = w;
	}
	return rc;
}

/* close(2) of what was written may wait for a disk or a network, so a job does it. */
void agz_writer_close(agz_writer *w)
{
	if (w == NULL)
		return;
	agz__lock();
	if (w->job.state == AGZ__JOB_LOST)
		bury_job(w);
	agz__sleeper_leave(&w->sleeper);
	agz__job_withdraw(&w->job);
	if (agz__writer_idle(w))
		agz__writer_adopt(w);
	w->closed = true;
	if (!agz__writer_idle(w) && w->opened == AGZ_OK && w->sink.live)
		agz__bell_ring(&w->sink.bell);
	if (!agz__writer_idle(w) && w->opened == AGZ_WAIT && w->may_wait)
		w->lure = agz__sink_lure(w->path);
	agz__job_outwait(&w->job, &w->borrowed);

	agz__span *queue = w->first, *current = NULL, *done = w->done;
	if (w->current != NULL && w->current->capacity == 0) {
		current = w->current;
		w->current = NULL;
	}
	bool mine = agz__writer_idle(w);
	if (mine && w->sink.fd >= 0 && w->sink.owned)
		mine = agz__job_submit(&w->job, agz__writer_lane(w)) != AGZ_OK;
	agz__unlock();
	if (mine)
		agz__writer_dispose(w);
	release_spans(done);
	release_spans(current);
	release_spans(queue);
}

int agz_writer_opened(agz_writer *w)
{
	begin(w);
	return end(w, w->opened == AGZ_WAIT ? wait_for(w, AGZ__AWAIT_OPEN) : w->opened);
}

int agz_writer_fd(const agz_writer *w)
{
	agz__lock();
	int fd = w->opened == AGZ_OK && !w->finishing ? w->sink.fd : -1;
	agz__unlock();
	return fd;
}

/* May bytes be accepted at all? */
static int check_open(const agz_writer *w)
{
	if (w->verdict < 0)
		return w->verdict;
	return w->finishing ? AGZ_E_STATE : AGZ_OK;
}

/* A batch with room, for `nbytes` if that can be. Under the lock, which is given up while
 * memory is had. Batches start small, since most files are, and double. */
static int need_batch(agz_writer *w, size_t nbytes)
{
	agz__span *old = w->batch;
	size_t used = old != NULL ? old->nbytes : 0;
	size_t most = w->chunk_nbytes, want = used * 2;

	if (old != NULL && used < old->capacity)
		return AGZ_OK;
	if (old == NULL && w->n_spans >= MAX_SPANS)
		return AGZ_WAIT;
	if (old == NULL && w->spare != NULL) {
		w->batch = w->spare;
		w->spare = NULL;
		w->batch->nbytes = w->batch->pos = 0;
		return AGZ_OK;
	}
	if (nbytes > most)
		nbytes = most;
	if (want < used + nbytes)
		want = used + nbytes;
	if (want < FIRST_BATCH_NBYTES)
		want = FIRST_BATCH_NBYTES;
	if (want > most || w->accepted >= most)
		want = most;
	agz__unlock();
	agz__span *grown = agz__realloc(old, sizeof(agz__span) + want);
	agz__lock();
	if (grown == NULL)
		return agz__writer_fail(w, AGZ_E_NOMEM, 0);
	*grown = (agz__span){
	        .ptr = (uint8_t *)(grown + 1), .nbytes = used, .capacity = want};
	w->batch = grown;
	return AGZ_OK;
}

/* For a sink that takes blocks nothing is gathered. A few bytes are encoded here: handing
 * them over would cost more. */
static int encode_now(agz_writer *w, size_t nbytes)
{
	enqueue_batch(w);
	while (nbytes <= INLINE_NBYTES && agz__writer_idle(w) &&
	       agz__writer_next(w) == agz__writer_encode)
		agz__writer_encode(w);
	return w->verdict < 0 ? w->verdict : start(w);
}

int agz_writer_write(agz_writer *w, const void *ptr, size_t nbytes, size_t *accepted)
{
	size_t total = 0;

	begin(w);
	int rc = check_open(w);
	while (rc == AGZ_OK && total < nbytes) {
		rc = need_batch(w, nbytes - total);
		if (rc != AGZ_OK)
			break;
		agz__span *s = w->batch;
		size_t n = s->capacity - s->nbytes;
		if (n > nbytes - total)
			n = nbytes - total;
		agz__unlock();
		memcpy((uint8_t *)(s + 1) + s->nbytes, (const uint8_t *)ptr + total, n);
		agz__lock();
		s->nbytes += n;
		total += n;
		w->accepted += n;
		if (s->nbytes >= w->chunk_nbytes) {
			enqueue_batch(w);
			rc = start(w);
		}
	}
	if (rc == AGZ_WAIT)
		rc = wait_for(w, AGZ__AWAIT_ROOM);
	else if (rc == AGZ_OK && w->kind == AGZ_SINK_TAKE)
		rc = encode_now(w, total);
	*accepted = rc < 0 ? 0 : total;
	return end(w, rc);
}

int agz_writer_give(agz_writer *w, const void *ptr, size_t nbytes,
                    void (*release)(void *arg), void *arg)
{
	begin(w);
	int rc = check_open(w);
	if (rc != AGZ_OK)
		return end(w, rc);
	if (w->n_spans + (w->batch != NULL) >= MAX_SPANS)
		return end(w, wait_for(w, AGZ__AWAIT_ROOM));
	agz__span *s = agz__malloc(sizeof(*s));
	if (s == NULL)
		return end(w, agz__writer_fail(w, AGZ_E_NOMEM, 0));
	*s = (agz__span){.ptr = ptr, .nbytes = nbytes, .release = release, .arg = arg};
	enqueue_batch(w);
	enqueue(w, s);
	w->accepted += nbytes;
	start(w); /* a failure is for the next call to tell: this one has taken the agz__span */
	return end(w, AGZ_OK);
}

int agz_writer_flush(agz_writer *w)
{
	begin(w);
	int rc = check_open(w);
	if (rc != AGZ_OK)
		return end(w, rc);
	if (w->opened == AGZ_WAIT || w->accepted > w->flushed) {
		w->flushing = w->accepted > w->flushed;
		enqueue_batch(w);
		return end(w, wait_for(w, AGZ__AWAIT_FLUSH));
	}
	return end(w, AGZ_OK);
}

int agz_writer_finish(agz_writer *w)
{
	begin(w);
	if (!w->finishing) {
		w->finishing = true;
		enqueue_batch(w);
		if (w->verdict < 0 && agz__writer_idle(w) &&
		    (w->sink.fd < 0 || !w->sink.owned))
			w->finished = true;
	}
	return end(w, w->finished ? w->verdict : wait_for(w, AGZ__AWAIT_FINISH));
}

int agz_writer_take(agz_writer *w, agz_block **block)
{
	*block = NULL;
	begin(w);
	if (w->kind != AGZ_SINK_TAKE)
		return end(w, AGZ_E_STATE);
	if (w->first_block != NULL) {
		*block = w->first_block;
		w->first_block = w->first_block->next;
		w->n_blocks--;
		start(w);
		return end(w, AGZ_OK);
	}
	if (w->verdict < 0)
		return end(w, w->verdict);
	if (w->finished)
		return end(w, AGZ_END);
	if (agz__writer_idle(w) && agz__writer_next(w) == NULL)
		return end(w, AGZ_HUNGRY);
	return end(w, wait_for(w, AGZ__AWAIT_BLOCK));
}

uint64_t agz_writer_in_nbytes(const agz_writer *w)
{
	return w->accepted;
}

uint64_t agz_writer_out_nbytes(const agz_writer *w)
{
	agz__lock();
	uint64_t n = w->out_nbytes;
	agz__unlock();
	return n;
}

const agz_fault *agz_writer_fault(const agz_writer *w)
{
	return &w->fault;
}
