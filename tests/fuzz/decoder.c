/*
 * decoder.c - any bytes, on each engine, in any pieces and rooms, under any cap: each agrees
 * with zlib, given all at once, on bytes, members and error, but for the two differences
 * that agz/codec.h documents. On request the trailers are made right first, so that what
 * stands behind them is reached.
 */
#include <zlib.h>

#include "agz/codec.h"
#include "codec/header.h"
#include "fuzz.h"

struct result {
	fuzz_bytes out;
	fuzz_bytes members;    /* what is known of each, one behind the other */
	uint64_t whole_nbytes; /* output of the whole members */
	int code;
	agz_fault fault;
};

static void add_member(struct result *r, const agz_member *m)
{
	/* One by one: there is padding between some. */
	const uint64_t numbers[] = {
	        m->index,        m->in_offset,    m->in_nbytes,       m->out_nbytes,
	        m->mtime,        m->crc32,        m->isize,           m->flags,
	        m->xfl,          m->os,           m->name_nbytes,     m->comment_nbytes,
	        m->extra_nbytes, m->name != NULL, m->comment != NULL, m->extra != NULL};

	fuzz_add(&r->members, numbers, sizeof(numbers));
	fuzz_add(&r->members, m->name, m->name_nbytes);
	fuzz_add(&r->members, m->comment, m->comment_nbytes);
	fuzz_add(&r->members, m->extra, m->extra_nbytes);
	r->whole_nbytes += m->out_nbytes;
}

static void decode(agz_decoder *d, fuzz f, bool cuts, struct result *r)
{
	size_t given = 0;
	int rc = AGZ_NEEDS_INPUT;
	agz_input in = {NULL, 0, 0};
	uint8_t *piece = NULL;

	memset(r, 0, sizeof(*r));
	do {
		if (rc == AGZ_NEEDS_INPUT) {
			CHECK(in.pos == in.nbytes);
			free(piece);
			in.nbytes =
			        cuts ? fuzz_cut(&f, f.nbytes - given) : f.nbytes - given;
			in.pos = 0;
			in.ptr = piece = fuzz_copy(f.ptr + given, in.nbytes);
			given += in.nbytes;
		}
		/* Room may be none. */
		size_t room = cuts ? fuzz_cut(&f, 70001) - 1 : 70000;
		uint8_t *block = malloc(room);
		agz_output out = {block, room, 0};
		uint64_t taken = agz_decoder_in_nbytes(d) - in.pos;

		rc = agz_decoder_step(d, &in, &out,
		                      given == f.nbytes ? AGZ_INPUT_ENDS : 0);
		CHECK(in.pos <= in.nbytes && out.pos <= room);
		CHECK(agz_decoder_in_nbytes(d) - in.pos == taken);
		CHECK(rc != AGZ_OUTPUT_FULL || out.pos == room);
		fuzz_add(&r->out, block, out.pos);
		CHECK(agz_decoder_out_nbytes(d) == r->out.nbytes);
		free(block);
		CHECK((agz_decoder_member(d) != NULL) == (rc == AGZ_MEMBER_DONE));
		if (rc == AGZ_MEMBER_DONE)
			add_member(r, agz_decoder_member(d));
	} while (rc >= 0 && rc != AGZ_STREAM_DONE);
	r->code = rc;
	r->fault = *agz_decoder_fault(d);
	CHECK(rc < 0 ? r->fault.code == rc : r->fault.code == 0 && given == f.nbytes);
	free(piece);
}

static void check_same(const struct result *r, const struct result *expected)
{
	CHECK(r->code == expected->code);
	CHECK(fuzz_same(&r->members, &expected->members));
	CHECK(r->fault.member == expected->fault.member);
	if (r->code != AGZ_E_DEFLATE) {
		CHECK(fuzz_same(&r->out, &expected->out));
		/* Where an engine is when it sees that too much comes is its own affair. */
		CHECK(r->code == AGZ_E_OUTPUT_LIMIT ||
		      r->fault.in_offset == expected->fault.in_offset);
		return;
	}
	/* Of the member that is wrong, no two engines need give the same. */
	CHECK(r->out.nbytes >= r->whole_nbytes);
	CHECK(r->whole_nbytes == 0 ||
	      memcmp(r->out.ptr, expected->out.ptr, r->whole_nbytes) == 0);
}

/*
 * From member to member by zlib alone. Makes the trailers right if it is told to. True if
 * zlib stops at tables of Huffman codes, which an engine may accept.
 */
static bool walk(uint8_t *ptr, size_t nbytes, bool mend)
{
	bool tables = false, ended = true;

	while (nbytes > 0 && ended && !tables) {
		uint8_t out[4096];
		agz__header header = {0};
		z_stream z = {0};
		size_t used;
		uLong crc = 0;
		int rc;

		if (agz__header_parse(&header, ptr, nbytes, &used) != 1)
			break;
		CHECK(inflateInit2(&z, -15) == Z_OK);
		z.next_in = ptr + used;
		z.avail_in = (uInt)(nbytes - used);
		do {
			z.next_out = out;
			z.avail_out = sizeof(out);
			rc = inflate(&z, Z_NO_FLUSH);
			crc = crc32(crc, out, (uInt)(z.next_out - out));
		} while (rc == Z_OK);
		tables = rc == Z_DATA_ERROR && strstr(z.msg, " set") != NULL;
		ended = rc == Z_STREAM_END && z.avail_in >= 8;
		nbytes = z.avail_in;
		ptr = z.next_in;
		for (int i = 0; i < 8 && ended; i++, ptr++, nbytes--)
			if (mend)
				*ptr = (uint8_t)((i < 4 ? crc : z.total_out) >>
				                 i % 4 * 8);
		inflateEnd(&z);
		for (; nbytes > 0 && *ptr == 0; ptr++)
			nbytes--;
	}
	return tables;
}

int LLVMFuzzerTestOneInput(const uint8_t *ptr, size_t nbytes)
{
	static const uint64_t caps[] = {1 << 20, 70000, 5000, 300, 20, 1, 0, 0};
	fuzz f = fuzz_start(ptr, nbytes);
	unsigned choice = fuzz_byte(&f);
	agz_decoder_options opts = AGZ_DECODER_OPTIONS_INIT;
	agz_decoder *decoder;
	struct result expected, r;

	uint8_t *copy = fuzz_copy(f.ptr, f.nbytes);
	bool tables = walk(copy, f.nbytes, choice & 1);
	f.ptr = copy;
	opts.max_out_nbytes = caps[choice / 2 % 8]; /* 0: none, and seldom */
	opts.collect = 1;
	opts.engine = "zlib";
	CHECK(agz_decoder_new(&opts, &decoder) == AGZ_OK);
	decode(decoder, f, false, &expected);
	agz_decoder_free(decoder);

	for (size_t i = 0;; i++) {
		const agz_engine_info *engine = i > 0 ? agz_engine_at(i - 1) : NULL;
		if (i > 0 && engine == NULL)
			break;
		opts.engine = i > 0 ? engine->name : "auto";
		CHECK(agz_decoder_new(&opts, &decoder) == AGZ_OK);
		for (int cuts = 0; cuts < 3; cuts++, fuzz_random(&f)) {
			agz_decoder_reset(decoder);
			decode(decoder, f, cuts > 0, &r);
			if (!tables || expected.code != AGZ_E_DEFLATE)
				check_same(&r, &expected);
			free(r.out.ptr);
			free(r.members.ptr);
		}
		agz_decoder_free(decoder);
	}
	free(expected.out.ptr);
	free(expected.members.ptr);
	free(copy);
	return 0;
}
