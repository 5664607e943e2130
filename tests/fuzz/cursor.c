/*
 * cursor.c - any calls of a cursor over blocks cut anywhere, against the same bytes in one
 * piece, a position and a mark.
 */
#include "fuzz.h"
#include "text/block.h"

struct model {
	enum agz_newline newline;
	uint8_t *ptr; /* all that may still be read, or gone back to */
	size_t nbytes, at;
	size_t mark; /* SIZE_MAX: none */
	unsigned seen;
};

static void insert(struct model *m, size_t at, const uint8_t *ptr, size_t nbytes)
{
	uint8_t *grown = malloc(m->nbytes + nbytes + 1);
	CHECK(grown != NULL);
	if (at > 0)
		memcpy(grown, m->ptr, at);
	memcpy(grown + at, ptr, nbytes);
	if (m->nbytes > at)
		memcpy(grown + at + nbytes, m->ptr + at, m->nbytes - at);
	free(m->ptr);
	m->ptr = grown;
	m->nbytes += nbytes;
}

/* The next line's length, 0 if there is none; *end: how much of it is its end. */
static size_t find_line(const struct model *m, size_t limit, bool ends, unsigned *end)
{
	const uint8_t *p = m->ptr + m->at;
	size_t left = m->nbytes - m->at, i;

	*end = 0;
	if (limit == 0)
		limit = SIZE_MAX;
	for (i = 0; i < left && *end == 0; i++) {
		bool pair = p[i] == '\n' && i > 0 && p[i - 1] == '\r';
		if (m->newline == AGZ_NEWLINE_CRLF) {
			*end = pair ? 2 : 0;
			continue;
		}
		if (p[i] == '\n' && m->newline != AGZ_NEWLINE_CR)
			*end = pair && m->newline == AGZ_NEWLINE_ANY ? 2 : 1;
		else if (p[i] == '\r' && m->newline == AGZ_NEWLINE_CR)
			*end = 1;
		else if (p[i] == '\r' && m->newline == AGZ_NEWLINE_ANY)
			/* What follows says what it is. */
			*end = i + 1 == left ? ends : p[i + 1] != '\n';
	}
	if (i > limit) {
		*end = 0;
		return limit;
	}
	if (*end > 0 || ends)
		return i;
	return i == limit && !(m->newline == AGZ_NEWLINE_ANY && p[i - 1] == '\r') ? i : 0;
}

static void check_line(agz_cursor *c, struct model *m, size_t limit, bool ends)
{
	agz_line line;
	unsigned end;
	size_t n = find_line(m, limit, ends, &end);

	CHECK(agz_cursor_line(c, limit, ends ? AGZ_LINES_END : 0, &line) == (n > 0));
	if (n == 0)
		return;
	CHECK(line.nbytes == n && line.end_nbytes == end);
	CHECK(memcmp(line.ptr, m->ptr + m->at, n) == 0);
	CHECK(!line.ascii || agz_is_ascii(line.ptr, n));
	m->at += n;
	if (m->newline == AGZ_NEWLINE_ANY && end > 0)
		m->seen |= end == 2                    ? AGZ_SAW_CRLF
		           : m->ptr[m->at - 1] == '\n' ? AGZ_SAW_LF
		                                       : AGZ_SAW_CR;
}

/* Wrapped, or made and searched as a reader does, for these ends or for others. */
static agz_block *make_block(fuzz *f, const uint8_t *ptr, size_t nbytes)
{
	unsigned how = fuzz_random(f) % 8;
	agz_block *block;

	if (how < 4) {
		uint8_t *copy = fuzz_copy(ptr, nbytes);
		CHECK(agz_block_wrap(copy, nbytes, free, copy, &block) == AGZ_OK);
		return block;
	}
	block = agz__block_new(nbytes > 0 ? nbytes : 1);
	CHECK(block != NULL);
	if (nbytes > 0)
		memcpy(block->ptr, ptr, nbytes);
	block->nbytes = nbytes;
	if (nbytes > 0)
		CHECK(agz__block_find(block, (enum agz_newline)(how - 4)) == AGZ_OK);
	return block;
}

static void check_bytes(agz_cursor *c, struct model *m, unsigned how, size_t n)
{
	uint8_t *room = malloc(n);
	size_t left = m->nbytes - m->at, expected = n < left ? n : left;

	if (how == 0)
		CHECK(agz_cursor_skip(c, n) == expected);
	else if (how == 1)
		CHECK(agz_cursor_peek(c, room, n) == expected);
	else
		CHECK(agz_cursor_read(c, room, n) == expected);
	if (how > 0 && expected > 0)
		CHECK(memcmp(room, m->ptr + m->at, expected) == 0);
	if (how != 1)
		m->at += expected;
	free(room);
}

static void step(agz_cursor *c, struct model *m, fuzz *f)
{
	unsigned call = fuzz_byte(f);
	size_t n = fuzz_byte(f);
	const void *span;

	switch (call % 16) {
	case 0:
	case 1:
	case 2: /* append n bytes of the data, or some times that */
		for (unsigned i = 0; i < 1 + call / 64; i++) {
			size_t nbytes = n < f->nbytes ? n : f->nbytes;
			insert(m, m->nbytes, f->ptr, nbytes);
			agz_cursor_append(c, make_block(f, f->ptr, nbytes));
			if (i == call / 64) {
				f->ptr += nbytes;
				f->nbytes -= nbytes;
			}
		}
		break;
	case 3:
		n = n < f->nbytes ? n : f->nbytes;
		insert(m, m->at, f->ptr, n);
		m->mark = SIZE_MAX;
		agz_cursor_prepend(c, make_block(f, f->ptr, n));
		break;
	case 4:
		m->mark = m->at;
		agz_cursor_mark(c);
		break;
	case 5:
		if (m->mark != SIZE_MAX)
			m->at = m->mark;
		agz_cursor_reset(c);
		break;
	case 6:
		m->mark = SIZE_MAX;
		agz_cursor_unmark(c);
		break;
	case 7:
		if (n % 4 > 0)
			break;
		agz_cursor_clear(c);
		m->at = m->nbytes;
		m->mark = SIZE_MAX;
		m->seen = 0;
		break;
	case 8:
	case 9:
	case 10:
		check_bytes(c, m, call % 16 - 8, n);
		break;
	default:
		check_line(c, m, call & 16 ? n : 0, call & 32);
		break;
	}
	CHECK(agz_cursor_nbytes(c) == m->nbytes - m->at);
	CHECK(agz_cursor_seen(c) == m->seen);
	span = agz_cursor_span(c, &n);
	CHECK(n <= m->nbytes - m->at && (n > 0 || m->at == m->nbytes));
	CHECK(n == 0 || memcmp(span, m->ptr + m->at, n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *ptr, size_t nbytes)
{
	fuzz f = fuzz_start(ptr, nbytes);
	struct model m = {(enum agz_newline)(fuzz_byte(&f) % 4),
	                  fuzz_copy("", 1),
	                  0,
	                  0,
	                  SIZE_MAX,
	                  0};
	agz_cursor *cursor;

	if (f.nbytes > 4096) /* the model is slow */
		f.nbytes = 4096;
	CHECK(agz_cursor_new(m.newline, &cursor) == AGZ_OK);
	while (f.nbytes > 0)
		step(cursor, &m, &f);
	do {
		m.seen = agz_cursor_seen(cursor);
		check_line(cursor, &m, 0, true);
	} while (m.at < m.nbytes);
	agz_cursor_free(cursor);
	free(m.ptr);
	return 0;
}
