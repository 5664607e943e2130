/*
 * encoder.c - bytes in, one gzip member out.
 *
 *     │ header │ deflate stream, by an engine, span to span │ CRC-32(4) │ ISIZE(4) │
 *     └────────┘                                            └──────────────────────┘
 *      parts of our own go out through `pending`
 */
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "codec/engine.h"
#include "codec/header.h"

struct agz_encoder {
	const struct agz__deflater *deflater;
	void *stream;
	bool strict_size;
	bool unflushed; /* input was given since the last flush */
	bool complete;  /* the deflate stream is */

	uint8_t *header; /* owned */
	uint8_t trailer[8];
	const uint8_t *pending; /* in one of the two */
	size_t pending_nbytes;

	uint64_t in_nbytes;
	uint32_t crc;
	agz_fault fault;
};

int agz_encoder_new(const agz_encoder_options *opts, agz_encoder **encoder)
{
	agz_encoder_options o = AGZ_ENCODER_OPTIONS_INIT;
	struct agz__deflate_choice choice;
	agz_encoder *e;
	int rc;

	*encoder = NULL;
	if (opts != NULL) {
		if (opts->struct_nbytes < sizeof(opts->struct_nbytes))
			return AGZ_E_ARGUMENT;
		memcpy(&o, opts,
		       opts->struct_nbytes < sizeof(o) ? opts->struct_nbytes : sizeof(o));
	}
	rc = agz__choose_deflate(o.engine, o.level, o.fast != 0, &choice);
	if (rc < 0)
		return rc;
	e = agz__calloc(1, sizeof(*e));
	if (e == NULL)
		return AGZ_E_NOMEM;
	e->deflater = choice.engine->deflater;
	e->strict_size = o.strict_size != 0;
	rc = agz__header_build(o.level, o.mtime, o.name, o.name_nbytes, &e->header,
	                       &e->pending_nbytes);
	if (rc == 0) {
		e->pending = e->header;
		e->stream = e->deflater->create(choice.level);
		if (e->stream == NULL)
			rc = AGZ_E_NOMEM;
	}
	if (rc < 0) {
		agz_encoder_free(e);
		return rc;
	}
	*encoder = e;
	return AGZ_OK;
}

void agz_encoder_free(agz_encoder *e)
{
	if (e == NULL)
		return;
	if (e->stream != NULL)
		e->deflater->destroy(e->stream);
	agz__free(e->header);
	agz__free(e);
}

static int fail(agz_encoder *e, int code)
{
	e->fault.code = code;
	return code;
}

/* True when nothing is pending any more. */
static bool write_pending(agz_encoder *e, agz_output *out)
{
	size_t room = out->nbytes - out->pos;
	size_t n = e->pending_nbytes < room ? e->pending_nbytes : room;

	if (n > 0)
		memcpy((uint8_t *)out->ptr + out->pos, e->pending, n);
	out->pos += n;
	e->pending += n;
	e->pending_nbytes -= n;
	return e->pending_nbytes == 0;
}

/* Runs the engine. Returns an agz__stop or an error. */
static int deflate_some(agz_encoder *e, agz_input *in, agz_output *out,
                        enum agz_flush flush)
{
	uint8_t nothing[1] = {0};
	agz__flow flow = {nothing, in->nbytes - in->pos, nothing, out->nbytes - out->pos};
	size_t taken;
	int rc;

	if (flow.in_nbytes > 0)
		flow.in = (const uint8_t *)in->ptr + in->pos;
	if (flow.out_nbytes > 0)
		flow.out = (uint8_t *)out->ptr + out->pos;
	rc = e->deflater->step(e->stream, &flow, flush);
	taken = in->nbytes - in->pos - flow.in_nbytes;
	if (taken > 0)
		e->crc = agz_crc32(e->crc, (const uint8_t *)in->ptr + in->pos, taken);
	in->pos += taken;
	e->in_nbytes += taken;
	out->pos = out->nbytes - flow.out_nbytes;
	return rc;
}

int agz_encoder_step(agz_encoder *e, agz_input *in, agz_output *out, enum agz_flush flush)
{
	int rc;

	if (e->fault.code != AGZ_OK)
		return e->fault.code;
	if (!write_pending(e, out))
		return AGZ_OUTPUT_FULL;
	if (!e->complete) {
		size_t left = in->nbytes - in->pos;

		if (e->strict_size && left > UINT32_MAX - e->in_nbytes)
			return fail(e, AGZ_E_MEMBER_SIZE);
		if (left > 0)
			e->unflushed = true;
		else if (flush == AGZ_SYNC_FLUSH && !e->unflushed)
			return AGZ_NEEDS_INPUT;
		do
			rc = deflate_some(e, in, out, flush);
		while (rc == AGZ__NEEDS_INPUT && in->pos < in->nbytes);
		if (rc < 0)
			return fail(e, rc);
		if (rc == AGZ__NEEDS_ROOM)
			return AGZ_OUTPUT_FULL;
		if (rc == AGZ__NEEDS_INPUT) {
			if (flush == AGZ_SYNC_FLUSH)
				e->unflushed = false;
			return AGZ_NEEDS_INPUT;
		}
		agz__store32(e->trailer, e->crc);
		agz__store32(e->trailer + 4, (uint32_t)e->in_nbytes);
		e->pending = e->trailer;
		e->pending_nbytes = sizeof(e->trailer);
		e->complete = true;
	}
	return write_pending(e, out) ? AGZ_STREAM_DONE : AGZ_OUTPUT_FULL;
}

uint64_t agz_encoder_in_nbytes(const agz_encoder *e)
{
	return e->in_nbytes;
}

uint32_t agz_encoder_crc32(const agz_encoder *e)
{
	return e->crc;
}

const agz_fault *agz_encoder_fault(const agz_encoder *e)
{
	return &e->fault;
}
