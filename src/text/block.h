/*
 * block.h - the inside of a block.
 *
 *     ptr ├──────────── nbytes ────────────┤┈┈ room ┈┈│ capacity
 *               ▲        ▲         ▲
 *               ends[1]  ends[2]   ends[3]    one past each line end
 *
 * Line ends are found in portions, so that memory for them is bounded whatever the text
 * is like: ends[] holds those of the bytes from ends_from to ends_to, at most one for each
 * 16 bytes of a block. A block with lines of 16 bytes and more on average (all but
 * exotic text) is one portion; at worst a block and its ends take 1.25 times its capacity.
 *
 * A block's ends depend on the block's bytes alone. An end at its very start, or one byte
 * behind it, that is one because of the block before it ("\r" there, and here no "\n", or
 * with CRLF a "\n") is for the cursor to see, which is why ends[0] is left to the cursor.
 * So blocks can be searched by different threads, in any order, and joined in any order.
 */
#ifndef AGZ_TEXT_BLOCK_H
#define AGZ_TEXT_BLOCK_H

#include <stdbool.h>

#include "text/lines.h"

struct agz_block {
	uint8_t *ptr;
	size_t nbytes;
	size_t capacity; /* of ptr, for blocks made by agz__block_new(); else 0 */
	bool ascii;      /* known to be ASCII throughout */
	enum agz_newline newline; /* what ends[] was found for */
	uint32_t *ends;           /* offsets from ends_from; NULL: not yet allocated */
	size_t n_ends;            /* they are ends[1..n_ends] */
	size_t ends_capacity;
	size_t ends_from;
	size_t ends_to;             /* 0: nothing was found yet */
	void (*release)(void *arg); /* for wrapped blocks */
	void *arg;
	size_t start;    /* the cursor's: bytes before it are used up */
	agz_block *next; /* the link of whatever list holds it */
};

/* A block with room for `capacity` bytes, or NULL. Memory may come from a bounded cache
 * of freed blocks (64 and 256 KiB, 3 MiB in all); thread-safe. */
agz_block *agz__block_new(size_t capacity);

/* Gives back what it does not use, when that is most of it. Never fails. */
void agz__block_trim(agz_block *block);

/* What a worker does with a block it has filled: the first portion of ends, and the ASCII
 * check. Cannot fail for a block made by agz__block_new(). */
int agz__block_find(agz_block *block, enum agz_newline newline);

/* The portion of ends from `offset` < nbytes on. AGZ_E_NOMEM leaves the block as it was. */
int agz__block_find_from(agz_block *block, enum agz_newline newline, size_t offset);

/* For tests: frees the cached blocks. */
void agz__block_cache_clear(void);

#endif
