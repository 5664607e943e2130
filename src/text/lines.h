/*
 * lines.h - finds the ends of lines, many per call.
 *
 * The one line splitter: the reader's worker calls it on each block, the cursor on the
 * blocks that come without.
 */
#ifndef AGZ_TEXT_LINES_H
#define AGZ_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agz/text.h"

typedef struct agz__line_finder {
	enum agz_newline newline;
	bool held_cr; /* the last byte was "\r": what it is depends on the next byte */
} agz__line_finder;

/*
 * Finds line ends in ptr[0..nbytes), nbytes < 2^32. Writes, ascending, the offset one past
 * each end, as many as `max`; *used says how many bytes were looked at (nbytes unless
 * `ends` got full). An offset of 0 (first only) says that the "\r" that ended the bytes
 * before was a line end of its own. A "\r" as the last byte is held, not written, where
 * the mode gives it a meaning together with the next byte.
 */
size_t agz__find_ends(agz__line_finder *finder, const uint8_t *ptr, size_t nbytes,
                      uint32_t *ends, size_t max, size_t *used);

#endif
