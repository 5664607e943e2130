/*
 * decoder.c - gzip members in, bytes out.
 *
 *     ┌──────────────────────── member ───────────────────────┐
 *     │ header │ deflate stream        │ CRC-32(4) │ ISIZE(4) │ 00 00 … │ next member
 *     └────────┴───────────────────────┴───────────┴──────────┘
 *      HEADER   BODY                    TRAILER                 BETWEEN
 *
 * One state for each part; a step goes round the states until one needs something. The
 * deflate stream goes from the caller's span to the caller's span, through an engine: at
 * its start through one that decodes whole streams, where that is likely to succeed, else
 * through the stream engine, which alone says what is wrong.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "codec/decoder.h"
#include "codec/engine.h"
#include "codec/header.h"

enum state {
	START, /* nothing taken yet */
	HEADER,
	BODY,    /* at the first byte of a deflate stream */
	INFLATE, /* in it */
	TRAILER,
	BETWEEN /* behind a member */
};

/* A state's function returns an agz_step to hand out, an error, or this: go round. */
#define GO_ON 100

#define TRAILER_NBYTES 8

/* The most output an engine makes before its CRC is taken, while it is in the cache. */
#define SLICE_NBYTES ((size_t)256 * 1024)

struct agz_decoder {
	struct agz__inflate_choice engines;
	void *stream; /* state of the stream engine, made when first needed */
	void *whole;  /* the same of the other */
	uint64_t max_out_nbytes;

	enum state state;
	agz__header header;
	uint32_t crc;
	uint8_t trailer[TRAILER_NBYTES]; /* as it must be */
	size_t trailer_pos;
	uint8_t tail[AGZ__TAIL_MAX]; /* taken already, but behind the deflate stream */
	size_t n_tail;

	uint64_t in_nbytes;  /* all taken, ever */
	uint64_t out_nbytes; /* all made, ever */
	uint64_t n_members;
	uint64_t header_offset; /* of the running member */
	uint64_t body_offset;
	uint64_t trailer_offset;
	uint64_t out_offset;

	uint64_t last_body_nbytes; /* of the last member: the next may be like it */
	uint64_t last_out_nbytes;
	unsigned whole_wait;     /* members to let pass before the next attempt */
	unsigned whole_refusals; /* in a row */

	bool has_member;
	bool has_mtime;
	uint32_t mtime;
	agz_member member;
	agz_fault fault;
};

/* ---- life ------------------------------------------------------------------------ */

int agz_decoder_new(const agz_decoder_options *opts, agz_decoder **decoder)
{
	agz_decoder_options o = AGZ_DECODER_OPTIONS_INIT;
	struct agz__inflate_choice engines;
	agz_decoder *d;
	int rc;

	*decoder = NULL;
	if (opts != NULL) {
		if (opts->struct_nbytes < sizeof(opts->struct_nbytes))
			return AGZ_E_ARGUMENT;
		memcpy(&o, opts,
		       opts->struct_nbytes < sizeof(o) ? opts->struct_nbytes : sizeof(o));
	}
	rc = agz__choose_inflate(o.engine, &engines);
	if (rc < 0)
		return rc;
	d = agz__calloc(1, sizeof(*d));
	if (d == NULL)
		return AGZ_E_NOMEM;
	d->engines = engines;
	d->max_out_nbytes = o.max_out_nbytes > 0 ? o.max_out_nbytes : UINT64_MAX;
	d->header.collect = o.collect != 0;
	*decoder = d;
	return AGZ_OK;
}

void agz_decoder_free(agz_decoder *d)
{
	if (d == NULL)
		return;
	if (d->stream != NULL)
		d->engines.stream->inflater->destroy(d->stream);
	if (d->whole != NULL)
		d->engines.whole->whole->destroy(d->whole);
	agz__header_release(&d->header);
	agz__free(d);
}

void agz_decoder_reset(agz_decoder *d)
{
	agz_decoder fresh = {
	        .engines = d->engines,
	        .stream = d->stream,
	        .whole = d->whole,
	        .max_out_nbytes = d->max_out_nbytes,
	        .header = d->header,
	};

	*d = fresh;
}

/* ---- helpers --------------------------------------------------------------------- */

static int fail(agz_decoder *d, int code, uint64_t in_offset)
{
	d->fault.code = code;
	d->fault.member = d->n_members;
	d->fault.in_offset = in_offset;
	if (code == AGZ_E_OUTPUT_LIMIT)
		d->fault.limit_nbytes = d->max_out_nbytes;
	return code;
}

static const uint8_t *in_ptr(const agz_input *in)
{
	return (const uint8_t *)in->ptr + in->pos;
}

static size_t in_left(const agz_input *in)
{
	return in->nbytes - in->pos;
}

static void take(agz_decoder *d, agz_input *in, size_t nbytes)
{
	in->pos += nbytes;
	d->in_nbytes += nbytes;
}

/* The room in `out`, as far as the cap allows. */
static size_t allowed_room(const agz_decoder *d, const agz_output *out)
{
	uint64_t allowed = d->max_out_nbytes - d->out_nbytes;
	size_t room = out->nbytes - out->pos;

	return room < allowed ? room : (size_t)allowed;
}

/* Counts what was written behind out->pos. */
static void made(agz_decoder *d, agz_output *out, size_t nbytes)
{
	d->crc = agz_crc32(d->crc, (uint8_t *)out->ptr + out->pos, nbytes);
	out->pos += nbytes;
	d->out_nbytes += nbytes;
}

/* ---- the states ------------------------------------------------------------------- */

static int start_or_between(agz_decoder *d, agz_input *in, bool ends)
{
	if (d->state == BETWEEN) {
		const uint8_t *ptr = in_ptr(in);
		size_t n = 0;

		while (n < in_left(in) && ptr[n] == 0)
			n++;
		take(d, in, n);
	}
	if (in_left(in) == 0)
		return ends ? AGZ_STREAM_DONE : AGZ_NEEDS_INPUT;
	agz__header_reset(&d->header);
	d->header_offset = d->in_nbytes;
	d->state = HEADER;
	return GO_ON;
}

static void note_found(agz_decoder *d, const agz_input *in)
{
	size_t n = 0;

	if (d->header.n == 1)
		d->fault.found[n++] = d->header.fixed[0];
	for (; n < 2 && n - d->header.n < in_left(in); n++)
		d->fault.found[n] = in_ptr(in)[n - d->header.n];
	d->fault.n_found = (unsigned char)n;
}

static int read_header(agz_decoder *d, agz_input *in, bool ends)
{
	size_t used;
	int rc = agz__header_parse(&d->header, in_ptr(in), in_left(in), &used);

	take(d, in, used);
	if (rc == AGZ_E_MAGIC) {
		note_found(d, in);
		return fail(d, rc, d->header_offset);
	}
	if (rc < 0)
		return fail(d, rc, d->in_nbytes);
	if (rc == 0)
		return ends ? fail(d, AGZ_E_TRUNCATED, d->in_nbytes) : AGZ_NEEDS_INPUT;
	d->has_mtime = true;
	d->mtime = agz__header_mtime(&d->header);
	d->body_offset = d->in_nbytes;
	d->out_offset = d->out_nbytes;
	d->crc = 0;
	d->state = BODY;
	return GO_ON;
}

static const uint8_t *field(const struct agz__field *f, size_t *nbytes)
{
	*nbytes = f->nbytes;
	if (!f->present)
		return NULL;
	return f->ptr != NULL ? f->ptr : (const uint8_t *)"";
}

/* The trailer, which ends at in_nbytes, was right. */
static int finish_member(agz_decoder *d)
{
	agz_member *m = &d->member;

	m->index = d->n_members++;
	m->in_offset = d->header_offset;
	m->in_nbytes = d->trailer_offset + TRAILER_NBYTES - d->header_offset;
	m->out_nbytes = d->out_nbytes - d->out_offset;
	m->mtime = d->mtime;
	m->crc32 = d->crc;
	m->isize = (uint32_t)m->out_nbytes;
	m->flags = agz__header_flags(&d->header);
	m->xfl = d->header.fixed[8];
	m->os = d->header.fixed[9];
	m->name = field(&d->header.name, &m->name_nbytes);
	m->comment = field(&d->header.comment, &m->comment_nbytes);
	m->extra = field(&d->header.extra, &m->extra_nbytes);
	d->last_body_nbytes = d->trailer_offset - d->body_offset;
	d->last_out_nbytes = m->out_nbytes;
	d->has_member = true;
	d->state = BETWEEN;
	return AGZ_MEMBER_DONE;
}

/*
 * How much room to offer an engine that decodes whole streams; 0: none. An attempt pays
 * where the member is all there, as when nothing follows `in`, or by its likeness to the
 * last one; and where it fits, by ISIZE at the end of `in`, or again by likeness. It costs
 * at most what the stream engine will spend on the same bytes, and is made less often
 * while it fails.
 */
static size_t room_for_whole(agz_decoder *d, const agz_input *in, const agz_output *out,
                             bool ends)
{
	size_t left = in_left(in);
	size_t room = allowed_room(d, out);
	uint64_t likely;

	if (d->engines.whole == NULL || left <= TRAILER_NBYTES || room == 0)
		return 0;
	if (d->n_members > 0)
		likely = d->last_out_nbytes;
	else if (ends)
		likely = agz__load32((const uint8_t *)in->ptr + in->nbytes - 4);
	else
		return 0;
	if (room < likely || (!ends && left - TRAILER_NBYTES < d->last_body_nbytes))
		return 0;
	if (d->whole_wait > 0) {
		d->whole_wait--;
		return 0;
	}
	likely = likely * 4 + 64 * 1024;
	return room < likely ? room : (size_t)likely;
}

/* A member in one go, trailer and all; nothing has happened if it returns false. */
static bool inflate_whole(agz_decoder *d, agz_input *in, agz_output *out, size_t room)
{
	const uint8_t *ptr = in_ptr(in);
	uint8_t *dst = (uint8_t *)out->ptr + out->pos;
	size_t taken, n;

	if (!d->engines.whole->whole->inflate(d->whole, ptr, in_left(in) - TRAILER_NBYTES,
	                                      dst, room, &taken, &n))
		return false;
	if (agz__load32(ptr + taken + 4) != (uint32_t)n)
		return false;
	d->crc = agz_crc32(0, dst, n);
	if (agz__load32(ptr + taken) != d->crc) {
		d->crc = 0;
		return false;
	}
	d->trailer_offset = d->in_nbytes + taken;
	take(d, in, taken + TRAILER_NBYTES);
	out->pos += n;
	d->out_nbytes += n;
	return true;
}

static int start_body(agz_decoder *d, agz_input *in, agz_output *out, bool ends)
{
	size_t room;

	if (in_left(in) == 0 && !ends)
		return AGZ_NEEDS_INPUT; /* how much comes decides who inflates it */
	room = room_for_whole(d, in, out, ends);
	if (room > 0) {
		if (d->whole == NULL)
			d->whole = d->engines.whole->whole->create();
		if (d->whole == NULL)
			return fail(d, AGZ_E_NOMEM, d->in_nbytes);
		if (inflate_whole(d, in, out, room)) {
			d->whole_refusals = 0;
			return finish_member(d);
		}
		d->whole_wait = 1u << (d->whole_refusals < 6 ? d->whole_refusals++ : 6);
	}
	if (d->stream == NULL)
		d->stream = d->engines.stream->inflater->create();
	else
		d->engines.stream->inflater->reset(d->stream);
	if (d->stream == NULL)
		return fail(d, AGZ_E_NOMEM, d->in_nbytes);
	d->state = INFLATE;
	return GO_ON;
}

static int inflate_some(agz_decoder *d, agz_input *in, agz_output *out, bool ends)
{
	const struct agz__inflater *inflater = d->engines.stream->inflater;
	size_t room = allowed_room(d, out);
	bool capped = d->out_nbytes == d->max_out_nbytes;
	uint8_t nowhere[1];
	agz__flow flow = {in_ptr(in), in_left(in), nowhere, 0};
	size_t given;
	int rc;

	if (room > 0)
		flow.out = (uint8_t *)out->ptr + out->pos;
	/* At the cap one more byte is one too many, but the end may still come. */
	flow.out_nbytes = capped                ? sizeof(nowhere)
	                  : room < SLICE_NBYTES ? room
	                                        : SLICE_NBYTES;
	given = flow.out_nbytes;
	rc = inflater->step(d->stream, &flow, ends);
	take(d, in, in_left(in) - flow.in_nbytes);
	given -= flow.out_nbytes;
	if (capped && given > 0)
		return fail(d, AGZ_E_OUTPUT_LIMIT, d->in_nbytes);
	if (given > 0)
		made(d, out, given);
	if (rc < 0)
		return fail(d, rc, d->in_nbytes);
	if (rc == AGZ__NEEDS_ROOM)
		/* Full at last, and, by a look without room, not at the stream's end. */
		return room > 0 ? GO_ON : AGZ_OUTPUT_FULL;
	if (rc == AGZ__NEEDS_INPUT)
		return ends ? fail(d, AGZ_E_TRUNCATED, d->in_nbytes) : AGZ_NEEDS_INPUT;
	d->n_tail = inflater->tail != NULL ? inflater->tail(d->stream, d->tail) : 0;
	d->trailer_offset = d->in_nbytes - d->n_tail;
	d->trailer_pos = 0;
	agz__store32(d->trailer, d->crc);
	agz__store32(d->trailer + 4, (uint32_t)(d->out_nbytes - d->out_offset));
	d->state = TRAILER;
	return GO_ON;
}

/* The trailer is wrong or cut: is it that, or was the deflate stream wrong already? */
static int fail_trailer(agz_decoder *d, int code, uint64_t in_offset)
{
	const struct agz__inflater *inflater = d->engines.stream->inflater;
	int rc = inflater->second_opinion != NULL ? inflater->second_opinion(d->stream)
	                                          : 0;

	return rc < 0 ? fail(d, rc, d->trailer_offset) : fail(d, code, in_offset);
}

static int read_trailer(agz_decoder *d, agz_input *in, bool ends)
{
	for (; d->trailer_pos < TRAILER_NBYTES; d->trailer_pos++) {
		uint8_t byte;

		if (d->trailer_pos < d->n_tail)
			byte = d->tail[d->trailer_pos];
		else if (in_left(in) > 0)
			byte = *in_ptr(in);
		else if (ends)
			return fail_trailer(d, AGZ_E_TRUNCATED, d->in_nbytes);
		else
			return AGZ_NEEDS_INPUT;
		if (byte != d->trailer[d->trailer_pos])
			return d->trailer_pos < 4
			               ? fail_trailer(d, AGZ_E_CRC, d->trailer_offset)
			               : fail_trailer(d, AGZ_E_ISIZE,
			                              d->trailer_offset + 4);
		if (d->trailer_pos >= d->n_tail)
			take(d, in, 1);
	}
	return finish_member(d);
}

int agz_decoder_step(agz_decoder *d, agz_input *in, agz_output *out, unsigned flags)
{
	bool ends = flags & AGZ_INPUT_ENDS;
	agz_input empty = {"", 0, 0};
	int rc;

	if (d->fault.code == AGZ_E_TRUNCATED && in_left(in) > 0)
		d->fault = (agz_fault){0}; /* it was not the end */
	if (d->fault.code != AGZ_OK)
		return d->fault.code;
	d->has_member = false;
	if (in_left(in) == 0)
		in = &empty; /* its pointer may be NULL */
	do {
		switch (d->state) {
		case START:
		case BETWEEN:
			rc = start_or_between(d, in, ends);
			break;
		case HEADER:
			rc = read_header(d, in, ends);
			break;
		case BODY:
			rc = start_body(d, in, out, ends);
			break;
		case INFLATE:
			rc = inflate_some(d, in, out, ends);
			break;
		default:
			rc = read_trailer(d, in, ends);
			break;
		}
	} while (rc == GO_ON);
	return rc;
}

/* ---- what is known ------------------------------------------------------------------ */

const agz_member *agz_decoder_member(const agz_decoder *d)
{
	return d->has_member ? &d->member : NULL;
}

const agz_fault *agz_decoder_fault(const agz_decoder *d)
{
	return &d->fault;
}

uint64_t agz_decoder_in_nbytes(const agz_decoder *d)
{
	return d->in_nbytes;
}

uint64_t agz_decoder_out_nbytes(const agz_decoder *d)
{
	return d->out_nbytes;
}

uint64_t agz_decoder_member_count(const agz_decoder *d)
{
	return d->n_members;
}

int agz_decoder_mtime(const agz_decoder *d, uint32_t *mtime)
{
	if (d->has_mtime)
		*mtime = d->mtime;
	return d->has_mtime;
}

bool agz__decoder_in_doubt(const agz_decoder *d, agz__doubt *doubt)
{
	const struct agz__inflater *inflater = d->engines.stream->inflater;

	if ((d->state != INFLATE && d->state != TRAILER) || inflater->sure == NULL ||
	    inflater->sure(d->stream))
		return false;
	*doubt = (agz__doubt){d->header_offset, d->out_offset, d->crc};
	return AGZ_IS_CORRUPT(d->fault.code);
}
