/*
 * test_broken.c - attack: files that are cut short, have a bit flipped, go on too long or hold
 * more than is allowed must end in the right error and leave nothing behind. Small enough to
 * run under valgrind too, over each engine, through the decoder and through a reader.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "agz.h"
#include "support.h"

#define TEXT_NBYTES 200000
#define CAP         100000

enum kind { WHOLE, TRUNCATED, FLIPPED, GARBAGE, CAPPED, N_KINDS };

static const int expected[N_KINDS] = {AGZ_OK, AGZ_E_TRUNCATED, 0, AGZ_E_MAGIC,
                                      AGZ_E_OUTPUT_LIMIT};

static test_bytes make(enum kind kind)
{
	test_bytes text = test_data(TEST_TEXT, TEXT_NBYTES), gzip = {0};

	test_add_member(&gzip, &text, 6, Z_DEFAULT_STRATEGY);
	if (kind == TRUNCATED)
		gzip.nbytes /= 2;
	else if (kind == FLIPPED)
		gzip.ptr[gzip.nbytes / 2] ^= 4;
	else if (kind == GARBAGE)
		test_add(&gzip, "garbage", 7);
	test_drop(&text);
	return gzip;
}

/* A flipped bit shows where it hits, or in the checks of the trailer. */
static void check_end(enum kind kind, int rc)
{
	if (kind == FLIPPED)
		assert_true(AGZ_IS_CORRUPT(rc));
	else
		assert_int_equal(rc, expected[kind]);
}

static int decode(const test_bytes *gzip, const char *engine, uint64_t cap)
{
	agz_decoder_options opts = AGZ_DECODER_OPTIONS_INIT;
	agz_input in = {gzip->ptr, gzip->nbytes, 0};
	agz_decoder *decoder;
	char *room = malloc(65536);
	int rc;

	opts.engine = engine;
	opts.max_out_nbytes = cap;
	assert_int_equal(agz_decoder_new(&opts, &decoder), AGZ_OK);
	do {
		agz_output out = {room, 65536, 0};
		rc = agz_decoder_step(decoder, &in, &out, AGZ_INPUT_ENDS);
	} while (rc >= 0 && rc != AGZ_STREAM_DONE);
	agz_decoder_free(decoder);
	free(room);
	return rc < 0 ? rc : AGZ_OK;
}

static int read_all(const test_bytes *gzip, const char *engine, uint64_t cap,
                    agz_pool *pool, agz_waker *waker)
{
	agz_reader_options opts = AGZ_READER_OPTIONS_INIT;
	struct pollfd fd = {agz_waker_fd(waker), POLLIN, 0};
	agz_reader *reader;
	agz_block *block;
	int rc;

	opts.pool = pool;
	opts.waker = waker;
	opts.user = &opts;
	opts.source = AGZ_SOURCE_MEMORY;
	opts.memory = gzip->ptr;
	opts.memory_nbytes = gzip->nbytes;
	opts.max_out_nbytes = cap;
	opts.engine = engine;
	opts.flags = AGZ_READER_LINES | AGZ_READER_MEMBERS;
	assert_int_equal(agz_reader_open(&opts, &reader), AGZ_OK);
	while ((rc = agz_reader_take(reader, &block)) == AGZ_OK || rc == AGZ_WAIT) {
		if (rc == AGZ_OK) {
			agz_block_free(block);
			continue;
		}
		assert_true(poll(&fd, 1, -1) > 0);
		agz_waker_clear(waker);
		while (agz_waker_next(waker) != NULL)
			;
	}
	agz_reader_close(reader);
	return rc < 0 ? rc : AGZ_OK;
}

static void each_kind(void **state)
{
	const agz_engine_info *engine;
	agz_pool *pool;
	agz_waker *waker;

	(void)state;
	assert_int_equal(agz_pool_new(2, &pool), AGZ_OK);
	assert_int_equal(agz_waker_new(&waker), AGZ_OK);
	for (int kind = 0; kind < N_KINDS; kind++) {
		test_bytes gzip = make((enum kind)kind);
		uint64_t cap = kind == CAPPED ? CAP : 0;

		check_end(kind, decode(&gzip, NULL, cap));
		check_end(kind, read_all(&gzip, NULL, cap, pool, waker));
		for (size_t i = 0; (engine = agz_engine_at(i)) != NULL; i++) {
			if (!engine->inflates)
				continue;
			check_end(kind, decode(&gzip, engine->name, cap));
			check_end(kind, read_all(&gzip, engine->name, cap, pool, waker));
		}
		test_drop(&gzip);
	}
	agz_waker_free(waker);
	agz_pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(each_kind)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
