/*
 * compress.c - FILE becomes FILE.gz.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#define READ_NBYTES (256 * 1024)

static int open_writer(struct work *work)
{
	const struct cli *cli = work->cli;
	agz_encoder_options encoder = AGZ_ENCODER_OPTIONS_INIT;
	encoder.level = cli->level;
	encoder.fast = cli->fast;
	if (!cli->no_name && S_ISREG(work->in_stat.st_mode)) {
		/* What the header cannot hold is 0 there: unknown. */
		time_t mtime = work->in_stat.st_mtime;
		encoder.mtime = mtime > 0 && mtime <= UINT32_MAX ? (uint32_t)mtime : 0;
		if (strcmp(work->path, "-") != 0) {
			const char *slash = strrchr(work->path, '/');
			const char *name = slash != NULL ? slash + 1 : work->path;
			encoder.name = (const uint8_t *)name;
			encoder.name_nbytes = strlen(name);
		}
	}

	/* The writer has a descriptor of its own: ours is still needed when it is done. */
	int fd = dup(work->out.fd);
	if (fd < 0)
		return fail_output(work, errno);
	agz_writer_options opts = AGZ_WRITER_OPTIONS_INIT;
	opts.pool = cli->pool;
	opts.waker = cli->waker;
	opts.user = work;
	opts.sink = AGZ_SINK_FD;
	opts.fd = fd;
	opts.close_fd = 1;
	opts.encoder = &encoder;
	int rc = agz_writer_open(&opts, &work->writer);
	if (rc < 0) {
		rc = fail(work, error_text(rc));
		close(fd);
		return rc;
	}
	return RUNNING;
}

static int compress_open(struct work *work)
{
	struct cli *cli = work->cli;
	size_t stem_nbytes;

	if (work->output == NULL && !cli->force && input_suffix(work->path, &stem_nbytes))
		return skip(work, "already has a gzip suffix -- unchanged");

	int rc = input_open(work);
	if (rc != RUNNING)
		return rc;
	char *name = NULL;
	if (asprintf(&name, "%s.gz", work->path) < 0)
		name = NULL;
	rc = work_output(work, name);
	if (rc != RUNNING)
		return rc;
	if (!cli->force && isatty(work->out.fd))
		return fail(work,
		            "compressed data not written to a terminal; -f forces it");

	work->buf = malloc(READ_NBYTES);
	if (work->buf == NULL)
		return fail(work, agz_error_message(AGZ_E_NOMEM));
	return open_writer(work);
}

static int writer_failed(const struct work *work)
{
	const agz_fault *fault = agz_writer_fault(work->writer);
	return fault->code == AGZ_E_SYSTEM ? fail_output(work, fault->sys)
	                                   : fail_fault(work, fault);
}

/* Fills the buffer anew; RUNNING, or FAILED. An empty buffer: the end of the input. */
static int read_more(struct work *work)
{
	ssize_t n;
	while ((n = read(work->in_fd, work->buf, READ_NBYTES)) < 0) {
		if (errno == EAGAIN) {
			struct pollfd pfd = {work->in_fd, POLLIN, 0};
			poll(&pfd, 1, -1);
		} else if (errno != EINTR) {
			return fail(work, strerror(errno));
		}
	}
	work->buf_nbytes = (size_t)n;
	work->buf_pos = 0;
	return RUNNING;
}

static int compress_step(struct work *work)
{
	int rc;

	if (work->buf != NULL && work->buf_pos == work->buf_nbytes) {
		rc = read_more(work);
		if (rc != RUNNING)
			return rc;
		if (work->buf_nbytes == 0) {
			free(work->buf);
			work->buf = NULL;
		}
	}
	if (work->buf != NULL) {
		size_t accepted = 0;
		rc = agz_writer_write(work->writer, work->buf + work->buf_pos,
		                      work->buf_nbytes - work->buf_pos, &accepted);
		work->buf_pos += accepted;
		if (rc == AGZ_OK)
			return RUNNING;
	} else {
		rc = agz_writer_finish(work->writer);
		if (rc == AGZ_OK)
			return work_finish(work);
	}
	return rc == AGZ_WAIT ? WAITING : writer_failed(work);
}

const struct verb compress_verb = {
        .name = "compress",
        .args = "[FILE...]",
        .help = "Compress each FILE to FILE.gz.\n\n"
                "FILE is removed once FILE.gz is complete, unless -k, -c or -o is "
                "given; mode, owner and times are kept. Without FILE, or where it "
                "is '-', standard input goes to standard output.",
        .bit = OPTION_COMPRESS,
        .open = compress_open,
        .step = compress_step,
};
