/*
 * header.c - a header in any pieces, against one that is read with all of it at hand: the
 * same end or the same error at the same byte, and the fields between.
 */
#include <zlib.h>

#include "codec/header.h"
#include "fuzz.h"

struct span {
	size_t from, to;
};

struct model {
	const uint8_t *ptr;
	size_t nbytes;
	size_t at;
	struct span extra, name, comment;
};

/* True if n bytes more are there; else goes to the end. */
static bool has(struct model *m, size_t n)
{
	bool there = m->nbytes - m->at >= n;
	m->at = there ? m->at + n : m->nbytes;
	return there;
}

static bool string(struct model *m, struct span *s)
{
	s->from = m->at;
	while (m->at < m->nbytes && m->ptr[m->at] != 0)
		m->at++;
	s->to = m->at;
	return has(m, 1);
}

/* 1 and where it ends in `at`, 0: cut, or an error and where. */
static int read_header(struct model *m)
{
	const uint8_t *p = m->ptr;
	static const int errors[] = {AGZ_E_MAGIC, AGZ_E_MAGIC, AGZ_E_METHOD, AGZ_E_FLAGS};

	for (; m->at < 4 && m->at < m->nbytes; m->at++)
		if (m->at < 3 ? p[m->at] != (uint8_t) "\x1f\x8b\x08"[m->at]
		              : p[3] >= 0x20)
			return errors[m->at];
	m->at = 0;
	if (!has(m, 10))
		return 0;
	if (p[3] & AGZ__FEXTRA) {
		if (!has(m, 2))
			return 0;
		m->extra.from = m->at;
		bool whole = has(m, p[m->at - 2] + p[m->at - 1] * (size_t)256);
		m->extra.to = m->at;
		if (!whole)
			return 0;
	}
	if (p[3] & AGZ__FNAME && !string(m, &m->name))
		return 0;
	if (p[3] & AGZ__FCOMMENT && !string(m, &m->comment))
		return 0;
	if (p[3] & AGZ__FHCRC) {
		uint32_t crc = (uint32_t)crc32(0, p, (uInt)m->at);
		for (int i = 0; i < 2; i++, m->at++) {
			if (m->at == m->nbytes)
				return 0;
			if (p[m->at] != (uint8_t)(crc >> 8 * i))
				return AGZ_E_HEADER_CRC;
		}
	}
	return 1;
}

static void check_field(const struct model *m, const struct span *s,
                        const struct agz__field *field)
{
	CHECK(field->nbytes == s->to - s->from);
	CHECK(field->nbytes == 0 || !memcmp(field->ptr, m->ptr + s->from, field->nbytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *ptr, size_t nbytes)
{
	fuzz f = fuzz_start(ptr, nbytes);
	struct model m = {f.ptr, f.nbytes, 0, {0}, {0}, {0}};
	int expected = read_header(&m), rc = 0;
	agz__header header = {.collect = true};
	size_t at = 0;

	do {
		size_t piece = fuzz_cut(&f, m.nbytes - at), used;
		uint8_t *copy = fuzz_copy(m.ptr + at, piece);
		rc = agz__header_parse(&header, copy, piece, &used);
		CHECK(used <= piece && (rc != 0 || used == piece));
		at += used;
		free(copy);
	} while (rc == 0 && at < m.nbytes);
	CHECK(rc == expected && at == m.at);
	check_field(&m, &m.extra, &header.extra);
	check_field(&m, &m.name, &header.name);
	check_field(&m, &m.comment, &header.comment);
	agz__header_release(&header);
	return 0;
}
