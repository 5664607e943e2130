/*
 * lines.c - the line finder: masks of 64 bytes on each kind of processor, and the choice
 * between them.
 */
#include "text/lines.h"

#include <string.h>

#include "text/cpu.h"

#define CAT_(a, b) a##b
#define CAT(a, b)  CAT_(a, b)

/* The number of the lowest bit that is set; 63 if none is. */
static inline unsigned low_bit(uint64_t mask)
{
	return (unsigned)__builtin_ctzll(mask | (uint64_t)1 << 63);
}

/* ---- scalar: eight bytes in a register ------------------------------------------- */

static inline uint64_t load_le64(const uint8_t *p)
{
	uint64_t x;

	memcpy(&x, p, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	x = __builtin_bswap64(x);
#endif
	return x;
}

static inline uint64_t mask_scalar(const uint8_t *ptr, uint8_t byte)
{
	const uint64_t low7 = 0x7f7f7f7f7f7f7f7f;
	uint64_t mask = 0;

	for (unsigned i = 0; i < 64; i += 8) {
		uint64_t x = load_le64(ptr + i) ^ (byte * (uint64_t)0x0101010101010101);
		/* The top bit of each byte that is 0, and of no other. */
		x = ~(((x & low7) + low7) | x | low7);
		/* The eight top bits side by side. */
		mask |= ((x >> 7) * 0x0102040810204080 >> 56) << i;
	}
	return mask;
}

#define FIND find_scalar
#define TARGET
#define MASK(ptr, byte) mask_scalar(ptr, byte)
#include "text/lines_template.h"

/* ---- x86 ---------------------------------------------------------------------------- */

#ifdef AGZ__X86
#include <immintrin.h>

static inline uint64_t mask_sse2(const uint8_t *ptr, char byte)
{
	const __m128i want = _mm_set1_epi8(byte);
	uint64_t mask = 0;

	for (unsigned i = 0; i < 4; i++) {
		__m128i v =
		        _mm_loadu_si128((const __m128i *)(const void *)(ptr + 16 * i));
		unsigned m = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, want));
		mask |= (uint64_t)m << 16 * i;
	}
	return mask;
}

#define FIND find_sse2
#define TARGET
#define MASK(ptr, byte) mask_sse2(ptr, byte)
#include "text/lines_template.h"

AGZ__TARGET_AVX2 static inline uint64_t mask_avx2(const uint8_t *ptr, char byte)
{
	const __m256i want = _mm256_set1_epi8(byte);
	__m256i a = _mm256_loadu_si256((const __m256i *)(const void *)ptr);
	__m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(ptr + 32));

	return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, want)) |
	       (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, want)) << 32;
}

#define FIND            find_avx2
#define TARGET          AGZ__TARGET_AVX2
#define MASK(ptr, byte) mask_avx2(ptr, byte)
#define POPCOUNT
#include "text/lines_template.h"

#define find_base find_sse2
#endif

/* ---- ARM ---------------------------------------------------------------------------- */

#ifdef AGZ__NEON
#include <arm_neon.h>

static inline uint64_t mask_neon(const uint8_t *ptr, uint8_t byte)
{
	static const uint8_t bits[16] = {1, 2, 4, 8, 16, 32, 64, 128,
	                                 1, 2, 4, 8, 16, 32, 64, 128};
	const uint8x16_t want = vdupq_n_u8(byte), bit = vld1q_u8(bits);
	uint8x16_t a = vandq_u8(vceqq_u8(vld1q_u8(ptr), want), bit);
	uint8x16_t b = vandq_u8(vceqq_u8(vld1q_u8(ptr + 16), want), bit);
	uint8x16_t c = vandq_u8(vceqq_u8(vld1q_u8(ptr + 32), want), bit);
	uint8x16_t d = vandq_u8(vceqq_u8(vld1q_u8(ptr + 48), want), bit);
	uint8x16_t sum = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));

	/* Each sum of eight bits is one byte of the mask. */
	sum = vpaddq_u8(sum, sum);
	return vgetq_lane_u64(vreinterpretq_u64_u8(sum), 0);
}

#define FIND find_neon
#define TARGET
#define MASK(ptr, byte) mask_neon(ptr, byte)
#include "text/lines_template.h"

#define find_base find_neon
#endif

/* ---- the choice ----------------------------------------------------------------------- */

size_t agz__find_ends(enum agz_newline newline, const uint8_t *ptr, size_t nbytes,
                      uint32_t *ends, size_t max, size_t *used)
{
	/* Most text has no "\r". One look for it costs less than to compare all bytes with
	 * two. */
	if (newline == AGZ_NEWLINE_ANY && nbytes > 0 && memchr(ptr, '\r', nbytes) == NULL)
		newline = AGZ_NEWLINE_LF;
	switch (agz__cpu()) {
#ifdef AGZ__X86
	case AGZ__CPU_AVX2:
		return find_avx2(newline, ptr, nbytes, ends, max, used);
#endif
#ifdef find_base
	case AGZ__CPU_BASE:
		return find_base(newline, ptr, nbytes, ends, max, used);
#endif
	default:
		return find_scalar(newline, ptr, nbytes, ends, max, used);
	}
}
