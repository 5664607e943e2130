/*
 * input.c - opens what is named, and says which of gzip's refusals applies.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli.h"

/* What decompress takes off a name, and what it puts there instead. */
static const struct {
	const char *suffix;
	const char *instead;
} suffixes[] = {
        {".gz", ""},
        {".tgz", ".tar"},
        {".taz", ".tar"},
};

const char *input_suffix(const char *path, size_t *stem_nbytes)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	size_t name_nbytes = strlen(name);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t nbytes = strlen(suffixes[i].suffix);
		if (name_nbytes > nbytes &&
		    strcasecmp(name + name_nbytes - nbytes, suffixes[i].suffix) == 0) {
			*stem_nbytes = (size_t)(name - path) + name_nbytes - nbytes;
			return suffixes[i].instead;
		}
	}
	return NULL;
}

/* Whether a file whose place the output takes may be removed in the end. */
static int check_replaced(struct work *work)
{
	struct stat st;
	if (lstat(work->path, &st) != 0)
		return fail(work, strerror(errno));
	if (S_ISLNK(st.st_mode) && !work->cli->force)
		return skip(work, "is a symbolic link -- ignored");
	if (S_ISREG(st.st_mode) && st.st_nlink > 1 && !work->cli->force)
		return skip(work, "has other links -- unchanged");
	return RUNNING;
}

int open_retried(const char *path, int flags)
{
	int fd;
	do {
		fd = open(path, flags | O_CLOEXEC | O_NOCTTY);
	} while (fd < 0 && errno == EINTR);
	return fd;
}

int input_open(struct work *work)
{
	struct cli *cli = work->cli;
	int named = !cli->verb->checks && work->output == NULL;

	if (strcmp(work->path, "-") == 0) {
		work->in_fd = STDIN_FILENO;
		if (fstat(work->in_fd, &work->in_stat) != 0)
			return fail(work, strerror(errno));
		return RUNNING;
	}

	/* Looked at before it is opened: a FIFO would wait for its writer. */
	if (stat(work->path, &work->in_stat) != 0)
		return fail(work, strerror(errno));
	if (S_ISDIR(work->in_stat.st_mode))
		return cli->verb->checks ? fail(work, strerror(EISDIR))
		                         : skip(work, "is a directory -- ignored");
	if (named && !S_ISREG(work->in_stat.st_mode))
		return skip(work, "is not a regular file -- ignored");
	work->replaces = named && !cli->keep;
	if (work->replaces) {
		int rc = check_replaced(work);
		if (rc != RUNNING)
			return rc;
	}

	work->in_fd = open_retried(work->path, O_RDONLY);
	if (work->in_fd < 0 || fstat(work->in_fd, &work->in_stat) != 0) {
		int code = errno;
		if (work->in_fd >= 0)
			close(work->in_fd);
		return fail(work, strerror(code));
	}
	work->in_owned = 1;
	return RUNNING;
}
