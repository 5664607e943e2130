/*
 * verify.c - says whether each file is valid gzip, from its first to its last byte.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>

#include "check.h"

static int verify_open(struct work *work)
{
	return check_open(work, 0);
}

static int verify_step(struct work *work)
{
	int rc = check_step(work);
	if (rc != RUNNING)
		return rc;

	uint64_t members = agz_reader_member_count(work->reader);
	uint64_t in_nbytes = agz_reader_in_nbytes(work->reader);
	uint64_t out_nbytes = agz_reader_out_nbytes(work->reader);
	if (work->cli->json)
		return check_print(
		        work, json_pack("{s:b, s:I, s:I, s:I}", "ok", 1, "member_count",
		                        (json_int_t)members, "compressed_size",
		                        (json_int_t)in_nbytes, "uncompressed_size",
		                        (json_int_t)out_nbytes));
	if (!work->cli->quiet)
		printf("OK: %s: %" PRIu64 " member(s), %" PRIu64
		       " bytes compressed, %" PRIu64 " bytes uncompressed\n",
		       work->shown, members, in_nbytes, out_nbytes);
	return DONE;
}

const struct verb verify_verb = {
        "verify",
        "FILE...",
        "Check each FILE: headers, data, checksums, sizes.\n\n"
        "Exit status: 0 if all are valid, 1 if one is not, 2 if one could not be read.",
        OPTION_CHECK,
        1,
        verify_open,
        verify_step,
};
