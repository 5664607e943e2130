/*
 * output.c - a file that appears under its name only when it is complete.
 *
 *   dir/.agz-XXXXXX ── write ── write ── mode, owner, times ──▶ dir/name
 *        └──── removed on an error, and on a signal ───┘
 *
 * Standard output and what is no regular file (a device, a FIFO) is written to directly.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const char temp_name[] = ".agz-XXXXXX";

/* Temporary files there are now, for the signal handler. */
static char *_Atomic pending[MAX_THREADS];
static sigset_t ending; /* the signals it is for */
static mode_t new_mode; /* of a file that is like no other */

static void remove_pending(int sig)
{
	for (size_t i = 0; i < MAX_THREADS; i++) {
		char *name = atomic_load(&pending[i]);
		if (name != NULL)
			unlink(name);
	}
	/* Blocked until the handler returns; then it ends the program. */
	signal(sig, SIG_DFL);
	raise(sig);
}

void output_init(void)
{
	static const int signals[] = {SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXCPU};

	mode_t mask = umask(0);
	umask(mask);
	new_mode = 0666 & ~mask;

	sigemptyset(&ending);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&ending, signals[i]);
	struct sigaction action = {.sa_handler = remove_pending, .sa_mask = ending};
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction old;
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
	signal(SIGXFSZ, SIG_IGN); /* a write says so too: EFBIG */
}

static void replace_pending(char *old, char *name)
{
	for (size_t i = 0; i < MAX_THREADS; i++) {
		if (atomic_load(&pending[i]) == old) {
			atomic_store(&pending[i], name);
			return;
		}
	}
}

/* Makes the temporary file beside `name`: no signal between making and noting it. */
static int open_temp(struct output *out)
{
	const char *slash = strrchr(out->name, '/');
	size_t dir_nbytes = slash != NULL ? (size_t)(slash + 1 - out->name) : 0;

	out->temp = malloc(dir_nbytes + sizeof(temp_name));
	if (out->temp == NULL)
		return ENOMEM;
	memcpy(out->temp, out->name, dir_nbytes);
	memcpy(out->temp + dir_nbytes, temp_name, sizeof(temp_name));

	sigset_t before;
	sigprocmask(SIG_BLOCK, &ending, &before);
	out->fd = mkostemp(out->temp, O_CLOEXEC);
	int code = out->fd < 0 ? errno : 0;
	if (code == 0)
		replace_pending(NULL, out->temp);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (code != 0) {
		free(out->temp);
		out->temp = NULL;
	}
	return code;
}

int output_open(struct output *out, const char *name, int force)
{
	struct stat st;

	out->name = strdup(name);
	if (out->name == NULL)
		return ENOMEM;
	out->force = force;
	if (strcmp(name, "-") == 0) {
		out->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	} else if (stat(name, &st) == 0 && !S_ISREG(st.st_mode)) {
		out->fd = open_retried(name, O_WRONLY);
	} else {
		if (!force && lstat(name, &st) == 0)
			return EEXIST;
		return open_temp(out);
	}
	return out->fd < 0 ? errno : 0;
}

int output_write(struct output *out, const void *ptr, size_t nbytes)
{
	for (const char *at = ptr; nbytes > 0;) {
		ssize_t n = write(out->fd, at, nbytes);
		if (n >= 0) {
			at += n;
			nbytes -= (size_t)n;
		} else if (errno == EAGAIN) {
			/* Somebody else made the descriptor non-blocking. */
			struct pollfd pfd = {out->fd, POLLOUT, 0};
			poll(&pfd, 1, -1);
		} else if (errno != EINTR) {
			return errno;
		}
	}
	return 0;
}

/* Owner, permissions and times of `like`, as far as they may be had: what cannot be
 * given to the same group is not shown to another one. */
static void make_like(int fd, const struct stat *like)
{
	mode_t mode = like->st_mode & 0777;
	if (fchown(fd, like->st_uid, like->st_gid) != 0 &&
	    fchown(fd, (uid_t)-1, like->st_gid) != 0)
		mode &= (mode_t)~S_IRWXG;
	fchmod(fd, mode);
	const struct timespec times[2] = {like->st_atim, like->st_mtim};
	futimens(fd, times);
}

/* The temporary name becomes the final one; without force, never over another file. */
static int publish(const struct output *out)
{
	if (!out->force) {
		struct stat st;
		if (link(out->temp, out->name) == 0)
			return unlink(out->temp) == 0 ? 0 : errno;
		if (errno == EEXIST)
			return errno;
		/* A file system without links. */
		if (lstat(out->name, &st) == 0)
			return EEXIST;
	}
	return rename(out->temp, out->name) == 0 ? 0 : errno;
}

int output_commit(struct output *out, const struct stat *like, int sync)
{
	int code = 0;
	if (out->temp != NULL) {
		if (like != NULL)
			make_like(out->fd, like);
		else
			fchmod(out->fd, new_mode);
		/* What takes the place of its input must be on the disk before that goes. */
		if (sync && fsync(out->fd) != 0)
			code = errno;
	}
	if (close(out->fd) != 0 && code == 0 && errno != EINTR)
		code = errno;
	out->fd = -1;
	if (out->temp != NULL && code == 0)
		code = publish(out);
	if (out->temp != NULL && code == 0) {
		replace_pending(out->temp, NULL);
		free(out->temp);
		out->temp = NULL;
	}
	return code;
}

void output_close(struct output *out)
{
	if (out->fd >= 0)
		close(out->fd);
	if (out->temp != NULL) {
		unlink(out->temp);
		replace_pending(out->temp, NULL);
	}
	free(out->temp);
	free(out->name);
	*out = (struct output){.fd = -1};
}
