/*
 * fuzz.h - what the fuzz targets share. An input begins with what a target chooses by:
 *
 *     seed of its random numbers (4) │ choices, a byte each │ the data
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *ptr, size_t nbytes);

/* A finding, in every build. */
#define CHECK(condition)                                                                 \
	do {                                                                             \
		if (!(condition)) {                                                      \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__,       \
			        #condition);                                             \
			abort();                                                         \
		}                                                                        \
	} while (0)

typedef struct fuzz {
	const uint8_t *ptr;
	size_t nbytes;
	uint32_t random;
} fuzz;

/* The next byte of the input; 0 behind its end. */
static inline uint8_t fuzz_byte(fuzz *f)
{
	if (f->nbytes == 0)
		return 0;
	f->nbytes--;
	return *f->ptr++;
}

static inline fuzz fuzz_start(const uint8_t *ptr, size_t nbytes)
{
	fuzz f = {ptr, nbytes, 0};
	for (int i = 0; i < 4; i++)
		f.random = f.random << 8 | fuzz_byte(&f);
	return f;
}

static inline uint32_t fuzz_random(fuzz *f)
{
	f->random = f->random * 1664525 + 1013904223;
	return f->random >> 8;
}

/* From 1 to max, if that is not 0: often very few, often all. */
static inline size_t fuzz_cut(fuzz *f, size_t max)
{
	static const size_t bounds[] = {1, 16, 1000, SIZE_MAX};
	size_t bound = bounds[fuzz_random(f) % 4];
	if (bound > max)
		bound = max;
	if (bound == 0 || fuzz_random(f) % 4 == 0)
		return bound;
	return 1 + fuzz_random(f) % bound;
}

/* A copy that ends where its memory does; free() it. */
static inline uint8_t *fuzz_copy(const void *ptr, size_t nbytes)
{
	uint8_t *copy = malloc(nbytes);
	CHECK(copy != NULL || nbytes == 0);
	if (nbytes > 0)
		memcpy(copy, ptr, nbytes);
	return copy;
}

/* ---- bytes that grow --------------------------------------------------------------- */

typedef struct fuzz_bytes {
	uint8_t *ptr;
	size_t nbytes;
	size_t capacity;
} fuzz_bytes;

static inline void fuzz_add(fuzz_bytes *b, const void *ptr, size_t nbytes)
{
	if (nbytes == 0)
		return;
	if (b->nbytes + nbytes > b->capacity) {
		b->capacity = (b->nbytes + nbytes) * 2;
		b->ptr = realloc(b->ptr, b->capacity);
		CHECK(b->ptr != NULL);
	}
	memcpy(b->ptr + b->nbytes, ptr, nbytes);
	b->nbytes += nbytes;
}

static inline bool fuzz_same(const fuzz_bytes *a, const fuzz_bytes *b)
{
	return a->nbytes == b->nbytes &&
	       (a->nbytes == 0 || memcmp(a->ptr, b->ptr, a->nbytes) == 0);
}

#endif
