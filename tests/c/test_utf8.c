/*
 * test_utf8.c - attacks the ASCII and UTF-8 checks: every sequence of three bytes, every
 * kind of four, truncation at each place, a wrong byte at each place of a long text, text
 * that ends at an unreadable page; on every kind of processor.
 */
#define _GNU_SOURCE 1

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agz/text.h"
#include "text_support.h"
#include "text/lines.h"

/* ---- the model: what an encoder would write ---------------------------------------------- */

static size_t encode(uint32_t code, uint8_t out[4])
{
	if (code < 0x80) {
		out[0] = (uint8_t)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (uint8_t)(0xc0 | code >> 6);
		out[1] = (uint8_t)(0x80 | (code & 63));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (uint8_t)(0xe0 | code >> 12);
		out[1] = (uint8_t)(0x80 | (code >> 6 & 63));
		out[2] = (uint8_t)(0x80 | (code & 63));
		return 3;
	}
	out[0] = (uint8_t)(0xf0 | code >> 18);
	out[1] = (uint8_t)(0x80 | (code >> 12 & 63));
	out[2] = (uint8_t)(0x80 | (code >> 6 & 63));
	out[3] = (uint8_t)(0x80 | (code & 63));
	return 4;
}

/* For strings of 1 to 3 bytes, a bit each: is it a character, does one begin so. */
static uint8_t chars[4][1 << 21], prefixes[4][1 << 21];

static size_t key(const uint8_t *p, size_t n)
{
	return (size_t)p[0] | (n > 1 ? (size_t)p[1] << 8 : 0) |
	       (n > 2 ? (size_t)p[2] << 16 : 0);
}

static void put(uint8_t sets[4][1 << 21], const uint8_t *p, size_t n)
{
	sets[n][key(p, n) >> 3] |= (uint8_t)(1u << (p[0] & 7));
}

static bool in(uint8_t sets[4][1 << 21], const uint8_t *p, size_t n)
{
	return (sets[n][key(p, n) >> 3] >> (p[0] & 7) & 1) != 0;
}

static int make_model(void **state)
{
	uint8_t c[4];

	(void)state;
	for (uint32_t code = 0; code <= 0x10ffff; code++) {
		if (code >= 0xd800 && code < 0xe000)
			continue;
		size_t n = encode(code, c);
		if (n < 4)
			put(chars, c, n);
		for (size_t k = 1; k < n; k++)
			put(prefixes, c, k);
	}
	return 0;
}

static size_t model_valid(const uint8_t *p, size_t nbytes, int *cut)
{
	size_t i = 0, n;

	*cut = 0;
	for (;; i += n) {
		size_t left = nbytes - i;
		if (left == 0)
			return i;
		for (n = 1; n <= 3 && n <= left; n++)
			if (in(chars, p + i, n))
				break;
		if (n <= 3 && n <= left)
			continue;
		if (left >= 4 && in(prefixes, p + i, 3) && p[i + 3] >= 0x80 &&
		    p[i + 3] < 0xc0) {
			n = 4;
			continue;
		}
		*cut = left <= 3 && in(prefixes, p + i, left);
		return i;
	}
}

static void check(const uint8_t *p, size_t n)
{
	int cut = -1, want_cut;
	size_t want = model_valid(p, n, &want_cut), got = agz_utf8_valid(p, n, &cut);

	if (got != want || cut != want_cut)
		fail_msg("%zu bytes, %02x...: %zu (%d), not %zu (%d)", n, p[0], got, cut,
		         want, want_cut);
}

/* ---- tests --------------------------------------------------------------------------------- */

static void every_three(void **state)
{
	uint8_t *p = test_guard("xxx", 3), *q = test_guard("xxxxxxx", 7);

	(void)state;
	for (uint32_t i = 0x7f0000; i < 1u << 24; i++) {
		p[0] = q[0] = (uint8_t)(i >> 16);
		p[1] = q[1] = (uint8_t)(i >> 8);
		p[2] = q[2] = (uint8_t)i;
		check(p, 3); /* with the end near, and far */
		check(q, 7);
	}
	test_unguard(p, 3);
	test_unguard(q, 7);
}

static void fours(void **state)
{
	static const uint8_t last[] = {0x00, 0x7f, 0x80, 0x8f, 0xa0,
	                               0xbf, 0xc0, 0xe0, 0xff};
	uint8_t *p = test_guard("xxxx", 4);

	(void)state;
	for (uint32_t i = 0; i < 256 * 256; i++) {
		p[0] = (uint8_t)(i >> 8);
		p[1] = (uint8_t)i;
		for (size_t j = 0; j < sizeof(last) * sizeof(last); j++) {
			p[2] = last[j / sizeof(last)];
			p[3] = last[j % sizeof(last)];
			check(p, 4);
		}
	}
	test_unguard(p, 4);
}

/* A copy of the text at a guard page. */
static void check_guarded(const uint8_t *text, size_t n)
{
	uint8_t *p = test_guard(text, n);

	check(p, n);
	test_unguard(p, n);
}

/* Every length of a text with all kinds of characters, at each distance from the start. */
static void every_cut(void **state)
{
	static const char text[] =
	        "plain caf\xc3\xa9 \xe2\x82\xac\xe2\x82\xac, \xed\x9f\xbf\xee\x80\x80"
	        "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf! and a tail of plain text.";
	uint8_t buf[300 + sizeof(text)];

	(void)state;
	for (size_t cpu = 0; cpu < TEST_N_CPUS; cpu++) {
		test_use_cpu(cpu);
		for (size_t before = 0; before < 300; before += 1 + before / 16) {
			memset(buf, 'a', before);
			memcpy(buf + before, text, sizeof(text));
			for (size_t n = 0; n < sizeof(text); n++)
				check_guarded(buf, before + n);
		}
	}
}

static void random_bytes(void **state)
{
	uint8_t c[4];

	(void)state;
	test_seed(4);
	for (int round = 0; round < 60000; round++) {
		uint8_t buf[200];
		size_t n = 0;
		test_use_cpu(test_below(TEST_N_CPUS));
		while (n < 150 && test_below(40) != 0) {
			uint32_t code =
			        (uint32_t)(test_below(2)   ? test_below(0x80)
			                   : test_below(2) ? test_below(0x10000)
			                                   : test_below(0x110000));
			if (code >= 0xd800 && code < 0xe000 && test_below(4) != 0)
				continue;
			size_t k = encode(code, c);
			memcpy(buf + n, c, k);
			n += k;
		}
		if (n != 0 && test_below(2))
			buf[test_below(n)] ^= (uint8_t)(1u << test_below(8));
		check_guarded(buf, n);
	}
}

/* One high byte at each place of texts of each length. */
static void ascii(void **state)
{
	uint8_t text[300];
	int cut;

	(void)state;
	memset(text, 0x7f, sizeof(text));
	for (size_t cpu = 0; cpu < TEST_N_CPUS; cpu++) {
		test_use_cpu(cpu);
		for (size_t n = 0; n < 300; n++) {
			uint8_t *p = test_guard(text, n);
			assert_int_equal(agz_is_ascii(p, n), 1);
			assert_int_equal(agz__ascii_span(p, n), n);
			for (size_t i = 0; i < n; i++) {
				p[i] = (uint8_t)(0x80 | i);
				assert_int_equal(agz_is_ascii(p, n), 0);
				assert_int_equal(agz__ascii_span(p, n), i);
				p[i] = 0;
			}
			test_unguard(p, n);
		}
	}
	assert_int_equal(agz_is_ascii(NULL, 0), 1);
	assert_int_equal(agz_utf8_valid(NULL, 0, &cut), 0);
	assert_int_equal(cut, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_three), cmocka_unit_test(fours),
	        cmocka_unit_test(every_cut),   cmocka_unit_test(random_bytes),
	        cmocka_unit_test(ascii),
	};

	return cmocka_run_group_tests(tests, make_model, NULL);
}
