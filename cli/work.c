/*
 * work.c - drives the files: opens them in the order they were named, as many at once
 * as there are slots, and steps each one whenever it may go on. This thread reads
 * and writes on one side; what costs time is done by the workers of the library.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static void work_close(struct work *work, int status)
{
	progress_add(work_position(work));
	if (status != DONE &&
	    ((work->reader != NULL && !S_ISREG(work->in_stat.st_mode)) ||
	     (work->writer != NULL && work->out.temp == NULL)))
		work->cli->stuck = 1;
	agz_reader_close(work->reader);
	agz_writer_close(work->writer);
	output_close(&work->out);
	if (work->in_owned)
		close(work->in_fd);
	free(work->buf);
	free(work->shown);
	work->path = NULL;
}

static int work_open(struct work *work, struct cli *cli, const char *path)
{
	*work = (struct work){.cli = cli, .path = path, .in_fd = -1, .out = {.fd = -1}};
	work->output = cli->output == NULL && strcmp(path, "-") == 0 ? "-" : cli->output;
	work->shown = escape(path);
	if (work->shown == NULL)
		return fail(work, agz_error_message(AGZ_E_NOMEM));
	return cli->verb->open(work);
}

/* Sleeps until a waiting work is named; with no wait, only looks. */
static void collect(struct cli *cli, int wait)
{
	if (wait) {
		struct pollfd pfd = {agz_waker_fd(cli->waker), POLLIN, 0};
		if (poll(&pfd, 1, progress_timeout()) > 0)
			agz_waker_clear(cli->waker);
	}
	for (struct work *work; (work = agz_waker_next(cli->waker)) != NULL;)
		work->waiting = 0;
}

int work_run_all(struct cli *cli)
{
	/* What goes to one place goes there in order. */
	int n_slots = cli->threads > 1 && cli->output == NULL ? cli->threads : 1;
	struct work *slots = calloc((size_t)n_slots, sizeof(*slots));
	if (slots == NULL) {
		say(NULL, agz_error_message(AGZ_E_NOMEM));
		return FAILED;
	}

	int status = DONE, next = 0, active;
	do {
		int wait = 1;
		active = 0;
		for (struct work *work = slots; work < slots + n_slots; work++) {
			int rc = RUNNING;
			if (work->path == NULL) {
				if (next == cli->n_files)
					continue;
				rc = work_open(work, cli, cli->files[next++]);
			}
			if (rc == RUNNING && !work->waiting)
				rc = cli->verb->step(work);
			if (rc >= 0) {
				status = rc > status ? rc : status;
				work_close(work, rc);
			}
			work->waiting = rc == WAITING || (rc == RUNNING && work->waiting);
			wait &= work->waiting;
			active++;
		}
		progress_show(slots, n_slots);
		if (active > 0)
			collect(cli, wait);
	} while (active > 0);
	free(slots);
	return status;
}

int work_read(struct work *work, unsigned flags)
{
	agz_reader_options opts = AGZ_READER_OPTIONS_INIT;
	opts.pool = work->cli->pool;
	opts.waker = work->cli->waker;
	opts.user = work;
	opts.source = AGZ_SOURCE_FD;
	opts.fd = work->in_fd;
	opts.close_fd = work->in_owned;
	opts.flags = flags;
	int rc = agz_reader_open(&opts, &work->reader);
	if (rc < 0)
		return fail(work, error_text(rc));
	work->in_owned = 0;
	return RUNNING;
}

int work_output(struct work *work, char *name)
{
	const char *wanted = work->output != NULL ? work->output : name;
	int code = ENOMEM;
	if (wanted != NULL)
		code = output_open(&work->out, wanted, work->cli->force);
	free(name);
	return code == 0 ? RUNNING : fail_output(work, code);
}

int work_finish(struct work *work)
{
	int like = S_ISREG(work->in_stat.st_mode) && strcmp(work->path, "-") != 0;
	int code =
	        output_commit(&work->out, like ? &work->in_stat : NULL, work->replaces);
	if (code != 0)
		return fail_output(work, code);
	if (work->replaces && unlink(work->path) != 0)
		return fail(work, strerror(errno));
	return DONE;
}

uint64_t work_position(const struct work *work)
{
	return work->writer != NULL   ? agz_writer_in_nbytes(work->writer)
	       : work->reader != NULL ? agz_reader_in_nbytes(work->reader)
	                              : 0;
}
