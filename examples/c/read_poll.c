/*
 * read_poll.c - reads many gzip files at once, in one thread, with poll(2) alone.
 *
 *     read_poll FILE...
 *
 * Prints for each file how many lines and bytes it holds and their CRC-32, or what is wrong
 * with it. The exit status is 0 if all are well, else 1.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "tally.h"

/* A program of your own would have more descriptors in its poll(2) than the one. */
static void loop(agz_waker *waker, int n_left)
{
	struct pollfd fds[1] = {{.fd = agz_waker_fd(waker), .events = POLLIN}};
	tally *t;

	while (n_left > 0) {
		if (poll(fds, 1, -1) < 0 && errno != EINTR)
			return;
		agz_waker_clear(waker);
		while ((t = agz_waker_next(waker)) != NULL)
			n_left -= tally_go_on(t);
	}
}

int main(int argc, char **argv)
{
	int n = argc - 1, n_left = n, all_well = 1;
	tally *files = calloc((size_t)n + 1, sizeof(*files));
	agz_waker *waker;

	if (files == NULL || agz_waker_new(&waker) != AGZ_OK) {
		perror(argv[0]);
		return 1;
	}
	for (int i = 0; i < n; i++)
		tally_start(&files[i], argv[i + 1], waker);
	/* A file is named only if it was asked once, and had nothing yet. */
	for (int i = 0; i < n; i++)
		n_left -= tally_go_on(&files[i]);
	loop(waker, n_left);
	for (int i = 0; i < n; i++)
		all_well &= tally_report(&files[i]);
	agz_waker_free(waker);
	free(files);
	return !all_well;
}
