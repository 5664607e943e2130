/*
 * text_support.h - for the tests of the text layer: numbers that are the same in every run,
 * memory that ends at an unreadable page, a kind of processor to pretend, an allocator that
 * counts, and fails when told to.
 */
#ifndef TEXT_SUPPORT_H
#define TEXT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "agz/error.h"
#include "text/cpu.h"

static uint32_t test_random_state;

static inline void test_seed(uint32_t seed)
{
	test_random_state = seed;
}

/* 0 to below - 1. */
static inline size_t test_random(size_t below)
{
	test_random_state = test_random_state * 1664525 + 1013904223;
	return (size_t)((uint64_t)(test_random_state >> 4) * below >> 28);
}

/* nbytes that end where reading or writing on is a fault; the same memory for each call
 * with the same slot (0 or 1). At most 64 KiB. */
static inline void *test_guard_end(int slot, size_t nbytes)
{
	enum { ROOM = 1 << 16 };
	static uint8_t *maps[2];

	if (maps[slot] == NULL) {
		void *map = mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE,
		                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(map != MAP_FAILED);
		assert_int_equal(mprotect((uint8_t *)map + ROOM, ROOM, PROT_NONE), 0);
		maps[slot] = map;
	}
	assert_true(nbytes <= ROOM);
	return maps[slot] + ROOM - nbytes;
}

/* 0: scalar, 1: SSE2 or NEON, 2: the best there is. */
static inline void test_use_cpu(size_t level)
{
	static const char *const names[] = {"scalar", "sse2", "avx2"};

	setenv("AGZ_CPU", names[level], 1);
	agz__cpu_forget();
}

/* ---- the allocator; for one thread ------------------------------------------------------- */

static size_t test_live, test_live_nbytes; /* allocations not freed, and their bytes */
static unsigned test_fail_in;              /* 0: none fails; n: the n-th from now */
static int test_fail_came;

static inline int test_fails_now(void)
{
	if (test_fail_in == 0 || --test_fail_in != 0)
		return 0;
	test_fail_came = 1;
	return 1;
}

static inline void *test_resize(void *ptr, size_t nbytes)
{
	size_t *p = ptr, old = 0;

	if (test_fails_now())
		return NULL;
	if (p != NULL)
		old = *(p -= 2);
	p = realloc(p, nbytes + 2 * sizeof(*p));
	assert_non_null(p);
	test_live += ptr == NULL;
	test_live_nbytes += nbytes - old;
	*p = nbytes;
	return p + 2;
}

static inline void *test_allocate(size_t nbytes)
{
	return test_resize(NULL, nbytes);
}

static inline void test_release(void *ptr)
{
	size_t *p = ptr;

	if (p == NULL)
		return;
	test_live--;
	test_live_nbytes -= *(p -= 2);
	free(p);
}

static inline void test_count_memory(void)
{
	static const agz_allocator counting = {test_allocate, test_resize, test_release};

	test_live = test_live_nbytes = 0;
	test_fail_in = 0;
	agz_set_allocator(&counting);
}

static inline void test_fail_at(unsigned n)
{
	test_fail_in = n;
	test_fail_came = 0;
}

/* Did it come to that? None fails from now on. */
static inline int test_failed(void)
{
	test_fail_in = 0;
	return test_fail_came;
}

#endif
