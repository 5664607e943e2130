/*
 * Attack: headers cut at each byte, each byte of each part wrong, fields without end, a
 * field's length that promises what never comes, memory that runs out.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"
#include "codec/header.h"
#include "support.h"

/* Header bytes with all the parts that `flags` asks for, and a right header CRC. */
static test_bytes make(uint8_t flags, size_t extra_nbytes, const char *name,
                       const char *comment)
{
	uint8_t fixed[10] = {0x1f, 0x8b, 8, flags, 0x78, 0x56, 0x34, 0x12, 2, 3};
	test_bytes h = {NULL, 0, 0};

	test_add(&h, fixed, sizeof(fixed));
	if (flags & AGZ__FEXTRA) {
		uint8_t length[2] = {(uint8_t)extra_nbytes, (uint8_t)(extra_nbytes >> 8)};

		test_add(&h, length, 2);
		test_add_fill(&h, 0, extra_nbytes); /* NULs end strings, not this */
	}
	if (flags & AGZ__FNAME)
		test_add(&h, name, strlen(name) + 1);
	if (flags & AGZ__FCOMMENT)
		test_add(&h, comment, strlen(comment) + 1);
	if (flags & AGZ__FHCRC) {
		unsigned long crc = crc32(0, h.ptr, (unsigned)h.nbytes);
		uint8_t low[2] = {(uint8_t)crc, (uint8_t)(crc >> 8)};

		test_add(&h, low, 2);
	}
	return h;
}

/* Parses h in pieces of `piece` bytes. Returns what the last call did; *pos: taken. */
static int parse(agz__header *header, const uint8_t *ptr, size_t nbytes, size_t piece,
                 size_t *pos)
{
	int rc = 0;

	agz__header_reset(header);
	*pos = 0;
	while (rc == 0 && *pos < nbytes) {
		size_t n = nbytes - *pos < piece ? nbytes - *pos : piece;
		uint8_t *span = test_guard(ptr + *pos, n);
		size_t used;

		rc = agz__header_parse(header, span, n, &used);
		assert_true(used <= n);
		assert_true(rc != 0 || used == n);
		*pos += used;
		test_unguard(span, n);
	}
	return rc;
}

static void each_flag_each_split(void **state)
{
	agz__header header = {.collect = true};
	unsigned flags;
	size_t cut;

	(void)state;
	for (flags = 0; flags < 0x20; flags++) {
		test_bytes h = make((uint8_t)flags, 7, "n\xe4me", "a comment");
		size_t pos;

		test_add(&h, "\xff\x00", 2); /* what follows is not the header's */
		for (cut = 1; cut <= h.nbytes; cut++) {
			assert_int_equal(parse(&header, h.ptr, h.nbytes, cut, &pos), 1);
			assert_int_equal(pos, h.nbytes - 2);
			assert_int_equal(header.nbytes, h.nbytes - 2);
			assert_int_equal(agz__header_flags(&header), flags);
			assert_int_equal(agz__header_mtime(&header), 0x12345678);
			assert_int_equal(header.extra.present,
			                 (flags & AGZ__FEXTRA) != 0);
			assert_int_equal(header.extra.nbytes,
			                 flags & AGZ__FEXTRA ? 7 : 0);
			assert_int_equal(header.name.present, (flags & AGZ__FNAME) != 0);
			if (header.name.present)
				assert_memory_equal(header.name.ptr, "n\xe4me", 4);
			assert_int_equal(header.comment.present,
			                 (flags & AGZ__FCOMMENT) != 0);
			if (header.comment.present)
				assert_memory_equal(header.comment.ptr, "a comment", 9);
		}
		/* Cut short anywhere, it is not complete and not wrong. */
		for (cut = 0; cut < h.nbytes - 2; cut++)
			assert_int_equal(parse(&header, h.ptr, cut, 3, &pos), 0);
		test_drop(&h);
	}
	agz__header_release(&header);
}

static void empty_fields(void **state)
{
	agz__header header = {.collect = true};
	test_bytes h =
	        make(AGZ__FEXTRA | AGZ__FNAME | AGZ__FCOMMENT | AGZ__FHCRC, 0, "", "");
	size_t cut, pos;

	(void)state;
	for (cut = 1; cut <= h.nbytes; cut++) {
		assert_int_equal(parse(&header, h.ptr, h.nbytes, cut, &pos), 1);
		assert_int_equal(pos, h.nbytes);
		assert_true(header.name.present && header.comment.present &&
		            header.extra.present);
		assert_int_equal(header.name.nbytes + header.comment.nbytes +
		                         header.extra.nbytes,
		                 0);
	}
	test_drop(&h);
	agz__header_release(&header);
}

/* Without asking for more bytes, whatever follows. */
static void wrong_at_once(void **state)
{
	static const struct {
		size_t at;
		int code;
	} cases[] = {
	        {0, AGZ_E_MAGIC}, {1, AGZ_E_MAGIC}, {2, AGZ_E_METHOD}, {3, AGZ_E_FLAGS}};
	agz__header header = {.collect = false};
	size_t i, pos;

	(void)state;
	for (i = 0; i < 4; i++) {
		test_bytes h = make(AGZ__FNAME, 0, "x", "");

		h.ptr[cases[i].at] ^= 0x80;
		assert_int_equal(parse(&header, h.ptr, h.nbytes, 100, &pos),
		                 cases[i].code);
		assert_int_equal(pos, cases[i].at);
		assert_int_equal(parse(&header, h.ptr, cases[i].at + 1, 1, &pos),
		                 cases[i].code);
		assert_int_equal(pos, cases[i].at);
		test_drop(&h);
	}
	for (i = 5; i < 8; i++) {
		test_bytes h = make((uint8_t)(1 << i), 0, "", "");

		assert_int_equal(parse(&header, h.ptr, 4, 1, &pos), AGZ_E_FLAGS);
		test_drop(&h);
	}
	agz__header_release(&header);
}

static void header_crc(void **state)
{
	agz__header header = {.collect = false};
	test_bytes h =
	        make(AGZ__FEXTRA | AGZ__FNAME | AGZ__FHCRC | AGZ__FTEXT, 300, "name", "");
	size_t bit, cut, pos;

	(void)state;
	/* Any bit that changes no part's length. */
	for (bit = 32; bit < h.nbytes * 8; bit++) {
		size_t at = bit / 8;
		int rc;

		if (at == 10 || at == 11 || at == 316 || h.ptr[at] == 1 << bit % 8)
			continue;
		h.ptr[at] ^= (uint8_t)(1 << bit % 8);
		cut = 1 + test_below(h.nbytes);
		rc = parse(&header, h.ptr, h.nbytes, cut, &pos);
		assert_int_equal(rc, AGZ_E_HEADER_CRC);
		assert_true(pos >= h.nbytes - 2 && pos < h.nbytes);
		h.ptr[at] ^= (uint8_t)(1 << bit % 8);
	}
	/* The first of its bytes is enough. */
	h.ptr[h.nbytes - 2] ^= 1;
	assert_int_equal(parse(&header, h.ptr, h.nbytes - 1, 50, &pos), AGZ_E_HEADER_CRC);
	assert_int_equal(pos, h.nbytes - 2);
	test_drop(&h);
	agz__header_release(&header);
}

/* One that comes after another must not show anything of it. */
static void reuse(void **state)
{
	agz__header header = {.collect = true};
	test_bytes full = make(0x1f, 9, "long name", "long comment");
	test_bytes bare = make(0, 0, "", "");
	test_bytes other = make(AGZ__FNAME, 0, "b", "");
	size_t pos;

	(void)state;
	assert_int_equal(parse(&header, full.ptr, full.nbytes, 5, &pos), 1);
	assert_int_equal(parse(&header, bare.ptr, bare.nbytes, 5, &pos), 1);
	assert_false(header.name.present || header.comment.present ||
	             header.extra.present);
	assert_int_equal(parse(&header, other.ptr, other.nbytes, 5, &pos), 1);
	assert_int_equal(header.name.nbytes, 1);
	test_drop(&full);
	test_drop(&bare);
	test_drop(&other);
	agz__header_release(&header);
}

/* A name that never ends: an error at the cap, and little memory when it is not kept. */
static void cap(void **state)
{
	agz__header header = {.collect = false};
	test_bytes h = make(AGZ__FNAME | AGZ__FHCRC, 0, "", "");
	size_t piece_nbytes = 1 << 20;
	uint8_t *piece = malloc(piece_nbytes);
	uint64_t left = AGZ__HEADER_MAX - 10;
	size_t used;

	(void)state;
	memset(piece, 'x', piece_nbytes);
	test_fail_after(-1);
	agz__header_reset(&header);
	assert_int_equal(agz__header_parse(&header, h.ptr, 10, &used), 0);
	while (left > piece_nbytes) {
		assert_int_equal(agz__header_parse(&header, piece, piece_nbytes, &used),
		                 0);
		left -= piece_nbytes;
	}
	/* Up to the cap, to the byte; one more is too many. */
	assert_int_equal(agz__header_parse(&header, piece, (size_t)left, &used), 0);
	assert_int_equal(header.nbytes, AGZ__HEADER_MAX);
	assert_int_equal(agz__header_parse(&header, piece, 1, &used), AGZ_E_HEADER_SIZE);
	assert_int_equal(used, 0);
	assert_int_equal(test_peak_nbytes(), 0);
	agz__header_release(&header);
	free(piece);
	test_drop(&h);
}

/* Byte by byte, 4 MiB of name: quadratic work would not end in this test's lifetime. */
static void linear(void **state)
{
	agz__header header = {.collect = true};
	test_bytes h = make(AGZ__FNAME, 0, "", "");
	size_t used;
	size_t i;

	(void)state;
	test_fail_after(-1);
	agz__header_reset(&header);
	assert_int_equal(agz__header_parse(&header, h.ptr, 10, &used), 0);
	for (i = 0; i < (size_t)4 << 20; i++)
		if (agz__header_parse(&header, (const uint8_t *)"n", 1, &used) != 0)
			fail();
	assert_int_equal(agz__header_parse(&header, (const uint8_t *)"", 1, &used), 1);
	assert_int_equal(header.name.nbytes, (size_t)4 << 20);
	agz__header_release(&header);
	assert_int_equal(test_live(), 0);
	test_drop(&h);
}

static void no_memory(void **state)
{
	test_bytes h = make(0x1f, 65535, "name", "comment");
	long n;

	(void)state;
	for (n = 0;; n++) {
		agz__header header = {.collect = true};
		size_t pos;
		int rc;

		test_fail_after(n);
		rc = parse(&header, h.ptr, h.nbytes, 1000, &pos);
		agz__header_release(&header);
		assert_int_equal(test_live(), 0);
		if (!test_failed()) {
			assert_int_equal(rc, 1);
			break;
		}
		assert_int_equal(rc, AGZ_E_NOMEM);
	}
	assert_true(n > 3);
	test_fail_after(-1);
	test_drop(&h);
}

static void build(void **state)
{
	static const uint8_t name[] = {'f', 0xe9, '.', 't', 'x', 't'};
	static const uint8_t bad[] = {'a', 0, 'b'};
	uint8_t *ptr;
	size_t nbytes;

	(void)state;
	assert_int_equal(agz__header_build(6, 0x01020304, NULL, 0, &ptr, &nbytes), 0);
	assert_int_equal(nbytes, 10);
	assert_memory_equal(ptr, "\x1f\x8b\x08\x00\x04\x03\x02\x01\x00\xff", 10);
	agz__free(ptr);
	assert_int_equal(agz__header_build(9, 0, name, sizeof(name), &ptr, &nbytes), 0);
	assert_int_equal(nbytes, 17);
	assert_memory_equal(ptr,
	                    "\x1f\x8b\x08\x08\0\0\0\0\x02\xff"
	                    "f\xe9.txt",
	                    17);
	agz__free(ptr);
	assert_int_equal(agz__header_build(1, 0, name, 0, &ptr, &nbytes), 0);
	assert_int_equal(nbytes, 11);
	assert_memory_equal(ptr, "\x1f\x8b\x08\x08\0\0\0\0\x04\xff", 11);
	agz__free(ptr);
	assert_int_equal(agz__header_build(-1, 0, NULL, 0, &ptr, &nbytes), 0);
	assert_int_equal(ptr[8], 0);
	agz__free(ptr);
	assert_int_equal(agz__header_build(6, 0, bad, 3, &ptr, &nbytes), AGZ_E_ARGUMENT);
	assert_int_equal(agz__header_build(6, 0, bad, SIZE_MAX, &ptr, &nbytes),
	                 AGZ_E_ARGUMENT);
	test_fail_after(0);
	assert_int_equal(agz__header_build(6, 0, name, 6, &ptr, &nbytes), AGZ_E_NOMEM);
	test_fail_after(-1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(build),        cmocka_unit_test(each_flag_each_split),
	        cmocka_unit_test(empty_fields), cmocka_unit_test(wrong_at_once),
	        cmocka_unit_test(header_crc),   cmocka_unit_test(reuse),
	        cmocka_unit_test(cap),          cmocka_unit_test(linear),
	        cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
