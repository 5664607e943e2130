/*
 * Attack: input and room cut at each byte, flushes anywhere and twice, on each engine; the
 * bytes against zlib's own; sizes at the 4 GiB bound; memory that runs out.
 */
#define _DEFAULT_SOURCE /* MAP_NORESERVE */

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

#include "agz/codec.h"
#include "support.h"

static const char *const engines[] = {"auto", "zlib", "zlib-ng", "isal"};

#define N_ENGINES (sizeof(engines) / sizeof(engines[0]))

/* What zlib writes, by the parameters of CPython's gzip module. flush_every 0: none. */
static test_bytes reference(const test_bytes *data, int level, size_t flush_every)
{
	uint8_t header[10] = {0x1f, 0x8b, 8, 0, 0xd2, 0x04, 0, 0, 0, 255};
	test_bytes gzip = {NULL, 0, 0}, raw = {NULL, 0, 0};
	size_t pos = 0;
	z_stream z = {0};
	uint8_t *out;
	size_t nbytes;
	int rc;

	header[8] = level == 9 ? 2 : level == 1 ? 4 : 0;
	assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY),
	                 Z_OK);
	nbytes = data->nbytes * 2 + 1000 +
	         (flush_every ? data->nbytes / flush_every * 20 : 0);
	out = malloc(nbytes);
	z.next_out = out;
	z.avail_out = (unsigned)nbytes;
	do {
		size_t n = data->nbytes - pos;

		if (flush_every && n > flush_every)
			n = flush_every;
		z.next_in = data->ptr + pos;
		z.avail_in = (unsigned)n;
		pos += n;
		if (flush_every && n > 0)
			assert_int_equal(deflate(&z, Z_SYNC_FLUSH), Z_OK);
		rc = pos == data->nbytes ? deflate(&z, Z_FINISH) : Z_OK;
	} while (rc == Z_OK);
	assert_int_equal(rc, Z_STREAM_END);
	test_add(&raw, out, nbytes - z.avail_out);
	free(out);
	deflateEnd(&z);
	test_add_wrapped(&gzip, &raw, data);
	memcpy(gzip.ptr, header, sizeof(header));
	test_drop(&raw);
	return gzip;
}

/* zlib's view of gzip data: one member that gives `data`, and nothing behind it. */
static void check_decodes(const test_bytes *gzip, const test_bytes *data)
{
	uint8_t *out = malloc(data->nbytes + 1);
	z_stream z = {0};

	inflateInit2(&z, 31);
	z.next_in = gzip->ptr;
	z.avail_in = (unsigned)gzip->nbytes;
	z.next_out = out;
	z.avail_out = (unsigned)data->nbytes + 1;
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	assert_int_equal(z.total_out, data->nbytes);
	assert_memory_equal(out, data->ptr, data->nbytes);
	inflateEnd(&z);
	free(out);
}

static agz_encoder *new_encoder(const char *engine, int level, int fast)
{
	agz_encoder_options options = AGZ_ENCODER_OPTIONS_INIT;
	agz_encoder *encoder;
	int rc;

	options.engine = engine;
	options.level = level;
	options.fast = fast;
	options.mtime = 1234;
	rc = agz_encoder_new(&options, &encoder);
	if (rc == AGZ_E_ENGINE)
		return NULL; /* not built in */
	assert_int_equal(rc, AGZ_OK);
	return encoder;
}

/* Runs a step until it wants nothing any more, in rooms of `room` bytes. Room and, where
 * it is short, input end at an unreadable page. */
static int drive(agz_encoder *encoder, const uint8_t *ptr, size_t nbytes, size_t room,
                 enum agz_flush flush, test_bytes *gzip)
{
	enum { GUARDED = 20000 };
	static uint8_t *guards[2];
	agz_input in = {ptr, nbytes, 0};
	uint8_t *block = malloc(room);
	int rc;

	if (guards[0] == NULL) {
		guards[0] = test_guard(NULL, GUARDED);
		guards[1] = test_guard(NULL, GUARDED);
	}
	if (nbytes > 0 && nbytes <= GUARDED) {
		in.ptr = guards[0] + GUARDED - nbytes;
		memcpy(guards[0] + GUARDED - nbytes, ptr, nbytes);
	}
	do {
		uint8_t *dst = room <= GUARDED ? guards[1] + GUARDED - room : block;
		agz_output out = {dst, room, 0};

		rc = agz_encoder_step(encoder, &in, &out, flush);
		assert_true(out.pos <= room && in.pos <= nbytes);
		assert_true(rc != AGZ_OUTPUT_FULL || out.pos == room);
		test_add(gzip, dst, out.pos);
	} while (rc == AGZ_OUTPUT_FULL);
	if (rc >= 0)
		assert_int_equal(in.pos, nbytes);
	free(block);
	return rc;
}

/* One member, the data in pieces, each flushed if `flush`. */
static test_bytes encode(agz_encoder *encoder, const test_bytes *data, size_t piece,
                         size_t room, bool flush)
{
	test_bytes gzip = {NULL, 0, 0};
	size_t pos = 0;

	while (pos < data->nbytes) {
		size_t n = data->nbytes - pos < piece ? data->nbytes - pos : piece;
		int rc = drive(encoder, data->ptr + pos, n, room,
		               flush ? AGZ_SYNC_FLUSH : AGZ_RUN, &gzip);

		assert_int_equal(rc, AGZ_NEEDS_INPUT);
		pos += n;
	}
	assert_int_equal(drive(encoder, NULL, 0, room, AGZ_FINISH, &gzip),
	                 AGZ_STREAM_DONE);
	assert_int_equal(agz_encoder_in_nbytes(encoder), data->nbytes);
	assert_int_equal(agz_encoder_crc32(encoder),
	                 crc32(0, data->ptr, (unsigned)data->nbytes));
	return gzip;
}

static void check_equal(const test_bytes *a, const test_bytes *b)
{
	assert_int_equal(a->nbytes, b->nbytes);
	assert_memory_equal(a->ptr, b->ptr, a->nbytes);
}

/* ---- tests ----------------------------------------------------------------------------- */

static void same_as_zlib(void **state)
{
	static const size_t sizes[] = {0, 1, 1000, 70000, 200000};
	int level, kind, i;

	(void)state;
	for (kind = 0; kind < TEST_N_KINDS; kind++)
		for (i = 0; i < 5; i++) {
			test_bytes data = test_data((enum test_kind)kind, sizes[i]);

			for (level = -1; level <= 9; level++) {
				agz_encoder *encoder = new_encoder("auto", level, 0);
				bool cut = level != 0 && data.nbytes <= 70000;
				test_bytes expected = reference(&data, level, 0);
				test_bytes gzip = encode(
				        encoder, &data,
				        cut ? 1 + test_below(3000) : SIZE_MAX,
				        cut ? 1 + test_below(500) : 1 << 20, false);

				if (level != 0)
					check_equal(&gzip, &expected);
				check_decodes(&gzip, &data);
				agz_encoder_free(encoder);
				test_drop(&gzip);
				test_drop(&expected);
			}
			test_drop(&data);
		}
}

static void each_split(void **state)
{
	test_bytes data = test_data(TEST_TEXT, 400);
	test_bytes expected = reference(&data, 6, 0);
	size_t cut;

	(void)state;
	for (cut = 1; cut <= data.nbytes; cut++) {
		agz_encoder *encoder = new_encoder(NULL, 6, 0);
		test_bytes gzip = encode(encoder, &data, cut, cut % 2 ? cut : 1, false);

		check_equal(&gzip, &expected);
		agz_encoder_free(encoder);
		test_drop(&gzip);
	}
	test_drop(&expected);
	test_drop(&data);
}

/* Flushed bytes are zlib's too, whatever the room: no marker is lost or written twice. */
static void flushes(void **state)
{
	static const size_t pieces[] = {1, 7, 100, 5000};
	test_bytes data = test_data(TEST_TEXT, 5000);
	size_t i, room;
	int level;

	(void)state;
	for (level = 1; level <= 9; level += 4)
		for (i = 0; i < 4; i++) {
			test_bytes some = data;
			test_bytes expected;

			some.nbytes = i == 0 ? 300 : data.nbytes;
			expected = reference(&some, level, pieces[i]);
			for (room = 1; room < 60; room += 1 + room / 8) {
				agz_encoder *encoder = new_encoder(NULL, level, 0);
				test_bytes gzip =
				        encode(encoder, &some, pieces[i], room, true);

				check_equal(&gzip, &expected);
				agz_encoder_free(encoder);
				test_drop(&gzip);
			}
			test_drop(&expected);
		}
	test_drop(&data);
}

/* After a flush all that was given can be decoded; a second one writes nothing. */
static void flushed_is_decodable(void **state)
{
	size_t e, room;
	int level;

	(void)state;
	for (e = 0; e < N_ENGINES; e++)
		for (level = 0; level <= 9; level += 3)
			for (room = 1; room < 5000;
			     room = room < 20 ? room + 1 : room * 3) {
				agz_encoder *encoder = new_encoder(engines[e], level, 0);
				test_bytes all = {NULL, 0, 0}, gzip = {NULL, 0, 0};
				uint8_t out[40000];
				z_stream z = {0};
				int i;

				if (encoder == NULL)
					continue;
				inflateInit2(&z, 31);
				/* A flush before anything was given writes the header alone. */
				drive(encoder, NULL, 0, room, AGZ_SYNC_FLUSH, &gzip);
				assert_int_equal(gzip.nbytes, 10);
				for (i = 0; i < 20; i++) {
					test_bytes text = test_data(
					        TEST_TEXT,
					        i == 7 ? 15000 : test_below(600));
					size_t before;

					if (i % 3 == 0)
						drive(encoder, text.ptr, text.nbytes,
						      room, AGZ_RUN, &gzip);
					else
						drive(encoder, text.ptr, text.nbytes,
						      room, AGZ_SYNC_FLUSH, &gzip);
					test_add_bytes(&all, &text);
					drive(encoder, NULL, 0, room, AGZ_SYNC_FLUSH,
					      &gzip);
					before = gzip.nbytes;
					drive(encoder, NULL, 0, room, AGZ_SYNC_FLUSH,
					      &gzip);
					assert_int_equal(gzip.nbytes, before);
					z.next_in = gzip.ptr + z.total_in;
					z.avail_in = (unsigned)(gzip.nbytes - z.total_in);
					z.next_out = out + z.total_out;
					z.avail_out =
					        (unsigned)(sizeof(out) - z.total_out);
					inflate(&z, Z_NO_FLUSH);
					assert_int_equal(z.total_out, all.nbytes);
					assert_memory_equal(out, all.ptr, all.nbytes);
					test_drop(&text);
				}
				drive(encoder, NULL, 0, room, AGZ_FINISH, &gzip);
				check_decodes(&gzip, &all);
				inflateEnd(&z);
				agz_encoder_free(encoder);
				test_drop(&gzip);
				test_drop(&all);
			}
}

static void each_engine(void **state)
{
	size_t e;
	int kind, level, way;

	(void)state;
	for (kind = 0; kind < TEST_N_KINDS; kind++) {
		test_bytes data = test_data((enum test_kind)kind, 200000);

		for (e = 0; e < N_ENGINES; e++)
			for (level = -1; level <= 9; level++)
				for (way = 0; way < 4; way++) {
					agz_encoder *encoder =
					        new_encoder(engines[e], level, e == 0);
					test_bytes gzip;

					if (encoder == NULL)
						continue;
					gzip = encode(encoder, &data,
					              way & 1 ? 1 + test_below(20000)
					                      : SIZE_MAX,
					              way & 2 ? 1 + test_below(3000)
					                      : 1 << 20,
					              way == 3);
					check_decodes(&gzip, &data);
					/* zlib-ng's level 1, of fixed codes, is not used but by name. */
					if (kind == TEST_NOISE && way == 0 &&
					    (e != 2 || level != 1))
						assert_true(gzip.nbytes <
						            data.nbytes +
						                    data.nbytes / 100 +
						                    100);
					agz_encoder_free(encoder);
					test_drop(&gzip);
				}
		test_drop(&data);
	}
}

/* Twice after the end, and a switch from a flush that ran out of room to the end. */
static void odd_orders(void **state)
{
	test_bytes data = test_data(TEST_TEXT, 900);
	size_t e, room;

	(void)state;
	for (e = 0; e < N_ENGINES; e++)
		for (room = 1; room < 40; room++) {
			agz_encoder *encoder = new_encoder(engines[e], 6, 0);
			agz_input in = {data.ptr, data.nbytes, 0};
			test_bytes gzip = {NULL, 0, 0};
			uint8_t block[40];
			size_t steps = room * 3;
			size_t before;
			int rc;

			if (encoder == NULL)
				continue;
			do {
				agz_output out = {block, room, 0};

				rc = agz_encoder_step(encoder, &in, &out, AGZ_SYNC_FLUSH);
				test_add(&gzip, block, out.pos);
			} while (rc == AGZ_OUTPUT_FULL && --steps > 0);
			rc = drive(encoder, data.ptr + in.pos, data.nbytes - in.pos, room,
			           AGZ_FINISH, &gzip);
			assert_int_equal(rc, AGZ_STREAM_DONE);
			check_decodes(&gzip, &data);
			before = gzip.nbytes;
			assert_int_equal(drive(encoder, NULL, 0, room, AGZ_FINISH, &gzip),
			                 AGZ_STREAM_DONE);
			assert_int_equal(gzip.nbytes, before);
			agz_encoder_free(encoder);
			test_drop(&gzip);
		}
	test_drop(&data);
}

/* All at once: AGZ_FINISH with the data, in one step. */
static void one_step(void **state)
{
	test_bytes data = test_data(TEST_JSON, 100000);
	test_bytes expected = reference(&data, 6, 0);
	agz_encoder *encoder = new_encoder(NULL, 6, 0);
	uint8_t *block = malloc(200000);
	agz_input in = {data.ptr, data.nbytes, 0};
	agz_output out = {block, 200000, 0};

	(void)state;
	assert_int_equal(agz_encoder_step(encoder, &in, &out, AGZ_FINISH),
	                 AGZ_STREAM_DONE);
	assert_int_equal(out.pos, expected.nbytes);
	assert_memory_equal(block, expected.ptr, out.pos);
	agz_encoder_free(encoder);
	free(block);
	test_drop(&expected);
	test_drop(&data);
}

static void header_first(void **state)
{
	agz_encoder_options options = AGZ_ENCODER_OPTIONS_INIT;
	agz_encoder *encoder;
	test_bytes gzip = {NULL, 0, 0};

	(void)state;
	options.name = (const uint8_t *)"x.txt";
	options.name_nbytes = 5;
	options.level = 9;
	assert_int_equal(agz_encoder_new(&options, &encoder), AGZ_OK);
	assert_int_equal(drive(encoder, NULL, 0, 3, AGZ_RUN, &gzip), AGZ_NEEDS_INPUT);
	assert_int_equal(gzip.nbytes, 16);
	assert_memory_equal(gzip.ptr, "\x1f\x8b\x08\x08\0\0\0\0\x02\xffx.txt", 16);
	agz_encoder_free(encoder);
	test_drop(&gzip);
}

/* Before each block of memory lies what the data are made of. */
#define LEAD_NBYTES 65536

static void *behind_data(size_t nbytes)
{
	uint8_t *ptr = malloc(LEAD_NBYTES + nbytes);

	if (ptr == NULL)
		return NULL;
	memset(ptr, 'b', LEAD_NBYTES);
	return ptr + LEAD_NBYTES;
}

static void free_behind_data(void *ptr)
{
	if (ptr != NULL)
		free((uint8_t *)ptr - LEAD_NBYTES);
}

/* A flush after so few bytes that an engine has no history yet: what follows must not be
 * found in what lies before the engine's memory. */
static void first_flush(void **state)
{
	const agz_allocator allocator = {behind_data, NULL, free_behind_data};
	test_bytes data = {NULL, 0, 0};

	(void)state;
	test_add_fill(&data, 'b', 200);
	data.ptr[0] = data.ptr[1] = data.ptr[2] = 'a';
	agz_set_allocator(&allocator);
	for (size_t i = 0; i < N_ENGINES * 10; i++) {
		for (size_t first = 1; first < 4; first++) {
			test_bytes gzip = {NULL, 0, 0};
			agz_encoder *e = new_encoder(engines[i / 10], (int)i % 10, 0);

			if (e == NULL)
				continue;
			drive(e, data.ptr, first, 1000, AGZ_SYNC_FLUSH, &gzip);
			drive(e, data.ptr + first, data.nbytes - first, 1000, AGZ_RUN,
			      &gzip);
			drive(e, NULL, 0, 1000, AGZ_SYNC_FLUSH, &gzip);
			drive(e, NULL, 0, 1000, AGZ_FINISH, &gzip);
			check_decodes(&gzip, &data);
			agz_encoder_free(e);
			test_drop(&gzip);
		}
	}
	agz_set_allocator(NULL);
	test_drop(&data);
}

static void wrong_options(void **state)
{
	agz_encoder_options o = AGZ_ENCODER_OPTIONS_INIT;
	agz_encoder *encoder;

	(void)state;
	o.level = 10;
	assert_int_equal(agz_encoder_new(&o, &encoder), AGZ_E_ARGUMENT);
	assert_null(encoder);
	o.level = -2;
	assert_int_equal(agz_encoder_new(&o, &encoder), AGZ_E_ARGUMENT);
	o.level = 6;
	o.name = (const uint8_t *)"a\0b";
	o.name_nbytes = 3;
	assert_int_equal(agz_encoder_new(&o, &encoder), AGZ_E_ARGUMENT);
	assert_null(encoder);
	o.name = NULL;
	o.engine = "nonesuch";
	assert_int_equal(agz_encoder_new(&o, &encoder), AGZ_E_ENGINE);
	o.struct_nbytes = 0;
	assert_int_equal(agz_encoder_new(&o, &encoder), AGZ_E_ARGUMENT);
	assert_int_equal(agz_encoder_new(NULL, &encoder), AGZ_OK);
	agz_encoder_free(encoder);
	agz_encoder_free(NULL);
}

/* 4 GiB of address space, none of which is read when it is refused. */
static void strict_size(void **state)
{
	size_t nbytes = (size_t)UINT32_MAX + 1;
	agz_encoder_options options = AGZ_ENCODER_OPTIONS_INIT;
	agz_encoder *encoder;
	uint8_t block[100];
	agz_output out = {block, sizeof(block), 0};
	agz_input in = {NULL, 0, 0};
	void *map;

	(void)state;
	if (sizeof(size_t) < 8)
		skip();
	map = mmap(NULL, nbytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	           -1, 0);
	if (map == MAP_FAILED)
		skip();
	options.strict_size = 1;
	assert_int_equal(agz_encoder_new(&options, &encoder), AGZ_OK);
	in.ptr = map;
	in.nbytes = nbytes - 1;
	assert_int_equal(agz_encoder_step(encoder, &in, &out, AGZ_RUN), AGZ_OUTPUT_FULL);
	assert_true(in.pos > 0);
	in.nbytes = nbytes;
	out.pos = 0;
	assert_int_equal(agz_encoder_step(encoder, &in, &out, AGZ_RUN),
	                 AGZ_E_MEMBER_SIZE);
	assert_int_equal(out.pos, 0);
	assert_int_equal(agz_encoder_fault(encoder)->code, AGZ_E_MEMBER_SIZE);
	in.nbytes = in.pos;
	assert_int_equal(agz_encoder_step(encoder, &in, &out, AGZ_FINISH),
	                 AGZ_E_MEMBER_SIZE);
	agz_encoder_free(encoder);
	munmap(map, nbytes);
}

static void no_memory(void **state)
{
	test_bytes data = test_data(TEST_TEXT, 3000);
	size_t e;
	long n;

	(void)state;
	for (e = 0; e < N_ENGINES; e++)
		for (n = 0;; n++) {
			agz_encoder_options options = AGZ_ENCODER_OPTIONS_INIT;
			agz_encoder *encoder;
			int rc;

			options.engine = engines[e];
			options.name = (const uint8_t *)"name";
			options.name_nbytes = 4;
			test_fail_after(n);
			rc = agz_encoder_new(&options, &encoder);
			if (rc == AGZ_E_ENGINE)
				break;
			if (rc == AGZ_OK) {
				test_bytes gzip = encode(encoder, &data, 100, 100, false);

				check_decodes(&gzip, &data);
				/* One encoder's memory; zlib's is 264 KiB. */
				assert_true(test_peak_nbytes() < 512 * 1024);
				test_drop(&gzip);
			} else {
				assert_null(encoder);
				assert_int_equal(rc, AGZ_E_NOMEM);
			}
			agz_encoder_free(encoder);
			assert_int_equal(test_live(), 0);
			if (!test_failed()) {
				assert_int_equal(rc, AGZ_OK);
				break;
			}
		}
	test_fail_after(-1);
	test_drop(&data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(wrong_options),
	        cmocka_unit_test(header_first),
	        cmocka_unit_test(one_step),
	        cmocka_unit_test(same_as_zlib),
	        cmocka_unit_test(each_split),
	        cmocka_unit_test(flushes),
	        cmocka_unit_test(flushed_is_decodable),
	        cmocka_unit_test(each_engine),
	        cmocka_unit_test(odd_orders),
	        cmocka_unit_test(first_flush),
	        cmocka_unit_test(strict_size),
	        cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
