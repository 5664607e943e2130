/*
 * block.h - the inside of a block.
 *
 *     ptr ├──────────── nbytes ────────────┤┈┈ room ┈┈│ capacity
 *               ▲        ▲         ▲
 *               ends[0]  ends[1]   ends[2]      one past each line end
 */
#ifndef AGZ_TEXT_BLOCK_H
#define AGZ_TEXT_BLOCK_H

#include "text/lines.h"

#define AGZ__BLOCK_ASCII 1u   /* all bytes are below 0x80 */
#define AGZ__BLOCK_FOUND 2u   /* ends[] is complete */
#define AGZ__BLOCK_CHECKED 4u /* it is known whether it is ASCII */

struct agz_block {
	uint8_t *ptr;
	size_t nbytes;
	size_t capacity;           /* of ptr, for blocks made by agz__block_new() */
	uint32_t *ends;            /* owned */
	size_t n_ends;
	size_t ends_capacity;
	unsigned flags;            /* AGZ__BLOCK_* */
	void (*release)(void *arg);/* for wrapped blocks */
	void *arg;
	agz_block *next;           /* the link of whatever list holds it */
};

/* A block with room for `capacity` bytes, or NULL. Memory may come from a bounded cache
 * of freed blocks; thread-safe. */
agz_block *agz__block_new(size_t capacity);

/* Gives back what it does not use, when that is most of it. Never fails. */
void agz__block_trim(agz_block *block);

/* Fills ends and the ASCII flag. AGZ_E_NOMEM leaves finder and block as they were. */
int agz__block_find(agz_block *block, agz__line_finder *finder);

#endif
