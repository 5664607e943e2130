/*
 * engine_isal.c - ISA-L: fast streams both ways.
 *
 * What differs from zlib, measured on 2.30, and what is done about it:
 *
 *  - It reads ahead into a register, and says at the end only how many bits are left
 *    there. Bytes of the span at hand are given back, older ones go through tail().
 *  - It looks up to three symbols at once, and holds back the first ones while the bits
 *    of the last are not there yet: at a cut, up to two literals that zlib would write.
 *  - It accepts incomplete Huffman codes, and finds out when a missing code is used.
 *  - After a fault it cannot go on, while part of its output still waits in a buffer of
 *    its own.
 *
 * So where it fails or the input ends too early, zlib gives the verdict: the member's
 * compressed bytes are logged, and zlib runs over them, drops what was given out already,
 * and goes on from there in ISA-L's place.
 *
 *     log  ├─ taken in earlier steps ─┤   span ├─ this step ─┤┈┈┈
 *          └──────────── zlib runs over both ───────────────▶
 *
 * A member of more than LOG_NBYTES has no log. Then a cut loses those two literals, and a
 * wrong bit may be reported by the check that it fails, where zlib would already refuse the
 * block; sure() says so, and a stream that can goes back to the member's start. What passes
 * is right in any case, since the decoder checks CRC and size.
 */
typedef int agz__not_empty; /* ISO C wants something in every file */

#ifdef AGZ_HAVE_ISAL
#include <isa-l.h>
#include <string.h>

#include "base/memory.h"
#include "codec/engine.h"

#define LOG_NBYTES (64 * 1024)

#define STRING(x)   #x
#define EXPANDED(x) STRING(x)
#define VERSION                                                                          \
	EXPANDED(ISAL_MAJOR_VERSION)                                                     \
	"." EXPANDED(ISAL_MINOR_VERSION) "." EXPANDED(ISAL_PATCH_VERSION)

/* Its counts are 32 bits wide, and it adds to some of them. */
#define SPAN_MAX ((size_t)1 << 30)

/* ---- inflate ------------------------------------------------------------------- */

struct inflater {
	uint64_t made;   /* given out, of this member */
	int fault;       /* AGZ_E_DEFLATE once ISA-L failed and there is no log */
	bool asked_zlib; /* zlib has taken over */
	bool logged;     /* log[] holds everything taken so far */
	size_t log_nbytes;
	size_t log_pos; /* zlib's place in it */
	size_t n_tail;
	void *zlib; /* made when first needed */
	struct inflate_state isal;
	uint8_t log[LOG_NBYTES];
};

static const struct agz__inflater *const zlib = &agz__inflater_zlib;

static void inflate_reset(void *state)
{
	struct inflater *s = state;

	isal_inflate_reset(&s->isal);
	s->made = 0;
	s->fault = 0;
	s->asked_zlib = false;
	s->logged = true;
	s->log_nbytes = 0;
	s->log_pos = 0;
	s->n_tail = 0;
}

static void *inflate_create(void)
{
	struct inflater *s = agz__malloc(sizeof(*s));

	if (s == NULL)
		return NULL;
	s->zlib = NULL;
	isal_inflate_init(&s->isal);
	inflate_reset(s);
	return s;
}

static void inflate_destroy(void *state)
{
	struct inflater *s = state;

	if (s->zlib != NULL)
		zlib->destroy(s->zlib);
	agz__free(s);
}

static void log_taken(struct inflater *s, const uint8_t *ptr, size_t nbytes)
{
	if (!s->logged)
		return;
	if (nbytes > LOG_NBYTES - s->log_nbytes) {
		s->logged = false;
		return;
	}
	memcpy(s->log + s->log_nbytes, ptr, nbytes);
	s->log_nbytes += nbytes;
}

/* One step of zlib, over the rest of the log, then over the flow. */
static int step_zlib(struct inflater *s, agz__flow *flow)
{
	if (s->log_pos < s->log_nbytes) {
		agz__flow logged = {s->log + s->log_pos, s->log_nbytes - s->log_pos,
		                    flow->out, flow->out_nbytes};
		int rc = zlib->step(s->zlib, &logged, false);

		s->log_pos = s->log_nbytes - logged.in_nbytes;
		flow->out = logged.out;
		flow->out_nbytes = logged.out_nbytes;
		/* An end that ISA-L ran past by more than it reads ahead is none. */
		if (rc == AGZ__END && s->log_nbytes - s->log_pos > AGZ__TAIL_MAX)
			return AGZ_E_DEFLATE;
		if (rc != AGZ__NEEDS_INPUT)
			return rc;
	}
	return zlib->step(s->zlib, flow, false);
}

static int start_zlib(struct inflater *s)
{
	if (s->zlib == NULL)
		s->zlib = zlib->create();
	else
		zlib->reset(s->zlib);
	s->log_pos = 0;
	return s->zlib != NULL ? 0 : AGZ_E_NOMEM;
}

/* zlib over log and flow, its first `skip` bytes of output dropped. An agz__stop: why it
 * stopped before; AGZ__NEEDS_ROOM: all was dropped. */
static int skip_by_zlib(struct inflater *s, agz__flow *flow, uint64_t skip)
{
	uint8_t dropped[4096];
	int rc = AGZ__NEEDS_ROOM;

	while (skip > 0 && rc == AGZ__NEEDS_ROOM) {
		size_t room = skip < sizeof(dropped) ? (size_t)skip : sizeof(dropped);
		agz__flow f = {flow->in, flow->in_nbytes, dropped, room};

		rc = step_zlib(s, &f);
		skip -= room - f.out_nbytes;
		flow->in = f.in;
		flow->in_nbytes = f.in_nbytes;
	}
	return rc < 0 || skip > 0 ? rc : AGZ__NEEDS_ROOM;
}

/* Lets zlib take over; `flow` stands where this step began. */
static int ask_zlib(struct inflater *s, agz__flow *flow)
{
	int rc = start_zlib(s);

	if (rc < 0)
		return rc;
	s->asked_zlib = true;
	rc = skip_by_zlib(s, flow, s->made);
	if (rc == AGZ__NEEDS_ROOM)
		return step_zlib(s, flow);
	/* zlib stopped before it made what ISA-L gave out: it is bad data to one of them. */
	return rc < 0 ? rc : AGZ_E_DEFLATE;
}

/* What ISA-L decoded beyond the room it had, of which it gives nothing after a fault. */
static void drain(struct inflater *s, agz__flow *flow)
{
	size_t n = (size_t)(s->isal.tmp_out_valid - s->isal.tmp_out_processed);

	if (n > flow->out_nbytes)
		n = flow->out_nbytes;
	memcpy(flow->out, s->isal.tmp_out_buffer + s->isal.tmp_out_processed, n);
	s->isal.tmp_out_processed += (int32_t)n;
	flow->out += n;
	flow->out_nbytes -= n;
}

/* Calls ISA-L until it needs something or fails. */
static int run_isal(struct inflate_state *isal, agz__flow *flow)
{
	int rc;
	size_t in_given, out_given;

	do {
		in_given = flow->in_nbytes < SPAN_MAX ? flow->in_nbytes : SPAN_MAX;
		out_given = flow->out_nbytes < SPAN_MAX ? flow->out_nbytes : SPAN_MAX;
		isal->next_in = (uint8_t *)flow->in;
		isal->avail_in = (uint32_t)in_given;
		isal->next_out = flow->out;
		isal->avail_out = (uint32_t)out_given;
		rc = isal_inflate(isal);
		/* After a fault it may have counted more than it was given. */
		in_given -= isal->avail_in <= in_given ? isal->avail_in : 0;
		out_given -= isal->avail_out;
		flow->in += in_given;
		flow->in_nbytes -= in_given;
		flow->out += out_given;
		flow->out_nbytes -= out_given;
		if (rc < 0)
			return AGZ_E_DEFLATE;
		if (isal->block_state == ISAL_BLOCK_FINISH)
			return AGZ__END;
		if (flow->out_nbytes == 0)
			return AGZ__NEEDS_ROOM;
		if (flow->in_nbytes == 0 && isal->avail_out > 0)
			return AGZ__NEEDS_INPUT;
	} while (in_given > 0 || out_given > 0);
	return AGZ_E_DEFLATE;
}

static int inflate_step(void *state, agz__flow *flow, bool ends)
{
	struct inflater *s = state;
	const agz__flow start = *flow;
	int rc;

	if (s->asked_zlib)
		return step_zlib(s, flow);
	if (s->fault == 0) {
		rc = run_isal(&s->isal, flow);
		if (s->logged && (rc < 0 || (rc == AGZ__NEEDS_INPUT && ends))) {
			*flow = start;
			return ask_zlib(s, flow);
		}
		s->made += start.out_nbytes - flow->out_nbytes;
		if (rc == AGZ__END) {
			/* The youngest of the bytes read ahead are of this span. */
			size_t ahead = (size_t)s->isal.read_in_length / 8;
			size_t back = start.in_nbytes - flow->in_nbytes;

			if (back > ahead)
				back = ahead;
			flow->in -= back;
			flow->in_nbytes += back;
			s->n_tail = ahead - back;
		}
		log_taken(s, start.in, start.in_nbytes - flow->in_nbytes);
		if (rc >= 0)
			return rc;
		s->fault = rc;
	}
	drain(s, flow);
	return s->isal.tmp_out_processed < s->isal.tmp_out_valid ? AGZ__NEEDS_ROOM
	                                                         : s->fault;
}

static size_t inflate_tail(void *state, uint8_t tail[AGZ__TAIL_MAX])
{
	struct inflater *s = state;
	size_t i;

	if (s->asked_zlib) {
		size_t n = s->log_nbytes - s->log_pos;

		memcpy(tail, s->log + s->log_pos, n);
		return n;
	}
	for (i = 0; i < s->n_tail; i++)
		tail[i] = (uint8_t)(s->isal.read_in >>
		                    (s->isal.read_in_length % 8 + 8 * (int)i));
	return s->n_tail;
}

static int inflate_second_opinion(void *state)
{
	struct inflater *s = state;
	agz__flow nothing = {s->log, 0, s->log, 0};
	int rc;

	if (s->asked_zlib || !s->logged)
		return 0;
	rc = start_zlib(s);
	if (rc == 0)
		rc = skip_by_zlib(s, &nothing, UINT64_MAX);
	return rc < 0 ? rc : 0;
}

static bool inflate_sure(const void *state)
{
	const struct inflater *s = state;

	return s->asked_zlib || s->logged;
}

static const struct agz__inflater inflater = {
        inflate_create, inflate_destroy,        inflate_reset, inflate_step,
        inflate_tail,   inflate_second_opinion, inflate_sure,
};

/* ---- deflate ------------------------------------------------------------------- */

/*
 * In a small room it writes to a buffer of its own first, and says in which state that
 * left it by a second set of states, ZSTATE_TMP_*. It empties that buffer only when asked
 * for a flush, and then, given room for more, makes another one.
 */
struct deflater {
	struct isal_zstream isal;
	bool flushed; /* the flush asked for is made; it may wait in that buffer */
	/* Its size depends on the level. It is an array of structs to ISA-L, which finds
	 * matches before the data's start if it is not aligned as they are. */
	_Alignas(max_align_t) uint8_t level_buf[];
};

/*
 * Its levels 1 to 3 stand for zlib's, 3 also for those above and for the default. It has
 * none that stores; its level 0, of fixed tables, makes noise a quarter larger, and is not
 * used.
 */
static void *deflate_create(int level)
{
	static const uint8_t levels[] = {3, 1, 1, 2, 3, 3, 3, 3, 3, 3, 3}; /* from -1 */
	static const uint32_t level_buf_nbytes[] = {
	        0, ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT, ISAL_DEF_LVL3_DEFAULT};
	uint32_t isal_level = levels[level + 1];
	/* Zeroed: it compares bytes that it has not written yet. */
	struct deflater *d = agz__calloc(1, sizeof(*d) + level_buf_nbytes[isal_level]);

	if (d == NULL)
		return NULL;
	d->flushed = false;
	isal_deflate_init(&d->isal);
	d->isal.level = isal_level;
	d->isal.level_buf = d->level_buf;
	d->isal.level_buf_size = level_buf_nbytes[isal_level];
	return d;
}

static void deflate_destroy(void *state)
{
	agz__free(state);
}

/* What waits in its buffer. */
static size_t deflate_waiting(const struct isal_zstate *state)
{
	return state->tmp_out_end - state->tmp_out_start;
}

static int deflate_step(void *state, agz__flow *flow, enum agz_flush flush)
{
	struct deflater *d = state;
	struct isal_zstream *isal = &d->isal;

	do {
		size_t in_given = flow->in_nbytes < SPAN_MAX ? flow->in_nbytes : SPAN_MAX;
		size_t out_given =
		        flow->out_nbytes < SPAN_MAX ? flow->out_nbytes : SPAN_MAX;
		bool last = in_given == flow->in_nbytes;
		int after;

		if (out_given == 0)
			return AGZ__NEEDS_ROOM;
		if (in_given > 0)
			d->flushed = false;
		if (d->flushed && flush == AGZ_SYNC_FLUSH) {
			size_t waiting = deflate_waiting(&isal->internal_state);

			if (waiting == 0)
				return AGZ__NEEDS_INPUT;
			if (out_given > waiting)
				out_given = waiting;
		}
		isal->next_in = (uint8_t *)flow->in;
		isal->avail_in = (uint32_t)in_given;
		isal->next_out = flow->out;
		isal->avail_out = (uint32_t)out_given;
		isal->flush = last && flush == AGZ_SYNC_FLUSH ? SYNC_FLUSH : NO_FLUSH;
		isal->end_of_stream = last && flush == AGZ_FINISH;
		isal_deflate(isal);
		flow->in = isal->next_in;
		flow->in_nbytes -= in_given - isal->avail_in;
		flow->out = isal->next_out;
		flow->out_nbytes -= out_given - isal->avail_out;
		after = isal->internal_state.state;
		if (after == ZSTATE_END)
			return AGZ__END;
		if (isal->flush == SYNC_FLUSH && flow->in_nbytes == 0)
			d->flushed =
			        after == ZSTATE_NEW_HDR || after == ZSTATE_TMP_NEW_HDR;
	} while (flow->in_nbytes > 0 || isal->avail_out == 0);
	return AGZ__NEEDS_INPUT;
}

static const struct agz__deflater deflater = {deflate_create, deflate_destroy,
                                              deflate_step};

const agz__engine agz__engine_isal = {
        {"isal", VERSION, 1, 1}, &inflater, NULL, &deflater};
#endif
