/*
 * writer.c - the caller's half of a writer, and the job that compresses and writes.
 *
 *     write() ─▶ batch ─▶ [span]─[span]─▶ current ─▶ encoder ─▶ out ─▶ sink
 *     give() ──────────────▲                                     └ or ─▶ blocks ─▶ take()
 *
 *     at most MAX_SPANS, batch and current included
 *
 * Who touches what: the batch is the caller's; encoder, out and sink belong to the job
 * while one is in flight, else to the caller. All the rest is shared, under the pool's
 * lock. As in reader.c the job does piece after piece, and ends when there is none.
 */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "io/sink.h"
#include "text/block.h"

#define CHUNK_NBYTES       ((size_t)256 * 1024)
#define MAX_CHUNK_NBYTES   ((size_t)1024 * 1024 * 1024)
#define FIRST_BATCH_NBYTES ((size_t)4 * 1024)
#define OUT_NBYTES         ((size_t)64 * 1024) /* gathered before a write(2) */
#define WINDOW_NBYTES      ((size_t)32 * 1024) /* of a caller's span, in one step */
#define INLINE_NBYTES      ((size_t)4 * 1024)  /* of a write that its caller encodes */
#define MAX_SPANS          4
#define MAX_BLOCKS         4 /* not yet taken, where encoding stops (not for flush or finish) */
#define TURNS              4 /* pieces of work before other files' jobs get the thread */

enum await {
	AWAIT_NOTHING,
	AWAIT_OPEN,
	AWAIT_ROOM,
	AWAIT_FLUSH,
	AWAIT_FINISH,
	AWAIT_BLOCK
};

/* A run of accepted bytes: copied, behind the struct, or where the caller has it. */
typedef struct span {
	struct span *next;
	const uint8_t *ptr;
	size_t nbytes, pos;
	size_t capacity; /* of what lies behind; 0: the caller's */
	void (*release)(void *arg);
	void *arg;
} span;

struct agz_writer {
	agz__job job; /* first: a job is its writer */
	agz__sleeper sleeper;
	enum await awaits; /* what the caller was last told to wait for */
	bool closed;
	bool borrowed; /* a step is in a span of the caller's */
	bool may_wait; /* opening the sink waits for somebody */
	int opened;    /* AGZ_OK, AGZ_WAIT or the error */
	int verdict;   /* 0 or the first error */
	agz_fault cause;

	span *first, *last;                  /* the queue */
	span *current;                       /* what the job works on */
	unsigned n_spans;                    /* in both */
	span *done;                          /* given ones that are used up */
	span *spare;                         /* an owned one for the next batch */
	agz_block *first_block, *last_block; /* for take() */
	unsigned n_blocks;
	uint64_t accepted, encoded, flushed; /* stream offsets */
	uint64_t out_nbytes;
	bool flushing, finishing, finished;

	agz_fault fault; /* the caller's: of the last error he was told */
	span *batch;     /* the same */
	size_t chunk_nbytes;

	agz_encoder *encoder; /* the job's */
	agz_output out;       /* in out_block or out_buffer */
	agz_block *out_block;
	uint8_t *out_buffer;
	uint64_t made;
	agz__sink sink;

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

static void free_spans(span *s)
{
	while (s != NULL) {
		span *next = s->next;
		agz__free(s);
		s = next;
	}
}

/* Gives the caller's spans back, and frees the others. Without the lock. */
static void release_spans(span *spans)
{
	for (span *s = spans; s != NULL; s = s->next) {
		if (s->release != NULL)
			s->release(s->arg);
	}
	free_spans(spans);
}

static bool idle(const agz_writer *w)
{
	return w->job.state == AGZ__JOB_IDLE;
}

/* ---- pieces of work: called with the lock, and returning with it ------------------------- */

static bool enter(agz_writer *w)
{
	agz__lock();
	bool go = !w->closed;
	w->borrowed = go;
	agz__unlock();
	return go;
}

static void leave(agz_writer *w)
{
	agz__lock();
	w->borrowed = false;
	if (w->closed)
		agz__pool_settle(w->job.pool);
	agz__unlock();
}

static void wake(agz_writer *w, enum await what)
{
	if (w->awaits != what || what == AWAIT_NOTHING)
		return;
	w->awaits = AWAIT_NOTHING;
	agz__sleeper_wake(&w->sleeper);
}

/* The first failure stays, and ends whatever is waited for. */
static int fail(agz_writer *w, int code, int sys)
{
	if (w->verdict == 0) {
		w->verdict = code;
		w->cause =
		        (agz_fault){.code = code, .sys = code == AGZ_E_SYSTEM ? sys : 0};
	}
	if (!w->finishing)
		wake(w, w->awaits);
	return w->verdict;
}

/* What follows works without the lock, and returns AGZ_OK, AGZ_END (the writer is closed)
 * or an error, with errno. */

static int need_encoder(agz_writer *w)
{
	return w->encoder != NULL ? AGZ_OK : agz_encoder_new(&w->options, &w->encoder);
}

static int need_out(agz_writer *w)
{
	if (w->out.ptr != NULL)
		return AGZ_OK;
	if (w->kind == AGZ_SINK_TAKE) {
		w->out_block = agz__block_new(OUT_NBYTES);
		w->out.ptr = w->out_block != NULL ? w->out_block->ptr : NULL;
	} else {
		w->out.ptr = w->out_buffer = agz__malloc(OUT_NBYTES);
	}
	w->out.nbytes = OUT_NBYTES;
	w->out.pos = 0;
	return w->out.ptr != NULL ? AGZ_OK : AGZ_E_NOMEM;
}

static void emit_block(agz_writer *w)
{
	agz_block *block = w->out_block;

	block->nbytes = w->out.pos;
	agz__block_trim(block);
	block->next = NULL;
	w->out_block = NULL;
	w->out.ptr = NULL;
	agz__lock();
	*(w->first_block ? &w->last_block->next : &w->first_block) = block;
	w->last_block = block;
	w->n_blocks++;
	/* Whatever the caller waits for, first of all there is something to take. */
	wake(w, w->awaits);
	agz__unlock();
}

static bool was_closed(agz_writer *w)
{
	agz__lock();
	bool closed = w->closed;
	agz__unlock();
	return closed;
}

/* One write, the caller's descriptor guarded. */
static int write_some(agz_writer *w, const uint8_t *ptr, size_t nbytes, size_t *taken)
{
	int rc = agz__sink_wait(&w->sink);
	bool borrowed = !w->sink.owned;

	*taken = 0;
	if (rc < 0)
		return rc;
	if (borrowed ? !enter(w) : was_closed(w))
		return AGZ_END;
	if (rc == AGZ_OK)
		rc = agz__sink_write(&w->sink, ptr, nbytes, taken);
	if (borrowed)
		leave(w);
	return rc < 0 ? rc : AGZ_OK;
}

/* Passes on what was gathered. */
static int emit(agz_writer *w)
{
	size_t pos = 0, taken;
	int rc = AGZ_OK;

	if (w->out.pos == 0)
		return AGZ_OK;
	w->made += w->out.pos;
	if (w->kind == AGZ_SINK_TAKE) {
		emit_block(w);
		return AGZ_OK;
	}
	for (; rc == AGZ_OK && pos < w->out.pos; pos += taken)
		rc = write_some(w, (uint8_t *)w->out.ptr + pos, w->out.pos - pos, &taken);
	w->out.pos = 0;
	return rc;
}

static int encode(agz_writer *w, agz_input *in, enum agz_flush flush, bool borrowed)
{
	int rc = need_encoder(w);

	while (rc == AGZ_OK) {
		rc = need_out(w);
		if (rc != AGZ_OK)
			break;
		if (borrowed && !enter(w))
			return AGZ_END;
		int stop = agz_encoder_step(w->encoder, in, &w->out, flush);
		if (borrowed)
			leave(w);
		if (stop != AGZ_OUTPUT_FULL)
			return stop < 0 ? stop : AGZ_OK;
		rc = emit(w);
	}
	return rc;
}

/* ... and with it again. */

static void publish(agz_writer *w, int rc, int sys)
{
	w->out_nbytes = w->made + w->out.pos;
	if (rc < 0)
		fail(w, rc, sys);
}

static void open_sink(agz_writer *w)
{
	bool may_wait = w->may_wait;

	agz__unlock();
	int rc = w->path == NULL ? agz__sink_adopt(&w->sink, w->fd, w->close_fd)
	                         : agz__sink_open(&w->sink, w->path, w->create, w->mode,
	                                          may_wait);
	int sys = errno;
	agz__lock();
	if (rc == AGZ_WAIT) {
		w->may_wait = true;
		return;
	}
	w->opened = rc;
	if (rc < 0)
		fail(w, rc, sys);
	wake(w, AWAIT_OPEN);
}

static void encode_span(agz_writer *w)
{
	if (w->current == NULL) {
		w->current = w->first;
		w->first = w->first->next;
		w->current->next = NULL;
	}
	span *s = w->current;
	bool borrowed = s->capacity == 0;
	agz_input in = {s->ptr, s->nbytes, s->pos};

	agz__unlock();
	if (borrowed && in.nbytes - in.pos > WINDOW_NBYTES)
		in.nbytes = in.pos + WINDOW_NBYTES;
	int rc = encode(w, &in, AGZ_RUN, borrowed);
	if (rc == AGZ_OK && w->kind == AGZ_SINK_TAKE && in.pos == s->nbytes)
		rc = emit(
		        w); /* the sink gets what a write made, not what fills a block */
	int sys = errno;
	agz__lock();
	publish(w, rc, sys);
	if (w->closed)
		return; /* a borrowed span may be gone */
	w->encoded += in.pos - s->pos;
	s->pos = in.pos;
	if (rc != AGZ_OK || s->pos < s->nbytes)
		return;
	w->current = NULL;
	w->n_spans--;
	if (borrowed) {
		s->next = w->done;
		w->done = s;
	} else if (w->spare == NULL) {
		w->spare = s;
	} else {
		agz__free(s);
	}
	wake(w, AWAIT_ROOM);
}

static int encode_to(agz_writer *w, enum agz_flush flush)
{
	agz_input none = {"", 0, 0};
	int rc = encode(w, &none, flush, false);

	return rc != AGZ_OK ? rc : emit(w);
}

/* A flush before any input is the header alone; behind input it would change the bytes. */
static void write_header(agz_writer *w)
{
	agz__unlock();
	int rc = encode_to(w, AGZ_SYNC_FLUSH);
	int sys = errno;
	agz__lock();
	publish(w, rc, sys);
}

static void flush_all(agz_writer *w)
{
	agz__unlock();
	int rc = encode_to(w, AGZ_SYNC_FLUSH);
	int sys = errno;
	agz__lock();
	publish(w, rc, sys);
	w->flushing = false;
	if (rc == AGZ_OK)
		w->flushed = w->encoded;
	wake(w, AWAIT_FLUSH);
}

static void drop_encoder(agz_writer *w)
{
	agz_encoder_free(w->encoder);
	w->encoder = NULL;
	agz_block_free(w->out_block);
	agz__free(w->out_buffer);
	w->out_block = NULL;
	w->out_buffer = NULL;
	w->out = (agz_output){NULL, 0, 0};
}

/* The trailer, unless the writer has failed, and the sink's end in any case. */
static void finish_all(agz_writer *w)
{
	int rc = w->verdict;

	agz__unlock();
	if (rc == AGZ_OK)
		rc = encode_to(w, AGZ_FINISH);
	int sys = errno;
	if (rc != AGZ_END) {
		drop_encoder(w);
		int closed = agz__sink_close(&w->sink);
		if (rc == AGZ_OK) {
			rc = closed;
			sys = errno;
		}
	}
	agz__lock();
	publish(w, rc, sys);
	if (rc != AGZ_END)
		w->finished = true;
	wake(w, AWAIT_FINISH);
}

/* The piece to do next, or NULL. */
static void (*next_piece(const agz_writer *w))(agz_writer *)
{
	if (w->closed || w->finished)
		return NULL;
	if (w->opened == AGZ_WAIT)
		return open_sink;
	if (w->verdict < 0)
		return w->finishing ? finish_all : NULL;
	if (w->n_blocks >= MAX_BLOCKS && !w->flushing && !w->finishing)
		return NULL;
	if (w->n_spans > 0)
		return encode_span;
	if (w->flushing)
		return flush_all;
	return w->finishing ? finish_all : NULL;
}

/* ---- the job ----------------------------------------------------------------------------- */

static void dispose(agz_writer *w)
{
	drop_encoder(w);
	agz__sink_close(&w->sink);
	free_spans(w->current);
	agz__free(w->spare);
	agz__free(w->batch);
	while (w->first_block != NULL) {
		agz_block *next = w->first_block->next;
		agz_block_free(w->first_block);
		w->first_block = next;
	}
	agz__free(w);
}

static enum agz__lane lane(const agz_writer *w)
{
	return w->may_wait || w->sink.live ? AGZ__BLOCKING : AGZ__BUSY;
}

static void run(agz__job *job)
{
	agz_writer *w = (agz_writer *)job;
	void (*piece)(agz_writer *);
	unsigned turn = 0;

	agz__lock();
	while ((piece = next_piece(w)) != NULL) {
		bool moves = lane(w) != job->lane;
		if (moves ? agz__job_move(job, lane(w))
		          : ++turn % TURNS == 0 && agz__job_yield(job)) {
			agz__unlock();
			return;
		}
		piece(w);
	}
	agz__job_done(job);
	wake(w, w->awaits);
	bool closed = w->closed && !job->kept;
	agz__unlock();
	if (closed)
		dispose(w);
}

/* ---- the caller's side ---------------------------------------------------------------------- */

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
	fail(w, AGZ_E_FORKED, 0);
}

/* Every call of the caller begins here: takes the lock, and gives back spans that are
 * used up. */
static void begin(agz_writer *w)
{
	agz__lock();
	if (w->job.state == AGZ__JOB_LOST)
		bury_job(w);
	span *done = w->done;
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
	if (!idle(w) || next_piece(w) == NULL)
		return AGZ_OK;
	int rc = agz__job_submit(&w->job, lane(w));
	return rc == AGZ_OK ? rc : fail(w, rc, errno);
}

static int wait_for(agz_writer *w, enum await what)
{
	int rc = start(w);

	if (rc != AGZ_OK)
		return rc;
	w->awaits = what;
	return AGZ_WAIT;
}

static void enqueue(agz_writer *w, span *s)
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
	w->job.run = run;
	w->job.pool = o->pool;
	w->job.sleeper = &w->sleeper;
	w->kind = o->sink;
	w->create = o->create;
	w->mode = o->mode != 0 ? (mode_t)o->mode : 0666;
	w->fd = o->fd;
	w->close_fd = o->close_fd != 0;
	w->sink.fd = w->sink.bell.fd = w->sink.bell.write_fd = -1;
	w->chunk_nbytes = o->chunk_nbytes != 0 ? o->chunk_nbytes : CHUNK_NBYTES;
	if (w->chunk_nbytes < FIRST_BATCH_NBYTES) /* a hand-over costs as much as these */
		w->chunk_nbytes = FIRST_BATCH_NBYTES;
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
		write_header(w); /* it can be taken at once */
		rc = w->verdict;
	} else {
		w->opened = AGZ_WAIT;
		rc = start(w);
	}
	if (rc != AGZ_OK)
		agz__sleeper_leave(&w->sleeper);
	agz__unlock();
	if (rc != AGZ_OK)
		dispose(w);
	else
		*writer = w;
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
	if (idle(w) && w->opened == AGZ_WAIT && w->kind == AGZ_SINK_FD) {
		w->sink.fd = w->fd;
		w->sink.owned = w->close_fd;
	}
	w->closed = true;
	if (!idle(w) && w->opened == AGZ_OK && w->sink.live)
		agz__bell_ring(&w->sink.bell);
	agz__job_outwait(&w->job, &w->borrowed);

	span *queue = w->first, *current = NULL, *done = w->done;
	if (w->current != NULL && w->current->capacity == 0) {
		current = w->current;
		w->current = NULL;
	}
	bool mine = idle(w);
	if (mine && w->sink.fd >= 0 && w->sink.owned)
		mine = agz__job_submit(&w->job, lane(w)) != AGZ_OK;
	agz__unlock();
	if (mine)
		dispose(w);
	release_spans(done);
	release_spans(current);
	release_spans(queue);
}

int agz_writer_opened(agz_writer *w)
{
	begin(w);
	return end(w, w->opened == AGZ_WAIT ? wait_for(w, AWAIT_OPEN) : w->opened);
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
	span *old = w->batch;
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
	span *grown = agz__realloc(old, sizeof(span) + want);
	agz__lock();
	if (grown == NULL)
		return fail(w, AGZ_E_NOMEM, 0);
	*grown = (span){.ptr = (uint8_t *)(grown + 1), .nbytes = used, .capacity = want};
	w->batch = grown;
	return AGZ_OK;
}

/* For a sink that takes blocks nothing is gathered. A few bytes are encoded here: handing
 * them over would cost more. */
static int encode_now(agz_writer *w, size_t nbytes)
{
	enqueue_batch(w);
	while (nbytes <= INLINE_NBYTES && idle(w) && next_piece(w) == encode_span)
		encode_span(w);
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
		span *s = w->batch;
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
		rc = wait_for(w, AWAIT_ROOM);
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
		return end(w, wait_for(w, AWAIT_ROOM));
	span *s = agz__malloc(sizeof(*s));
	if (s == NULL)
		return end(w, fail(w, AGZ_E_NOMEM, 0));
	*s = (span){.ptr = ptr, .nbytes = nbytes, .release = release, .arg = arg};
	enqueue_batch(w);
	enqueue(w, s);
	w->accepted += nbytes;
	start(w); /* a failure is for the next call to tell: this one has taken the span */
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
		return end(w, wait_for(w, AWAIT_FLUSH));
	}
	return end(w, AGZ_OK);
}

int agz_writer_finish(agz_writer *w)
{
	begin(w);
	if (!w->finishing) {
		w->finishing = true;
		enqueue_batch(w);
		if (w->verdict < 0 && idle(w) && (w->sink.fd < 0 || !w->sink.owned))
			w->finished = true;
	}
	return end(w, w->finished ? w->verdict : wait_for(w, AWAIT_FINISH));
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
	if (idle(w) && next_piece(w) == NULL)
		return end(w, AGZ_HUNGRY);
	return end(w, wait_for(w, AWAIT_BLOCK));
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
