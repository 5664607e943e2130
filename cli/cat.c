/*
 * cat.c - files, decompressed and in order, to standard output.
 */
#include "cli.h"

static int cat_open(struct work *work)
{
	work->output = "-";
	int rc = input_open(work);
	if (rc == RUNNING)
		rc = work_output(work, NULL);
	return rc == RUNNING ? work_read(work, 0) : rc;
}

const struct verb cat_verb = {
        .name = "cat",
        .args = "[FILE...]",
        .help = "Decompress each FILE to standard output.\n\n"
                "What comes before a fault is written. Without FILE, or where it is "
                "'-', standard input is read.",
        .bit = OPTION_CAT,
        .open = cat_open,
        .step = decompress_step,
};
