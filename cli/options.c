/*
 * options.c - the table of verbs and that of options; what a command line asks for.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const struct verb *const verbs[] = {
        &compress_verb, &decompress_verb, &cat_verb, &inspect_verb, &verify_verb,
};

#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))

#define MAKES (OPTION_COMPRESS | OPTION_DECOMPRESS)
#define ALL   (MAKES | OPTION_CAT | OPTION_CHECK)

enum { KEY_FAST = 256, KEY_JSON, KEY_LEVEL, KEY_THREADS };

static const struct {
	unsigned verbs;
	int key;
	const char *name;
	const char *arg;
	const char *help;
} options[] = {
        {MAKES, 'c', "stdout", NULL, "Write to standard output, keep FILE"},
        {MAKES, 'f', "force", NULL,
         "Overwrite; take links and any suffix; use a terminal"},
        {MAKES, 'k', "keep", NULL, "Keep FILE, which is removed otherwise"},
        {OPTION_COMPRESS, 'n', "no-name", NULL, "Leave name and time out of the header"},
        {MAKES, 'o', "output", "NAME", "Write to NAME ('-': standard output), keep FILE"},
        {ALL, 'q', "quiet", NULL, "No warnings, no progress, no reports of valid files"},
        {OPTION_COMPRESS, KEY_LEVEL, "level", "N", "0 to 9; also -1 to -9. Default: 6"},
        {OPTION_COMPRESS, KEY_FAST, "fast", NULL,
         "The fastest engine for the level; other bytes than zlib's"},
        {MAKES, KEY_THREADS, "threads", "N", "Work on N files at once. Default: 1"},
        {OPTION_CHECK, KEY_JSON, "json", NULL, "Report as JSON, one object a line"},
};

#define N_OPTIONS (sizeof(options) / sizeof(options[0]))

/* argp_error() returns, with nothing said, where argp was told to be silent. */
static error_t number(struct argp_state *state, const char *name, const char *text,
                      int min, int max, int *result)
{
	char *end;
	errno = 0;
	long value = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || value < min || value > max) {
		argp_error(state, "--%s takes a number from %d to %d", name, min, max);
		return EINVAL;
	}
	*result = (int)value;
	return 0;
}

/* When all is parsed. */
static error_t check_files(struct argp_state *state, const struct cli *cli)
{
	if (cli->n_files == 0 && cli->verb->checks)
		argp_error(state, "which file?");
	else if (cli->n_files > 1 && cli->output != NULL && strcmp(cli->output, "-") != 0)
		argp_error(state, "--output takes one file");
	else
		return 0;
	return EINVAL;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct cli *cli = state->input;

	switch (key) {
	case 'c':
		cli->output = "-";
		break;
	case 'f':
		cli->force = 1;
		break;
	case 'k':
		cli->keep = 1;
		break;
	case 'n':
		cli->no_name = 1;
		break;
	case 'o':
		cli->output = arg;
		break;
	case 'q':
		cli->quiet = 1;
		break;
	case KEY_FAST:
		cli->fast = 1;
		break;
	case KEY_JSON:
		cli->json = 1;
		break;
	case KEY_LEVEL:
		return number(state, "level", arg, -1, 9, &cli->level);
	case KEY_THREADS:
		return number(state, "threads", arg, 1, MAX_THREADS, &cli->threads);
	case ARGP_KEY_ARGS:
		cli->files = state->argv + state->next;
		cli->n_files = state->argc - state->next;
		break;
	case ARGP_KEY_END:
		return check_files(state, cli);
	default:
		if (key < '1' || key > '9')
			return ARGP_ERR_UNKNOWN;
		cli->level = key - '0';
		break;
	}
	return 0;
}

/* Parses what follows the verb. */
static error_t parse_verb(struct cli *cli, int argc, char **argv, unsigned flags)
{
	struct argp_option taken[N_OPTIONS + 9 + 1] = {{0}};
	size_t n = 0;
	for (size_t i = 0; i < N_OPTIONS; i++) {
		if (options[i].verbs & cli->verb->bit)
			taken[n++] = (struct argp_option){options[i].name, options[i].key,
			                                  options[i].arg,  0,
			                                  options[i].help, 0};
	}
	for (int key = '1'; key <= '9' && cli->verb == &compress_verb; key++)
		taken[n++] = (struct argp_option){.key = key, .flags = OPTION_HIDDEN};

	static char name[32];
	snprintf(name, sizeof(name), "agz %s", cli->verb->name);
	argv[0] = name; /* what the messages of argp begin with */

	struct argp argp = {.options = taken,
	                    .parser = parse_option,
	                    .args_doc = cli->verb->args,
	                    .doc = cli->verb->help};
	return argp_parse(&argp, argc, argv, flags, NULL, cli);
}

static error_t parse_nothing(int key, char *arg, struct argp_state *state)
{
	if (key == ARGP_KEY_ARG)
		argp_error(state, "no such command: %s", arg);
	if (key == ARGP_KEY_NO_ARGS)
		argp_usage(state);
	return ARGP_ERR_UNKNOWN;
}

/* The command line without a verb: --help, --version, or wrong. */
static error_t parse_top(int argc, char **argv, unsigned flags)
{
	char help[1024] = "gzip files, read and written while the disk and the processor "
	                  "are both busy."
	                  "\v";
	for (size_t i = 0; i < N_VERBS; i++) {
		size_t used = strlen(help);
		const char *text = verbs[i]->help;
		snprintf(help + used, sizeof(help) - used, "  %-11s %.*s\n",
		         verbs[i]->name, (int)strcspn(text, "\n\v"), text);
	}
	size_t used = strlen(help);
	snprintf(
	        help + used, sizeof(help) - used,
	        "\n'agz COMMAND --help' says more. Exit status: 0, or 1 if a FILE is not "
	        "valid gzip, or 2 if one could not be read or written.");

	static char name[] = "agz";
	argv[0] = name;
	struct argp argp = {.parser = parse_nothing,
	                    .args_doc = "COMMAND [OPTION...] FILE...",
	                    .doc = help};
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER | flags, NULL, NULL);
	return EINVAL;
}

static void print_version(FILE *stream, struct argp_state *state)
{
	(void)state;
	fprintf(stream, "%s\n", agz_version());
}

int options_parse(struct cli *cli, int argc, char **argv, unsigned flags)
{
	argp_err_exit_status = FAILED;
	argp_program_version_hook = print_version;

	for (size_t i = 0; argc > 1 && i < N_VERBS; i++) {
		if (strcmp(argv[1], verbs[i]->name) != 0)
			continue;
		*cli = (struct cli){.verb = verbs[i], .level = 6};
		return parse_verb(cli, argc - 1, argv + 1, flags);
	}
	return parse_top(argc, argv, flags);
}
