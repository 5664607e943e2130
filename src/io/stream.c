/*
 * stream.c - compressed bytes from a source, decoded into whatever room is given.
 *
 *     file ── read ──▶ buffer ├── taken ──┼── in ──┤ ── step ──▶ out
 *     memory, pushed: `in` is the caller's memory,  │ ── step ──▶
 *                     stepped through in windows    └ of AGZ__STEP_NBYTES
 *
 * Neither buffer nor decoder is there before the first byte is wanted, nor after the end:
 * a thousand open files that nobody reads cost next to nothing.
 */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "codec/decoder.h"
#include "io/stream.h"

#define FIRST_READ_NBYTES ((size_t)64 * 1024) /* what buffers start with, and double */
#define LEAST_READ_NBYTES ((size_t)4 * 1024)  /* a file's size may be a lie: /proc */
#define WHOLE_NBYTES      ((size_t)1024 * 1024) /* made in one step, if all input is there */
#define TURN_NBYTES       ((size_t)1024 * 1024) /* of input, for one call */
#define MAX_RATIO         1032                  /* of deflate */

static int fail(agz__stream *s, int code)
{
	s->fault = (agz_fault){.code = code, .sys = code == AGZ_E_SYSTEM ? errno : 0};
	return code;
}

/* ---- opening ------------------------------------------------------------------------ */

/* The last four bytes are the size modulo 2^32, if the file is one member. They are held
 * against what the file can give at most, and must give at least to be meant. */
static uint64_t hint_of(const uint8_t isize[4], uint64_t in_nbytes)
{
	uint64_t n = isize[0] | (uint32_t)isize[1] << 8 | (uint32_t)isize[2] << 16 |
	             (uint64_t)isize[3] << 24;

	if (in_nbytes < 18 || in_nbytes > n + n / 64 + 4096)
		return 0;
	return n / MAX_RATIO < in_nbytes ? n : in_nbytes * MAX_RATIO;
}

void agz__stream_init(agz__stream *s, const agz_reader_options *opts)
{
	*s = (agz__stream){.kind = opts->source, .options = AGZ_DECODER_OPTIONS_INIT};
	s->source.fd = s->source.bell.fd = s->source.bell.write_fd = -1;
	s->chunk_nbytes = opts->chunk_nbytes ? opts->chunk_nbytes : AGZ__CHUNK_NBYTES;
	s->options.max_out_nbytes = opts->max_out_nbytes;
	s->options.collect = (opts->flags & AGZ_READER_MEMBERS) != 0;
	if (opts->engine != NULL) {
		strncpy(s->engine, opts->engine, sizeof(s->engine) - 1);
		s->options.engine = s->engine;
	}
	if (s->kind == AGZ_SOURCE_MEMORY) {
		const uint8_t *ptr = opts->memory;
		size_t n = opts->memory_nbytes;
		s->in = (agz_input){ptr, n, 0};
		s->ends = true;
		s->hint = n < 4 ? 0 : hint_of(ptr + n - 4, n);
	}
}

int agz__stream_open(agz__stream *s, const char *path, int fd, bool owned)
{
	uint8_t tail[4];

	int rc = path != NULL ? agz__source_open(&s->source, path)
	                      : agz__source_adopt(&s->source, fd, owned);
	if (rc != AGZ_OK)
		return fail(s, rc);
	if (agz__source_tail(&s->source, tail, sizeof(tail)))
		s->hint = hint_of(tail, agz__source_left(&s->source));
	return AGZ_OK;
}

bool agz__stream_open_now(agz__stream *s, const char *path)
{
	uint8_t file[AGZ__TINY_NBYTES + 1];

	if (!agz__source_open_now(&s->source, path, file, AGZ__TINY_NBYTES))
		return false;
	size_t n = (size_t)s->source.nbytes;
	s->buffer = agz__malloc(n + 1);
	if (s->buffer == NULL) {
		agz__source_close(&s->source);
		return false;
	}
	memcpy(s->buffer, file, n);
	s->buffer_nbytes = n + 1;
	s->in = (agz_input){s->buffer, n, 0};
	s->ends = true;
	s->hint = n < 4 ? 0 : hint_of(s->buffer + n - 4, n);
	return true;
}

/* ---- input -------------------------------------------------------------------------- */

/* A buffer for what the next read is to ask for. */
static int need_buffer(agz__stream *s)
{
	size_t want = FIRST_READ_NBYTES;
	uint64_t left = agz__source_left(&s->source);

	if (s->buffer != NULL) {
		/* Doubled where the last read filled it. */
		if (s->in.nbytes < s->buffer_nbytes ||
		    s->buffer_nbytes >= s->chunk_nbytes)
			return AGZ_OK;
		want = s->buffer_nbytes <= s->chunk_nbytes / 2 ? s->buffer_nbytes * 2
		                                               : s->chunk_nbytes;
	} else if (s->source.regular && left < want) {
		/* One byte more than the file has left, so that one read sees its end. */
		want = left < LEAST_READ_NBYTES ? LEAST_READ_NBYTES : (size_t)left + 1;
	}
	if (want > s->chunk_nbytes)
		want = s->chunk_nbytes;

	agz__free(s->buffer);
	s->in = (agz_input){NULL, 0, 0};
	s->buffer_nbytes = want;
	s->buffer = agz__malloc(want);
	return s->buffer != NULL ? AGZ_OK : fail(s, AGZ_E_NOMEM);
}

/* One read, the caller's descriptor guarded. */
static int read_some(agz__stream *s, size_t at, size_t *got)
{
	bool borrowed = !s->source.owned;

	for (;;) {
		int rc = agz__source_wait(&s->source);
		if (rc == AGZ_OK && borrowed && !s->enter(s->arg))
			return AGZ_WAIT;
		if (rc == AGZ_OK) {
			rc = agz__source_read(&s->source, s->buffer + at,
			                      s->buffer_nbytes - at, got);
			if (borrowed)
				s->leave(s->arg);
		} else if (rc == AGZ_END) {
			return AGZ_WAIT;
		}
		if (rc < 0)
			return fail(s, rc);
		if (rc == AGZ_OK)
			return AGZ_OK;
	}
}

/* More input, or `ends`: AGZ_OK. Else why there is none. */
static int refill(agz__stream *s)
{
	size_t got, more = 0;

	if (s->kind == AGZ_SOURCE_PUSH)
		return AGZ_HUNGRY;
	int rc = need_buffer(s);
	if (rc == AGZ_OK)
		rc = read_some(s, 0, &got);
	if (rc != AGZ_OK)
		return rc;
	/* At a file's known end a second look is cheap, and to know that nothing follows
	 * lets the decoder take the member as a whole. */
	if (got > 0 && got < s->buffer_nbytes && s->source.regular &&
	    agz__source_left(&s->source) == 0) {
		rc = read_some(s, got, &more);
		if (rc != AGZ_OK)
			return rc;
		s->ends = more == 0;
	}
	s->ends |= got == 0;
	s->in = (agz_input){s->buffer, got + more, 0};
	return AGZ_OK;
}

/* ---- the decoder --------------------------------------------------------------------- */

agz__counts agz__stream_counts(const agz__stream *s)
{
	agz__counts c = s->before;

	if (s->decoder != NULL) {
		c.in_nbytes += agz_decoder_in_nbytes(s->decoder);
		c.out_nbytes += agz_decoder_out_nbytes(s->decoder);
		c.members += agz_decoder_member_count(s->decoder);
		c.has_mtime |= agz_decoder_mtime(s->decoder, &c.mtime) != 0;
	}
	return c;
}

static int need_decoder(agz__stream *s)
{
	agz_decoder_options options = s->options;

	if (s->decoder != NULL)
		return AGZ_OK;
	/* Padding may go on where the last decoder stood in it. */
	if (s->before.members > 0) {
		const uint8_t *ptr = s->in.ptr;
		while (s->in.pos < s->in.nbytes && ptr[s->in.pos] == 0) {
			s->in.pos++;
			s->before.in_nbytes++;
		}
		if (s->in.pos == s->in.nbytes)
			return s->ends ? AGZ_END : AGZ_WAIT;
	}
	if (options.max_out_nbytes != 0)
		options.max_out_nbytes -= s->before.out_nbytes;
	if (s->again.asked)
		options.engine = "zlib";
	int rc = agz_decoder_new(&options, &s->decoder);
	return rc < 0 ? fail(s, rc) : AGZ_OK;
}

static void drop_buffer(agz__stream *s)
{
	agz__free(s->buffer);
	s->buffer = NULL;
	if (agz__stream_is_file(s))
		s->in = (agz_input){NULL, 0, 0};
}

static void drop_decoder(agz__stream *s)
{
	s->before = agz__stream_counts(s);
	agz_decoder_free(s->decoder);
	s->decoder = NULL;
	drop_buffer(s);
}

/* The end. A decoder whose cap is used up is kept: none can be made that allows nothing. */
static int end(agz__stream *s)
{
	uint64_t cap = s->options.max_out_nbytes;

	if (cap == 0 || agz__stream_counts(s).out_nbytes < cap)
		drop_decoder(s);
	if (agz__stream_is_file(s))
		s->ends = false;
	return AGZ_END;
}

/* To so many bytes behind the start, where there is a way; for a pushed stream, to wait for
 * those. An error, with errno, changes nothing. */
static int go_to(agz__stream *s, uint64_t offset)
{
	bool memory = s->kind == AGZ_SOURCE_MEMORY;
	int rc = agz__stream_is_file(s) ? agz__source_seek(&s->source, offset) : AGZ_OK;

	if (rc == AGZ_OK) {
		s->in.pos = memory ? (size_t)offset : s->in.nbytes;
		s->ends = memory;
	}
	return rc;
}

/* Goes back to where a member begins, for zlib to decode it; false if there is no way. */
static bool ask_zlib(agz__stream *s, uint64_t in_offset, uint64_t out_offset,
                     uint32_t crc)
{
	uint64_t cap = s->options.max_out_nbytes;

	if (s->kind == AGZ_SOURCE_PUSH || (cap != 0 && out_offset == cap) ||
	    go_to(s, in_offset) != AGZ_OK)
		return false;
	s->again.asked = true;
	s->again.left = s->before.out_nbytes - out_offset;
	s->again.crc = crc;
	s->again.left_crc = 0;
	s->again.fault = s->fault;
	s->before.in_nbytes = in_offset;
	s->before.out_nbytes = out_offset;
	return true;
}

/* Whatever the decoder or we failed at. AGZ_WAIT: zlib is asked about it first. */
static int give_up(agz__stream *s, int code)
{
	const agz_fault *fault =
	        s->decoder != NULL ? agz_decoder_fault(s->decoder) : NULL;
	agz__counts before = s->before;
	agz__doubt doubt;

	if (fault == NULL || fault->code == 0)
		return code; /* s->fault says it already */
	bool in_doubt = agz__decoder_in_doubt(s->decoder, &doubt);
	s->fault = *fault;
	s->fault.code = code;
	s->fault.member += s->before.members;
	s->fault.in_offset += s->before.in_nbytes;
	s->fault.limit_nbytes =
	        code == AGZ_E_OUTPUT_LIMIT ? s->options.max_out_nbytes : 0;
	if (code == AGZ_E_TRUNCATED && agz__stream_is_file(s) &&
	    !(in_doubt && s->source.seekable)) {
		drop_buffer(s); /* the decoder goes on if the file grows */
		s->ends = false;
		return code;
	}
	drop_decoder(s);
	if (in_doubt && ask_zlib(s, before.in_nbytes + doubt.in_offset,
	                         before.out_nbytes + doubt.out_offset, doubt.crc))
		return AGZ_WAIT;
	return code;
}

/* A copy at *to, which moves on; NULL stays NULL, and an empty string is no NULL. */
static const uint8_t *keep_string(uint8_t **to, const uint8_t *from, size_t nbytes)
{
	if (from == NULL || nbytes == 0)
		return from == NULL ? NULL : (const uint8_t *)"";
	uint8_t *at = *to;
	*to += nbytes;
	return memcpy(at, from, nbytes);
}

/* Copies the record of the member that just ended, its strings into one allocation. */
static int keep_member(agz__stream *s)
{
	const agz_member *m = agz_decoder_member(s->decoder);

	if (!s->options.collect)
		return AGZ_OK;
	if (s->n_members == s->members_capacity) {
		size_t n = s->members_capacity ? s->members_capacity * 2 : 4;
		agz__record *grown = agz__realloc_array(s->members, n, sizeof(*grown));
		if (grown == NULL)
			return fail(s, AGZ_E_NOMEM);
		s->members = grown;
		s->members_capacity = n;
	}

	/* Each is at most 128 MiB, by the cap on headers. */
	size_t nbytes = m->extra_nbytes + m->name_nbytes + m->comment_nbytes;
	uint8_t *to = nbytes > 0 ? agz__malloc(nbytes) : NULL;
	if (nbytes > 0 && to == NULL)
		return fail(s, AGZ_E_NOMEM);
	agz__record *kept = &s->members[s->n_members++];
	*kept = (agz__record){*m, to};
	kept->member.index += s->before.members;
	kept->member.in_offset += s->before.in_nbytes;
	kept->member.extra = keep_string(&to, m->extra, m->extra_nbytes);
	kept->member.name = keep_string(&to, m->name, m->name_nbytes);
	kept->member.comment = keep_string(&to, m->comment, m->comment_nbytes);
	return AGZ_OK;
}

/* One step over a window of input and room, so that a caller who wants his memory back
 * need not wait long. AGZ_WAIT: he has it back. */
static int step(agz__stream *s, agz_output *out)
{
	agz_input in = s->in;
	agz_output win = *out;
	unsigned flags = s->ends ? AGZ_INPUT_ENDS : 0;
	size_t room = AGZ__STEP_NBYTES;

	if (in.nbytes - in.pos > AGZ__STEP_NBYTES) {
		in.nbytes = in.pos + AGZ__STEP_NBYTES;
		flags = 0;
	} else if (s->ends) {
		room = WHOLE_NBYTES;
	}
	if (win.nbytes - win.pos > room)
		win.nbytes = win.pos + room;
	if (!s->enter(s->arg))
		return AGZ_WAIT;
	int rc = agz_decoder_step(s->decoder, &in, &win, flags);
	s->leave(s->arg);
	s->in.pos = in.pos;
	out->pos = win.pos;
	return rc;
}

static int first_verdict(agz__stream *s)
{
	drop_decoder(s);
	s->fault = s->again.fault;
	return s->fault.code;
}

/* A step over what was handed out before zlib was asked. If zlib makes something else of
 * it, the file has changed meanwhile, and the first verdict stands. */
static int step_again(agz__stream *s)
{
	uint8_t dropped[16 * 1024];
	size_t room =
	        s->again.left < sizeof(dropped) ? (size_t)s->again.left : sizeof(dropped);
	agz_output out = {dropped, room, 0};
	int rc = step(s, &out);

	s->again.left_crc = agz_crc32(s->again.left_crc, dropped, out.pos);
	s->again.left -= out.pos;
	if (s->again.left > 0 ? rc != AGZ_MEMBER_DONE : s->again.left_crc == s->again.crc)
		return rc;
	return first_verdict(s);
}

/* Much input that gives little, such as a million empty members, is left in between: other
 * files have their turns. Where `enter` fails, whoever gets the answer finds out why. */
int agz__stream_decode(agz__stream *s, agz_output *out)
{
	bool file = agz__stream_is_file(s);
	uint64_t from = agz__stream_counts(s).in_nbytes;
	size_t had = out->pos;
	int rc;

	while (agz__stream_counts(s).in_nbytes - from < TURN_NBYTES) {
		if (s->in.pos == s->in.nbytes && !s->ends) {
			if (out->pos > had && (!file || s->source.live))
				return file ? AGZ_WAIT : AGZ_HUNGRY;
			rc = refill(s);
			if (rc != AGZ_OK)
				return rc;
		}
		rc = need_decoder(s);
		if (rc == AGZ_WAIT)
			continue;
		if (rc == AGZ_OK)
			rc = s->again.left > 0 ? step_again(s) : step(s, out);
		if (rc == AGZ_MEMBER_DONE) {
			s->again.asked = false;
			rc = keep_member(s);
		}
		if (rc == AGZ_STREAM_DONE || rc == AGZ_END)
			return s->again.asked ? first_verdict(s) : end(s);
		if (rc < 0)
			return give_up(s, rc);
		if (rc == AGZ_WAIT || (rc == AGZ_OUTPUT_FULL && out->pos == out->nbytes))
			return rc;
	}
	return AGZ_WAIT;
}

/* ---- the rest ------------------------------------------------------------------------ */

static void drop_members(agz__stream *s)
{
	for (size_t i = 0; i < s->n_members; i++)
		agz__free(s->members[i].strings);
	agz__free(s->members);
	s->members = NULL;
	s->n_members = s->members_capacity = 0;
}

bool agz__stream_seekable(const agz__stream *s)
{
	return s->kind == AGZ_SOURCE_MEMORY ||
	       (s->kind != AGZ_SOURCE_PUSH && s->source.seekable);
}

int agz__stream_rewind(agz__stream *s)
{
	int rc = go_to(s, 0);

	if (rc != AGZ_OK)
		return fail(s, rc);
	drop_members(s);
	agz__counts seen = agz__stream_counts(s);
	if (s->decoder != NULL)
		agz_decoder_reset(s->decoder);
	s->before = (agz__counts){.mtime = seen.mtime, .has_mtime = seen.has_mtime};
	s->fault = (agz_fault){0};
	s->again.asked = false;
	s->again.left = 0;
	return AGZ_OK;
}

void agz__stream_forget(agz__stream *s)
{
	s->decoder = NULL;
	s->buffer = NULL;
	s->members = NULL;
	s->n_members = s->members_capacity = 0;
	if (s->kind != AGZ_SOURCE_MEMORY)
		s->in = (agz_input){NULL, 0, 0};
}

void agz__stream_close(agz__stream *s)
{
	agz__source_close(&s->source);
	agz_decoder_free(s->decoder);
	agz__free(s->buffer);
	drop_members(s);
}
