/*
 * agz/text.h - UTF-8 checks, newline modes, blocks, and a cursor over blocks.
 *
 * No I/O, no threads.
 */
#ifndef AGZ_TEXT_H
#define AGZ_TEXT_H

#include "agz/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- characters ---------------------------------------------------------------- */

/* 1 if all bytes are below 0x80. */
AGZ_API int agz_is_ascii(const void *ptr, size_t nbytes);

/*
 * The length of the longest prefix that is whole, valid UTF-8 (RFC 3629: no
 * surrogates, no overlong forms). What follows is wrong, or a character cut short:
 * *cut is 1 if more bytes could still complete it, else 0.
 */
AGZ_API size_t agz_utf8_valid(const void *ptr, size_t nbytes, int *cut);

/* ---- line ends ----------------------------------------------------------------- */

enum agz_newline {
	AGZ_NEWLINE_LF = 0,   /* "\n"; also what binary lines end with */
	AGZ_NEWLINE_CR = 1,   /* "\r" */
	AGZ_NEWLINE_CRLF = 2, /* "\r\n" */
	AGZ_NEWLINE_ANY = 3   /* each of the three, as Python's None and "" */
};

/* Kinds of line ends, as bits. */
#define AGZ_SAW_CR   1u
#define AGZ_SAW_LF   2u
#define AGZ_SAW_CRLF 4u

/* ---- blocks --------------------------------------------------------------------
 *
 * A block is a run of decompressed bytes that owns its memory. A reader makes them;
 * a caller may wrap its own. It belongs to whoever holds it; handing it to a
 * function that "takes" it gives it away.
 */
typedef struct agz_block agz_block;

/*
 * Wraps caller's memory. `release(arg)` runs once, when the block is freed, on the
 * thread that frees it; it may be NULL. On failure (AGZ_E_NOMEM) it is not called.
 */
AGZ_API int agz_block_wrap(const void *ptr, size_t nbytes, void (*release)(void *arg),
                           void *arg, agz_block **block);
AGZ_API void agz_block_free(agz_block *block);

AGZ_API const void *agz_block_ptr(const agz_block *block);
AGZ_API size_t agz_block_nbytes(const agz_block *block);

/* ---- the cursor ------------------------------------------------------------------
 *
 * A place in a chain of blocks; reads bytes or lines from it. Blocks are appended
 * behind and freed as the cursor leaves them, unless a mark keeps them:
 *
 *      mark          cursor                       end
 *       │              │                           │
 *     [ block ]─[ block ]─[ block ]─[ block ]──────┤◀─ append
 *       └─ kept ─┘     └───── nbytes ──────────────┘
 */
typedef struct agz_cursor agz_cursor;

AGZ_API int agz_cursor_new(enum agz_newline newline, agz_cursor **cursor);
AGZ_API void agz_cursor_free(agz_cursor *cursor);

/* Takes the block. Never fails: finding line ends is put off till they are asked for. */
AGZ_API void agz_cursor_append(agz_cursor *cursor, agz_block *block);

/* Takes the block and puts it before the cursor, which then stands at its start. Drops
 * the mark. */
AGZ_API void agz_cursor_prepend(agz_cursor *cursor, agz_block *block);

/* Drops all blocks, the mark, and what agz_cursor_seen() knows; a "\r" held back is
 * forgotten. */
AGZ_API void agz_cursor_clear(agz_cursor *cursor);

/* Bytes between cursor and end. */
AGZ_API size_t agz_cursor_nbytes(const agz_cursor *cursor);

/* The bytes at the cursor that lie in one piece; *nbytes is 0 only at the end. */
AGZ_API const void *agz_cursor_span(const agz_cursor *cursor, size_t *nbytes);

/* Copies at most nbytes to dst and goes on behind them. Returns how many. */
AGZ_API size_t agz_cursor_read(agz_cursor *cursor, void *dst, size_t nbytes);

/* The same without moving. */
AGZ_API size_t agz_cursor_peek(const agz_cursor *cursor, void *dst, size_t nbytes);

/* Goes on by at most nbytes. Returns how many. */
AGZ_API size_t agz_cursor_skip(agz_cursor *cursor, size_t nbytes);

typedef struct agz_line {
	const uint8_t *ptr;  /* in one piece */
	size_t nbytes;       /* its line end included */
	unsigned end_nbytes; /* of the line end: 0 (limit, or the last line), 1 or 2 */
	int ascii;           /* 1: known to be all ASCII; 0: not known */
} agz_line;

#define AGZ_LINES_END 1u /* no block follows: what is left is the last line */

/*
 * The next line: 1 and *line, or 0 if no whole line is there (or nothing at all),
 * or AGZ_E_NOMEM. A line longer than `limit` bytes is cut there (limit 0: no
 * bound; under a bound a "\r\n" may be cut between its two bytes, as io does).
 * A line depends on the bytes from the cursor on alone: after a read that ended between
 * "\r" and "\n", the "\n" is a line of its own (LF, ANY) or ends none (CRLF).
 * line->ptr lasts until the next call that changes the cursor.
 * The time over all calls is linear in the bytes, however long a line is.
 */
AGZ_API int agz_cursor_line(agz_cursor *cursor, size_t limit, unsigned flags,
                            agz_line *line);

/* Kinds of line ends in the lines handed out so far (AGZ_NEWLINE_ANY): AGZ_SAW_*. */
AGZ_API unsigned agz_cursor_seen(const agz_cursor *cursor);

/* Keeps blocks from here on; reset goes back here and keeps the mark; unmark frees
 * what was kept. One mark at a time; a second one moves it. */
AGZ_API void agz_cursor_mark(agz_cursor *cursor);
AGZ_API void agz_cursor_reset(agz_cursor *cursor);
AGZ_API void agz_cursor_unmark(agz_cursor *cursor);

#ifdef __cplusplus
}
#endif

#endif
