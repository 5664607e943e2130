/*
 * Attack: lengths and alignments where a vector loop begins or ends, and combined spans of
 * any length, zero and more than 4 GiB included; against the definition, bit by bit.
 */
#include <stdlib.h>
#include <string.h>

#include "agz/codec.h"
#include "support.h"

static uint32_t by_definition(uint32_t crc, const uint8_t *ptr, size_t nbytes)
{
	int i;

	crc = ~crc;
	while (nbytes-- > 0) {
		crc ^= *ptr++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static void known(void **state)
{
	(void)state;
	assert_int_equal(agz_crc32(0, "123456789", 9), 0xcbf43926u);
	assert_int_equal(agz_crc32(0, NULL, 0), 0);
	assert_int_equal(agz_crc32(0x1234u, NULL, 0), 0x1234u);
	assert_non_null(agz_engine_for_crc32());
}

static void lengths(void **state)
{
	test_bytes data = test_data(TEST_NOISE, 5000);
	size_t n;

	(void)state;
	for (n = 0; n < 1100; n++) {
		uint8_t *end = test_guard(data.ptr, n);
		uint32_t expected = by_definition(0, data.ptr, n);
		size_t cut = test_below(n + 1);

		assert_int_equal(agz_crc32(0, end, n), expected);
		assert_int_equal(agz_crc32(agz_crc32(0, end, cut), end + cut, n - cut),
		                 expected);
		test_unguard(end, n);
	}
	for (n = 0; n < 64; n++)
		assert_int_equal(agz_crc32(77, data.ptr + n, 4900),
		                 by_definition(77, data.ptr + n, 4900));
	test_drop(&data);
}

static void combine(void **state)
{
	test_bytes data = test_data(TEST_TEXT, 2000);
	uint32_t whole = by_definition(0, data.ptr, data.nbytes);
	uint32_t zeros = 0;
	uint64_t n;
	size_t i;

	(void)state;
	for (i = 0; i <= data.nbytes; i++) {
		uint32_t a = agz_crc32(0, data.ptr, i);
		uint32_t b = agz_crc32(0, data.ptr + i, data.nbytes - i);

		assert_int_equal(agz_crc32_combine(a, b, data.nbytes - i), whole);
	}
	test_drop(&data);

	/* 2^k zeros, by doubling, up to 2^40 of them. */
	zeros = by_definition(0, (const uint8_t *)"", 1);
	for (n = 1; n < (uint64_t)1 << 40; n *= 2) {
		uint32_t twice = agz_crc32_combine(zeros, zeros, n);

		if (n == 1024) {
			uint8_t *block = calloc(2048, 1);

			assert_int_equal(twice, by_definition(0, block, 2048));
			free(block);
		}
		/* (A B) C = A (B C) */
		assert_int_equal(agz_crc32_combine(twice, zeros, n),
		                 agz_crc32_combine(zeros, twice, 2 * n));
		zeros = twice;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(known),
	        cmocka_unit_test(lengths),
	        cmocka_unit_test(combine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
