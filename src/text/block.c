/*
 * block.c - blocks, the cache of freed ones, and the ends of their lines.
 *
 *     allocation of agz__block_new():
 *
 *     ptr ├──── capacity, a multiple of 64 ────┼── ends ──┤
 *
 * Pages of either part that nobody writes to are never touched.
 */
#include "text/block.h"

#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"

#define SMALL ((size_t)64 << 10)
#define LARGE ((size_t)256 << 10)

/* A portion looks at so many bytes at most, and finds so many ends at most. */
#define PORTION          LARGE
#define ENDS_FOR(nbytes) ((nbytes) / 16 + 16)

/* ---- the cache ------------------------------------------------------------------------
 *
 * Slots that are taken from and put into by one exchange: no lock that a fork could leave
 * locked, and no list whose links could be stale.
 */
#define N_SHELVES 2

static struct shelf {
	size_t capacity;
	size_t n;
	_Atomic(agz_block *) slots[16];
} shelves[N_SHELVES] = {{.capacity = SMALL, .n = 16}, {.capacity = LARGE, .n = 8}};

static agz_block *cache_take(size_t capacity)
{
	for (struct shelf *s = shelves; s < shelves + N_SHELVES; s++) {
		for (size_t i = 0; s->capacity == capacity && i < s->n; i++) {
			agz_block *b =
			        atomic_load_explicit(&s->slots[i], memory_order_relaxed);
			if (b != NULL)
				b = atomic_exchange_explicit(&s->slots[i], NULL,
				                             memory_order_acquire);
			if (b != NULL)
				return b;
		}
	}
	return NULL;
}

static bool cache_put(agz_block *block)
{
	for (struct shelf *s = shelves; s < shelves + N_SHELVES; s++) {
		for (size_t i = 0; s->capacity == block->capacity && i < s->n; i++) {
			agz_block *empty = NULL;
			if (atomic_load_explicit(&s->slots[i], memory_order_relaxed) ==
			            NULL &&
			    atomic_compare_exchange_strong_explicit(
			            &s->slots[i], &empty, block, memory_order_release,
			            memory_order_relaxed))
				return true;
		}
	}
	return false;
}

static void block_destroy(agz_block *b)
{
	agz__free(b->ptr);
	agz__free(b);
}

void agz__block_cache_clear(void)
{
	agz_block *b;

	while ((b = cache_take(SMALL)) != NULL || (b = cache_take(LARGE)) != NULL)
		block_destroy(b);
}

/* ---- life ------------------------------------------------------------------------------ */

/* `capacity` is a multiple of 64. */
static agz_block *block_alloc(size_t capacity, size_t n_ends)
{
	agz_block *b = agz__calloc(1, sizeof(*b));

	if (b == NULL)
		return NULL;
	b->ptr = agz__malloc(capacity + n_ends * sizeof(*b->ends));
	if (b->ptr == NULL) {
		agz__free(b);
		return NULL;
	}
	b->capacity = capacity;
	b->ends = (uint32_t *)(void *)(b->ptr + capacity);
	b->ends_capacity = n_ends;
	return b;
}

agz_block *agz__block_new(size_t capacity)
{
	agz_block *b;

	if (capacity > SIZE_MAX / 2)
		return NULL;
	capacity = capacity == 0 ? 64 : (capacity + 63) & ~(size_t)63;
	b = cache_take(capacity);
	if (b == NULL)
		return block_alloc(capacity, ENDS_FOR(capacity));
	b->nbytes = b->n_ends = b->ends_from = b->ends_to = b->start = 0;
	b->ascii = false;
	b->next = NULL;
	return b;
}

/* A small copy takes the place of a large buffer, which goes back to the cache. */
void agz__block_trim(agz_block *block)
{
	size_t capacity = (block->nbytes + 64) & ~(size_t)63, n_ends = ENDS_FOR(capacity);
	agz_block small, *copy;

	if (block->nbytes >= block->capacity / 2 || block->capacity <= capacity)
		return;
	copy = block_alloc(capacity, n_ends > block->n_ends ? n_ends : block->n_ends + 1);
	if (copy == NULL)
		return;
	memcpy(copy->ptr, block->ptr, block->nbytes);
	memcpy(copy->ends + 1, block->ends + 1, block->n_ends * sizeof(*copy->ends));
	small = *copy;
	*copy = *block;
	block->ptr = small.ptr;
	block->capacity = small.capacity;
	block->ends = small.ends;
	block->ends_capacity = small.ends_capacity;
	agz_block_free(copy);
}

int agz_block_wrap(const void *ptr, size_t nbytes, void (*release)(void *arg), void *arg,
                   agz_block **block)
{
	agz_block *b = *block = agz__calloc(1, sizeof(*b));

	if (b == NULL)
		return AGZ_E_NOMEM;
	b->ptr = (uint8_t *)(uintptr_t)ptr; /* read only: capacity is 0 */
	b->nbytes = nbytes;
	b->release = release;
	b->arg = arg;
	return AGZ_OK;
}

void agz_block_free(agz_block *block)
{
	if (block == NULL)
		return;
	if (block->capacity != 0) {
		if (!cache_put(block))
			block_destroy(block);
		return;
	}
	if (block->release != NULL)
		block->release(block->arg);
	agz__free(block->ends);
	agz__free(block);
}

const void *agz_block_ptr(const agz_block *block)
{
	return block->ptr;
}

size_t agz_block_nbytes(const agz_block *block)
{
	return block->nbytes;
}

/* ---- line ends -------------------------------------------------------------------------- */

int agz__block_find_from(agz_block *block, enum agz_newline newline, size_t offset)
{
	size_t room = block->nbytes - offset, used;

	if (room > PORTION)
		room = PORTION;
	if (block->ends == NULL) { /* a wrapped block */
		size_t n = ENDS_FOR(block->nbytes < PORTION ? block->nbytes : PORTION);

		block->ends = agz__realloc_array(NULL, n, sizeof(*block->ends));
		if (block->ends == NULL)
			return AGZ_E_NOMEM;
		block->ends_capacity = n;
	}
	block->n_ends = agz__find_ends(newline, block->ptr + offset, room,
	                               block->ends + 1, block->ends_capacity - 1, &used);
	block->newline = newline;
	block->ends_from = offset;
	block->ends_to = offset + used;
	return AGZ_OK;
}

int agz__block_find(agz_block *block, enum agz_newline newline)
{
	block->ascii = agz_is_ascii(block->ptr, block->nbytes);
	return agz__block_find_from(block, newline, 0);
}
