/*
 * text.c - the checks for ASCII and UTF-8, with each kind of vector instructions, against
 * RFC 3629 read aloud.
 */
#define _GNU_SOURCE
#include "fuzz.h"
#include "text/cpu.h"
#include "text/lines.h"

/* The length of the character that stands at p, or 0. */
static size_t character(const uint8_t *p, size_t nbytes)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = p[0] < 0x80   ? 1
	           : p[0] < 0xc0 ? 0
	           : p[0] < 0xe0 ? 2
	           : p[0] < 0xf0 ? 3
	           : p[0] < 0xf8 ? 4
	                         : 0;
	if (n < 2 || n > nbytes)
		return n > nbytes ? 0 : n;
	uint32_t value = p[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if (p[i] >> 6 != 2)
			return 0;
		value = value << 6 | (p[i] & 0x3f);
	}
	bool surrogate = value >= 0xd800 && value < 0xe000;
	return value >= least[n] && value <= 0x10ffff && !surrogate ? n : 0;
}

/* Could more bytes make a character of these? Tries those at the edges of every range. */
static bool completes(const uint8_t *p, size_t nbytes)
{
	static const uint8_t edges[] = {0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf};
	uint8_t whole[4];

	for (unsigned i = 0; nbytes > 0 && nbytes < 4 && i < 6 * 6 * 6; i++) {
		memcpy(whole, p, nbytes);
		for (unsigned at = (unsigned)nbytes, left = i; at < 4; at++, left /= 6)
			whole[at] = edges[left % 6];
		if (character(whole, 4) > nbytes)
			return true;
	}
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *ptr, size_t nbytes)
{
	static const char *const cpus[] = {"scalar", "sse2", "avx2", "neon"};
	fuzz f = fuzz_start(ptr, nbytes);
	size_t lead = fuzz_byte(&f) % 65, valid = 0, ascii = 0, n;
	/* The text as it comes, or behind some that is ASCII, so that the vectors see it. */
	fuzz_bytes text = {0};

	for (size_t i = 0; i < lead; i++)
		fuzz_add(&text, "a", 1);
	fuzz_add(&text, f.ptr, f.nbytes);
	uint8_t *copy = fuzz_copy(text.ptr, text.nbytes);
	free(text.ptr);
	nbytes = text.nbytes;

	while (ascii < nbytes && copy[ascii] < 0x80)
		ascii++;
	while (valid < nbytes && (n = character(copy + valid, nbytes - valid)) > 0)
		valid += n;
	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		int cut = -1;
		setenv("AGZ_CPU", cpus[i], 1);
		agz__cpu_forget();
		CHECK(agz_utf8_valid(copy, nbytes, &cut) == valid);
		CHECK(cut == completes(copy + valid, nbytes - valid));
		CHECK(agz__ascii_span(copy, nbytes) == ascii);
		CHECK(agz_is_ascii(copy, nbytes) == (ascii == nbytes));
	}
	free(copy);
	return 0;
}
