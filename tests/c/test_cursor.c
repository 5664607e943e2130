/*
 * test_cursor.c - attacks the cursor: text cut into blocks at every place, blocks whose ends
 * were found before and blocks without, reads by byte and by line mixed, marks, limits,
 * memory that runs out. A model that looks at one byte at a time says what is right.
 */
#define _GNU_SOURCE 1

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
#include "text_support.h"

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
		m->seen |= end == 2                 ? AGZ_SAW_CRLF
		           : m->data[i - 1] == '\r' ? AGZ_SAW_CR
		                                    : AGZ_SAW_LF;
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

static void pair_append(struct pair *p, enum block_kind kind, const uint8_t *ptr,
                        size_t n)
{
	model_insert(&p->m, p->m.nbytes, ptr, n);
	agz_cursor_append(p->c, make_block(kind, p->m.newline, ptr, n));
}

static void pair_prepend(struct pair *p, enum block_kind kind, const uint8_t *ptr,
                         size_t n)
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
        "a line of some length that takes more than sixty-four bytes, to be "
        "sure\r\nnext\n\n",
        "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
        "\n",
        "\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r"
        "\n",
        "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r"
        "\n",
};
#define N_TEXTS (sizeof(texts) / sizeof(texts[0]))

/* Text cut in three, at i and j; lines asked for as early as possible or only at the end. */
static void one_split(const uint8_t *text, size_t n, size_t i, size_t j, unsigned round)
{
	const size_t cuts[4] = {0, i, j, n};
	size_t limit = round >> 2 & 3;
	bool early = round < 16;
	struct pair p;

	pair_new(&p, (enum agz_newline)(round & 3));
	for (size_t k = 0; k < 3; k++) {
		pair_append(&p, (enum block_kind)((i + j + k + round) % N_KINDS),
		            text + cuts[k], cuts[k + 1] - cuts[k]);
		while (early && pair_line(&p, limit, 0) == 1)
			;
	}
	while (pair_line(&p, limit, 0) == 1)
		;
	while (pair_line(&p, limit, AGZ_LINES_END) == 1)
		;
	assert_int_equal(p.m.pos, n);
	pair_free(&p);
}

/* Every text, mode and limit, at every two places. */
static void every_split(void **state)
{
	(void)state;
	for (size_t t = 0; t < N_TEXTS; t++) {
		size_t n = strlen(texts[t]);
		for (size_t i = 0; i <= n; i++)
			for (size_t j = i; j <= n; j++)
				for (unsigned round = 0; round < 32; round++)
					one_split((const uint8_t *)texts[t], n, i, j,
					          round);
	}
}

/* Bytes that are mostly line ends, mostly letters, or between. */
static size_t random_text(uint8_t *buf, size_t max)
{
	static const char alphabet[] = "\n\r\n\r\xc3\xa9xyz abcdefghijklm";
	size_t n = test_below(max + 1);
	size_t kinds = test_below(3) == 0   ? 2
	               : test_below(2) == 0 ? 8
	                                    : sizeof(alphabet) - 1;

	for (size_t i = 0; i < n; i++)
		buf[i] = (uint8_t)alphabet[test_below(kinds)];
	return n;
}

static void random_op(struct pair *p)
{
	uint8_t buf[300];
	size_t n;
	size_t op = test_below(32);

	if (op < 6) {
		n = random_text(buf, test_below(4) == 0 ? sizeof(buf) : 20);
		pair_append(p, (enum block_kind)test_below(N_KINDS), buf, n);
	} else if (op == 6) {
		n = random_text(buf, 20);
		pair_prepend(p, (enum block_kind)test_below(N_KINDS), buf, n);
	} else if (op < 10) {
		pair_bytes(p, test_below(4) == 0 ? 64 : test_below(6),
		           (int)test_below(4));
	} else if (op < 13) {
		pair_mark(p, (int)test_below(3));
	} else if (op == 13 && test_below(8) == 0) {
		pair_clear(p);
	} else {
		pair_line(p, test_below(3) == 0 ? 1 + test_below(12) : 0,
		          test_below(16) == 0 ? AGZ_LINES_END : 0);
	}
}

static void random_mix(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < 4000; seed++) {
		struct pair p;
		test_seed(seed);
		test_use_cpu(seed % 3);
		pair_new(&p, (enum agz_newline)(seed & 3));
		for (int i = 0; i < 150; i++)
			random_op(&p);
		while (pair_line(&p, 0, AGZ_LINES_END) == 1)
			;
		pair_free(&p);
	}
}

/* Blocks larger than a portion, with line ends of each kind across the portions' seams, and
 * more lines than a portion holds. */
static void portions(void **state)
{
	static const char *const seams[] = {"\r\n", "\rx", "\n\n",
	                                    "\r\r", "ab",  "\xc3\xa9"};
	const size_t nbytes = (3 << 18) + 100;
	uint8_t *text = malloc(nbytes);

	(void)state;
	assert_non_null(text);
	for (unsigned round = 0; round < 6 * 4; round++) {
		enum agz_newline newline = (enum agz_newline)(round & 3);
		const char *seam = seams[round >> 2];
		struct pair p;
		test_seed(round);
		test_use_cpu(round % 3);
		for (size_t i = 0; i < nbytes; i++)
			text[i] = test_below(40) ? 'x' : '\n';
		memset(text + 1000, '\n', 100000);
		for (size_t i = 1 << 18; i < nbytes; i += 1 << 18)
			memcpy(text + i - 1, seam, 2);
		pair_new(&p, newline);
		pair_append(&p, WRAPPED, text, nbytes);
		pair_append(&p, FOUND, text, nbytes);
		while (pair_line(&p, round & 4 ? 100 : 0, 0) == 1) {
			if (test_below(1000) == 0)
				pair_bytes(&p, test_below(64), 0);
			if (test_below(2000) == 0)
				pair_mark(&p, 0);
			if (test_below(40000) == 0)
				pair_mark(&p, 1);
		}
		while (pair_line(&p, 0, AGZ_LINES_END) == 1)
			;
		assert_int_equal(p.m.pos, 2 * nbytes);
		pair_free(&p);
	}
	free(text);
}

/* A line over hundreds of blocks, asked for after each; then the memory is given back. */
static void long_line(void **state)
{
	enum { BLOCK = 65536, N = 512 };
	agz_cursor *c;
	agz_line line;

	(void)state;
	test_fail_after(-1);
	assert_int_equal(agz_cursor_new(AGZ_NEWLINE_ANY, &c), AGZ_OK);
	for (size_t i = 0; i < N; i++) {
		agz_block *b = agz__block_new(BLOCK);
		assert_non_null(b);
		memset(b->ptr, (int)('a' + i % 26), BLOCK);
		b->nbytes = BLOCK;
		if (i == N - 1)
			memcpy(b->ptr + BLOCK - 3, "\nx", 3);
		if (i % 2 == 0)
			assert_int_equal(agz__block_find(b, AGZ_NEWLINE_ANY), AGZ_OK);
		agz_cursor_append(c, b);
		if (i < N - 1) {
			assert_int_equal(agz_cursor_line(c, 0, 0, &line), 0);
			assert_int_equal(
			        agz_cursor_line(c, (i + 1) * BLOCK + 1, 0, &line), 0);
		}
	}
	assert_int_equal(agz_cursor_line(c, 0, 0, &line), 1);
	assert_int_equal(line.nbytes, (size_t)N * BLOCK - 2);
	assert_int_equal(line.end_nbytes, 1);
	assert_int_equal(line.ascii, 1);
	for (size_t i = 0; i < line.nbytes - 1; i++)
		if (line.ptr[i] != 'a' + i / BLOCK % 26)
			fail();
	assert_int_equal(agz_cursor_line(c, 0, 0, &line), 0);
	agz__block_cache_clear();
	assert_true(test_live_nbytes() < 2 * BLOCK);
	assert_int_equal(agz_cursor_line(c, 0, AGZ_LINES_END, &line), 1);
	assert_int_equal(line.nbytes, 2);
	agz_cursor_free(c);
	agz__block_cache_clear();
	assert_int_equal(test_live(), 0);
}

static void count_release(void *arg)
{
	++*(int *)arg;
}

static void append_counted(agz_cursor *c, const char *text, int *released)
{
	agz_block *b;

	assert_int_equal(agz_block_wrap(text, strlen(text), count_release, released, &b),
	                 AGZ_OK);
	agz_cursor_append(c, b);
}

/* A block goes as soon as the cursor has left it, or with the mark. */
static void blocks_freed(void **state)
{
	int released = 0;
	agz_cursor *c;
	agz_line line;

	(void)state;
	assert_int_equal(agz_cursor_new(AGZ_NEWLINE_LF, &c), AGZ_OK);
	append_counted(c, "", &released);
	assert_int_equal(released, 1);
	append_counted(c, "one\ntwo", &released);
	append_counted(c, " and\nthree\n", &released);
	append_counted(c, "four", &released);
	assert_int_equal(agz_cursor_line(c, 0, 0, &line), 1);
	assert_int_equal(released, 1);
	assert_int_equal(agz_cursor_line(c, 0, 0, &line), 1);
	assert_memory_equal(line.ptr, "two and\n", 8);
	assert_int_equal(released, 2);
	agz_cursor_mark(c);
	assert_int_equal(agz_cursor_line(c, 0, 0, &line), 1);
	assert_int_equal(agz_cursor_skip(c, 100), 4);
	assert_int_equal(released, 2);
	agz_cursor_reset(c);
	assert_int_equal(agz_cursor_nbytes(c), 10);
	assert_int_equal(agz_cursor_skip(c, 6), 6);
	assert_int_equal(released, 2);
	agz_cursor_unmark(c);
	assert_int_equal(released, 3);
	assert_int_equal(agz_cursor_skip(c, 4), 4);
	assert_int_equal(released, 4);
	append_counted(c, "five", &released);
	append_counted(c, "six", &released);
	agz_cursor_mark(c);
	assert_int_equal(agz_cursor_skip(c, 5), 5);
	assert_int_equal(released, 4);
	agz_cursor_mark(c);
	assert_int_equal(released, 5);
	agz_cursor_clear(c);
	assert_int_equal(released, 6);
	append_counted(c, "seven", &released);
	agz_cursor_free(c);
	assert_int_equal(released, 7);
	agz_cursor_free(NULL);
}

/* Memory runs out after n allocations in a walk over the lines; once there is some again,
 * the answers are right. Returns whether it ran out. */
static bool lines_failing_after(enum agz_newline newline, long n)
{
	static const char text[] = "one\ntwo\r\nth\ree\r\nfour\r";
	struct pair p;
	agz_line line, want;
	size_t limit = 0;
	bool failed = false;

	pair_new(&p, newline);
	for (size_t i = 0; text[i] != 0; i += 3)
		pair_append(&p, WRAPPED, (const uint8_t *)text + i, 3);
	test_fail_after(n);
	while (p.m.pos < p.m.nbytes) {
		int rc = agz_cursor_line(p.c, limit, AGZ_LINES_END, &line);
		if (rc == AGZ_E_NOMEM) {
			assert_true(test_failed());
			test_fail_after(-1);
			limit = n % 2 ? 4 : 0; /* or for less than what failed */
			failed = true;
			continue;
		}
		assert_int_equal(rc, model_line(&p.m, limit, AGZ_LINES_END, &want));
		limit = 0;
		assert_int_equal(line.nbytes, want.nbytes);
		assert_int_equal(line.end_nbytes, want.end_nbytes);
		assert_memory_equal(line.ptr, want.ptr, want.nbytes);
	}
	test_fail_after(-1);
	pair_free(&p);
	assert_int_equal(test_live(), 0);
	return failed;
}

static void out_of_memory(void **state)
{
	agz_cursor *c = (agz_cursor *)&c;

	(void)state;
	agz__block_cache_clear();
	for (unsigned newline = 0; newline < 4; newline++) {
		long n = 0;
		while (lines_failing_after((enum agz_newline)newline, n))
			n++;
		assert_true(n >= 8); /* each block's ends, and lines in pieces */
	}
	test_fail_after(0);
	assert_int_equal(agz_cursor_new(AGZ_NEWLINE_LF, &c), AGZ_E_NOMEM);
	assert_null(c);
	test_fail_after(-1);
}

static void arguments(void **state)
{
	agz_cursor *c = (agz_cursor *)&c;
	agz_line line;
	size_t n = 1;

	(void)state;
	assert_int_equal(agz_cursor_new((enum agz_newline)4, &c), AGZ_E_ARGUMENT);
	assert_null(c);
	assert_int_equal(agz_cursor_new(AGZ_NEWLINE_LF, &c), AGZ_OK);
	assert_int_equal(agz_cursor_line(c, 0, AGZ_LINES_END, &line), 0);
	assert_int_equal(agz_cursor_read(c, NULL, 0), 0);
	agz_cursor_span(c, &n);
	assert_int_equal(n, 0);
	agz_cursor_mark(c);
	agz_cursor_reset(c);
	agz_cursor_unmark(c);
	assert_int_equal(agz_cursor_nbytes(c), 0);
	agz_cursor_free(c);
}

/* Before the first block, so that all that the cache holds is counted. */
static int setup(void **state)
{
	(void)state;
	test_fail_after(-1);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_split),  cmocka_unit_test(random_mix),
	        cmocka_unit_test(portions),     cmocka_unit_test(long_line),
	        cmocka_unit_test(blocks_freed), cmocka_unit_test(out_of_memory),
	        cmocka_unit_test(arguments),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
