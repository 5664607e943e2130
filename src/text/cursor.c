/*
 * cursor.c - a place in a chain of blocks, and the lines from there on.
 *
 *     first           here                       scan               last
 *       │               │                          │                  │
 *     [ block ]─…─[ block     ]─[ block ]─…─[ block           ]─…─[ block ]
 *       ▲               ▲                     ▲      ▲       ▲
 *      mark             at                    base   *end    ends_to
 *                       └─────── no line end ────────┘
 *
 * `here` is the block with the cursor, `scan` the one whose ends are being used up: the
 * same one, but for a line that goes over a block's end. Where the search for that line's
 * end stands is kept in `scan`, `end` and `gap`, so that nothing is looked at twice. A
 * line in pieces is put together once its end is known, in `scratch`.
 *
 * A line depends on the bytes from the cursor on, and on nothing before it: a "\n" whose
 * "\r" was taken by other means is a line of its own (LF, ANY), or no end (CRLF).
 *
 * The seam of two blocks, or of two portions of one, is settled here, by the two bytes at
 * it: the search inside a block knows only the block. An end found there is put before
 * the block's own, in the free place that ends[0] is.
 */
#include "agz/text.h"

#include <string.h>

#include "base/memory.h"
#include "text/block.h"

/* Scratch memory beyond this is given back when the line is done with. */
#define SCRATCH_KEPT ((size_t)64 << 10)

/* Kept out of line, for the ready line's sake: it then saves no registers. */
#define SLOW __attribute__((noinline))

struct agz_cursor {
	/* what a ready line needs */
	const uint8_t *at;
	const uint8_t *base; /* scan->ptr + scan->ends_from */
	uint32_t *end;       /* the next line end, from base */
	uint32_t *end_last;  /* behind the last one */
	const uint8_t *high; /* what lies between `at` and `high` is ASCII */
	agz_block *here;     /* NULL: no block */
	agz_block *scan;     /* NULL: look for ends from the cursor on */
	enum agz_newline newline;
	unsigned seen;
	/* what the others need */
	size_t gap;       /* if scan is not here: from the cursor to scan's bytes */
	size_t after;     /* bytes in the blocks behind `here` */
	agz_block *first; /* `here`, or an earlier one that a mark keeps */
	agz_block *last;
	bool marked;
	agz_block *mark; /* NULL with `marked`: the first block to come */
	size_t mark_offset;
	uint8_t *scratch;
	size_t scratch_nbytes;
};

/* ---- the chain --------------------------------------------------------------------------- */

static const uint8_t *block_start(const agz_block *b)
{
	return b->ptr + b->start;
}

static const uint8_t *block_end(const agz_block *b)
{
	return b->ptr + b->nbytes;
}

/* Bytes left in the block with the cursor. */
static size_t left_here(const agz_cursor *c)
{
	return c->here != NULL ? (size_t)(block_end(c->here) - c->at) : 0;
}

static void forget_scan(agz_cursor *c)
{
	c->scan = NULL;
	c->end = c->end_last = NULL;
}

static void enter(agz_cursor *c, agz_block *block, const uint8_t *at)
{
	c->here = block;
	c->at = at;
	c->high = block->ascii ? block_end(block) : at;
}

/* Drops the kept blocks before `here`. */
static void free_kept(agz_cursor *c)
{
	while (c->first != c->here) {
		agz_block *b = c->first;
		c->first = b->next;
		agz_block_free(b);
	}
}

/* A line end this near behind the cursor is none: it was passed, or, where only "\r\n" ends
 * a line, the "\r" was. */
static ptrdiff_t least_line(const agz_cursor *c)
{
	return c->newline == AGZ_NEWLINE_CRLF ? 2 : 1;
}

/* Drops the line ends that the cursor has passed. */
static void pass_ends(agz_cursor *c)
{
	if (c->here == c->scan)
		while (c->end != c->end_last && c->base + *c->end - c->at < least_line(c))
			c->end++;
}

/* From the end of a block to the start of the next one; without one the chain is empty,
 * unless a mark holds it. */
static void settle(agz_cursor *c)
{
	agz_block *next;

	if (c->here == NULL || c->at != block_end(c->here))
		return;
	next = c->here->next;
	if (next == NULL && c->marked)
		return;
	if (c->scan == c->here)
		forget_scan(c);
	if (next != NULL) {
		enter(c, next, block_start(next));
		c->after -= next->nbytes - next->start;
		pass_ends(c);
	} else {
		c->here = c->last = NULL;
		c->at = c->high = NULL;
	}
	if (!c->marked)
		free_kept(c);
}

/* Goes on by nbytes, which are there. */
static void move(agz_cursor *c, size_t nbytes)
{
	c->gap -= nbytes < c->gap ? nbytes : c->gap;
	while (nbytes > left_here(c)) {
		nbytes -= left_here(c);
		c->at = block_end(c->here);
		settle(c);
	}
	if (nbytes != 0)
		c->at += nbytes;
	pass_ends(c);
}

static void free_scratch(agz_cursor *c)
{
	agz__free(c->scratch);
	c->scratch = NULL;
	c->scratch_nbytes = 0;
}

int agz_cursor_new(enum agz_newline newline, agz_cursor **cursor)
{
	*cursor = NULL;
	if ((unsigned)newline > AGZ_NEWLINE_ANY)
		return AGZ_E_ARGUMENT;
	*cursor = agz__calloc(1, sizeof(**cursor));
	if (*cursor == NULL)
		return AGZ_E_NOMEM;
	(*cursor)->newline = newline;
	return AGZ_OK;
}

void agz_cursor_free(agz_cursor *cursor)
{
	if (cursor == NULL)
		return;
	agz_cursor_clear(cursor);
	free_scratch(cursor);
	agz__free(cursor);
}

void agz_cursor_append(agz_cursor *cursor, agz_block *block)
{
	if (block->nbytes == 0) {
		agz_block_free(block);
		return;
	}
	block->start = 0;
	block->next = NULL;
	if (cursor->here == NULL) {
		cursor->first = block;
		enter(cursor, block, block->ptr);
		if (cursor->marked) {
			cursor->mark = block;
			cursor->mark_offset = 0;
		}
	} else {
		cursor->last->next = block;
		cursor->after += block->nbytes;
	}
	cursor->last = block;
}

void agz_cursor_prepend(agz_cursor *cursor, agz_block *block)
{
	agz_cursor_unmark(cursor);
	if (cursor->here == NULL || block->nbytes == 0) {
		agz_cursor_append(cursor, block);
		return;
	}
	cursor->here->start = (size_t)(cursor->at - cursor->here->ptr);
	cursor->after += left_here(cursor);
	block->start = 0;
	block->next = cursor->here;
	cursor->first = block;
	enter(cursor, block, block->ptr);
	forget_scan(cursor);
}

void agz_cursor_clear(agz_cursor *cursor)
{
	cursor->here = NULL;
	cursor->at = cursor->high = NULL;
	free_kept(cursor);
	forget_scan(cursor);
	cursor->last = cursor->mark = NULL;
	cursor->marked = false;
	cursor->after = 0;
	cursor->seen = 0;
}

/* ---- bytes ------------------------------------------------------------------------------- */

size_t agz_cursor_nbytes(const agz_cursor *cursor)
{
	return left_here(cursor) + cursor->after;
}

const void *agz_cursor_span(const agz_cursor *cursor, size_t *nbytes)
{
	const agz_block *next;

	*nbytes = left_here(cursor);
	if (*nbytes != 0 || cursor->after == 0)
		return cursor->at;
	next = cursor->here->next;
	*nbytes = next->nbytes - next->start;
	return block_start(next);
}

size_t agz_cursor_peek(const agz_cursor *cursor, void *dst, size_t nbytes)
{
	const agz_block *block = cursor->here;
	const uint8_t *from = cursor->at;
	size_t n, done = 0;

	for (; block != NULL; block = block->next) {
		if (block != cursor->here)
			from = block_start(block);
		n = (size_t)(block_end(block) - from);
		if (n >= nbytes - done)
			n = nbytes - done;
		if (n != 0)
			memcpy((uint8_t *)dst + done, from, n);
		done += n;
		if (done == nbytes)
			break;
	}
	return done;
}

size_t agz_cursor_skip(agz_cursor *cursor, size_t nbytes)
{
	size_t there = agz_cursor_nbytes(cursor);

	if (nbytes > there)
		nbytes = there;
	move(cursor, nbytes);
	settle(cursor);
	return nbytes;
}

size_t agz_cursor_read(agz_cursor *cursor, void *dst, size_t nbytes)
{
	return agz_cursor_skip(cursor, agz_cursor_peek(cursor, dst, nbytes));
}

/* ---- the search for a line end ------------------------------------------------------------ */

/* Bytes from the cursor to a place in the scanned block. */
static size_t line_upto(const agz_cursor *c, const uint8_t *p)
{
	if (c->scan == c->here)
		return (size_t)(p - c->at);
	return c->gap + (size_t)(p - block_start(c->scan));
}

/* The ends from `offset` on, in the portion that is there or, if need be, a new one. */
static int load_ends(agz_cursor *c, agz_block *block, size_t offset)
{
	size_t low = 0, high;

	if (block->newline != c->newline || offset < block->ends_from ||
	    offset >= block->ends_to) {
		int rc = agz__block_find_from(block, c->newline, offset);
		if (rc < 0)
			return rc;
	}
	offset += (size_t)least_line(c) - block->ends_from;
	for (high = block->n_ends; low < high;) {
		size_t middle = low + (high - low) / 2;
		if (block->ends[1 + middle] < offset)
			low = middle + 1;
		else
			high = middle;
	}
	c->base = block->ptr + block->ends_from;
	c->end = block->ends + 1 + low;
	c->end_last = block->ends + 1 + block->n_ends;
	return AGZ_OK;
}

/* On to the next portion of ends, in this block or the next: 1, or 0 at the chain's end. */
static int next_portion(agz_cursor *c)
{
	agz_block *block = c->scan;
	size_t offset = block->ends_to, gap = 0;
	const uint8_t *p;
	unsigned before = block->ptr[offset - 1];
	int rc;

	if (offset == block->nbytes) {
		gap = line_upto(c, block_end(block));
		block = block->next;
		if (block == NULL)
			return 0;
		offset = block->start;
	}
	rc = load_ends(c, block, offset);
	if (rc < 0)
		return rc;
	if (block != c->scan) {
		c->scan = block;
		c->gap = gap;
	}
	/* The seam; the line began before it. */
	p = block->ptr + offset;
	if (before == '\r') {
		if (c->newline == AGZ_NEWLINE_ANY && *p != '\n')
			*--c->end = (uint32_t)(p - c->base);
		else if (c->newline == AGZ_NEWLINE_CRLF && *p == '\n')
			*--c->end = (uint32_t)(p - c->base) + 1;
	}
	return 1;
}

/*
 * Finds the next line end: 1 and its distance from the cursor, or 0 and how many bytes
 * are known to be without one: more than `limit`, or all.
 */
static int find_end(agz_cursor *c, size_t limit, size_t *nbytes)
{
	size_t offset;
	int rc;

	*nbytes = 0;
	if (left_here(c) == 0)
		return 0;
	offset = (size_t)(c->at - c->here->ptr);
	if (c->scan == NULL || (c->scan == c->here && offset >= c->scan->ends_to)) {
		rc = load_ends(c, c->here, offset);
		if (rc < 0)
			return rc;
		c->scan = c->here;
	}
	for (;;) {
		if (c->end != c->end_last) {
			*nbytes = line_upto(c, c->base + *c->end);
			return 1;
		}
		*nbytes = line_upto(c, c->scan->ptr + c->scan->ends_to);
		if (*nbytes > limit)
			return 0;
		rc = next_portion(c);
		if (rc <= 0)
			return rc;
	}
}

/* ---- lines -------------------------------------------------------------------------------- */

/* Is the line ASCII, the cursor at its start? Looks far ahead where there is nothing else,
 * so that each byte is looked at once. */
static int ascii_upto(agz_cursor *c, const uint8_t *stop)
{
	const uint8_t *p = c->high > c->at ? c->high : c->at, *far = block_end(c->here);

	if (stop <= c->high)
		return 1;
	if (far - stop > (ptrdiff_t)SCRATCH_KEPT)
		far = stop + SCRATCH_KEPT;
	c->high = p + agz__ascii_span(p, (size_t)(far - p));
	return c->high >= stop;
}

/* The length of the line end that the line ends with; a "\r" there is one. */
static inline unsigned line_end(agz_cursor *c, const uint8_t *stop, size_t nbytes)
{
	switch (c->newline) {
	case AGZ_NEWLINE_LF:
	case AGZ_NEWLINE_CR:
		return 1;
	case AGZ_NEWLINE_CRLF:
		return 2;
	case AGZ_NEWLINE_ANY:
	default:
		if (stop[-1] == '\n' && nbytes > 1 && stop[-2] == '\r') {
			c->seen |= AGZ_SAW_CRLF;
			return 2;
		}
		c->seen |= stop[-1] == '\n' ? AGZ_SAW_LF : AGZ_SAW_CR;
		return 1;
	}
}

/* Makes a line of the next nbytes, which are there, and goes on behind them. */
static int take_line(agz_cursor *c, size_t nbytes, bool ends, agz_line *line)
{
	if (nbytes <= left_here(c)) {
		line->ptr = c->at;
		line->ascii = ascii_upto(c, c->at + nbytes);
	} else {
		if (nbytes > c->scratch_nbytes) {
			free_scratch(c); /* no resize: what is in it is of no use */
			c->scratch = agz__malloc(nbytes);
			if (c->scratch == NULL)
				return AGZ_E_NOMEM;
			c->scratch_nbytes = nbytes;
		}
		agz_cursor_peek(c, c->scratch, nbytes);
		line->ptr = c->scratch;
		line->ascii = agz_is_ascii(c->scratch, nbytes);
	}
	line->nbytes = nbytes;
	line->end_nbytes = ends ? line_end(c, line->ptr + nbytes, nbytes) : 0;
	move(c, nbytes);
	return 1;
}

SLOW static int slow_line(agz_cursor *c, size_t limit, unsigned flags, agz_line *line)
{
	bool last;
	size_t nbytes;
	int rc;

	settle(c);
	if (c->scratch_nbytes > SCRATCH_KEPT)
		free_scratch(c);
	if (limit == 0)
		limit = SIZE_MAX;
	rc = find_end(c, limit, &nbytes);
	if (rc < 0)
		return rc;
	if (nbytes > limit)
		return take_line(c, limit, false, line);
	if (rc > 0)
		return take_line(c, nbytes, true, line);
	/* All that is there. */
	last = nbytes != 0 && c->newline == AGZ_NEWLINE_ANY &&
	       block_end(c->last)[-1] == '\r';
	if (nbytes != 0 && ((flags & AGZ_LINES_END) != 0 || (nbytes == limit && !last)))
		return take_line(c, nbytes, last, line);
	return 0;
}

/* What is left to do of a ready line that is perhaps not ASCII. */
SLOW static int slow_ascii(agz_cursor *c, const uint8_t *stop, agz_line *line)
{
	line->ascii = ascii_upto(c, stop);
	c->at = stop;
	return 1;
}

int agz_cursor_line(agz_cursor *c, size_t limit, unsigned flags, agz_line *line)
{
	if (c->end != c->end_last && c->here == c->scan) {
		const uint8_t *stop = c->base + *c->end;
		size_t nbytes = (size_t)(stop - c->at);

		if (limit == 0 || nbytes <= limit) {
			c->end++;
			line->ptr = c->at;
			line->nbytes = nbytes;
			line->end_nbytes = line_end(c, stop, nbytes);
			line->ascii = 1;
			if (stop > c->high)
				return slow_ascii(c, stop, line);
			c->at = stop;
			return 1;
		}
	}
	return slow_line(c, limit, flags, line);
}

unsigned agz_cursor_seen(const agz_cursor *cursor)
{
	return cursor->seen;
}

/* ---- the mark ------------------------------------------------------------------------------ */

void agz_cursor_mark(agz_cursor *cursor)
{
	settle(cursor);
	free_kept(cursor);
	cursor->marked = true;
	cursor->mark = cursor->here;
	cursor->mark_offset =
	        cursor->here != NULL ? (size_t)(cursor->at - cursor->here->ptr) : 0;
}

void agz_cursor_reset(agz_cursor *cursor)
{
	agz_block *b = cursor->mark;

	if (!cursor->marked || b == NULL)
		return;
	for (; b != cursor->here; b = b->next)
		cursor->after += b->next->nbytes - b->next->start;
	enter(cursor, cursor->mark, cursor->mark->ptr + cursor->mark_offset);
	forget_scan(cursor);
}

void agz_cursor_unmark(agz_cursor *cursor)
{
	cursor->marked = false;
	cursor->mark = NULL;
	free_kept(cursor);
	settle(cursor);
}
