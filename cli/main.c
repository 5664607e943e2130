/*
 * main.c - the command agz: start, exit status.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static int run(struct cli *cli)
{
	static char standard_input[] = "-";
	static char *no_files[] = {standard_input};
	if (cli->n_files == 0) {
		cli->files = no_files;
		cli->n_files = 1;
	}

	setvbuf(stdout, NULL, _IOLBF, 0); /* reports of good and bad files in order */
	int rc = agz_pool_new((unsigned)cli->threads, &cli->pool);
	if (rc == 0)
		rc = agz_waker_new(&cli->waker);
	int status = FAILED;
	if (rc == 0) {
		output_init();
		progress_init(cli);
		status = work_run_all(cli);
		progress_clear();
	} else {
		say(NULL, error_text(rc));
	}
	agz_waker_free(cli->waker);
	if (!cli->stuck)
		agz_pool_free(cli->pool);

	/* Reports that did not reach their reader are no success. */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		say("standard output", strerror(errno));
		status = FAILED;
	}
	return status;
}

/* A standard stream that is closed: no file may get its number, and to use it has to fail. */
static int hold_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		int unusable = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", unusable) != fd)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct cli cli;
	if (hold_standard() != 0)
		return FAILED;
	return options_parse(&cli, argc, argv, 0) == 0 ? run(&cli) : FAILED;
}
