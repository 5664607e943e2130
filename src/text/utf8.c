/*
 * utf8.c - is it ASCII, is it UTF-8; and which vector instructions may be used.
 */
#include "agz/text.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "text/cpu.h"
#include "text/lines.h"

/* ---- the processor ------------------------------------------------------------------ */

static enum agz__cpu look_at_cpu(void)
{
	enum agz__cpu best = AGZ__CPU_SCALAR;
	const char *env = getenv("AGZ_CPU");

#if defined(AGZ__X86) || defined(AGZ__NEON)
	best = AGZ__CPU_BASE;
#endif
#ifdef AGZ__X86
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
	    __builtin_cpu_supports("popcnt"))
		best = AGZ__CPU_AVX2;
#endif
	if (env == NULL)
		return best;
	if (strcmp(env, "scalar") == 0)
		return AGZ__CPU_SCALAR;
	if (strcmp(env, "sse2") == 0 || strcmp(env, "neon") == 0)
		return best < AGZ__CPU_BASE ? best : AGZ__CPU_BASE;
	return best;
}

/* Two threads that come at once find the same. */
static _Atomic int cpu = AGZ__CPU_UNKNOWN;

enum agz__cpu agz__cpu(void)
{
	int found = atomic_load_explicit(&cpu, memory_order_relaxed);

	if (found == AGZ__CPU_UNKNOWN) {
		found = look_at_cpu();
		atomic_store_explicit(&cpu, found, memory_order_relaxed);
	}
	return (enum agz__cpu)found;
}

void agz__cpu_forget(void)
{
	atomic_store_explicit(&cpu, AGZ__CPU_UNKNOWN, memory_order_relaxed);
}

/* ---- ASCII ---------------------------------------------------------------------------- */

/* The top bits of eight bytes, the first byte's lowest. */
static inline uint64_t high_bits(const uint8_t *p)
{
	uint64_t x;

	memcpy(&x, p, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	x = __builtin_bswap64(x);
#endif
	return x & 0x8080808080808080;
}

/* Also what is left over by the others: less than a vector, or a high byte is near. */
static inline size_t span_scalar(const uint8_t *ptr, size_t nbytes)
{
	size_t i = 0;

	for (; nbytes - i >= 8; i += 8) {
		uint64_t high = high_bits(ptr + i);
		if (high != 0)
			return i + (size_t)__builtin_ctzll(high) / 8;
	}
	while (i < nbytes && ptr[i] < 0x80)
		i++;
	return i;
}

#ifdef AGZ__X86
#include <immintrin.h>

static size_t span_base(const uint8_t *ptr, size_t nbytes)
{
	size_t i = 0;

	for (; nbytes - i >= 64; i += 64) {
		const __m128i *v = (const __m128i *)(const void *)(ptr + i);
		__m128i a = _mm_or_si128(_mm_loadu_si128(v), _mm_loadu_si128(v + 1));
		__m128i b = _mm_or_si128(_mm_loadu_si128(v + 2), _mm_loadu_si128(v + 3));

		if (_mm_movemask_epi8(_mm_or_si128(a, b)) != 0)
			break;
	}
	return i + span_scalar(ptr + i, nbytes - i);
}

AGZ__TARGET_AVX2 static size_t span_avx2(const uint8_t *ptr, size_t nbytes)
{
	size_t i = 0;

	for (; nbytes - i >= 128; i += 128) {
		const __m256i *v = (const __m256i *)(const void *)(ptr + i);
		__m256i a =
		        _mm256_or_si256(_mm256_loadu_si256(v), _mm256_loadu_si256(v + 1));
		__m256i b = _mm256_or_si256(_mm256_loadu_si256(v + 2),
		                            _mm256_loadu_si256(v + 3));

		if (_mm256_movemask_epi8(_mm256_or_si256(a, b)) != 0)
			break;
	}
	return i + span_scalar(ptr + i, nbytes - i);
}
#endif

#ifdef AGZ__NEON
#include <arm_neon.h>

static size_t span_base(const uint8_t *ptr, size_t nbytes)
{
	size_t i = 0;

	for (; nbytes - i >= 64; i += 64) {
		uint8x16_t a = vorrq_u8(vld1q_u8(ptr + i), vld1q_u8(ptr + i + 16));
		uint8x16_t b = vorrq_u8(vld1q_u8(ptr + i + 32), vld1q_u8(ptr + i + 48));

		if (vmaxvq_u8(vorrq_u8(a, b)) >= 0x80)
			break;
	}
	return i + span_scalar(ptr + i, nbytes - i);
}
#endif

size_t agz__ascii_span(const uint8_t *ptr, size_t nbytes)
{
	/* Where text is not ASCII, this is called once a line, and often over few bytes. */
	if (nbytes < 32 || high_bits(ptr) != 0)
		return span_scalar(ptr, nbytes);
	switch (agz__cpu()) {
#ifdef AGZ__X86
	case AGZ__CPU_AVX2:
		return span_avx2(ptr, nbytes);
#endif
#if defined(AGZ__X86) || defined(AGZ__NEON)
	case AGZ__CPU_BASE:
		return span_base(ptr, nbytes);
#endif
	default:
		return span_scalar(ptr, nbytes);
	}
}

int agz_is_ascii(const void *ptr, size_t nbytes)
{
	return agz__ascii_span(ptr, nbytes) == nbytes;
}

/* ---- UTF-8 ---------------------------------------------------------------------------- */

/*
 * One character, looked at byte by byte. Returns its length, or 0: then *cut says whether
 * the bytes that are there begin a character that more could complete.
 */
static size_t one_char(const uint8_t *p, size_t nbytes, int *cut)
{
	uint8_t lead = p[0], low = 0x80, high = 0xbf;
	size_t n;

	*cut = 0;
	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	n = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	/* What the second byte may be keeps out overlong forms, surrogates, and what is
	 * over U+10FFFF. */
	if (lead == 0xe0)
		low = 0xa0;
	else if (lead == 0xed)
		high = 0x9f;
	else if (lead == 0xf0)
		low = 0x90;
	else if (lead == 0xf4)
		high = 0x8f;
	for (size_t i = 1; i < n; i++) {
		if (i == nbytes) {
			*cut = 1;
			return 0;
		}
		if (p[i] < low || p[i] > high)
			return 0;
		low = 0x80;
		high = 0xbf;
	}
	return n;
}

/* The same of a character that is not ASCII, with four bytes to look at at once; 0 says
 * only that it is wrong. */
static inline size_t quick_char(const uint8_t *p)
{
	uint32_t v, w = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	                (uint32_t)p[3] << 24;

	if ((w & 0x00c0c0f0) == 0x008080e0) {
		v = w & 0x0000200f; /* 0: overlong; 0x200d: surrogate */
		return v != 0 && v != 0x200d ? 3 : 0;
	}
	if ((w & 0x0000c0e0) == 0x000080c0)
		return (w & 0x1e) != 0 ? 2 : 0;
	if ((w & 0xc0c0c0f8) == 0x808080f0) {
		v = (w & 7) << 8 | (w >> 8 & 0x30); /* the code's highest bits */
		return v >= 0x010 && v < 0x410 ? 4 : 0;
	}
	return 0;
}

size_t agz_utf8_valid(const void *ptr, size_t nbytes, int *cut)
{
	const uint8_t *p = ptr, *end;
	size_t n;

	*cut = 0;
	if (nbytes == 0) /* ptr may be NULL */
		return 0;
	end = p + nbytes;
	while (p != end) {
		if (*p < 0x80) {
			size_t left = (size_t)(end - p);
			/* Between other characters ASCII is often short. */
			n = left < 8 || high_bits(p) != 0 ? span_scalar(p, left)
			                                  : agz__ascii_span(p, left);
			p += n;
			continue;
		}
		n = end - p >= 4 ? quick_char(p) : 0;
		if (n == 0)
			n = one_char(p, (size_t)(end - p), cut);
		if (n == 0)
			break;
		p += n;
	}
	return nbytes - (size_t)(end - p);
}
