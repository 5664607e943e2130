/*
 * Attack: the engines against zlib on raw deflate: streams that only a hand makes (codes of
 * one symbol, no distance code, distances that reach too far), the bytes read ahead of the
 * end, rooms of no byte, and faults whose output has to come first.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"
#include "codec/engine.h"
#include "support.h"

/* ---- deflate by hand ---------------------------------------------------------------- */

/* Canonical codes of these lengths, as RFC 1951 numbers them. */
static void number(const uint8_t *lengths, size_t n, uint32_t *codes)
{
	uint32_t code = 0;
	unsigned length;
	size_t i;

	for (length = 1; length <= 15; length++, code <<= 1)
		for (i = 0; i < n; i++)
			if (lengths[i] == length)
				codes[i] = code++;
}

struct block {
	test_bits bits;
	uint8_t literal[288], distance[32];
	uint32_t literal_code[288], distance_code[32];
	size_t n_distances; /* sent */
};

/* The header of a dynamic block; the code length code is 4 bits for each of 0 to 15. */
static void begin_dynamic(struct block *b, bool final)
{
	static const uint8_t order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
	                                11, 4,  12, 3, 13, 2, 14, 1, 15};
	size_t i;

	number(b->literal, 288, b->literal_code);
	number(b->distance, 32, b->distance_code);
	test_put(&b->bits, final, 1);
	test_put(&b->bits, 2, 2);
	test_put(&b->bits, 286 - 257, 5);
	test_put(&b->bits, (uint32_t)b->n_distances - 1, 5);
	test_put(&b->bits, 19 - 4, 4);
	for (i = 0; i < 19; i++)
		test_put(&b->bits, order[i] < 16 ? 4 : 0, 3);
	for (i = 0; i < 286; i++)
		test_put_code(&b->bits, b->literal[i], 4);
	for (i = 0; i < b->n_distances; i++)
		test_put_code(&b->bits, b->distance[i], 4);
}

static void put_literal(struct block *b, unsigned symbol)
{
	test_put_code(&b->bits, b->literal_code[symbol], b->literal[symbol]);
}

static void put_distance(struct block *b, unsigned symbol)
{
	test_put_code(&b->bits, b->distance_code[symbol], b->distance[symbol]);
}

/* ---- running ------------------------------------------------------------------------- */

struct result {
	test_bytes out;
	int code; /* AGZ__END, AGZ__NEEDS_INPUT at the end of the input, or an error */
	size_t taken; /* less what tail() gave back */
};

static struct result run(const struct agz__inflater *inflater, void *state,
                         const uint8_t *ptr, size_t nbytes, size_t piece, size_t room)
{
	struct result r = {{NULL, 0, 0}, 0, 0};
	uint8_t tail[AGZ__TAIL_MAX];
	uint8_t *out = malloc(room);
	size_t guard_nbytes = piece < nbytes ? piece : nbytes;
	uint8_t *guard = test_guard(NULL, guard_nbytes);

	test_add(&r.out, "", 0);
	inflater->reset(state);
	do {
		size_t n = nbytes - r.taken < piece ? nbytes - r.taken : piece;
		uint8_t *span = guard + guard_nbytes - n;
		agz__flow flow = {span, n, out, 0};
		bool ends = r.taken + n == nbytes;

		memcpy(span, ptr + r.taken, n);
		do {
			flow.out = out;
			flow.out_nbytes = room;
			r.code = inflater->step(state, &flow, ends);
			assert_true(r.code != AGZ__NEEDS_ROOM || flow.out_nbytes == 0);
			assert_true(r.code != AGZ__NEEDS_INPUT || flow.in_nbytes == 0);
			test_add(&r.out, out, room - flow.out_nbytes);
		} while (r.code == AGZ__NEEDS_ROOM && r.out.nbytes < 1 << 22);
		r.taken += n - flow.in_nbytes;
	} while (r.code == AGZ__NEEDS_INPUT && r.taken < nbytes);
	if (r.code == AGZ__END && inflater->tail != NULL) {
		size_t n = inflater->tail(state, tail);

		assert_true(n <= r.taken);
		assert_memory_equal(tail, ptr + r.taken - n, n);
		r.taken -= n;
	}
	test_unguard(guard, guard_nbytes);
	free(out);
	return r;
}

/* Every engine on one stream, whole and in pieces; `code` and `text` are the right answer,
 * and `taken` where the stream ends. */
static void check(const test_bytes *deflate_stream, int code, const void *text,
                  size_t nbytes, size_t taken)
{
	static const size_t cuts[][2] = {{SIZE_MAX, 1 << 20}, {1, 1},
	                                 {1, 1 << 20},        {3, 7},
	                                 {SIZE_MAX, 1},       {70, 40000}};
	const agz_engine_info *info;
	size_t i, e;

	for (e = 0; (info = agz_engine_at(e)) != NULL; e++) {
		struct agz__inflate_choice choice;
		const struct agz__inflater *inflater;
		void *state;

		if (!info->inflates)
			continue;
		assert_int_equal(agz__choose_inflate(info->name, &choice), AGZ_OK);
		inflater = choice.stream->inflater;
		state = inflater->create();
		assert_non_null(state);
		for (i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
			struct result r =
			        run(inflater, state, deflate_stream->ptr,
			            deflate_stream->nbytes, cuts[i][0], cuts[i][1]);

			if (r.code != code || r.out.nbytes != nbytes)
				print_message("%s, cut %zu/%zu: code %d, %zu bytes\n",
				              info->name, cuts[i][0], cuts[i][1], r.code,
				              r.out.nbytes);
			assert_int_equal(r.code, code);
			assert_int_equal(r.out.nbytes, nbytes);
			assert_memory_equal(r.out.ptr, text, nbytes);
			if (code == AGZ__END)
				assert_int_equal(r.taken, taken);
			test_drop(&r.out);
		}
		inflater->destroy(state);
	}
}

/* ---- tests ---------------------------------------------------------------------------- */

static void one_distance_code(void **state)
{
	struct block b = {.n_distances = 1};
	size_t n;

	(void)state;
	b.literal['a'] = 1;
	b.literal[256] = 2;
	b.literal[257] = 2; /* length 3 */
	b.distance[0] = 1;  /* distance 1: the only code, one bit, as RFC 1951 allows */
	begin_dynamic(&b, true);
	put_literal(&b, 'a');
	put_literal(&b, 257);
	put_distance(&b, 0);
	put_literal(&b, 256);
	n = b.bits.bytes.nbytes;
	test_add(&b.bits.bytes, "trailers", 8);
	check(&b.bits.bytes, AGZ__END, "aaaa", 4, n);
	test_drop(&b.bits.bytes);
}

static void no_distance_code(void **state)
{
	struct block b = {.n_distances = 1};
	size_t n;

	(void)state;
	b.literal['a'] = 1;
	b.literal[256] = 1;
	begin_dynamic(&b, true);
	put_literal(&b, 'a');
	put_literal(&b, 'a');
	put_literal(&b, 256);
	n = b.bits.bytes.nbytes;
	test_add(&b.bits.bytes, "trailers and more", 17);
	check(&b.bits.bytes, AGZ__END, "aa", 2, n);
	test_drop(&b.bits.bytes);
}

/* The unused half of a code of one symbol. */
static void missing_code_used(void **state)
{
	struct block b = {.n_distances = 1};

	(void)state;
	b.literal['a'] = 1;
	b.literal[256] = 2;
	b.literal[257] = 2;
	b.distance[0] = 1;
	begin_dynamic(&b, true);
	put_literal(&b, 'a');
	put_literal(&b, 'a');
	put_literal(&b, 257);
	test_put(&b.bits, 1, 1);
	put_literal(&b, 256);
	test_add(&b.bits.bytes, "................", 16);
	check(&b.bits.bytes, AGZ_E_DEFLATE, "aa", 2, 0);
	test_drop(&b.bits.bytes);
}

/* zlib refuses a block whose literal code is not complete, ISA-L only what uses it. */
static void incomplete_literals(void **state)
{
	struct block b = {.n_distances = 1};
	const agz_engine_info *info;
	size_t e;

	(void)state;
	b.literal['a'] = 2;
	b.literal['b'] = 2;
	b.literal[256] = 2;
	begin_dynamic(&b, true);
	put_literal(&b, 'a');
	put_literal(&b, 'b');
	test_put(&b.bits, 3, 2);
	test_add(&b.bits.bytes, "................", 16);
	/* In one step: bytes that went out in an earlier one cannot be taken back. */
	for (e = 0; (info = agz_engine_at(e)) != NULL; e++) {
		struct agz__inflate_choice choice;
		struct result r;
		void *s;

		if (!info->inflates)
			continue;
		agz__choose_inflate(info->name, &choice);
		s = choice.stream->inflater->create();
		r = run(choice.stream->inflater, s, b.bits.bytes.ptr, b.bits.bytes.nbytes,
		        SIZE_MAX, 100);
		assert_int_equal(r.code, AGZ_E_DEFLATE);
		assert_int_equal(r.out.nbytes, 0);
		test_drop(&r.out);
		choice.stream->inflater->destroy(s);
	}
	test_drop(&b.bits.bytes);
}

/* A match that begins before the stream must not show what lay there. */
static void too_far(void **state)
{
	static const uint8_t first[] = "secret secret secret";
	struct block b = {.n_distances = 5};
	const agz_engine_info *info;
	size_t e;

	(void)state;
	b.literal['a'] = 1;
	b.literal[256] = 2;
	b.literal[257] = 2;
	b.distance[0] = 1;
	b.distance[4] = 1; /* distance 5 or 6 */
	begin_dynamic(&b, true);
	put_literal(&b, 'a');
	put_literal(&b, 'a');
	put_literal(&b, 257);
	put_distance(&b, 4);
	test_put(&b.bits, 0, 1);
	put_literal(&b, 256);
	check(&b.bits.bytes, AGZ_E_DEFLATE, "aa", 2, 0);

	/* With a stream before it in the same room, and in the same engine. */
	for (e = 0; (info = agz_engine_at(e)) != NULL; e++) {
		struct agz__inflate_choice choice;
		uint8_t packed[100], out[100];
		uLongf packed_nbytes = sizeof(packed);
		agz__flow flow;
		void *s;

		if (!info->inflates)
			continue;
		agz__choose_inflate(info->name, &choice);
		s = choice.stream->inflater->create();
		assert_int_equal(compress(packed, &packed_nbytes, first, sizeof(first)),
		                 Z_OK);
		flow = (agz__flow){packed + 2, packed_nbytes - 6, out, sizeof(out)};
		assert_int_equal(choice.stream->inflater->step(s, &flow, false),
		                 AGZ__END);
		choice.stream->inflater->reset(s);
		flow.in = b.bits.bytes.ptr;
		flow.in_nbytes = b.bits.bytes.nbytes;
		assert_int_equal(choice.stream->inflater->step(s, &flow, false),
		                 AGZ_E_DEFLATE);
		assert_int_equal(sizeof(out) - flow.out_nbytes, sizeof(first) + 2);
		choice.stream->inflater->destroy(s);
	}
	test_drop(&b.bits.bytes);
}

/* Distances of up to 32 KiB, over many steps, with stored blocks between. */
static void far_matches(void **state)
{
	test_bytes noise = test_data(TEST_NOISE, 32768 - 300);
	test_bytes data = {NULL, 0, 0};
	test_bytes gzip = {NULL, 0, 0};
	test_bytes raw;
	int i;

	(void)state;
	for (i = 0; i < 6; i++) {
		test_bytes text = test_data(TEST_TEXT, 200 + (size_t)i * 17);

		test_add_bytes(&data, &noise);
		test_add_bytes(&data, &text);
		test_drop(&text);
	}
	test_add_member(&gzip, &data, 9, Z_DEFAULT_STRATEGY);
	raw.ptr = gzip.ptr + 10;
	raw.nbytes = gzip.nbytes - 10;
	check(&raw, AGZ__END, data.ptr, data.nbytes, raw.nbytes - 8);
	test_drop(&gzip);
	test_drop(&data);
	test_drop(&noise);
}

/* What comes before a fault is written first, in rooms of any size. */
static void before_a_fault(void **state)
{
	test_bytes data = test_data(TEST_TEXT, 3000);
	test_bytes gzip = {NULL, 0, 0};
	test_bits bits = {{NULL, 0, 0}, 0};
	z_stream z = {0};
	uint8_t out[8192];

	(void)state;
	deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
	z.next_in = data.ptr;
	z.avail_in = (unsigned)data.nbytes;
	z.next_out = out;
	z.avail_out = sizeof(out);
	assert_int_equal(deflate(&z, Z_SYNC_FLUSH), Z_OK);
	test_add(&bits.bytes, out, sizeof(out) - z.avail_out);
	deflateEnd(&z);
	test_put(&bits, 7, 8); /* a block of a type that there is not */
	check(&bits.bytes, AGZ_E_DEFLATE, data.ptr, data.nbytes, 0);
	test_drop(&bits.bytes);
	test_drop(&gzip);
	test_drop(&data);
}

static void whole_or_refused(void **state)
{
	test_bytes data = test_data(TEST_JSON, 5000);
	test_bytes gzip = {NULL, 0, 0};
	struct agz__inflate_choice choice;
	const struct agz__whole_inflater *whole;
	uint8_t *out = test_guard(NULL, data.nbytes);
	size_t taken, made, n;
	void *s;

	(void)state;
	test_add_member(&gzip, &data, 6, Z_DEFAULT_STRATEGY);
	assert_int_equal(agz__choose_inflate("auto", &choice), AGZ_OK);
	if (choice.whole != NULL) {
		whole = choice.whole->whole;
		s = whole->create();
		assert_true(whole->inflate(s, gzip.ptr + 10, gzip.nbytes - 10, out,
		                           data.nbytes, &taken, &made));
		assert_int_equal(made, data.nbytes);
		assert_int_equal(taken, gzip.nbytes - 18);
		assert_memory_equal(out, data.ptr, made);
		for (n = 0; n < taken; n += 7)
			assert_false(whole->inflate(s, gzip.ptr + 10, n, out, data.nbytes,
			                            &taken, &made));
		for (n = 0; n < data.nbytes; n += 61)
			assert_false(whole->inflate(s, gzip.ptr + 10, gzip.nbytes - 10,
			                            out + data.nbytes - n, n, &taken,
			                            &made));
		whole->destroy(s);
	}
	test_unguard(out, data.nbytes);
	test_drop(&gzip);
	test_drop(&data);
}

static void choices(void **state)
{
	struct agz__inflate_choice choice;
	struct agz__deflate_choice deflate_choice;
	const agz_engine_info *info;
	const char *outer = getenv("AGZ_ENGINE");
	char *kept = outer != NULL ? strdup(outer) : NULL;
	size_t i;
	int level;

	(void)state;
	unsetenv("AGZ_ENGINE");
	assert_non_null(agz_engine_at(0));
	assert_null(agz_engine_at(1000));
	for (i = 0; (info = agz_engine_at(i)) != NULL; i++) {
		assert_non_null(info->version);
		assert_int_equal(agz__choose_inflate(info->name, &choice), AGZ_OK);
		assert_non_null(choice.stream->inflater);
		if (info->inflates) {
			assert_string_equal(agz_engine_for_inflate(info->name),
			                    info->name);
			assert_null(choice.whole);
		} else {
			assert_non_null(choice.whole);
		}
		for (level = -1; level <= 9; level++) {
			const char *name = agz_engine_for_deflate(info->name, level, 0);

			if (info->deflates)
				assert_string_equal(name, info->name);
			else
				assert_null(name);
		}
		setenv("AGZ_ENGINE", info->name, 1);
		if (info->inflates)
			assert_string_equal(agz_engine_for_inflate(NULL), info->name);
		/* The bytes that are written do not depend on it. */
		assert_string_equal(agz_engine_for_deflate(NULL, 6, 0), "zlib");
		unsetenv("AGZ_ENGINE");
	}
	assert_string_equal(agz_engine_for_inflate("auto"), agz_engine_at(0)->name);
	assert_null(agz_engine_for_inflate("nonesuch"));
	assert_null(agz_engine_for_deflate("nonesuch", 6, 0));
	assert_int_equal(agz__choose_deflate("zlib", 10, false, &deflate_choice),
	                 AGZ_E_ARGUMENT);
	assert_int_equal(agz__choose_deflate(NULL, -2, true, &deflate_choice),
	                 AGZ_E_ARGUMENT);
	setenv("AGZ_ENGINE", "nonesuch", 1);
	assert_int_equal(agz__choose_inflate(NULL, &choice), AGZ_E_ENGINE);
	assert_int_equal(agz__choose_inflate("zlib", &choice), AGZ_OK);
	setenv("AGZ_ENGINE", "", 1);
	assert_int_equal(agz__choose_inflate(NULL, &choice), AGZ_OK);
	if (kept != NULL)
		setenv("AGZ_ENGINE", kept, 1);
	else
		unsetenv("AGZ_ENGINE");
	free(kept);
}

/* Every level has an engine and a level of that engine. */
static void fast_levels(void **state)
{
	int level;

	(void)state;
	for (level = -1; level <= 9; level++) {
		struct agz__deflate_choice choice;

		assert_int_equal(agz__choose_deflate(NULL, level, true, &choice), AGZ_OK);
		assert_non_null(choice.engine->deflater);
		assert_true(choice.level >= 0 && choice.level <= 9);
		assert_string_equal(agz_engine_for_deflate(NULL, level, 1),
		                    choice.engine->info.name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(choices),
	        cmocka_unit_test(fast_levels),
	        cmocka_unit_test(one_distance_code),
	        cmocka_unit_test(no_distance_code),
	        cmocka_unit_test(missing_code_used),
	        cmocka_unit_test(incomplete_literals),
	        cmocka_unit_test(too_far),
	        cmocka_unit_test(far_matches),
	        cmocka_unit_test(before_a_fault),
	        cmocka_unit_test(whole_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
