/*
 * test_sink.c - attacks sinks: each system call failing at each position, signals that
 * interrupt, writes that stop short or make no progress, a full disk, a close(2) that fails,
 * FIFOs that nobody reads, pipes that are full.
 */
#define _GNU_SOURCE 1

#include "io_support.h"

#include <limits.h>

#include "io/sink.h"

static int write_all(agz__sink *s, const char *text)
{
	size_t nbytes = strlen(text), taken;

	while (nbytes > 0) {
		int rc = agz__sink_wait(s);
		if (rc == AGZ_OK)
			rc = agz__sink_write(s, text, nbytes, &taken);
		if (rc != AGZ_OK)
			return rc;
		assert_in_range(taken, 1, nbytes);
		text += taken;
		nbytes -= taken;
	}
	return AGZ_OK;
}

static void holds(const char *path, const char *text)
{
	test_bytes b = test_slurp(path);

	assert_int_equal(b.nbytes, strlen(text));
	assert_memory_equal(b.ptr, text, b.nbytes);
	free(b.ptr);
}

static void create(void **state)
{
	agz__sink s;
	struct stat st;
	const char *name = test_path("a");

	(void)state;
	umask(022);
	assert_int_equal(agz__sink_open(&s, name, AGZ_CREATE_NEW, 0666, false), AGZ_OK);
	assert_true(s.owned && !s.live);
	assert_true(fcntl(s.fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fstat(s.fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	test_sys.most = 2;
	assert_int_equal(write_all(&s, "hello"), AGZ_OK);
	assert_int_equal(agz__sink_close(&s), AGZ_OK);
	assert_int_equal(s.fd, -1);
	assert_int_equal(agz__sink_close(&s), AGZ_OK);
	holds(name, "hello");

	assert_int_equal(agz__sink_open(&s, name, AGZ_CREATE_NEW, 0666, false),
	                 AGZ_E_SYSTEM);
	assert_int_equal(errno, EEXIST);
	assert_int_equal(agz__sink_open(&s, name, AGZ_CREATE_APPEND, 0666, false),
	                 AGZ_OK);
	assert_int_equal(write_all(&s, ", you"), AGZ_OK);
	assert_int_equal(agz__sink_close(&s), AGZ_OK);
	holds(name, "hello, you");
	assert_int_equal(agz__sink_open(&s, name, AGZ_CREATE, 0666, false), AGZ_OK);
	assert_int_equal(write_all(&s, "bye"), AGZ_OK);
	assert_int_equal(agz__sink_close(&s), AGZ_OK);
	holds(name, "bye");

	assert_int_equal(agz__sink_open(&s, test_dir, AGZ_CREATE, 0666, false),
	                 AGZ_E_SYSTEM);
	assert_int_equal(errno, EISDIR);
	assert_int_equal(agz__sink_open(&s, test_path("b/c"), AGZ_CREATE, 0666, false),
	                 AGZ_E_SYSTEM);
	assert_int_equal(errno, ENOENT);
}

static int open_write_close(agz__sink *s)
{
	int rc = agz__sink_open(s, test_path("a"), AGZ_CREATE, 0600, false);

	if (rc == AGZ_OK)
		rc = write_all(s, "some text");
	int saved = errno;
	int closed = agz__sink_close(s);
	if (rc == AGZ_OK)
		return closed;
	errno = saved;
	return rc;
}

/* Every call fails once, the close(2) too; then every call is interrupted once. */
static void each_call_fails(void **state)
{
	static const int errors[] = {ENOSPC, EINTR};
	agz__sink s;

	(void)state;
	for (int e = 0; e < 2; e++) {
		for (int n = 1;; n++) {
			test_sys_fail_at(n, errors[e]);
			int rc = open_write_close(&s);
			int error = errno;
			if (!test_sys_failed())
				break;
			assert_int_equal(rc, errors[e] == EINTR && n != 2 ? AGZ_OK
			                                                  : AGZ_E_SYSTEM);
			assert_true(rc == AGZ_OK || error == errors[e]);
			assert_int_equal(s.fd, -1);
			assert_int_equal(test_sys.opened, test_sys.closed);
		}
	}
}

static ssize_t write_nothing(int fd, const void *ptr, size_t nbytes)
{
	(void)fd;
	(void)ptr;
	(void)nbytes;
	return 0;
}

static void no_progress(void **state)
{
	agz__system table = *agz__system_table;
	agz__sink s;

	(void)state;
	table.write = write_nothing;
	agz__system_table = &table;
	assert_int_equal(agz__sink_open(&s, test_path("a"), AGZ_CREATE, 0600, false),
	                 AGZ_OK);
	assert_int_equal(write_all(&s, "x"), AGZ_E_SYSTEM);
	assert_int_equal(errno, EIO);
	assert_int_equal(agz__sink_close(&s), AGZ_OK);
}

static void full_disk(void **state)
{
	agz__sink s;

	(void)state;
	assert_int_equal(agz__sink_open(&s, "/dev/full", AGZ_CREATE, 0600, false),
	                 AGZ_OK);
	assert_int_equal(write_all(&s, "x"), AGZ_E_SYSTEM);
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(agz__sink_close(&s), AGZ_OK);
}

/* Without a reader there is nothing to open, unless one may wait. With one, a full pipe
 * neither blocks nor hides the bell. */
static void fifo(void **state)
{
	static char much[1 << 20];
	const char *name = test_path("fifo");
	agz__sink s;
	size_t taken;

	(void)state;
	assert_int_equal(mkfifo(name, 0600), 0);
	assert_int_equal(agz__sink_open(&s, name, AGZ_CREATE, 0600, false), AGZ_WAIT);
	int fd = open(name, O_RDONLY | O_NONBLOCK);
	assert_int_equal(agz__sink_open(&s, name, AGZ_CREATE, 0600, true), AGZ_OK);
	assert_true(s.live && !s.patient);
	agz__bell_ring(&s.bell);
	assert_int_equal(agz__sink_wait(&s), AGZ_END);
	while (agz__sink_write(&s, much, sizeof(much), &taken) == AGZ_OK)
		assert_in_range(taken, 1, sizeof(much));
	assert_int_equal(taken, 0);
	agz__bell_ring(&s.bell);
	assert_int_equal(agz__sink_wait(&s), AGZ_END);
	close(fd);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(agz__sink_write(&s, "x", 1, &taken), AGZ_E_SYSTEM);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(agz__sink_close(&s), AGZ_OK);
}

/* A descriptor that would wait till all is written is given no more than fits. */
static void patient(void **state)
{
	static char much[1 << 20];
	agz__sink s;
	int fds[2];
	size_t taken, all = 0;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(agz__sink_adopt(&s, fds[1], false), AGZ_OK);
	assert_true(s.live && s.patient && !s.owned);
	for (;;) {
		struct pollfd p = {.fd = fds[1], .events = POLLOUT};
		if (poll(&p, 1, 0) == 0)
			break;
		assert_int_equal(agz__sink_write(&s, much, sizeof(much), &taken), AGZ_OK);
		assert_in_range(taken, 1, PIPE_BUF);
		all += taken;
	}
	assert_true(all >= PIPE_BUF);
	assert_int_equal(agz__sink_close(&s), AGZ_OK);
	assert_int_equal(close(fds[1]), 0); /* it was the caller's still */
	close(fds[0]);
	assert_int_equal(agz__sink_adopt(&s, fds[1], true), AGZ_E_SYSTEM);
	assert_int_equal(errno, EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        io_test(create),      io_test(each_call_fails),
	        io_test(no_progress), io_test(full_disk),
	        io_test(fifo),        io_test(patient),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
