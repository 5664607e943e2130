/*
 * support.h - what the C tests share: an allocator that counts and fails on demand, memory
 * that ends at an unreadable page, inputs of different kinds, and gzip data made by zlib
 * alone, so that the library is never checked against itself.
 */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- allocator: the library's memory goes through it once test_fail_after was called -- */

/* The next n allocations succeed, all after them fail; -1: none fails. */
void test_fail_after(long n);

/* The n-th alone fails, from 1 on. */
void test_fail_at(long n);

/* Called first by each allocation, on its thread; NULL: nothing is. */
void test_at_each_allocation(void (*f)(void));

/* Whether one was made to fail since then. */
bool test_failed(void);

/* Blocks and bytes that are allocated now; the most bytes since test_fail_after(). */
long test_live(void);
size_t test_live_nbytes(void);
size_t test_peak_nbytes(void);

/* ---- numbers: the same in every run --------------------------------------------------- */

void test_seed(uint64_t seed);
uint32_t test_random(void);
size_t test_below(size_t n); /* 0 <= result < n */

/* ---- bytes ----------------------------------------------------------------------------- */

typedef struct test_bytes {
	uint8_t *ptr;
	size_t nbytes;
	size_t capacity;
} test_bytes;

void test_add(test_bytes *bytes, const void *ptr, size_t nbytes);
void test_add_fill(test_bytes *bytes, int byte, size_t nbytes);
void test_add_bytes(test_bytes *bytes, const test_bytes *more);
void test_drop(test_bytes *bytes);

/* A copy that ends, to the byte, at an unreadable page. */
uint8_t *test_guard(const void *ptr, size_t nbytes);
void test_unguard(uint8_t *guarded, size_t nbytes);

/* Inputs that differ in what deflate makes of them. */
enum test_kind { TEST_TEXT, TEST_JSON, TEST_NOISE, TEST_RUNS, TEST_ZEROS, TEST_N_KINDS };

test_bytes test_data(enum test_kind kind, size_t nbytes);

/* ---- gzip, made without the library ------------------------------------------------------ */

/* One member, by zlib; `strategy` is Z_DEFAULT_STRATEGY or another of zlib's. */
void test_add_member(test_bytes *gzip, const test_bytes *data, int level, int strategy);

/* A member around a deflate stream of one's own, with the right CRC and size of `data`. */
void test_add_wrapped(test_bytes *gzip, const test_bytes *deflate,
                      const test_bytes *data);

/* Writes single bits, first the lowest one, as deflate is made of. */
typedef struct test_bits {
	test_bytes bytes;
	unsigned n; /* bits used of the last byte */
} test_bits;

void test_put(test_bits *bits, uint32_t value, unsigned n);
void test_put_code(test_bits *bits, uint32_t code, unsigned n); /* a Huffman code */

#endif
