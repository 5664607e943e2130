/*
 * zlib_template.h - an engine over the interface that zlib and zlib-ng share.
 *
 * Parameters, defined by the file that includes it:
 *
 *   Z(name)       the library's function `name`
 *   Z_STREAM      its stream struct
 *   Z_ENGINE      the agz__engine to define
 *   Z_INFLATER    its agz__inflater
 *   Z_NAME        its name
 *   Z_VERSION     its version, a constant string
 *   Z_SPAN_MAX    the largest count its `avail_in` and `avail_out` can hold
 */
#include <string.h>

#include "base/memory.h"
#include "codec/engine.h"

static void *z_allocate(void *opaque, unsigned n, unsigned nbytes)
{
	(void)opaque;
	if (nbytes != 0 && n > SIZE_MAX / nbytes)
		return NULL;
	return agz__malloc((size_t)n * nbytes);
}

static void z_release(void *opaque, void *ptr)
{
	(void)opaque;
	agz__free(ptr);
}

static Z_STREAM *new_stream(void)
{
	Z_STREAM *z = agz__calloc(1, sizeof(*z));

	if (z != NULL) {
		z->zalloc = z_allocate;
		z->zfree = z_release;
	}
	return z;
}

static unsigned countable(size_t nbytes)
{
	return nbytes < Z_SPAN_MAX ? (unsigned)nbytes : Z_SPAN_MAX;
}

/* Points the library at the flow, or at as much of it as its counts can hold. */
static void enter(Z_STREAM *z, const agz__flow *flow)
{
	z->next_in = (void *)flow->in;
	z->avail_in = countable(flow->in_nbytes);
	z->next_out = flow->out;
	z->avail_out = countable(flow->out_nbytes);
}

static void leave(const Z_STREAM *z, agz__flow *flow)
{
	flow->in_nbytes -= (size_t)(z->next_in - flow->in);
	flow->in = z->next_in;
	flow->out_nbytes -= (size_t)(z->next_out - flow->out);
	flow->out = z->next_out;
}

/* ---- inflate ------------------------------------------------------------------- */

static void *inflate_create(void)
{
	Z_STREAM *z = new_stream();

	if (z != NULL && Z(inflateInit2)(z, -15) != Z_OK) {
		agz__free(z);
		return NULL;
	}
	return z;
}

static void inflate_destroy(void *state)
{
	Z(inflateEnd)(state);
	agz__free(state);
}

static void inflate_restart(void *state)
{
	Z(inflateReset)(state);
}

static int inflate_step(void *state, agz__flow *flow, bool ends)
{
	Z_STREAM *z = state;
	int rc;

	(void)ends; /* nothing is ever held back */
	do {
		enter(z, flow);
		rc = Z(inflate)(z, Z_NO_FLUSH);
		leave(z, flow);
		if (rc == Z_STREAM_END)
			return AGZ__END;
		if (rc == Z_MEM_ERROR)
			return AGZ_E_NOMEM;
		if (rc != Z_OK && rc != Z_BUF_ERROR)
			return AGZ_E_DEFLATE;
	} while (rc == Z_OK && flow->out_nbytes > 0 &&
	         (flow->in_nbytes > 0 || z->avail_out == 0));
	return flow->out_nbytes > 0 ? AGZ__NEEDS_INPUT : AGZ__NEEDS_ROOM;
}

const struct agz__inflater Z_INFLATER = {
        inflate_create, inflate_destroy, inflate_restart, inflate_step, NULL, NULL, NULL,
};

/* ---- deflate ------------------------------------------------------------------- */

/*
 * A flush ends with a marker of at most six bytes, and the library does not say whether
 * the room ended just behind it or just before: asked again, it might write a second one.
 * So the marker goes through a buffer that always has room:
 *
 *     block, by Z_BLOCK (idempotent)  ─▶ out
 *     marker, by Z_SYNC_FLUSH         ─▶ marker[] ─▶ out
 */
struct deflater {
	Z_STREAM *z;
	uint8_t marker[16];
	unsigned marker_pos;
	unsigned marker_nbytes; /* > 0: a marker was made and is on its way out */
};

static void *deflate_create(int level)
{
	struct deflater *d = agz__calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->z = new_stream();
	/* The parameters of CPython's gzip and zlib modules: the bytes depend on them. */
	if (d->z == NULL || Z(deflateInit2)(d->z, level, Z_DEFLATED, -15, 8,
	                                    Z_DEFAULT_STRATEGY) != Z_OK) {
		agz__free(d->z);
		agz__free(d);
		return NULL;
	}
	return d;
}

static void deflate_destroy(void *state)
{
	struct deflater *d = state;

	Z(deflateEnd)(d->z);
	agz__free(d->z);
	agz__free(d);
}

static int write_marker(struct deflater *d, agz__flow *flow)
{
	size_t n;

	if (d->marker_nbytes == 0) {
		d->z->next_out = d->marker;
		d->z->avail_out = sizeof(d->marker);
		Z(deflate)(d->z, Z_SYNC_FLUSH);
		d->marker_nbytes = (unsigned)(d->z->next_out - d->marker);
		d->marker_pos = 0;
	}
	n = d->marker_nbytes - d->marker_pos;
	if (n > flow->out_nbytes)
		n = flow->out_nbytes;
	memcpy(flow->out, d->marker + d->marker_pos, n);
	flow->out += n;
	flow->out_nbytes -= n;
	d->marker_pos += (unsigned)n;
	if (d->marker_pos < d->marker_nbytes)
		return AGZ__NEEDS_ROOM;
	d->marker_nbytes = 0;
	return AGZ__NEEDS_INPUT;
}

static int deflate_step(void *state, agz__flow *flow, enum agz_flush flush)
{
	static const int z_flush[] = {Z_NO_FLUSH, Z_BLOCK, Z_FINISH};
	struct deflater *d = state;
	int rc;

	if (d->marker_nbytes > 0) {
		rc = write_marker(d, flow);
		if (rc == AGZ__NEEDS_ROOM ||
		    (flush == AGZ_SYNC_FLUSH && flow->in_nbytes == 0))
			return rc;
	}
	do {
		if (flow->out_nbytes == 0)
			return AGZ__NEEDS_ROOM;
		enter(d->z, flow);
		/* A flush holds for the last part of what its counts cannot hold at once. */
		rc = Z(deflate)(d->z, d->z->avail_in < flow->in_nbytes ? Z_NO_FLUSH
		                                                       : z_flush[flush]);
		leave(d->z, flow);
		if (rc == Z_STREAM_END)
			return AGZ__END;
	} while (flow->in_nbytes > 0 || d->z->avail_out == 0);
	return flush == AGZ_SYNC_FLUSH ? write_marker(d, flow) : AGZ__NEEDS_INPUT;
}

static const struct agz__deflater z_deflater = {deflate_create, deflate_destroy,
                                                deflate_step};

const agz__engine Z_ENGINE = {{Z_NAME, Z_VERSION, 1, 1}, &Z_INFLATER, NULL, &z_deflater};
