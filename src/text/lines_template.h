/*
 * lines_template.h - the line finder, once for each kind of processor.
 *
 * Parameters, undefined again at the end:
 *   FIND            name of the function
 *   TARGET          its attribute, may be empty
 *   MASK(ptr, byte) the 64-bit mask of which of ptr[0..64) equal `byte`, lowest bit first
 *   POPCOUNT        defined if counting bits is one instruction
 *
 * Bytes are taken 64 at a time and become masks; the last 1 to 64 go through a buffer
 * padded with zeros, so nothing past the end is read.
 */

/* Which of 64 bytes are the last byte of a line end. `before` and `after` are the bytes on
 * either side. */
TARGET static inline uint64_t CAT(FIND, _mask)(enum agz_newline newline,
                                               const uint8_t *ptr, unsigned before,
                                               unsigned after)
{
	uint64_t lf, cr;

	switch (newline) {
	case AGZ_NEWLINE_LF:
		return MASK(ptr, '\n');
	case AGZ_NEWLINE_CR:
		return MASK(ptr, '\r');
	case AGZ_NEWLINE_CRLF:
		lf = MASK(ptr, '\n');
		cr = MASK(ptr, '\r');
		return lf & (cr << 1 | (before == '\r'));
	case AGZ_NEWLINE_ANY:
	default:
		lf = MASK(ptr, '\n');
		cr = MASK(ptr, '\r');
		return lf | (cr & ~(lf >> 1 | (uint64_t)(after == '\n') << 63));
	}
}

TARGET static inline __attribute__((always_inline)) size_t
CAT(FIND, _mode)(enum agz_newline newline, const uint8_t *ptr, size_t nbytes,
                 uint32_t *ends, size_t max, size_t *used)
{
	size_t i = 0, n = 0;
	unsigned before = 0;
	uint64_t mask;

	for (; nbytes - i > 64 && max - n >= 64; i += 64) {
		mask = CAT(FIND, _mask)(newline, ptr + i, before, ptr[i + 64]);
		before = ptr[i + 63];
#ifdef POPCOUNT
		/* Four stores that may be too many cost less than a branch mispredicted. */
		uint32_t *to = ends + n;
		n += (size_t)__builtin_popcountll(mask);
		for (int k = 0; k < 4; k++, mask &= mask - 1)
			to[k] = (uint32_t)i + 1 + low_bit(mask);
		for (to += 4; mask != 0; mask &= mask - 1)
			*to++ = (uint32_t)i + 1 + low_bit(mask);
#else
		for (; mask != 0; mask &= mask - 1)
			ends[n++] = (uint32_t)i + 1 + low_bit(mask);
#endif
	}
	/* The last bytes, or little room for ends. */
	for (; i < nbytes; i += 64) {
		uint8_t last[64] = {0};
		size_t left = nbytes - i;

		memcpy(last, ptr + i, left < 64 ? left : 64);
		mask = CAT(FIND, _mask)(newline, last, before,
		                        left > 64 ? ptr[i + 64] : 0);
		before = last[63];
		/* What a "\r" in the last byte is, the caller will see. */
		if (newline == AGZ_NEWLINE_ANY && left <= 64 && last[left - 1] == '\r')
			mask &= ~((uint64_t)1 << (left - 1));
		for (; mask != 0; mask &= mask - 1) {
			if (n == max) {
				*used = ends[n - 1];
				return n;
			}
			ends[n++] = (uint32_t)i + 1 + low_bit(mask);
		}
	}
	*used = nbytes;
	return n;
}

TARGET static size_t FIND(enum agz_newline newline, const uint8_t *ptr, size_t nbytes,
                          uint32_t *ends, size_t max, size_t *used)
{
	switch (newline) {
	case AGZ_NEWLINE_LF:
		return CAT(FIND, _mode)(AGZ_NEWLINE_LF, ptr, nbytes, ends, max, used);
	case AGZ_NEWLINE_CR:
		return CAT(FIND, _mode)(AGZ_NEWLINE_CR, ptr, nbytes, ends, max, used);
	case AGZ_NEWLINE_CRLF:
		return CAT(FIND, _mode)(AGZ_NEWLINE_CRLF, ptr, nbytes, ends, max, used);
	case AGZ_NEWLINE_ANY:
	default:
		return CAT(FIND, _mode)(AGZ_NEWLINE_ANY, ptr, nbytes, ends, max, used);
	}
}

#undef FIND
#undef TARGET
#undef MASK
#undef POPCOUNT
