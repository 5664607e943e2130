/*
 * crc32.c - CRC-32 by the fastest library that is built in, and the CRC of two spans
 * from their own.
 *
 * Measured in GB/s (ISA-L 2.30, libdeflate, zlib 1.2.13; a Zen 3 core):
 *
 *     bytes at a time       8     64    2 Ki   256 Ki   11 M
 *     ISA-L               0.4    3.5     8.9      9.3    8.1
 *     libdeflate 1.14     0.3    3.8     8.4      9.0    6.3
 *     libdeflate 1.26       .      .       .     18.4      .
 *     zlib                0.3    0.4     1.9      2.1    2.1
 */
#include "agz/codec.h"

#if defined(AGZ_HAVE_ISAL)
#include <isa-l.h>
#endif
#if defined(AGZ_HAVE_LIBDEFLATE)
#include <libdeflate.h>
#endif
#include <zlib.h>

/* libdeflate folds with vectors twice as wide since 1.20. */
#if defined(AGZ_HAVE_LIBDEFLATE)
#if !defined(AGZ_HAVE_ISAL) || LIBDEFLATE_VERSION_MAJOR > 1 ||                           \
        LIBDEFLATE_VERSION_MINOR >= 20
#define BY_LIBDEFLATE
#endif
#endif

uint32_t agz_crc32(uint32_t crc, const void *ptr, size_t nbytes)
{
	if (nbytes == 0)
		return crc;
#if defined(BY_LIBDEFLATE)
	return libdeflate_crc32(crc, ptr, nbytes);
#elif defined(AGZ_HAVE_ISAL)
	return crc32_gzip_refl(crc, ptr, nbytes);
#else
	return (uint32_t)crc32_z(crc, ptr, nbytes);
#endif
}

const char *agz_engine_for_crc32(void)
{
#if defined(BY_LIBDEFLATE)
	return "libdeflate";
#elif defined(AGZ_HAVE_ISAL)
	return "isal";
#else
	return "zlib";
#endif
}

/*
 * A CRC is a polynomial over GF(2) modulo P, its coefficient of x^k in bit 31 - k. To put
 * n bytes behind a span multiplies its CRC by x^8n, whatever they are.
 */
#define P      0xedb88320u
#define ONE    0x80000000u
#define X_TO_8 0x00800000u

static uint32_t multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (; a != 0; a <<= 1) {
		if (a & ONE)
			product ^= b;
		b = b >> 1 ^ (b & 1 ? P : 0);
	}
	return product;
}

uint32_t agz_crc32_combine(uint32_t crc_a, uint32_t crc_b, uint64_t b_nbytes)
{
	uint32_t power = ONE;
	uint32_t square = X_TO_8;

	for (; b_nbytes != 0; b_nbytes >>= 1) {
		if (b_nbytes & 1)
			power = multiply(power, square);
		square = multiply(square, square);
	}
	return multiply(crc_a, power) ^ crc_b;
}
