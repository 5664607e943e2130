/*
 * decompress.c - FILE.gz becomes FILE. A fault anywhere in it leaves no FILE behind.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "cli.h"

static int decompress_open(struct work *work)
{
	const char *instead = "";
	size_t stem_nbytes = 0;

	if (work->output == NULL) {
		instead = input_suffix(work->path, &stem_nbytes);
		if (instead == NULL)
			return skip(work, "unknown suffix -- ignored");
	}
	int rc = input_open(work);
	if (rc != RUNNING)
		return rc;
	char *name = NULL;
	if (asprintf(&name, "%.*s%s", (int)stem_nbytes, work->path, instead) < 0)
		name = NULL;
	rc = work_output(work, name);
	return rc == RUNNING ? work_read(work, 0) : rc;
}

int decompress_step(struct work *work)
{
	agz_block *block;
	int rc = agz_reader_take(work->reader, &block);
	if (rc == AGZ_WAIT)
		return WAITING;
	if (rc == AGZ_END)
		return work_finish(work);
	if (rc != AGZ_OK)
		return fail_fault(work, agz_reader_fault(work->reader));

	int code =
	        output_write(&work->out, agz_block_ptr(block), agz_block_nbytes(block));
	agz_block_free(block);
	return code == 0 ? RUNNING : fail_output(work, code);
}

const struct verb decompress_verb = {
        .name = "decompress",
        .args = "[FILE...]",
        .help = "Decompress each FILE.gz to FILE.\n\n"
                "FILE.gz is removed once FILE is complete, unless -k, -c or -o is "
                "given; mode, owner and times are kept. FILE.tgz becomes FILE.tar. "
                "Without FILE, or where it is '-', standard input goes to standard "
                "output.",
        .bit = OPTION_DECOMPRESS,
        .open = decompress_open,
        .step = decompress_step,
};
