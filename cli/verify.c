/*
 * verify.c - says whether each file is valid gzip, from its first to its last byte.
 */
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

	if (!work->cli->json) {
		if (!work->cli->quiet)
			check_words(work, "OK: ");
		return DONE;
	}
	/* clang-format off */
	return check_print(work, json_pack("{s:b, s:I, s:I, s:I}",
		"ok", 1,
		"member_count", (json_int_t)agz_reader_member_count(work->reader),
		"compressed_size", (json_int_t)agz_reader_in_nbytes(work->reader),
		"uncompressed_size", (json_int_t)agz_reader_out_nbytes(work->reader)));
	/* clang-format on */
}

const struct verb verify_verb = {
        .name = "verify",
        .args = "FILE...",
        .help = "Check each FILE: headers, data, checksums, sizes.\n\n"
                "Exit status: 0 if all are valid, 1 if one is not, 2 if one could "
                "not be read.",
        .bit = OPTION_CHECK,
        .checks = 1,
        .open = verify_open,
        .step = verify_step,
};
