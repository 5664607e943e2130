/*
 * tally.h - what both examples do with a file: count its lines and bytes, and take its
 * CRC-32, without ever waiting.
 */
#ifndef TALLY_H
#define TALLY_H

#include <inttypes.h>
#include <stdio.h>

#include <agz.h>

typedef struct tally {
	const char *path;
	agz_reader *reader;
	agz_cursor *cursor; /* cuts blocks into lines, also those that lie across two */
	uint64_t n_lines, n_bytes;
	uint32_t crc32;
	int answer; /* of the last call: AGZ_WAIT until all is over */
} tally;

/* Returns at once: a worker opens the file. The waker will name the tally. */
static void tally_start(tally *t, const char *path, agz_waker *waker)
{
	agz_reader_options options = AGZ_READER_OPTIONS_INIT;

	*t = (tally){.path = path};
	options.path = path;
	options.waker = waker;
	options.user = t;
	options.flags = AGZ_READER_LINES; /* the worker finds the line ends, too */
	t->answer = agz_cursor_new(AGZ_NEWLINE_LF, &t->cursor);
	if (t->answer == AGZ_OK)
		t->answer = agz_reader_open(&options, &t->reader);
}

static void tally_lines(tally *t, unsigned flags)
{
	agz_line line;
	int rc;

	while ((rc = agz_cursor_line(t->cursor, 0, flags, &line)) == 1)
		t->n_lines++;
	if (rc < 0)
		t->answer = rc;
}

/* Takes all that is ready. True when the file is over, well or badly. */
static int tally_go_on(tally *t)
{
	agz_block *block;

	while (t->answer == AGZ_OK || t->answer == AGZ_WAIT) {
		t->answer = agz_reader_take(t->reader, &block);
		if (t->answer == AGZ_WAIT)
			return 0;
		if (t->answer == AGZ_OK) {
			size_t nbytes = agz_block_nbytes(block);
			t->n_bytes += nbytes;
			t->crc32 = agz_crc32(t->crc32, agz_block_ptr(block), nbytes);
			agz_cursor_append(t->cursor, block); /* which frees it */
			tally_lines(t, 0);
		} else if (t->answer == AGZ_END) {
			tally_lines(t, AGZ_LINES_END);
		}
	}
	return 1;
}

/* Prints what came of it. True if it was read to its end. */
static int tally_report(tally *t)
{
	char why[200];

	if (t->answer == AGZ_END)
		printf("%s: %" PRIu64 " lines, %" PRIu64 " bytes, crc32 %08" PRIx32 "\n",
		       t->path, t->n_lines, t->n_bytes, t->crc32);
	else
		printf("%s: %s\n", t->path,
		       t->reader != NULL && agz_reader_fault(t->reader)->code == t->answer
		               ? agz_fault_format(agz_reader_fault(t->reader), why,
		                                  sizeof(why))
		               : agz_error_message(t->answer));
	agz_reader_close(t->reader);
	agz_cursor_free(t->cursor);
	return t->answer == AGZ_END;
}

#endif
