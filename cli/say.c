/*
 * say.c - messages, and names as a terminal may safely see them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/*
 * The length of a character that is shown as it is; 0 for a byte to be escaped: control
 * characters of ASCII and Latin-1, the backslash, marks that turn the direction of what
 * follows or end a line, and what is no UTF-8.
 */
static size_t plain_nbytes(const unsigned char *at, size_t nbytes)
{
	if (at[0] < 0x80)
		return at[0] >= 0x20 && at[0] != 0x7f && at[0] != '\\';

	size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
	int cut;
	if (length > nbytes || agz_utf8_valid(at, length, &cut) != length)
		return 0;
	if (at[0] == 0xc2 && at[1] < 0xa0)
		return 0;
	/* U+200E, F and U+2028 to E; U+2066 to 9 */
	if (at[0] == 0xe2 && ((at[1] == 0x80 && (at[2] == 0x8e || at[2] == 0x8f ||
	                                         (at[2] >= 0xa8 && at[2] <= 0xae))) ||
	                      (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9)))
		return 0;
	return length;
}

char *escape(const char *text)
{
	size_t nbytes = strlen(text);
	if (nbytes > (SIZE_MAX - 1) / 4)
		return NULL;
	char *shown = malloc(nbytes * 4 + 1);
	if (shown == NULL)
		return NULL;

	char *to = shown;
	for (size_t i = 0; i < nbytes;) {
		const unsigned char *at = (const unsigned char *)text + i;
		size_t length = plain_nbytes(at, nbytes - i);
		if (length == 0) {
			to += sprintf(to, "\\x%02x", *at);
			i++;
			continue;
		}
		memcpy(to, at, length);
		to += length;
		i += length;
	}
	*to = '\0';
	return shown;
}

void say(const char *shown, const char *text)
{
	progress_clear();
	if (shown != NULL)
		fprintf(stderr, "agz: %s: %s\n", shown, text);
	else
		fprintf(stderr, "agz: %s\n", text);
}

const char *error_text(int code)
{
	return code == AGZ_E_SYSTEM ? strerror(errno) : agz_error_message(code);
}

int skip(const struct work *work, const char *text)
{
	if (!work->cli->quiet)
		say(work->shown, text);
	return FAILED;
}

int fail(const struct work *work, const char *text)
{
	if (work->cli->verb->checks)
		check_failed(work, text);
	else
		say(work->shown, text);
	return FAILED;
}

int fail_output(const struct work *work, int code)
{
	const char *name = work->out.name != NULL ? work->out.name : "output";

	/* Whoever read it has gone: end as cat(1) does, unless we are told to ignore it. */
	if (code == EPIPE)
		raise(SIGPIPE);
	if (strcmp(name, "-") == 0) {
		say("standard output", strerror(code));
	} else {
		char *shown = escape(name);
		say(shown, code == EEXIST ? "already exists -- not overwritten"
		                          : strerror(code));
		free(shown);
	}
	return FAILED;
}

int fail_fault(const struct work *work, const agz_fault *fault)
{
	char text[200];
	if (fault->code == AGZ_E_SYSTEM)
		return fail(work, strerror(fault->sys));
	fail(work, agz_fault_format(fault, text, sizeof(text)));
	return AGZ_IS_CORRUPT(fault->code) ? INVALID : FAILED;
}
