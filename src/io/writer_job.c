/*
 * writer_job.c - the job of a writer: compresses and writes.
 *
 * As in reader_job.c it does piece after piece, and ends when there is none, or when other
 * files wait for its thread.
 */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "io/writer.h"

#define OUT_NBYTES    ((size_t)64 * 1024) /* gathered before a write(2) */
#define WINDOW_NBYTES ((size_t)32 * 1024) /* of a caller's span, in one step */
#define MAX_BLOCKS    4 /* not yet taken, where encoding stops (not for flush or finish) */
#define TURNS         4 /* pieces of work before other files get the thread */

/* ---- pieces of work ------------------------------------------------------------------- */

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

static void wake(agz_writer *w, enum agz__await what)
{
	if (w->awaits != what || what == AGZ__AWAIT_NOTHING)
		return;
	w->awaits = AGZ__AWAIT_NOTHING;
	agz__sleeper_wake(&w->sleeper);
}

int agz__writer_fail(agz_writer *w, int code, int sys)
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
		agz__writer_fail(w, rc, sys);
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
		agz__writer_fail(w, rc, sys);
	wake(w, AGZ__AWAIT_OPEN);
}

void agz__writer_encode(agz_writer *w)
{
	if (w->current == NULL) {
		w->current = w->first;
		w->first = w->first->next;
		w->current->next = NULL;
	}
	agz__span *s = w->current;
	bool borrowed = s->capacity == 0;
	agz_input in = {s->ptr, s->nbytes, s->pos};
	size_t nbytes = s->nbytes;

	agz__unlock();
	if (borrowed && in.nbytes - in.pos > WINDOW_NBYTES)
		in.nbytes = in.pos + WINDOW_NBYTES;
	int rc = encode(w, &in, AGZ_RUN, borrowed);
	/* From here on a borrowed span may be gone, if the writer was closed. */
	if (rc == AGZ_OK && w->kind == AGZ_SINK_TAKE && in.pos == nbytes)
		rc = emit(
		        w); /* the sink gets what a write made, not what fills a block */
	int sys = errno;
	agz__lock();
	publish(w, rc, sys);
	if (w->closed)
		return;
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
	wake(w, AGZ__AWAIT_ROOM);
}

static int encode_to(agz_writer *w, enum agz_flush flush)
{
	agz_input none = {"", 0, 0};
	int rc = encode(w, &none, flush, false);

	return rc != AGZ_OK ? rc : emit(w);
}

/* A flush before any input is the header alone; behind input it would change the bytes. */
void agz__writer_header(agz_writer *w)
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
	wake(w, AGZ__AWAIT_FLUSH);
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
		agz__lock();
		w->sink.live = false; /* nobody rings a bell that goes */
		agz__unlock();
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
	wake(w, AGZ__AWAIT_FINISH);
}

agz__writer_piece *agz__writer_next(const agz_writer *w)
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
		return agz__writer_encode;
	if (w->flushing)
		return flush_all;
	return w->finishing ? finish_all : NULL;
}

/* ---- the job ----------------------------------------------------------------------------- */

void agz__writer_adopt(agz_writer *w)
{
	if (w->opened == AGZ_WAIT && w->kind == AGZ_SINK_FD) {
		w->sink.fd = w->fd;
		w->sink.owned = w->close_fd;
	}
}

void agz__writer_dispose(agz_writer *w)
{
	agz__writer_adopt(w);
	drop_encoder(w);
	agz__sink_close(&w->sink);
	if (w->lure >= 0)
		agz__system_table->close(w->lure);
	agz__free(w->current);
	agz__free(w->spare);
	agz__free(w->batch);
	while (w->first_block != NULL) {
		agz_block *next = w->first_block->next;
		agz_block_free(w->first_block);
		w->first_block = next;
	}
	agz__free(w);
}

enum agz__lane agz__writer_lane(const agz_writer *w)
{
	return w->may_wait || w->sink.live ? AGZ__BLOCKING : AGZ__BUSY;
}

void agz__writer_run(agz__job *job)
{
	agz_writer *w = (agz_writer *)job;
	agz__writer_piece *piece;
	unsigned turn = 0;

	agz__lock();
	while ((piece = agz__writer_next(w)) != NULL) {
		bool moves = agz__writer_lane(w) != job->lane;
		if (moves ? agz__job_move(job, agz__writer_lane(w))
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
		agz__writer_dispose(w);
}
