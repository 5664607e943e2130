/*
 * lines.h - finds the ends of lines, many per call.
 *
 * The one line splitter: the reader's worker calls it on each block, the cursor on the
 * blocks that come without.
 */
#ifndef AGZ_TEXT_LINES_H
#define AGZ_TEXT_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "agz/text.h"

/*
 * Finds line ends in ptr[0..nbytes), nbytes < 2^32. Writes, ascending, the offset one past
 * each end, as many as `max` (not 0), and returns how many. *used says how many bytes were
 * looked at: nbytes, or, if there were more ends than that, the last offset written.
 *
 * There is no state from call to call: what is written depends on these bytes alone, so
 * that blocks may be searched in any order. It leaves one thing open, a "\r" as the last
 * byte in the modes where the next byte gives it its meaning (ANY, CRLF). Such a "\r" is
 * not written, and neither is, in CRLF mode, a "\n" as the first byte; whoever joins the
 * pieces looks at the two bytes at the seam.
 */
size_t agz__find_ends(enum agz_newline newline, const uint8_t *ptr, size_t nbytes,
                      uint32_t *ends, size_t max, size_t *used);

/* How many bytes from ptr on are below 0x80. */
size_t agz__ascii_span(const uint8_t *ptr, size_t nbytes);

#endif
