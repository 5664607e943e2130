/*
 * io_support.h - for the tests of pool and io: a table of system calls that fail, stop short
 * or wait when told to; a directory for files; waiting without hanging; and a ledger of
 * memory, descriptors and jobs that must be even after each test.
 */
#ifndef IO_SUPPORT_H
#define IO_SUPPORT_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "agz.h"
#include "io/source.h"
#include "support.h"
#include "text/block.h"

#define TEST_PATIENCE_S 60 /* before a wait counts as a hang */

/* ---- waiting -------------------------------------------------------------------------- */

static inline void test_wait_for(sem_t *sem)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += TEST_PATIENCE_S;
	while (sem_timedwait(sem, &until) != 0)
		assert_int_equal(errno, EINTR);
}

/* Sleeps until the waker's descriptor is readable, and returns the first it names. */
static inline void *test_named(agz_waker *waker)
{
	struct pollfd p = {.fd = agz_waker_fd(waker), .events = POLLIN};

	assert_int_equal(poll(&p, 1, TEST_PATIENCE_S * 1000), 1);
	agz_waker_clear(waker);
	return agz_waker_next(waker);
}

/* The same, whoever is named. */
static inline void test_sleep(agz_waker *waker)
{
	test_named(waker);
	while (agz_waker_next(waker) != NULL)
		;
}

/* Is nobody named, and the descriptor at rest? */
static inline bool test_quiet(agz_waker *waker)
{
	struct pollfd p = {.fd = agz_waker_fd(waker), .events = POLLIN};

	return poll(&p, 1, 0) == 0 && agz_waker_next(waker) == NULL;
}

/* ---- system calls ----------------------------------------------------------------------
 *
 * Real ones, but the test_sys.fail_in-th fails with test_sys.error, reads and writes are
 * cut to test_sys.most, and reads and writes wait at the gate: each posts `came` and waits
 * for `go`.
 */
static struct {
	atomic_int n, fail_in, error, opened, closed;
	atomic_size_t most;
	atomic_bool gated;
	sem_t came, go;
} test_sys;

static inline bool test_sys_fails(void)
{
	atomic_fetch_add(&test_sys.n, 1);
	if (atomic_load(&test_sys.fail_in) == 0 ||
	    atomic_fetch_sub(&test_sys.fail_in, 1) != 1)
		return false;
	errno = test_sys.error;
	return true;
}

static inline size_t test_sys_cut(size_t nbytes)
{
	size_t most = test_sys.most;

	if (test_sys.gated) {
		sem_post(&test_sys.came);
		while (sem_wait(&test_sys.go) != 0)
			;
	}
	return most != 0 && nbytes > most ? most : nbytes;
}

static inline int test_sys_open(const char *path, int flags, mode_t mode)
{
	if (test_sys_fails())
		return -1;
	int fd = agz__real_system.open(path, flags, mode);
	atomic_fetch_add(&test_sys.opened, fd >= 0);
	return fd;
}

static inline int test_sys_fstat(int fd, struct stat *st)
{
	return test_sys_fails() ? -1 : agz__real_system.fstat(fd, st);
}

static inline ssize_t test_sys_read(int fd, void *ptr, size_t nbytes)
{
	nbytes = test_sys_cut(nbytes);
	return test_sys_fails() ? -1 : agz__real_system.read(fd, ptr, nbytes);
}

static inline ssize_t test_sys_pread(int fd, void *ptr, size_t nbytes, off_t offset)
{
	nbytes = test_sys_cut(nbytes);
	return test_sys_fails() ? -1 : agz__real_system.pread(fd, ptr, nbytes, offset);
}

static inline ssize_t test_sys_write(int fd, const void *ptr, size_t nbytes)
{
	nbytes = test_sys_cut(nbytes);
	return test_sys_fails() ? -1 : agz__real_system.write(fd, ptr, nbytes);
}

static inline off_t test_sys_lseek(int fd, off_t offset, int whence)
{
	return test_sys_fails() ? -1 : agz__real_system.lseek(fd, offset, whence);
}

static inline int test_sys_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	return test_sys_fails() ? -1 : agz__real_system.poll(fds, n, timeout);
}

/* A close that fails has closed the descriptor. */
static inline int test_sys_close(int fd)
{
	atomic_fetch_add(&test_sys.closed, 1);
	int rc = agz__real_system.close(fd);
	return test_sys_fails() ? -1 : rc;
}

static inline void test_sys_fail_at(int n, int error)
{
	test_sys.error = error;
	test_sys.fail_in = n;
}

static inline bool test_sys_failed(void)
{
	bool came = test_sys.fail_in <= 0;

	test_sys.fail_in = 0;
	return came;
}

static inline void test_gate(bool gated)
{
	test_sys.gated = gated;
}

/* ---- files ------------------------------------------------------------------------------ */

static char test_dir[] = "/tmp/agz-test-XXXXXX";

static inline const char *test_path(const char *name)
{
	static char paths[8][128];
	static int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", test_dir, name);
	return path;
}

static inline const char *test_file(const char *name, const void *ptr, size_t nbytes)
{
	const char *path = test_path(name);
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(ptr, 1, nbytes, f), nbytes);
	assert_int_equal(fclose(f), 0);
	return path;
}

static inline test_bytes test_slurp(const char *path)
{
	test_bytes b = {0};
	uint8_t some[4096];
	size_t n;
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	while ((n = fread(some, 1, sizeof(some), f)) > 0)
		test_add(&b, some, n);
	fclose(f);
	return b;
}

/* ---- data -------------------------------------------------------------------------------- */

/* One member, by zlib. */
static inline test_bytes test_gzip(const void *ptr, size_t nbytes)
{
	test_bytes gz = {0}, data = {(uint8_t *)(uintptr_t)ptr, nbytes, 0};

	test_add_member(&gz, &data, 6, 0);
	memcpy(gz.ptr + 4, "\x67\x12\0", 4); /* mtime 4711 */
	return gz;
}

/* Adds b, and drops it. */
static inline void test_join(test_bytes *a, test_bytes b)
{
	test_add_bytes(a, &b);
	test_drop(&b);
}

/* What a whole gzip file holds. */
static inline test_bytes test_gunzip(test_bytes gz)
{
	test_bytes b = {0};
	uint8_t some[4096];
	agz_decoder *d;
	agz_input in = {gz.ptr, gz.nbytes, 0};
	int rc;

	assert_int_equal(agz_decoder_new(NULL, &d), AGZ_OK);
	do {
		agz_output out = {some, sizeof(some), 0};
		rc = agz_decoder_step(d, &in, &out, AGZ_INPUT_ENDS);
		test_add(&b, some, out.pos);
	} while (rc == AGZ_MEMBER_DONE || rc == AGZ_OUTPUT_FULL);
	assert_int_equal(rc, AGZ_STREAM_DONE);
	agz_decoder_free(d);
	return b;
}

#define assert_same(a, b)                                                                \
	do {                                                                             \
		assert_int_equal((a).nbytes, (b).nbytes);                                \
		assert_memory_equal((a).ptr, (b).ptr, (b).nbytes);                       \
	} while (0)

/* ---- set-up ------------------------------------------------------------------------------- */

static agz_pool *test_pool;
static agz_waker *test_waker;
static int test_n_fds;
static long test_n_allocations;

static inline int test_count_fds(void)
{
	struct pollfd fds[256];
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		fds[fd] = (struct pollfd){.fd = fd};
	poll(fds, 256, 0);
	for (int fd = 0; fd < 256; fd++)
		n += (fds[fd].revents & POLLNVAL) == 0;
	return n;
}

/* Before each test: a pool of two threads, a waker, a directory, all hooks at rest. */
static inline int test_setup(void **state)
{
	static const agz__system table = {
	        .open = test_sys_open,
	        .fstat = test_sys_fstat,
	        .read = test_sys_read,
	        .pread = test_sys_pread,
	        .write = test_sys_write,
	        .lseek = test_sys_lseek,
	        .poll = test_sys_poll,
	        .close = test_sys_close,
	};

	(void)state;
	strcpy(test_dir + strlen(test_dir) - 6, "XXXXXX");
	if (mkdtemp(test_dir) == NULL)
		return -1;
	test_fail_after(-1);
	test_n_allocations = test_live();
	memset(&test_sys, 0, sizeof(test_sys));
	sem_init(&test_sys.came, 0, 0);
	sem_init(&test_sys.go, 0, 0);
	agz__system_table = &table;
	test_n_fds = test_count_fds();
	return agz_pool_new(2, &test_pool) | agz_waker_new(&test_waker);
}

/* After it: no job, no memory and no descriptor may be left. */
static inline int test_teardown(void **state)
{
	char command[64];

	(void)state;
	agz_pool_free(test_pool);
	agz_waker_free(test_waker);
	agz__block_cache_clear();
	agz__system_table = &agz__real_system;
	snprintf(command, sizeof(command), "rm -rf %s", test_dir);
	if (system(command) != 0)
		return -1;
	if (test_live() != test_n_allocations || test_count_fds() != test_n_fds) {
		print_error("%ld allocations, %d descriptors left\n",
		            test_live() - test_n_allocations,
		            test_count_fds() - test_n_fds);
		return -1;
	}
	return 0;
}

#define io_test(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

/* ---- a child process ------------------------------------------------------------------------ */

/* At the start of a test that forks: ThreadSanitizer knows nothing of threads in the child of
 * a process that has some. */
static inline void test_needs_fork(void)
{
#ifdef __SANITIZE_THREAD__
	skip();
#endif
}

/* Runs f in a child of fork() and expects it to return 0. Asserting in the child would go
 * on with the parent's tests there: f must only return. */
static inline void test_in_child(int (*f)(void *arg), void *arg)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(TEST_PATIENCE_S);
		_exit(f(arg));
	}
	while (waitpid(pid, &status, 0) != pid)
		assert_int_equal(errno, EINTR);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

#endif
