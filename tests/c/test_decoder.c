/*
 * Attack: every input and output cut at each byte, on each engine; streams that end too
 * early, at each byte; each bit flipped; wrong checks, garbage, padding; a cap on the output
 * at each size; bombs; memory that runs out at each allocation.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "agz/codec.h"
#include "support.h"

static const char *const engines[] = {"auto", "zlib", "zlib-ng", "isal", "libdeflate"};

#define N_ENGINES (sizeof(engines) / sizeof(engines[0]))

static agz_decoder *new_decoder(const char *engine, uint64_t max_out_nbytes)
{
	agz_decoder_options options = AGZ_DECODER_OPTIONS_INIT;
	agz_decoder *decoder;
	int rc;

	options.engine = engine;
	options.max_out_nbytes = max_out_nbytes;
	options.collect = 1;
	rc = agz_decoder_new(&options, &decoder);
	if (rc == AGZ_E_ENGINE)
		return NULL; /* not built in */
	assert_int_equal(rc, AGZ_OK);
	assert_non_null(decoder);
	return decoder;
}

/* ---- one decoding -------------------------------------------------------------------- */

struct result {
	test_bytes out;
	int code;
	uint64_t members;
	agz_fault fault;
};

/* In pieces of `piece` and rooms of `room`; spans end where reading on is a fault. */
static struct result decode(agz_decoder *decoder, const uint8_t *ptr, size_t nbytes,
                            size_t piece, size_t room)
{
	struct result r = {{NULL, 0, 0}, 0, 0, {0}};
	size_t guard_nbytes = piece < nbytes ? piece : nbytes;
	uint8_t *guard = test_guard(NULL, guard_nbytes);
	uint8_t *block = malloc(room);
	agz_input in = {NULL, 0, 0};
	size_t given = 0;

	test_add(&r.out, "", 0);
	agz_decoder_reset(decoder);
	do {
		agz_output out = {block, room, 0};

		if (in.pos == in.nbytes && given < nbytes) {
			in.nbytes = nbytes - given < piece ? nbytes - given : piece;
			in.ptr = guard + guard_nbytes - in.nbytes;
			in.pos = 0;
			memcpy(guard + guard_nbytes - in.nbytes, ptr + given, in.nbytes);
			given += in.nbytes;
		}
		r.code = agz_decoder_step(decoder, &in, &out,
		                          given == nbytes ? AGZ_INPUT_ENDS : 0);
		assert_true(in.pos <= in.nbytes && out.pos <= out.nbytes);
		assert_true(r.code != AGZ_NEEDS_INPUT || in.pos == in.nbytes);
		assert_true(r.code != AGZ_OUTPUT_FULL || out.pos == out.nbytes);
		if (r.code == AGZ_MEMBER_DONE) {
			assert_non_null(agz_decoder_member(decoder));
			assert_int_equal(agz_decoder_member(decoder)->index, r.members);
			r.members++;
		} else {
			assert_null(agz_decoder_member(decoder));
		}
		test_add(&r.out, block, out.pos);
		assert_int_equal(agz_decoder_out_nbytes(decoder), r.out.nbytes);
		assert_int_equal(agz_decoder_in_nbytes(decoder),
		                 given - in.nbytes + in.pos);
	} while (r.code >= 0 && r.code != AGZ_STREAM_DONE);
	assert_int_equal(agz_decoder_member_count(decoder), r.members);
	r.fault = *agz_decoder_fault(decoder);
	assert_int_equal(r.fault.code, r.code < 0 ? r.code : 0);
	if (r.code < 0) {
		agz_output out = {block, room, 0};

		assert_int_equal(agz_decoder_step(decoder, &in, &out, 0), r.code);
		assert_int_equal(out.pos, 0);
	}
	test_unguard(guard, guard_nbytes);
	free(block);
	return r;
}

static void check_bytes(const struct result *r, const test_bytes *expected)
{
	assert_int_equal(r->out.nbytes, expected->nbytes);
	assert_memory_equal(r->out.ptr, expected->ptr, expected->nbytes);
}

static void check_prefix(const struct result *r, const test_bytes *expected)
{
	assert_true(r->out.nbytes <= expected->nbytes);
	assert_memory_equal(r->out.ptr, expected->ptr, r->out.nbytes);
}

/* Three members of different makes with padding between and behind. */
static void make_stream(test_bytes *gzip, test_bytes *data)
{
	test_bytes text = test_data(TEST_TEXT, 700);
	test_bytes noise = test_data(TEST_NOISE, 90);
	test_bytes runs = test_data(TEST_RUNS, 3000);
	test_bytes empty = {(uint8_t *)"", 0, 0};

	test_add_member(gzip, &text, 6, Z_DEFAULT_STRATEGY);
	test_add_member(gzip, &noise, 1, Z_DEFAULT_STRATEGY);
	test_add_fill(gzip, 0, 3);
	test_add_member(gzip, &empty, 9, Z_DEFAULT_STRATEGY);
	test_add_member(gzip, &runs, 9, Z_FIXED);
	test_add_fill(gzip, 0, 2);
	test_add_bytes(data, &text);
	test_add_bytes(data, &noise);
	test_add_bytes(data, &runs);
	test_drop(&text);
	test_drop(&noise);
	test_drop(&runs);
}

/* ---- right input ----------------------------------------------------------------------- */

static void each_split(void **state)
{
	test_bytes gzip = {NULL, 0, 0}, data = {NULL, 0, 0};
	size_t e, cut;

	(void)state;
	make_stream(&gzip, &data);
	for (e = 0; e < N_ENGINES; e++) {
		agz_decoder *decoder = new_decoder(engines[e], 0);

		if (decoder == NULL)
			continue;
		for (cut = 1; cut <= gzip.nbytes; cut++) {
			size_t room = cut % 3 == 0 ? 10000 : cut;
			struct result r =
			        decode(decoder, gzip.ptr, gzip.nbytes, cut, room);

			assert_int_equal(r.code, AGZ_STREAM_DONE);
			assert_int_equal(r.members, 4);
			check_bytes(&r, &data);
			test_drop(&r.out);
		}
		/* One cut in two, at each place. */
		for (cut = 0; cut <= gzip.nbytes; cut++) {
			agz_input in = {gzip.ptr, cut, 0};
			uint8_t block[8192];
			agz_output out = {block, sizeof(block), 0};
			int rc;

			agz_decoder_reset(decoder);
			while ((rc = agz_decoder_step(decoder, &in, &out, 0)) ==
			       AGZ_MEMBER_DONE)
				;
			assert_int_equal(rc, AGZ_NEEDS_INPUT);
			in.nbytes = gzip.nbytes;
			while ((rc = agz_decoder_step(decoder, &in, &out,
			                              AGZ_INPUT_ENDS)) == AGZ_MEMBER_DONE)
				;
			assert_int_equal(rc, AGZ_STREAM_DONE);
			assert_int_equal(out.pos, data.nbytes);
			assert_memory_equal(block, data.ptr, data.nbytes);
		}
		agz_decoder_free(decoder);
	}
	test_drop(&gzip);
	test_drop(&data);
}

static void each_kind(void **state)
{
	static const size_t sizes[] = {0, 1, 100, 65536, 300001};
	static const int levels[] = {0, 1, 6, 9};
	size_t e, k, s, l;

	(void)state;
	for (k = 0; k < TEST_N_KINDS; k++)
		for (s = 0; s < 5; s++)
			for (l = 0; l < 4; l++) {
				test_bytes data = test_data((enum test_kind)k, sizes[s]);
				test_bytes gzip = {NULL, 0, 0};

				test_add_member(&gzip, &data, levels[l],
				                (int)(l + k) % 5);
				for (e = 0; e < N_ENGINES; e++) {
					agz_decoder *decoder = new_decoder(engines[e], 0);
					size_t way;

					if (decoder == NULL)
						continue;
					for (way = 0; way < 4; way++) {
						struct result r = decode(
						        decoder, gzip.ptr, gzip.nbytes,
						        way & 1 ? 1 + test_below(5000)
						                : SIZE_MAX,
						        way & 2 ? 1 + test_below(70000)
						                : 400000);

						assert_int_equal(r.code, AGZ_STREAM_DONE);
						check_bytes(&r, &data);
						test_drop(&r.out);
					}
					agz_decoder_free(decoder);
				}
				test_drop(&gzip);
				test_drop(&data);
			}
}

static void empty_and_padding(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 50);
	test_bytes gzip = {NULL, 0, 0};
	size_t e;

	(void)state;
	for (e = 0; e < N_ENGINES; e++) {
		agz_decoder *decoder = new_decoder(engines[e], 0);
		agz_input in = {NULL, 0, 0};
		agz_output out = {NULL, 0, 0};
		struct result r;

		if (decoder == NULL)
			continue;
		/* An empty stream; spans without memory. */
		assert_int_equal(agz_decoder_step(decoder, &in, &out, 0),
		                 AGZ_NEEDS_INPUT);
		assert_int_equal(agz_decoder_step(decoder, &in, &out, AGZ_INPUT_ENDS),
		                 AGZ_STREAM_DONE);
		assert_int_equal(agz_decoder_step(decoder, &in, &out, AGZ_INPUT_ENDS),
		                 AGZ_STREAM_DONE);

		/* Padding of any length is fine behind a member, not before the first. */
		gzip.nbytes = 0;
		test_add_fill(&gzip, 0, 1);
		test_add_member(&gzip, &text, 6, Z_DEFAULT_STRATEGY);
		r = decode(decoder, gzip.ptr, gzip.nbytes, SIZE_MAX, 100);
		assert_int_equal(r.code, AGZ_E_MAGIC);
		assert_int_equal(r.fault.found[0], 0);
		test_drop(&r.out);
		test_add_fill(&gzip, 0, 100000);
		test_add_member(&gzip, &text, 6, Z_DEFAULT_STRATEGY);
		test_add_fill(&gzip, 0, 513);
		r = decode(decoder, gzip.ptr + 1, gzip.nbytes - 1, 777, 100);
		assert_int_equal(r.code, AGZ_STREAM_DONE);
		assert_int_equal(r.members, 2);
		assert_int_equal(r.out.nbytes, 100);
		test_drop(&r.out);
		agz_decoder_free(decoder);
	}
	test_drop(&gzip);
	test_drop(&text);
}

/* After the end more may come, as when a file has grown. */
static void grows(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 50);
	test_bytes gzip = {NULL, 0, 0};
	agz_decoder *decoder = new_decoder("auto", 0);
	uint8_t block[100];
	int round;

	(void)state;
	test_add_member(&gzip, &text, 6, Z_DEFAULT_STRATEGY);
	for (round = 0; round < 5; round++) {
		agz_input in = {gzip.ptr, gzip.nbytes, 0};
		agz_output out = {block, sizeof(block), 0};

		assert_int_equal(agz_decoder_step(decoder, &in, &out, AGZ_INPUT_ENDS),
		                 AGZ_MEMBER_DONE);
		assert_int_equal(out.pos, text.nbytes);
		assert_int_equal(agz_decoder_step(decoder, &in, &out, AGZ_INPUT_ENDS),
		                 AGZ_STREAM_DONE);
	}
	assert_int_equal(agz_decoder_member_count(decoder), 5);
	agz_decoder_free(decoder);
	test_drop(&gzip);
	test_drop(&text);
}

/* Every piece was the last one, until the next came. */
static void grows_from_a_cut(void **state)
{
	test_bytes long_text = test_data(TEST_TEXT, 300000);
	test_bytes gzip = {NULL, 0, 0}, data = {NULL, 0, 0};
	static uint8_t block[50000];
	size_t e, piece;

	(void)state;
	make_stream(&gzip, &data);
	test_add_member(&gzip, &long_text, 6, Z_DEFAULT_STRATEGY);
	test_add_bytes(&data, &long_text);
	for (e = 0; e < N_ENGINES; e++)
		for (piece = 1; piece < 10000; piece = piece * 3 + 1) {
			agz_decoder *decoder = new_decoder(engines[e], 0);
			agz_input in = {gzip.ptr, 0, 0};
			size_t made = 0;
			int rc;

			if (decoder == NULL)
				continue;
			do {
				agz_output out = {block, sizeof(block), 0};

				rc = agz_decoder_step(decoder, &in, &out, AGZ_INPUT_ENDS);
				assert_true(made + out.pos <= data.nbytes);
				assert_memory_equal(block, data.ptr + made, out.pos);
				made += out.pos;
				if (rc != AGZ_E_TRUNCATED && rc != AGZ_STREAM_DONE)
					continue;
				assert_int_equal(in.pos, in.nbytes);
				in.nbytes += piece;
				if (in.nbytes > gzip.nbytes)
					in.nbytes = gzip.nbytes;
			} while (rc >= 0 ? in.pos < in.nbytes || rc != AGZ_STREAM_DONE
			                 : rc == AGZ_E_TRUNCATED);
			assert_int_equal(rc, AGZ_STREAM_DONE);
			assert_int_equal(made, data.nbytes);
			assert_int_equal(agz_decoder_member_count(decoder), 5);
			agz_decoder_free(decoder);
		}
	test_drop(&gzip);
	test_drop(&data);
	test_drop(&long_text);
}

/* All that was flushed is out, and a member's end is told, before anything follows. */
static void live(void **state)
{
	test_bytes gzip = {NULL, 0, 0};
	size_t e, i;

	(void)state;
	for (e = 0; e < N_ENGINES; e++) {
		static const int flushes[] = {Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_PARTIAL_FLUSH,
		                              Z_FINISH};
		agz_decoder *decoder = new_decoder(engines[e], 0);
		z_stream z = {0};

		if (decoder == NULL)
			continue;
		deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
		for (i = 0; i < 40; i++) {
			test_bytes text = test_data(TEST_TEXT, 1 + test_below(300));
			uint8_t packed[2000], block[400];
			agz_input in = {packed, 0, 0};
			agz_output out = {block, sizeof(block), 0};
			int rc;

			z.next_in = text.ptr;
			z.avail_in = (unsigned)text.nbytes;
			z.next_out = packed;
			z.avail_out = sizeof(packed);
			deflate(&z, i == 39 ? Z_FINISH : flushes[i % 3]);
			in.nbytes = sizeof(packed) - z.avail_out;
			rc = agz_decoder_step(decoder, &in, &out, 0);
			assert_int_equal(rc, i == 39 ? AGZ_MEMBER_DONE : AGZ_NEEDS_INPUT);
			assert_int_equal(out.pos, text.nbytes);
			assert_memory_equal(block, text.ptr, text.nbytes);
			test_drop(&text);
		}
		deflateEnd(&z);
		agz_decoder_free(decoder);
	}
	test_drop(&gzip);
}

/* A room that is exactly enough: the end is found without another byte of room. */
static void exact_room(void **state)
{
	size_t e, k;

	(void)state;
	for (k = 0; k < TEST_N_KINDS; k++) {
		test_bytes data = test_data((enum test_kind)k, 100000);
		test_bytes gzip = {NULL, 0, 0};

		test_add_member(&gzip, &data, 6, Z_DEFAULT_STRATEGY);
		for (e = 0; e < N_ENGINES; e++) {
			agz_decoder *decoder = new_decoder(engines[e], 0);
			agz_input in = {gzip.ptr, gzip.nbytes, 0};
			uint8_t *room = test_guard(NULL, data.nbytes);
			agz_output out = {room, data.nbytes, 0};

			if (decoder != NULL) {
				assert_int_equal(agz_decoder_step(decoder, &in, &out,
				                                  AGZ_INPUT_ENDS),
				                 AGZ_MEMBER_DONE);
				assert_int_equal(out.pos, data.nbytes);
				assert_memory_equal(room, data.ptr, data.nbytes);
				assert_int_equal(agz_decoder_step(decoder, &in, &out,
				                                  AGZ_INPUT_ENDS),
				                 AGZ_STREAM_DONE);
			}
			agz_decoder_free(decoder);
			test_unguard(room, data.nbytes);
		}
		test_drop(&gzip);
		test_drop(&data);
	}
}

static void records(void **state)
{
	static const uint8_t header[] = {0x1f, 0x8b, 8,   0x1c, 1, 2,   3, 4,   2,   7,
	                                 3,    0,    'e', 'x',  0, 'n', 0, 'c', 'o', 0};
	test_bytes text = test_data(TEST_TEXT, 50);
	test_bytes one = {NULL, 0, 0}, gzip = {NULL, 0, 0};
	agz_decoder *decoder = new_decoder("auto", 0);
	uint8_t block[200];
	agz_output out = {block, sizeof(block), 0};
	agz_input in = {NULL, 0, 0};
	const agz_member *m;
	uint32_t mtime = 99;

	(void)state;
	test_add_member(&one, &text, 6, Z_DEFAULT_STRATEGY);
	test_add_bytes(&gzip, &one);
	test_add_fill(&gzip, 0, 4);
	test_add(&gzip, header, sizeof(header));
	test_add(&gzip, one.ptr + 10, one.nbytes - 10);
	in.ptr = gzip.ptr;
	in.nbytes = gzip.nbytes;
	assert_int_equal(agz_decoder_mtime(decoder, &mtime), 0);
	assert_int_equal(mtime, 99);
	assert_int_equal(agz_decoder_step(decoder, &in, &out, 0), AGZ_MEMBER_DONE);
	m = agz_decoder_member(decoder);
	assert_int_equal(m->index, 0);
	assert_int_equal(m->in_offset, 0);
	assert_int_equal(m->in_nbytes, one.nbytes);
	assert_int_equal(m->out_nbytes, 50);
	assert_int_equal(m->isize, 50);
	assert_int_equal(m->crc32, crc32(0, text.ptr, 50));
	assert_int_equal(m->flags, 0);
	assert_null(m->name);
	assert_null(m->comment);
	assert_null(m->extra);
	assert_int_equal(agz_decoder_mtime(decoder, &mtime), 1);
	assert_int_equal(mtime, 0);
	in.nbytes -= 20; /* the next header, but not its end */
	assert_int_equal(agz_decoder_step(decoder, &in, &out, 0), AGZ_NEEDS_INPUT);
	assert_int_equal(agz_decoder_mtime(decoder, &mtime), 1);
	assert_int_equal(mtime, 0x04030201);
	in.nbytes += 20;
	assert_int_equal(agz_decoder_step(decoder, &in, &out, 0), AGZ_MEMBER_DONE);
	m = agz_decoder_member(decoder);
	assert_int_equal(m->index, 1);
	assert_int_equal(m->in_offset, one.nbytes + 4);
	assert_int_equal(m->in_nbytes, sizeof(header) + one.nbytes - 10);
	assert_int_equal(m->out_nbytes, 50);
	assert_int_equal(m->mtime, 0x04030201);
	assert_int_equal(m->flags, 0x1c);
	assert_int_equal(m->xfl, 2);
	assert_int_equal(m->os, 7);
	assert_int_equal(m->extra_nbytes, 3);
	assert_memory_equal(m->extra, "ex", 3);
	assert_int_equal(m->name_nbytes, 1);
	assert_memory_equal(m->name, "n", 1);
	assert_int_equal(m->comment_nbytes, 2);
	assert_memory_equal(m->comment, "co", 2);
	agz_decoder_free(decoder);
	test_drop(&gzip);
	test_drop(&one);
	test_drop(&text);
}

static void many_members(void **state)
{
	static const size_t sizes[] = {30, 2000};
	static const size_t counts[] = {20000, 2000};
	size_t e, k, i;

	(void)state;
	for (k = 0; k < 2; k++) {
		test_bytes text = test_data(TEST_TEXT, sizes[k]);
		test_bytes one = {NULL, 0, 0}, gzip = {NULL, 0, 0};

		test_add_member(&one, &text, 6, Z_DEFAULT_STRATEGY);
		for (i = 0; i < counts[k]; i++)
			test_add_bytes(&gzip, &one);
		for (e = 0; e < N_ENGINES; e++) {
			agz_decoder *decoder = new_decoder(engines[e], 0);
			struct result r;

			if (decoder == NULL)
				continue;
			r = decode(decoder, gzip.ptr, gzip.nbytes, 65536, 100000);
			assert_int_equal(r.code, AGZ_STREAM_DONE);
			assert_int_equal(r.members, counts[k]);
			assert_int_equal(r.out.nbytes, counts[k] * sizes[k]);
			test_drop(&r.out);
			agz_decoder_free(decoder);
		}
		test_drop(&gzip);
		test_drop(&one);
		test_drop(&text);
	}
}

/* ---- wrong input ------------------------------------------------------------------------ */

/* Cut at each byte: right bytes, then the error at the cut, unless it may end there. All
 * engines give the same bytes. */
static void truncated(void **state)
{
	test_bytes gzip = {NULL, 0, 0}, data = {NULL, 0, 0};
	size_t n, e;

	(void)state;
	make_stream(&gzip, &data);
	for (n = 0; n < gzip.nbytes; n++) {
		size_t expected = SIZE_MAX;

		for (e = 0; e < N_ENGINES * 2; e++) {
			agz_decoder *decoder = new_decoder(engines[e / 2], 0);
			struct result r;

			if (decoder == NULL)
				continue;
			r = decode(decoder, gzip.ptr, n, e % 2 ? 1 + n % 40 : SIZE_MAX,
			           e % 2 ? 1 + n % 90 : 10000);
			check_prefix(&r, &data);
			if (expected == SIZE_MAX)
				expected = r.out.nbytes;
			assert_int_equal(r.out.nbytes, expected);
			if (r.code != AGZ_STREAM_DONE) {
				assert_int_equal(r.code, AGZ_E_TRUNCATED);
				assert_int_equal(r.fault.in_offset, n);
				assert_int_equal(r.fault.member, r.members);
			} else {
				assert_true(n == 0 || r.members > 0);
			}
			test_drop(&r.out);
			agz_decoder_free(decoder);
		}
	}
	test_drop(&gzip);
	test_drop(&data);
}

/* Each bit flipped: the right bytes, or an error, and of the same kind as zlib's. */
static void each_bit(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 300);
	test_bytes gzip = {NULL, 0, 0};
	agz_decoder *decoders[N_ENGINES];
	size_t bit, e;

	(void)state;
	for (e = 0; e < N_ENGINES; e++)
		decoders[e] = new_decoder(engines[e], 0);
	test_add_member(&gzip, &text, 6, Z_DEFAULT_STRATEGY);
	test_add_member(&gzip, &text, 6, Z_HUFFMAN_ONLY);
	for (bit = 0; bit < gzip.nbytes * 8; bit++) {
		struct result zlib;

		gzip.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
		zlib = decode(decoders[1], gzip.ptr, gzip.nbytes, SIZE_MAX, 1000);
		for (e = 0; e < N_ENGINES; e++) {
			struct result r;
			size_t cut;

			if (decoders[e] == NULL)
				continue;
			cut = e == 1 ? 1 + bit % 17 : SIZE_MAX;
			r = decode(decoders[e], gzip.ptr, gzip.nbytes, cut, 1000);
			if (r.code == AGZ_STREAM_DONE && zlib.code == AGZ_E_DEFLATE) {
				/* A code that nobody uses; the checks were right. */
				assert_int_equal(r.out.nbytes, 2 * text.nbytes);
				assert_memory_equal(r.out.ptr, text.ptr, text.nbytes);
				assert_memory_equal(r.out.ptr + text.nbytes, text.ptr,
				                    text.nbytes);
			} else {
				assert_int_equal(r.code, zlib.code);
				assert_int_equal(r.members, zlib.members);
				/* What wrong deflate data decode to before it shows may differ. */
				if (r.code != AGZ_E_DEFLATE)
					check_bytes(&r, &zlib.out);
			}
			test_drop(&r.out);
		}
		test_drop(&zlib.out);
		gzip.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (e = 0; e < N_ENGINES; e++)
		agz_decoder_free(decoders[e]);
	test_drop(&gzip);
	test_drop(&text);
}

/* Feeds byte after byte; the first wrong one must fail, whatever would follow. */
static void expect_at(agz_decoder *decoder, const test_bytes *gzip, size_t at, int code,
                      uint64_t member, uint64_t in_offset)
{
	size_t i;
	int rc = 0;

	agz_decoder_reset(decoder);
	for (i = 0; i < gzip->nbytes && rc >= 0; i++) {
		agz_input in = {gzip->ptr + i, 1, 0};
		uint8_t block[1000];
		agz_output out = {block, sizeof(block), 0};

		while ((rc = agz_decoder_step(decoder, &in, &out, 0)) == AGZ_MEMBER_DONE)
			;
	}
	assert_int_equal(rc, code);
	assert_int_equal(i - 1, at);
	assert_int_equal(agz_decoder_fault(decoder)->member, member);
	assert_int_equal(agz_decoder_fault(decoder)->in_offset, in_offset);
}

static void first_wrong_byte(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 60);
	size_t e, i;

	(void)state;
	for (e = 0; e < N_ENGINES; e++) {
		agz_decoder *decoder = new_decoder(engines[e], 0);
		test_bytes gzip = {NULL, 0, 0};
		size_t n;

		if (decoder == NULL)
			continue;
		test_add_member(&gzip, &text, 6, Z_DEFAULT_STRATEGY);
		n = gzip.nbytes;
		/* Garbage behind the member, after padding too. */
		test_add(&gzip, "\0\0g", 3);
		expect_at(decoder, &gzip, n + 2, AGZ_E_MAGIC, 1, n + 2);
		assert_int_equal(agz_decoder_fault(decoder)->n_found, 1);
		assert_int_equal(agz_decoder_fault(decoder)->found[0], 'g');
		gzip.nbytes = n;
		test_add(&gzip, "\x1f!", 2);
		expect_at(decoder, &gzip, n + 1, AGZ_E_MAGIC, 1, n);
		assert_int_equal(agz_decoder_fault(decoder)->n_found, 2);
		assert_int_equal(agz_decoder_fault(decoder)->found[0], 0x1f);
		assert_int_equal(agz_decoder_fault(decoder)->found[1], '!');
		/* Each byte of the trailer. */
		for (i = 0; i < 8; i++) {
			gzip.ptr[n - 8 + i] ^= 1;
			expect_at(decoder, &gzip, n - 8 + i,
			          i < 4 ? AGZ_E_CRC : AGZ_E_ISIZE, 0,
			          i < 4 ? n - 8 : n - 4);
			gzip.ptr[n - 8 + i] ^= 1;
		}
		gzip.ptr[2] = 7;
		expect_at(decoder, &gzip, 2, AGZ_E_METHOD, 0, 2);
		agz_decoder_free(decoder);
		test_drop(&gzip);
	}
	test_drop(&text);
}

static void found_bytes(void **state)
{
	agz_decoder *decoder = new_decoder("auto", 0);
	struct result r = decode(decoder, (const uint8_t *)"<!DOCTYPE", 9, SIZE_MAX, 10);

	(void)state;
	assert_int_equal(r.code, AGZ_E_MAGIC);
	assert_int_equal(r.fault.n_found, 2);
	assert_memory_equal(r.fault.found, "<!", 2);
	test_drop(&r.out);
	agz_decoder_free(decoder);
}

/* Members too long for a log of them: an error of the right kind after right bytes. */
static void long_members(void **state)
{
	test_bytes data = test_data(TEST_TEXT, 600000);
	test_bytes gzip = {NULL, 0, 0};
	size_t e, i;

	(void)state;
	test_add_member(&gzip, &data, 6, Z_DEFAULT_STRATEGY);
	assert_true(gzip.nbytes > 100000);
	for (e = 0; e < N_ENGINES; e++) {
		agz_decoder *decoder = new_decoder(engines[e], 0);
		struct result r;

		if (decoder == NULL)
			continue;
		for (i = 0; i < 40; i++) {
			size_t n = gzip.nbytes - 1 - i * 1999;

			r = decode(decoder, gzip.ptr, n, 1 + test_below(60000),
			           1 + test_below(100000));
			assert_int_equal(r.code, AGZ_E_TRUNCATED);
			assert_int_equal(r.fault.in_offset, n);
			check_prefix(&r, &data);
			if (i == 0)
				assert_int_equal(r.out.nbytes, data.nbytes);
			test_drop(&r.out);
		}
		for (i = 0; i < 40; i++) {
			size_t at = gzip.nbytes - 1 - i * 1999;

			gzip.ptr[at] ^= 0x10;
			r = decode(decoder, gzip.ptr, gzip.nbytes, 1 + test_below(60000),
			           1 + test_below(100000));
			assert_true(r.code == AGZ_E_DEFLATE || r.code == AGZ_E_CRC ||
			            r.code == AGZ_E_ISIZE);
			test_drop(&r.out);
			gzip.ptr[at] ^= 0x10;
		}
		agz_decoder_free(decoder);
	}
	test_drop(&gzip);
	test_drop(&data);
}

/* ---- bounds ------------------------------------------------------------------------------ */

/* Each cap from 1 to beyond the size: every byte that is allowed, then the error. */
static void output_limit(void **state)
{
	test_bytes gzip = {NULL, 0, 0}, data = {NULL, 0, 0};
	size_t e, max;

	(void)state;
	make_stream(&gzip, &data);
	for (e = 0; e < N_ENGINES; e++)
		for (max = 1; max <= data.nbytes + 1;
		     max += max < 60 || max > data.nbytes - 9 ? 1 : 17) {
			agz_decoder *decoder = new_decoder(engines[e], max);
			size_t way;

			if (decoder == NULL)
				continue;
			for (way = 0; way < 3; way++) {
				struct result r = decode(decoder, gzip.ptr, gzip.nbytes,
				                         way == 1 ? 11 : SIZE_MAX,
				                         way == 2   ? max
				                         : way == 1 ? 5
				                                    : 9999);

				check_prefix(&r, &data);
				if (max >= data.nbytes) {
					assert_int_equal(r.code, AGZ_STREAM_DONE);
					assert_int_equal(r.out.nbytes, data.nbytes);
				} else {
					assert_int_equal(r.code, AGZ_E_OUTPUT_LIMIT);
					assert_int_equal(r.out.nbytes, max);
					assert_int_equal(r.fault.limit_nbytes, max);
				}
				test_drop(&r.out);
			}
			agz_decoder_free(decoder);
		}
	test_drop(&gzip);
	test_drop(&data);
}

/* 64 MiB of zeros from 64 KiB: memory does not depend on the ratio. */
static void bomb(void **state)
{
	test_bytes zeros = test_data(TEST_ZEROS, (size_t)1 << 22);
	test_bytes gzip = {NULL, 0, 0};
	z_stream z = {0};
	uint8_t *packed = malloc(1 << 20);
	size_t e;
	int i;

	(void)state;
	deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
	z.next_out = packed;
	z.avail_out = 1 << 20;
	for (i = 0; i < 16; i++) {
		z.next_in = zeros.ptr;
		z.avail_in = (unsigned)zeros.nbytes;
		deflate(&z, i == 15 ? Z_FINISH : Z_NO_FLUSH);
	}
	test_add(&gzip, packed, (1 << 20) - z.avail_out);
	deflateEnd(&z);
	for (e = 0; e < N_ENGINES; e++) {
		agz_decoder *decoder;
		agz_input in = {gzip.ptr, gzip.nbytes, 0};
		uint64_t total = 0;
		uint8_t block[4096];
		int rc;

		test_fail_after(-1);
		decoder = new_decoder(engines[e], 0);
		if (decoder == NULL)
			continue;
		do {
			agz_output out = {block, sizeof(block), 0};

			rc = agz_decoder_step(decoder, &in, &out, AGZ_INPUT_ENDS);
			total += out.pos;
		} while (rc == AGZ_OUTPUT_FULL);
		assert_int_equal(rc, AGZ_MEMBER_DONE);
		assert_int_equal(total, (uint64_t)1 << 26);
		assert_true(test_peak_nbytes() < 320 * 1024);
		agz_decoder_free(decoder);
		assert_int_equal(test_live(), 0);
	}
	free(packed);
	test_drop(&gzip);
	test_drop(&zeros);
}

static void no_memory(void **state)
{
	static const uint8_t named[] = "\x1f\x8b\x08\x18\0\0\0\0\0\xffname\0comment";
	test_bytes gzip = {NULL, 0, 0}, data = {NULL, 0, 0};
	size_t e, way;
	long n;

	(void)state;
	test_add(&gzip, named, sizeof(named));
	{
		test_bytes rest = {NULL, 0, 0};

		make_stream(&rest, &data);
		test_add(&gzip, rest.ptr + 10, rest.nbytes - 10);
		test_drop(&rest);
	}
	/* The last way is wrong at a bit, so that zlib is asked. */
	for (e = 0; e < N_ENGINES; e++)
		for (way = 0; way < 3; way++)
			for (n = 0;; n++) {
				agz_decoder_options options = AGZ_DECODER_OPTIONS_INIT;
				agz_decoder *decoder;
				int rc;

				options.engine = engines[e];
				options.collect = 1;
				test_fail_after(n);
				rc = agz_decoder_new(&options, &decoder);
				if (rc == AGZ_E_ENGINE)
					break;
				if (rc == AGZ_OK) {
					struct result r =
					        decode(decoder, gzip.ptr,
					               gzip.nbytes - (way == 2 ? 9 : 0),
					               way == 0 ? SIZE_MAX : 50, 10000);

					rc = r.code;
					check_prefix(&r, &data);
					test_drop(&r.out);
				} else {
					assert_null(decoder);
				}
				agz_decoder_free(decoder);
				assert_int_equal(test_live(), 0);
				if (!test_failed()) {
					assert_int_equal(rc, way == 2 ? AGZ_E_TRUNCATED
					                              : AGZ_STREAM_DONE);
					break;
				}
				assert_int_equal(rc, AGZ_E_NOMEM);
			}
	test_fail_after(-1);
	test_drop(&gzip);
	test_drop(&data);
}

/* ---- use ------------------------------------------------------------------------------------ */

/* A decoder that was left in any state decodes the next stream as a new one would. */
static void reset(void **state)
{
	test_bytes gzip = {NULL, 0, 0}, data = {NULL, 0, 0};
	size_t e, n;

	(void)state;
	make_stream(&gzip, &data);
	for (e = 0; e < N_ENGINES; e++) {
		agz_decoder *decoder = new_decoder(engines[e], 0);

		if (decoder == NULL)
			continue;
		for (n = 0; n < gzip.nbytes; n += 3) {
			uint8_t block[300];
			agz_input in = {gzip.ptr, n, 0};
			agz_output out = {block, sizeof(block), 0};
			struct result r;

			if (n % 2)
				gzip.ptr[n] ^= 0x55; /* a fault, sooner or later */
			in.nbytes = n % 2 ? gzip.nbytes : n;
			agz_decoder_step(decoder, &in, &out,
			                 n % 4 == 0 ? AGZ_INPUT_ENDS : 0);
			if (n % 2)
				gzip.ptr[n] ^= 0x55;
			r = decode(decoder, gzip.ptr, gzip.nbytes, SIZE_MAX, 10000);
			assert_int_equal(r.code, AGZ_STREAM_DONE);
			assert_int_equal(r.members, 4);
			check_bytes(&r, &data);
			test_drop(&r.out);
		}
		agz_decoder_free(decoder);
	}
	test_drop(&gzip);
	test_drop(&data);
}

static void options(void **state)
{
	agz_decoder_options o = AGZ_DECODER_OPTIONS_INIT;
	agz_decoder *decoder;

	(void)state;
	assert_int_equal(agz_decoder_new(NULL, &decoder), AGZ_OK);
	agz_decoder_free(decoder);
	o.engine = "nonesuch";
	assert_int_equal(agz_decoder_new(&o, &decoder), AGZ_E_ENGINE);
	assert_null(decoder);
	/* A struct of an older header ends before the fields that it does not know. */
	o.struct_nbytes = sizeof(size_t);
	assert_int_equal(agz_decoder_new(&o, &decoder), AGZ_OK);
	agz_decoder_free(decoder);
	o.struct_nbytes = 0;
	assert_int_equal(agz_decoder_new(&o, &decoder), AGZ_E_ARGUMENT);
	agz_decoder_free(NULL);
}

/* Random damage to random streams, all engines against zlib. */
static void random_damage(void **state)
{
	agz_decoder *decoders[N_ENGINES];
	int round;
	size_t e;

	(void)state;
	test_seed(2024);
	for (e = 0; e < N_ENGINES; e++)
		decoders[e] = new_decoder(engines[e], 0);
	for (round = 0; round < 1500; round++) {
		test_bytes gzip = {NULL, 0, 0};
		test_bytes data = test_data((enum test_kind)test_below(TEST_N_KINDS),
		                            test_below(20000));
		size_t damage = test_below(4);
		struct result zlib;

		test_add_member(&gzip, &data, (int)test_below(10), (int)test_below(5));
		if (test_below(3) == 0)
			test_add_member(&gzip, &data, 1, Z_FIXED);
		while (damage-- > 0)
			gzip.ptr[test_below(gzip.nbytes)] ^=
			        (uint8_t)(1 << test_below(8));
		if (test_below(4) == 0)
			gzip.nbytes = test_below(gzip.nbytes);
		zlib = decode(decoders[1], gzip.ptr, gzip.nbytes, SIZE_MAX, 50000);
		for (e = 0; e < N_ENGINES; e++) {
			struct result r;

			if (decoders[e] == NULL)
				continue;
			r = decode(decoders[e], gzip.ptr, gzip.nbytes,
			           test_below(2) ? SIZE_MAX : 1 + test_below(3000),
			           50000);
			if (r.code != AGZ_STREAM_DONE || zlib.code != AGZ_E_DEFLATE)
				assert_int_equal(r.code, zlib.code);
			if (zlib.code != AGZ_E_DEFLATE)
				check_bytes(&r, &zlib.out);
			test_drop(&r.out);
		}
		test_drop(&zlib.out);
		test_drop(&gzip);
		test_drop(&data);
	}
	for (e = 0; e < N_ENGINES; e++)
		agz_decoder_free(decoders[e]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(options),       cmocka_unit_test(empty_and_padding),
	        cmocka_unit_test(each_split),    cmocka_unit_test(each_kind),
	        cmocka_unit_test(grows),         cmocka_unit_test(live),
	        cmocka_unit_test(exact_room),    cmocka_unit_test(records),
	        cmocka_unit_test(many_members),  cmocka_unit_test(truncated),
	        cmocka_unit_test(each_bit),      cmocka_unit_test(first_wrong_byte),
	        cmocka_unit_test(found_bytes),   cmocka_unit_test(long_members),
	        cmocka_unit_test(output_limit),  cmocka_unit_test(bomb),
	        cmocka_unit_test(no_memory),     cmocka_unit_test(reset),
	        cmocka_unit_test(random_damage), cmocka_unit_test(grows_from_a_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
