/*
 * progress.c - a bar on standard error, if that is a terminal, for work of over a second.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

#define FIRST_MS    1000
#define INTERVAL_MS 200
#define BAR_NCHARS  30
#define LINE_NCHARS 72

static struct {
	int enabled;
	int visible;
	int64_t begin_ms;
	int64_t next_ms;
	uint64_t total_nbytes; /* of all files; 0: unknown */
	uint64_t done_nbytes;  /* of those that are behind us */
} progress;

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void progress_init(const struct cli *cli)
{
	int to_stdout = cli->verb == &cat_verb ||
	                (cli->output != NULL && strcmp(cli->output, "-") == 0);
	if (cli->quiet || !isatty(STDERR_FILENO) || (to_stdout && isatty(STDOUT_FILENO)))
		return;
	progress.enabled = 1;
	progress.begin_ms = now_ms();
	progress.next_ms = progress.begin_ms + FIRST_MS;
	for (int i = 0; i < cli->n_files; i++) {
		struct stat st;
		int known = strcmp(cli->files[i], "-") == 0
		                    ? fstat(STDIN_FILENO, &st) == 0
		                    : stat(cli->files[i], &st) == 0;
		if (!known || S_ISDIR(st.st_mode))
			continue;
		if (!S_ISREG(st.st_mode)) {
			progress.total_nbytes = 0;
			return;
		}
		progress.total_nbytes += (uint64_t)st.st_size;
	}
}

void progress_show(const struct work *works, int n_works)
{
	if (!progress.enabled)
		return;
	int64_t now = now_ms();
	if (now < progress.next_ms)
		return;
	progress.next_ms = now + INTERVAL_MS;

	uint64_t nbytes = progress.done_nbytes;
	for (int i = 0; i < n_works; i++)
		nbytes += works[i].path != NULL ? work_position(&works[i]) : 0;
	double mb = (double)nbytes / 1e6;
	double seconds = (double)(now - progress.begin_ms) / 1e3;

	char bar[BAR_NCHARS + 16] = "";
	if (progress.total_nbytes > 0) {
		double part = (double)nbytes / (double)progress.total_nbytes;
		part = part > 1 ? 1 : part;
		snprintf(bar, sizeof(bar), "%3d%% [%-*.*s]  ", (int)(part * 100),
		         BAR_NCHARS, (int)(part * BAR_NCHARS),
		         "##############################");
	}
	char line[LINE_NCHARS + 1];
	snprintf(line, sizeof(line), "%s%.1f MB, %.1f MB/s", bar, mb, mb / seconds);
	fprintf(stderr, "\r%-*s", LINE_NCHARS, line);
	progress.visible = 1;
}

void progress_add(uint64_t nbytes)
{
	progress.done_nbytes += nbytes;
}

void progress_clear(void)
{
	if (progress.visible)
		fprintf(stderr, "\r%*s\r", LINE_NCHARS, "");
	progress.visible = 0;
}

int progress_timeout(void)
{
	return progress.enabled ? INTERVAL_MS : -1;
}
