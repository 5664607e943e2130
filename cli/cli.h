/*
 * cli.h - what the verbs of the command share. The command stands on the public
 * headers alone: it is also the largest example of how to use them.
 *
 *   main.c      start, exit status
 *   options.c   the tables of verbs and options
 *   work.c      drives the files, one after another or several at once, over poll(2)
 *   input.c     opens what is named, and says which of gzip's refusals applies
 *   output.c    a file that appears under its name only when it is complete
 *   say.c       messages, and names as a terminal may safely see them
 *   progress.c  the bar
 *   check.c     what inspect and verify have in common (check.h)
 *
 * and one file a verb. A verb opens a file and is then stepped until it is done:
 *
 *   open ─▶ step ─▶ step ─▶ … ─▶ 0, 1 or 2 ─▶ work_close
 *             └─ WAITING: not before the waker has named the work
 */
#ifndef AGZ_CLI_H
#define AGZ_CLI_H

#include <stdint.h>
#include <sys/stat.h>

#include "agz.h"

/* The exit status of a file, and, the largest of all, of the command. */
#define DONE    0
#define INVALID 1 /* not gzip, truncated, corrupt */
#define FAILED  2 /* could not be read or written; wrong usage */

/* What a verb answers while a file is not done. */
#define RUNNING (-1)
#define WAITING (-2)

#define MAX_THREADS 256

struct cli;
struct work;

struct verb {
	const char *name;
	const char *args;
	const char *help; /* a line for the list; then what --help says further */
	unsigned bit;     /* in the table of options */
	int checks;       /* reports on files, makes none */
	int (*open)(struct work *work);
	int (*step)(struct work *work);
};

extern const struct verb compress_verb;
extern const struct verb decompress_verb;
extern const struct verb cat_verb;
extern const struct verb inspect_verb;
extern const struct verb verify_verb;

#define OPTION_COMPRESS   1u
#define OPTION_DECOMPRESS 2u
#define OPTION_CAT        4u
#define OPTION_CHECK      8u

struct cli {
	const struct verb *verb;
	char **files;
	int n_files;
	const char *output; /* -o; "-": standard output; NULL: named after the input */
	int keep;
	int force;
	int quiet;
	int json;
	int no_name;
	int fast;
	int level;
	int threads; /* 0: the library's default, and one file at a time */
	int stuck;   /* a job may wait for ever, for input that nobody needs any more */
	agz_pool *pool;
	agz_waker *waker;
};

struct output {
	int fd;     /* -1: not open */
	char *name; /* as asked for; "-": standard output */
	char *temp; /* what it is called until then; NULL: written to directly */
	int force;
};

/* One file on its way. */
struct work {
	struct cli *cli;
	const char *path;   /* as given; NULL: a free slot */
	char *shown;        /* path, escaped */
	const char *output; /* where to, as cli->output */
	int waiting;
	int in_fd;
	int in_owned; /* to be closed here */
	int replaces; /* the input is removed in the end */
	struct stat in_stat;
	agz_reader *reader;
	agz_writer *writer;
	struct output out;
	uint8_t *buf; /* compress: what was read, and up to where it was handed on */
	size_t buf_nbytes;
	size_t buf_pos;
};

/* options.c: 0 and *cli, or an errno. Leaves the program after --help, --version, and a
 * message about wrong usage, unless `flags`, which are those of argp_parse(), forbid it. */
int options_parse(struct cli *cli, int argc, char **argv, unsigned flags);

/* work.c */
int work_run_all(struct cli *cli);
int work_read(struct work *work, unsigned flags); /* opens a reader on in_fd */
int work_output(struct work *work, char *name);  /* opens output, else name; frees name */
int work_finish(struct work *work);              /* the output becomes visible */
uint64_t work_position(const struct work *work); /* bytes of the input behind it */

/* decompress.c; cat does the same */
int decompress_step(struct work *work);

/* input.c: RUNNING, or FAILED after a message */
int input_open(struct work *work);
int open_retried(const char *path, int flags); /* as per open(2), EINTR retried */
const char *input_suffix(const char *path, size_t *stem_nbytes); /* what replaces it */

/* output.c: 0 or an errno. A NULL `like`: the permissions of a new file. */
void output_init(void);
int output_open(struct output *out, const char *name, int force);
int output_write(struct output *out, const void *ptr, size_t nbytes);
int output_commit(struct output *out, const struct stat *like, int sync);
void output_close(struct output *out);

/*
 * say.c: a line on stderr, "agz: NAME: TEXT". The names are escaped already. All but
 * say() return what the work is worth then: FAILED, and fail_fault() also INVALID.
 */
char *escape(const char *text); /* malloc'd; NULL: no memory */
void say(const char *shown, const char *text);
const char *error_text(int code); /* of a call that left no fault; errno is read */
int skip(const struct work *work, const char *text); /* a warning: silent under -q */
int fail(const struct work *work, const char *text);
int fail_output(const struct work *work, int code); /* an errno */
int fail_fault(const struct work *work, const agz_fault *fault);

/* progress.c */
void progress_init(const struct cli *cli);
void progress_show(const struct work *works, int n_works);
void progress_add(uint64_t nbytes); /* of a file that is done */
void progress_clear(void);          /* before anything else is printed */
int progress_timeout(void);         /* for poll(2) */

#endif
