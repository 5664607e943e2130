/*
 * test_source.c - attacks sources: each system call failing at each position, signals that
 * interrupt, reads that stop short, files that shrink and grow, directories, FIFOs that nobody
 * writes to, descriptors that somebody else reads from.
 */
#define _GNU_SOURCE 1

#include "io_support.h"

#include <sys/socket.h>

#include "io/source.h"

static void read_exactly(agz__source *s, const char *text)
{
	char buf[64];
	size_t got;

	assert_int_equal(agz__source_wait(s), AGZ_OK);
	assert_int_equal(agz__source_read(s, buf, sizeof(buf), &got), AGZ_OK);
	assert_int_equal(got, strlen(text));
	assert_memory_equal(buf, text, got);
}

static void path(void **state)
{
	agz__source s;
	char tail[4];

	(void)state;
	assert_int_equal(agz__source_open(&s, test_file("a", "0123456789", 10)), AGZ_OK);
	assert_true(s.regular && s.seekable && s.owned && !s.live);
	assert_true(fcntl(s.fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(agz__source_left(&s), 10);
	assert_true(agz__source_tail(&s, tail, 4));
	assert_memory_equal(tail, "6789", 4);
	test_sys.most = 4;
	read_exactly(&s, "0123");
	read_exactly(&s, "4567");
	assert_int_equal(agz__source_left(&s), 2);
	assert_int_equal(agz__source_seek(&s, 0), AGZ_OK);
	test_sys.most = 0;
	read_exactly(&s, "0123456789");
	read_exactly(&s, "");
	/* It grows, then shrinks. */
	test_file("a", "0123456789ab", 12);
	read_exactly(&s, "ab");
	test_file("a", "01", 2);
	read_exactly(&s, "");
	assert_int_equal(agz__source_left(&s), 0);
	assert_false(agz__source_tail(&s, tail, 4));
	agz__source_close(&s);
}

/* From where the descriptor stands; which is the start, to rewind to. */
static void descriptor(void **state)
{
	agz__source s;
	char tail[4];
	int fd = open(test_file("a", "0123456789", 10), O_RDONLY);

	(void)state;
	assert_int_equal(lseek(fd, 3, SEEK_SET), 3);
	assert_int_equal(agz__source_adopt(&s, fd, false), AGZ_OK);
	assert_int_equal(agz__source_left(&s), 7);
	read_exactly(&s, "3456789");
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 10);
	assert_int_equal(agz__source_seek(&s, 0), AGZ_OK);
	read_exactly(&s, "3456789");
	agz__source_close(&s);

	/* What lies before the start is not the stream's. */
	assert_int_equal(lseek(fd, 8, SEEK_SET), 8);
	assert_int_equal(agz__source_adopt(&s, fd, true), AGZ_OK);
	assert_false(agz__source_tail(&s, tail, 4));
	agz__source_close(&s);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void not_there(void **state)
{
	agz__source s;

	(void)state;
	assert_int_equal(agz__source_open(&s, test_path("nothing")), AGZ_E_SYSTEM);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(agz__source_open(&s, test_dir), AGZ_E_SYSTEM);
	assert_int_equal(errno, EISDIR);
	assert_int_equal(s.fd, -1);
	assert_int_equal(agz__source_adopt(&s, 250, true), AGZ_E_SYSTEM);
	assert_int_equal(errno, EBADF);
}

static int open_and_read(agz__source *s, const char *name)
{
	char buf[4];
	size_t got;
	int rc = agz__source_open(s, name);

	if (rc == AGZ_OK)
		rc = agz__source_read(s, buf, sizeof(buf), &got);
	if (rc == AGZ_OK)
		rc = agz__source_seek(s, 0);
	return rc;
}

/* Every call fails once; then every call is interrupted once, which nobody notices. */
static void each_call_fails(void **state)
{
	static const int errors[] = {EIO, EINTR};
	agz__source s;
	const char *name = test_file("a", "0123456789", 10);

	(void)state;
	for (int e = 0; e < 2; e++) {
		for (int n = 1;; n++) {
			test_sys_fail_at(n, errors[e]);
			int rc = open_and_read(&s, name);
			int error = errno;
			if (!test_sys_failed())
				break;
			/* fstat(2) knows no EINTR. */
			assert_int_equal(rc, errors[e] == EINTR && n != 2 ? AGZ_OK
			                                                  : AGZ_E_SYSTEM);
			assert_true(rc == AGZ_OK || error == errors[e]);
			agz__source_close(&s);
		}
		agz__source_close(&s);
	}

	int fd = open(name, O_RDONLY);
	test_sys_fail_at(1, EIO);
	assert_int_equal(agz__source_adopt(&s, fd, true), AGZ_E_SYSTEM);
	assert_int_equal(s.fd, fd); /* borrowed or owned, it is the caller's until then */
	test_sys_fail_at(2, ESPIPE);
	assert_int_equal(agz__source_adopt(&s, fd, true), AGZ_OK);
	assert_int_equal(agz__source_seek(&s, 0), AGZ_E_NOT_SEEKABLE);
	assert_int_equal(agz__source_adopt(&s, fd, true), AGZ_OK);
	test_sys_fail_at(1, EIO);
	assert_int_equal(agz__source_seek(&s, 0), AGZ_E_SYSTEM);
	agz__source_close(&s);
}

/* A file under a lease is opened once more, in the way that waits. */
static void lease(void **state)
{
	agz__source s;
	const char *name = test_file("a", "x", 1);

	(void)state;
	test_sys_fail_at(1, EWOULDBLOCK);
	assert_int_equal(agz__source_open(&s, name), AGZ_OK);
	assert_true(test_sys_failed());
	assert_false(fcntl(s.fd, F_GETFL) & O_NONBLOCK);
	read_exactly(&s, "x");
	agz__source_close(&s);
}

/* Opening does not wait for a writer; the bell ends the wait, as often as it is rung. */
static void fifo(void **state)
{
	agz__source s;
	const char *name = test_path("fifo");
	char buf[8];
	size_t got;

	(void)state;
	assert_int_equal(mkfifo(name, 0600), 0);
	assert_int_equal(agz__source_open(&s, name), AGZ_OK);
	assert_true(s.live && !s.seekable && !s.regular);
	assert_int_equal(agz__source_seek(&s, 0), AGZ_E_NOT_SEEKABLE);
	for (int i = 0; i < 2; i++) {
		agz__bell_ring(&s.bell);
		assert_int_equal(agz__source_wait(&s), AGZ_END);
	}

	int fd = open(name, O_WRONLY);
	assert_int_equal(write(fd, "abc", 3), 3);
	test_sys_fail_at(1, EINTR); /* of poll(2) */
	read_exactly(&s, "abc");
	/* Somebody else was quicker. */
	assert_int_equal(agz__source_read(&s, buf, sizeof(buf), &got), AGZ_WAIT);
	assert_int_equal(write(fd, "d", 1), 1);
	read_exactly(&s, "d");
	test_sys_fail_at(1, ENOMEM);
	assert_int_equal(agz__source_wait(&s), AGZ_E_SYSTEM);
	assert_int_equal(errno, ENOMEM);
	close(fd);
	read_exactly(&s, "");
	agz__source_close(&s);
}

static void other_kinds(void **state)
{
	agz__source s;
	int fds[2];

	(void)state;
	assert_int_equal(agz__source_open(&s, "/dev/null"), AGZ_OK);
	read_exactly(&s, "");
	agz__source_close(&s);

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(agz__source_adopt(&s, fds[0], true), AGZ_OK);
	assert_true(s.live && !s.seekable);
	assert_int_equal(write(fds[1], "xyz", 3), 3);
	read_exactly(&s, "xyz");
	close(fds[1]);
	read_exactly(&s, "");
	agz__source_close(&s);

	/* A file of /proc says that it is empty, and is not. */
	assert_int_equal(agz__source_open(&s, "/proc/self/status"), AGZ_OK);
	assert_int_equal(agz__source_left(&s), 0);
	char buf[5];
	size_t got;
	assert_int_equal(agz__source_read(&s, buf, 5, &got), AGZ_OK);
	assert_memory_equal(buf, "Name:", 5);
	agz__source_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        io_test(path),        io_test(descriptor),
	        io_test(not_there),   io_test(each_call_fails),
	        io_test(lease),       io_test(fifo),
	        io_test(other_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
