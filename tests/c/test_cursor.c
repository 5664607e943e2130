/*
 * test_cursor.c - attacks the cursor: text cut into blocks at every place, blocks whose ends
 * were found before and blocks without, reads by byte and by line mixed, marks, limits,
 * memory that runs out. A model that looks at one byte at a time says what is right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agz/text.h"
#include "text/block.h"
#include "text/cpu.h"

/* ---- the model ------------------------------------------------------------------------- */

struct model {
	enum agz_newline newline;
	uint8_t *data;
	size_t nbytes, pos, mark;
	bool marked;
	unsigned seen;
};

static void model_insert(struct model *m, size_t at, const uint8_t *ptr, size_t nbytes)
{
	m->data = realloc(m->data, m->nbytes + nbytes + 1);
	assert_non_null(m->data);
	memmove(m->data + at + nbytes, m->data + at, m->nbytes - at);
	if (nbytes != 0)
		memcpy(m->data + at, ptr, nbytes);
	m->nbytes += nbytes;
}

/* What does a line end that ends with byte i measure? 0: none ends there; -1: unknown. */
static int model_end(const struct model *m, size_t i, unsigned flags)
{
	const uint8_t *d = m->data;
	bool crlf = i > m->pos && d[i - 1] == '\r' && d[i] == '\n';

	switch (m->newline) {
	case AGZ_NEWLINE_LF:
		return d[i] == '\n';
	case AGZ_NEWLINE_CR:
		return d[i] == '\r';
	case AGZ_NEWLINE_CRLF:
		return crlf ? 2 : 0;
	default:
		if (d[i] == '\n')
			return crlf ? 2 : 1;
		if (d[i] != '\r')
			return 0;
		if (i + 1 == m->nbytes)
			return (flags & AGZ_LINES_END) != 0 ? 1 : -1;
		return d[i + 1] != '\n';
	}
}

static int model_line(struct model *m, size_t limit, unsigned flags, agz_line *line)
{
	size_t i = m->pos;
	int end = 0;

	while (i < m->nbytes && end == 0 && (limit == 0 || i - m->pos < limit))
		end = model_end(m, i++, flags);
	if (end < 0 || i == m->pos)
		return 0;
	if (end == 0 && i - m->pos != limit && (flags & AGZ_LINES_END) == 0)
		return 0;
	line->ptr = m->data + m->pos;
	line->nbytes = i - m->pos;
	line->end_nbytes = (unsigned)end;
	line->ascii = 1;
	for (size_t k = m->pos; k < i; k++)
		line->ascii &= m->data[k] < 0x80;
	if (m->newline == AGZ_NEWLINE_ANY && end > 0)
		m->seen |= end == 2 ? AGZ_SAW_CRLF
		                    : m->data[i - 1] == '\r' ? AGZ_SAW_CR : AGZ_SAW_LF;
	m->pos = i;
	return 1;
}

/* ---- a cursor beside its model ------------------------------------------------------------ */

struct pair {
	struct model m;
	agz_cursor *c;
};

static void pair_new(struct pair *p, enum agz_newline newline)
{
	memset(p, 0, sizeof(*p));
	p->m.newline = newline;
	p->m.data = malloc(1);
	assert_non_null(p->m.data);
	assert_int_equal(agz_cursor_new(newline, &p->c), AGZ_OK);
}

static void pair_free(struct pair *p)
{
	agz_cursor_free(p->c);
	free(p->m.data);
}

enum block_kind { OWN, FOUND, TRIMMED, OTHER_MODE, WRAPPED, N_KINDS };

static agz_block *make_block(enum block_kind kind, enum agz_newline newline,
                             const uint8_t *ptr, size_t nbytes)
{
	agz_block *b;

	if (kind == WRAPPED) {
		void *copy = malloc(nbytes + 1);
		assert_non_null(copy);
		if (nbytes != 0)
			memcpy(copy, ptr, nbytes);
		assert_int_equal(agz_block_wrap(copy, nbytes, free, copy, &b), AGZ_OK);
		return b;
	}
	b = agz__block_new(kind == TRIMMED ? nbytes * 3 : nbytes);
	assert_non_null(b);
	if (nbytes != 0)
		memcpy(b->ptr, ptr, nbytes);
	b->nbytes = nbytes;
	if (kind == OTHER_MODE)
		newline = (enum agz_newline)((newline + 1) % 4);
	if (kind != OWN)
		assert_int_equal(agz__block_find(b, newline), AGZ_OK);
	if (kind == TRIMMED)
		agz__block_trim(b);
	return b;
}

static void pair_append(struct pair *p, enum block_kind kind, const uint8_t *ptr, size_t n)
{
	model_insert(&p->m, p->m.nbytes, ptr, n);
	agz_cursor_append(p->c, make_block(kind, p->m.newline, ptr, n));
}

static void pair_prepend(struct pair *p, enum block_kind kind, const uint8_t *ptr, size_t n)
{
	model_insert(&p->m, p->m.pos, ptr, n);
	p->m.marked = false;
	agz_cursor_prepend(p->c, make_block(kind, p->m.newline, ptr, n));
}

/* One line of both; returns what the call did. */
static int pair_line(struct pair *p, size_t limit, unsigned flags)
{
	agz_line want = {0}, got = {0};
	int rc = agz_cursor_line(p->c, limit, flags, &got);

	assert_int_equal(rc, model_line(&p->m, limit, flags, &want));
	if (rc == 1) {
		assert_int_equal(got.nbytes, want.nbytes);
		assert_memory_equal(got.ptr, want.ptr, want.nbytes);
		assert_int_equal(got.end_nbytes, want.end_nbytes);
		assert_int_equal(got.ascii, want.ascii);
	}
	assert_int_equal(agz_cursor_seen(p->c), p->m.seen);
	assert_int_equal(agz_cursor_nbytes(p->c), p->m.nbytes - p->m.pos);
	return rc;
}

static void pair_bytes(struct pair *p, size_t n, int how)
{
	uint8_t buf[64];
	size_t there = p->m.nbytes - p->m.pos, want, got;
	const void *span;

	if (n > sizeof(buf))
		n = sizeof(buf);
	want = n < there ? n : there;
	if (how == 0) {
		got = agz_cursor_skip(p->c, n);
	} else if (how == 1) {
		got = agz_cursor_read(p->c, buf, n);
		assert_memory_equal(buf, p->m.data + p->m.pos, want);
	} else if (how == 2) {
		assert_int_equal(agz_cursor_peek(p->c, buf, n), want);
		assert_memory_equal(buf, p->m.data + p->m.pos, want);
		return;
	} else {
		span = agz_cursor_span(p->c, &got);
		assert_true((got == 0) == (there == 0) && got <= there);
		if (got != 0)
			assert_memory_equal(span, p->m.data + p->m.pos, got);
		return;
	}
	assert_int_equal(got, want);
	p->m.pos += want;
	assert_int_equal(agz_cursor_nbytes(p->c), p->m.nbytes - p->m.pos);
}

static void pair_mark(struct pair *p, int how)
{
	if (how == 0) {
		agz_cursor_mark(p->c);
		p->m.marked = true;
		p->m.mark = p->m.pos;
	} else if (how == 1) {
		agz_cursor_reset(p->c);
		if (p->m.marked)
			p->m.pos = p->m.mark;
	} else {
		agz_cursor_unmark(p->c);
		p->m.marked = false;
	}
}

static void pair_clear(struct pair *p)
{
	agz_cursor_clear(p->c);
	p->m.nbytes = p->m.pos = 0;
	p->m.marked = false;
	p->m.seen = 0;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const char *const texts[] = {
	"",
	"\n",
	"\r",
	"\r\n",
	"\r\r\n\n\r",
	"one\ntwo\r\nthree\rfour",
	"\r\n\r\n\r\r\n\n\n\r\rx\r\n",
	"caf\xc3\xa9\n\xe2\x82\xac\r\nplain\r\xf0\x9f\x98\x80\rplain again\n",
	"a line of some length that takes more than sixty-four bytes, to be sure\r\nnext\n\n",
	"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n",
	"\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\n",
	"\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n",
};
#define N_TEXTS (sizeof(texts) / sizeof(texts[0]))

/* Every text, mode, limit; cut in three at every two places; lines asked for as early as
 * possible or only at the end. */
static void every_split(void **state)
{
	(void)state;
	for (size_t t = 0; t < N_TEXTS; t++) {
		const uint8_t *text = (const uint8_t *)texts[t];
		size_t n = strlen(texts[t]);
		for (size_t i = 0; i <= n; i++) {
			for (size_t j = i; j <= n; j++) {
				for (unsigned k = 0; k < 4 * 4 * 2; k++) {
					enum agz_newline newline = (enum agz_newline)(k & 3);
					size_t limit = k >> 2 & 3;
					enum block_kind kind = (i + j + k) % N_KINDS;
					struct pair p;
					pair_new(&p, newline);
					pair_append(&p, kind, text, i);
					while (k < 16 && pair_line(&p, limit, 0) == 1)
						;
					pair_append(&p, (kind + 1) % N_KINDS, text + i, j - i);
					while (k < 16 && pair_line(&p, limit, 0) == 1)
						;
					pair_append(&p, (kind + 2) % N_KINDS, text + j, n - j);
					while (pair_line(&p, limit, 0) == 1)
						;
					while (pair_line(&p, limit, AGZ_LINES_END) == 1)
						;
					assert_int_equal(p.m.pos, n);
					pair_free(&p);
				}
			}
		}
	}
}

static uint32_t rng_state;

static uint32_t rng(uint32_t below)
{
	rng_state = rng_state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(rng_state >> 4) * below >> 28);
}

/* Bytes that are mostly line ends, mostly letters, or between. */
static size_t random_text(uint8_t *buf, size_t max)
{
	static const char alphabet[] = "\n\r\n\r\xc3\xa9xyz abcdefghijklm";
	size_t n = rng((uint32_t)max + 1);
	uint32_t kinds = rng(3) == 0 ? 2 : rng(2) == 0 ? 8 : sizeof(alphabet) - 1;

	for (size_t i = 0; i < n; i++)
		buf[i] = (uint8_t)alphabet[rng(kinds)];
	return n;
}

static void random_op(struct pair *p)
{
	uint8_t buf[300];
	size_t n;
	uint32_t op = rng(32);

	if (op < 6) {
		n = random_text(buf, rng(4) == 0 ? sizeof(buf) : 20);
		pair_append(p, (enum block_kind)rng(N_KINDS), buf, n);
	} else if (op == 6) {
		n = random_text(buf, 20);
		pair_prepend(p, (enum block_kind)rng(N_KINDS), buf, n);
	} else if (op < 10) {
		pair_bytes(p, rng(4) == 0 ? 64 : rng(6), (int)rng(4));
	} else if (op < 13) {
		pair_mark(p, (int)rng(3));
	} else if (op == 13 && rng(8) == 0) {
		pair_clear(p);
	} else {
		pair_line(p, rng(3) == 0 ? 1 + rng(12) : 0,
		          rng(16) == 0 ? AGZ_LINES_END : 0);
	}
}

static void random_mix(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < 4000; seed++) {
		struct pair p;
		rng_state = seed;
		pair_new(&p, (enum agz_newline)(seed & 3));
		for (int i = 0; i < 150; i++)
			random_op(&p);
		while (pair_line(&p, 0, AGZ_LINES_END) == 1)
			;
		pair_free(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_split),
		cmocka_unit_test(random_mix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
