/*
 * check.c - what inspect and verify have in common.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

int check_open(struct work *work, unsigned flags)
{
	int rc = input_open(work);
	return rc == RUNNING ? work_read(work, flags) : rc;
}

int check_step(struct work *work)
{
	uint64_t reached;
	int rc = agz_reader_seek(work->reader, UINT64_MAX, &reached);
	if (rc == AGZ_WAIT)
		return WAITING;
	if (rc != AGZ_OK)
		return fail_fault(work, agz_reader_fault(work->reader));
	return RUNNING;
}

void check_words(const struct work *work, const char *before)
{
	progress_clear();
	printf("%s%s: %" PRIu64 " member(s), %" PRIu64 " bytes compressed, %" PRIu64
	       " bytes uncompressed\n",
	       before, work->shown, agz_reader_member_count(work->reader),
	       agz_reader_in_nbytes(work->reader), agz_reader_out_nbytes(work->reader));
}

/* JSON in ASCII and a newline; jansson leaves the one control character above 0x7e alone. */
static void put_json(const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == 0x7f)
			fputs("\\u007F", stdout);
		else
			putchar(*text);
	}
	putchar('\n');
}

int check_print(const struct work *work, json_t *object)
{
	json_t *whole = object;
	if (work->cli->n_files > 1) {
		/* A name that is no UTF-8 is shown escaped. */
		json_t *file = json_string(work->path);
		if (file == NULL)
			file = json_string(work->shown);
		whole = json_pack("{s:o}", "file", file);
		if (whole == NULL || object == NULL ||
		    json_object_update(whole, object) != 0) {
			json_decref(whole);
			whole = NULL;
		}
		json_decref(object);
	}
	char *text = whole != NULL ? json_dumps(whole, JSON_ENSURE_ASCII) : NULL;
	json_decref(whole);
	if (text == NULL) {
		say(work->shown, agz_error_message(AGZ_E_NOMEM));
		return FAILED;
	}
	progress_clear();
	put_json(text);
	free(text);
	return DONE;
}

void check_failed(const struct work *work, const char *text)
{
	if (work->cli->json) {
		check_print(work, json_pack("{s:b, s:s}", "ok", 0, "error", text));
		return;
	}
	progress_clear();
	fprintf(stderr, "FAILED: %s: %s\n", work->shown != NULL ? work->shown : "-",
	        text);
}
