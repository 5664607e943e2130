/*
 * test_lines.c - attacks the line finder: every mode on every kind of processor against a
 * byte-by-byte model, text that ends at an unreadable page, room for ends that runs out at
 * each place, bytes that differ from a line end in one bit, seams at each place.
 */
#define _GNU_SOURCE 1

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text_support.h"
#include "text/lines.h"

static size_t model_ends(enum agz_newline newline, const uint8_t *d, size_t n,
                         uint32_t *ends)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		int is_end = 0;
		switch (newline) {
		case AGZ_NEWLINE_LF:
			is_end = d[i] == '\n';
			break;
		case AGZ_NEWLINE_CR:
			is_end = d[i] == '\r';
			break;
		case AGZ_NEWLINE_CRLF:
			is_end = d[i] == '\n' && i > 0 && d[i - 1] == '\r';
			break;
		case AGZ_NEWLINE_ANY:
			is_end = d[i] == '\n' ||
			         (d[i] == '\r' && i + 1 < n && d[i + 1] != '\n');
			break;
		}
		if (is_end)
			ends[count++] = (uint32_t)i + 1;
	}
	return count;
}

#define LONGEST 400
static const uint32_t blank[LONGEST];

/* Searches text that ends at a guard page, with room for `max` ends up to another. */
static void check(enum agz_newline newline, const uint8_t *text, size_t n, size_t max)
{
	uint32_t want[LONGEST];
	size_t n_want = model_ends(newline, text, n, want), used = 99, got;
	uint32_t *ends = (void *)test_guard(blank, max * sizeof(*ends));

	got = agz__find_ends(newline, text, n, ends, max, &used);
	if (n_want > max) {
		assert_int_equal(got, max);
		assert_int_equal(used, want[max - 1]);
	} else {
		assert_int_equal(got, n_want);
		assert_int_equal(used, n);
	}
	assert_memory_equal(ends, want, got * sizeof(*ends));
	test_unguard((void *)ends, max * sizeof(*ends));
}

/* The lengths around a vector's, and all short ones. */
static void every_length(void **state)
{
	static const char *const alphabets[] = {"\n",
	                                        "\r",
	                                        "\n\r",
	                                        "\n\rab",
	                                        "\nabcdefghijklmnop",
	                                        "\r\nabcdefghijklmnopqrstuvwxyz",
	                                        "a"};
	(void)state;
	test_seed(1);
	for (size_t n = 0; n < 300; n++) {
		uint8_t *text = test_guard(blank, n);
		for (size_t a = 0; a < sizeof(alphabets) / sizeof(alphabets[0]); a++) {
			for (size_t i = 0; i < n; i++)
				text[i] = (uint8_t)
				        alphabets[a][test_below(strlen(alphabets[a]))];
			for (size_t k = 0; k < 4 * TEST_N_CPUS; k++) {
				test_use_cpu(k / 4);
				check((enum agz_newline)(k & 3), text, n, LONGEST);
				check((enum agz_newline)(k & 3), text, n,
				      1 + test_below(n + 70));
			}
		}
		test_unguard(text, n);
	}
}

/* All byte values, mostly such that are near "\n" and "\r". */
static void any_byte(void **state)
{
	(void)state;
	test_seed(2);
	for (int round = 0; round < 3000; round++) {
		size_t n = test_below(LONGEST);
		uint8_t *text = test_guard(blank, n);
		for (size_t i = 0; i < n; i++) {
			uint8_t b = (uint8_t)test_below(256);
			if (test_below(2))
				b = (uint8_t)((test_below(2) ? '\n' : '\r') ^
				              (1u << test_below(8) & 0xff));
			else if (test_below(3) == 0)
				b = test_below(2) ? '\n' : '\r';
			text[i] = b;
		}
		for (size_t k = 0; k < 4 * TEST_N_CPUS; k++) {
			test_use_cpu(k / 4);
			check((enum agz_newline)(k & 3), text, n, LONGEST);
		}
		test_unguard(text, n);
	}
}

/* Going on where the room ended finds the rest. */
static void portions(void **state)
{
	(void)state;
	test_seed(3);
	for (int round = 0; round < 2000; round++) {
		enum agz_newline newline = (enum agz_newline)(round & 3);
		size_t n = 1 + test_below(LONGEST - 1), at = 0, got = 0, used, k, i;
		uint8_t *text = test_guard(blank, n);
		uint32_t want[LONGEST], ends[LONGEST], max;
		test_use_cpu(test_below(TEST_N_CPUS));
		for (i = 0; i < n; i++)
			text[i] = (uint8_t) "\n\r\n\rab"[test_below(6)];
		size_t n_want = model_ends(newline, text, n, want);
		while (at < n) {
			max = 1 + (uint32_t)test_below(100);
			k = agz__find_ends(newline, text + at, n - at, ends, max, &used);
			assert_true(used > 0 && k <= max);
			for (i = 0; i < k; i++, got++)
				assert_int_equal(at + ends[i], want[got]);
			at += used;
		}
		assert_int_equal(got, n_want);
		test_unguard(text, n);
	}
}

static void nothing(void **state)
{
	size_t used = 1;
	uint32_t end;

	(void)state;
	assert_int_equal(agz__find_ends(AGZ_NEWLINE_ANY, NULL, 0, &end, 1, &used), 0);
	assert_int_equal(used, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_length),
	        cmocka_unit_test(any_byte),
	        cmocka_unit_test(portions),
	        cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
