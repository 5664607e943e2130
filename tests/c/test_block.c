/*
 * test_block.c - attacks blocks: memory that runs out at each allocation, blocks that come
 * back from the cache, a cache that must stay bounded, threads that free and take at once,
 * text with so many lines that their ends do not fit.
 */
#define _GNU_SOURCE 1

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>

#include <cmocka.h>

#include "text/block.h"
#include "text_support.h"

static int setup(void **state)
{
	(void)state;
	test_fail_after(-1);
	return 0;
}

/* Nothing may be left but what the cache holds. */
static int teardown(void **state)
{
	(void)state;
	agz__block_cache_clear();
	return test_live() == 0 ? 0 : -1;
}

static void capacities(void **state)
{
	static const size_t sizes[] = {0, 1, 63, 64, 65, 65536, 65537, 262144, 262145};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		agz_block *b = agz__block_new(sizes[i]);
		assert_non_null(b);
		assert_true(b->capacity >= sizes[i]);
		assert_int_equal(agz_block_nbytes(b), 0);
		memset(b->ptr, 1, b->capacity);
		memset(b->ends, 2, b->ends_capacity * sizeof(*b->ends));
		assert_ptr_equal(agz_block_ptr(b), b->ptr);
		agz_block_free(b);
	}
	assert_null(agz__block_new(SIZE_MAX));
	assert_null(agz__block_new(SIZE_MAX / 2 + 1));
	agz_block_free(NULL);
}

/* What comes from the cache is as new. */
static void recycled(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++) {
		agz_block *b = agz__block_new(65536);
		assert_non_null(b);
		assert_int_equal(b->nbytes, 0);
		assert_int_equal(b->n_ends, 0);
		assert_int_equal(b->ends_to, 0);
		assert_int_equal(b->start, 0);
		assert_false(b->ascii);
		assert_null(b->next);
		memcpy(b->ptr, "a\nb\n", 4);
		b->nbytes = 4;
		b->start = 2;
		b->next = b;
		assert_int_equal(agz__block_find(b, AGZ_NEWLINE_LF), AGZ_OK);
		assert_true(b->ascii);
		assert_int_equal(b->n_ends, 2);
		agz_block_free(b);
	}
}

/* However many are freed at once, the cache keeps a few. */
static void cache_bound(void **state)
{
	static agz_block *blocks[100];

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		blocks[i] = agz__block_new(i % 2 ? 65536 : 262144);
		assert_non_null(blocks[i]);
	}
	for (size_t i = 0; i < 100; i++)
		agz_block_free(blocks[i]);
	assert_true(test_live_nbytes() < 4 << 20);
	assert_true(test_live() > 0);
}

static void *take_and_free(void *arg)
{
	uint8_t id = *(uint8_t *)arg;
	agz_block *held[7] = {NULL};

	for (unsigned i = 0; i < 20000; i++) {
		agz_block **b = &held[(i * 5 + id) % 7];
		if (*b != NULL) {
			if ((*b)->ptr[0] != id || (*b)->ptr[65535] != id)
				return arg;
			agz_block_free(*b);
		}
		*b = agz__block_new(i % 3 ? 65536 : 262144);
		if (*b == NULL)
			return arg;
		(*b)->ptr[0] = (*b)->ptr[65535] = id;
	}
	for (unsigned i = 0; i < 7; i++)
		agz_block_free(held[i]);
	return NULL;
}

/* No block is ever with two threads. */
static void threads(void **state)
{
	pthread_t thread[4];
	uint8_t id[4] = {1, 2, 3, 4};

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, take_and_free, &id[i]),
		                 0);
	for (size_t i = 0; i < 4; i++) {
		void *bad;
		assert_int_equal(pthread_join(thread[i], &bad), 0);
		assert_null(bad);
	}
}

/* The bytes and the ends stay, the memory goes; with or without ends found before. */
static void trim(void **state)
{
	(void)state;
	for (size_t n = 0; n < 40000; n = n * 2 + 1) {
		for (int found = 0; found < 2; found++) {
			agz_block *b = agz__block_new(65536), *other = (agz_block *)&b;
			assert_non_null(b);
			for (size_t i = 0; i < n; i++)
				b->ptr[i] = i % 3 ? 'a' : '\n';
			b->nbytes = n;
			b->next = other;
			if (found)
				assert_int_equal(agz__block_find(b, AGZ_NEWLINE_ANY),
				                 AGZ_OK);
			agz__block_trim(b);
			assert_true(n > 65536 / 2 || b->capacity <= n + 64);
			if (!found)
				assert_int_equal(agz__block_find(b, AGZ_NEWLINE_ANY),
				                 AGZ_OK);
			assert_int_equal(b->nbytes, n);
			assert_ptr_equal(b->next, other);
			assert_true(b->ascii);
			for (size_t i = 0; i < b->n_ends; i++)
				assert_int_equal(b->ends[1 + i], 3 * i + 1);
			assert_true(b->ends_to != n || b->n_ends == (n + 2) / 3);
			b->next = NULL;
			agz_block_free(b);
		}
	}
}

/* A block and its ends stay within 1.25 times its bytes, and portions find all. */
static void many_ends(void **state)
{
	agz_block *b = agz__block_new(262144);
	size_t at = 0, n = 0;

	(void)state;
	assert_non_null(b);
	assert_true(b->ends_capacity * sizeof(*b->ends) <= b->capacity / 4 + 64);
	memset(b->ptr, '\n', 262144);
	b->nbytes = 262144;
	assert_int_equal(agz__block_find(b, AGZ_NEWLINE_LF), AGZ_OK);
	while (at < b->nbytes) {
		if (at != b->ends_from)
			assert_int_equal(agz__block_find_from(b, AGZ_NEWLINE_LF, at),
			                 AGZ_OK);
		assert_int_equal(b->ends_from, at);
		assert_true(b->n_ends < b->ends_capacity);
		for (size_t i = 0; i < b->n_ends; i++)
			assert_int_equal(b->ends[1 + i], i + 1);
		n += b->n_ends;
		at = b->ends_to;
	}
	assert_int_equal(n, 262144);
	agz_block_free(b);
}

static unsigned released;

static void count_release(void *arg)
{
	assert_ptr_equal(arg, &released);
	released++;
}

static void wrap(void **state)
{
	static const char text[] = "one\ntwo\xff";
	agz_block *b;

	(void)state;
	released = 0;
	assert_int_equal(agz_block_wrap(text, 8, count_release, &released, &b), AGZ_OK);
	assert_ptr_equal(agz_block_ptr(b), text);
	assert_int_equal(agz_block_nbytes(b), 8);
	agz__block_trim(b);
	assert_ptr_equal(agz_block_ptr(b), text);
	assert_int_equal(agz__block_find(b, AGZ_NEWLINE_LF), AGZ_OK);
	assert_int_equal(b->n_ends, 1);
	assert_false(b->ascii);
	agz_block_free(b);
	assert_int_equal(released, 1);
	assert_int_equal(agz_block_wrap(NULL, 0, NULL, NULL, &b), AGZ_OK);
	agz_block_free(b);
}

/* Memory runs out after n allocations; whatever fails leaves things as they were. */
static void fail_after(long n)
{
	agz_block *own, *wrapped;
	int rc;

	agz__block_cache_clear();
	released = 0;
	test_fail_after(n);
	own = agz__block_new(65536);
	if (own != NULL) {
		own->nbytes = 10;
		memset(own->ptr, '\n', 10);
		assert_int_equal(agz__block_find(own, AGZ_NEWLINE_LF), AGZ_OK);
		agz__block_trim(own);
		assert_int_equal(own->nbytes, 10);
		assert_int_equal(own->n_ends, 10);
		assert_int_equal(own->ends[10], 10);
		agz_block_free(own);
	}
	rc = agz_block_wrap("\n\n", 2, count_release, &released, &wrapped);
	if (rc == AGZ_OK) {
		rc = agz__block_find(wrapped, AGZ_NEWLINE_LF);
		assert_int_equal(wrapped->n_ends, rc == AGZ_OK ? 2 : 0);
		agz_block_free(wrapped);
		assert_int_equal(released, 1);
	} else {
		assert_null(wrapped);
		assert_int_equal(released, 0);
	}
	assert_true(rc == AGZ_OK || rc == AGZ_E_NOMEM);
}

static void out_of_memory(void **state)
{
	(void)state;
	for (long n = 0; n == 0 || test_failed(); n++)
		fail_after(n);
	test_fail_after(-1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(capacities, setup, teardown),
	        cmocka_unit_test_setup_teardown(recycled, setup, teardown),
	        cmocka_unit_test_setup_teardown(cache_bound, setup, teardown),
	        cmocka_unit_test_setup_teardown(threads, setup, teardown),
	        cmocka_unit_test_setup_teardown(trim, setup, teardown),
	        cmocka_unit_test_setup_teardown(many_ends, setup, teardown),
	        cmocka_unit_test_setup_teardown(wrap, setup, teardown),
	        cmocka_unit_test_setup_teardown(out_of_memory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
