/*
 * text_support.h - for the tests of the text layer: a kind of processor to pretend.
 */
#ifndef TEXT_SUPPORT_H
#define TEXT_SUPPORT_H

#include <stdlib.h>

#include "support.h"
#include "text/cpu.h"

#define TEST_N_CPUS 3

/* 0: scalar, 1: SSE2 or NEON, 2: the best there is. */
static inline void test_use_cpu(size_t level)
{
	static const char *const names[TEST_N_CPUS] = {"scalar", "sse2", "avx2"};

	setenv("AGZ_CPU", names[level], 1);
	agz__cpu_forget();
}

#endif
