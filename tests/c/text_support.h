/*
 * text_support.h - for the tests of the text layer: numbers that are the same in every run,
 * memory that ends at an unreadable page, a kind of processor to pretend.
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

#endif
