/*
 * arguments.c - any command line, parsed in process: what is accepted is whole and within
 * its bounds, and a name, however it is made, is shown as plain characters.
 */
#define _GNU_SOURCE
#include <argp.h>

#include "cli.h"
#include "fuzz.h"

#define MAX_ARGS 40

/* No control character, and no byte that is not UTF-8. */
static void check_shown(const char *name)
{
	char *shown = escape(name);
	int cut;

	CHECK(shown != NULL && strlen(shown) >= strlen(name));
	CHECK(agz_utf8_valid(shown, strlen(shown), &cut) == strlen(shown));
	for (const char *p = shown; *p != '\0'; p++)
		CHECK((unsigned char)*p >= 0x20 && *p != 0x7f);
	CHECK(strstr(shown, "\xe2\x80\xae") == NULL); /* right to left */
	free(shown);
}

static bool among(char *const *args, int n, const char *text)
{
	for (int i = 0; i < n; i++)
		if (text >= args[i] && text <= args[i] + strlen(args[i]))
			return true;
	return false;
}

static void check(const struct cli *cli, char *const *args, int n)
{
	bool makes = !cli->verb->checks && cli->verb != &cat_verb;

	CHECK(cli->level >= -1 && cli->level <= 9);
	CHECK(cli->threads >= 0 && cli->threads <= MAX_THREADS);
	CHECK(cli->n_files >= cli->verb->checks && cli->n_files < n - 1);
	for (int i = 0; i < cli->n_files; i++)
		CHECK(among(args, n, cli->files[i]));
	CHECK(cli->output == NULL || strcmp(cli->output, "-") == 0 ||
	      (cli->n_files <= 1 && among(args, n, cli->output)));
	CHECK(makes ||
	      (cli->output == NULL && !cli->force && !cli->keep && !cli->threads));
	CHECK(cli->verb == &compress_verb ||
	      (cli->level == 6 && !cli->fast && !cli->no_name));
	CHECK(cli->verb->checks || !cli->json);
}

int LLVMFuzzerTestOneInput(const uint8_t *ptr, size_t nbytes)
{
	/* Arguments end at NULs; the last one too. */
	char *line = malloc(nbytes + 1);
	char *args[MAX_ARGS + 2] = {line}, *parsed[MAX_ARGS + 2];
	struct cli cli;
	int n = 1;

	CHECK(line != NULL);
	if (nbytes > 0)
		memcpy(line, ptr, nbytes);
	line[nbytes] = '\0';
	for (size_t i = 0; i < nbytes && n <= MAX_ARGS; i += strlen(args[n++]) + 1) {
		args[n] = line + i;
		check_shown(args[n]);
	}
	memcpy(parsed, args, sizeof(args)); /* it is put into another order */
	if (options_parse(&cli, n, parsed, ARGP_SILENT) == 0)
		check(&cli, args, n);
	free(line);
	return 0;
}
