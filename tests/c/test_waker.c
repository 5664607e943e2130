/*
 * test_waker.c - attacks wakers: files that are named twice, closed while listed, or outlive
 * their waker; bells rung more often than a counter holds; a child of fork that would eat
 * its parent's wake-ups; no descriptors, no memory.
 */
#define _GNU_SOURCE 1

#include "io_support.h"

#include <sys/resource.h>

#include "pool/waker.h"

static void wake(agz__sleeper *s)
{
	agz__lock();
	agz__sleeper_wake(s);
	agz__unlock();
}

static void leave(agz__sleeper *s)
{
	agz__lock();
	agz__sleeper_leave(s);
	agz__unlock();
}

static uint64_t bell_count(agz_waker *waker)
{
	uint64_t n = 0;

	return read(agz_waker_fd(waker), &n, sizeof(n)) == sizeof(n) ? n : 0;
}

static void descriptor(void **state)
{
	int fd = agz_waker_fd(test_waker);

	(void)state;
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(test_quiet(test_waker));
	agz_waker_clear(test_waker); /* of nothing: does not block */
	errno = 4711;
	agz_waker_clear(test_waker);
	assert_int_equal(errno, 4711);
}

/* Each is named once, in order, and one ring serves them all. */
static void coalesced(void **state)
{
	agz__sleeper s[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		agz__sleeper_init(&s[i], test_waker, &s[i]);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 9; i++)
			wake(&s[i % 3]);
		assert_int_equal(bell_count(test_waker), 1);
		for (int i = 0; i < 3; i++)
			assert_ptr_equal(agz_waker_next(test_waker), &s[i]);
		assert_true(test_quiet(test_waker));
	}
	for (int i = 0; i < 3; i++)
		leave(&s[i]);
}

/* A wake between clear and next is not lost, and one after the list was emptied rings. */
static void between_clear_and_next(void **state)
{
	agz__sleeper a, b;

	(void)state;
	agz__sleeper_init(&a, test_waker, &a);
	agz__sleeper_init(&b, test_waker, &b);
	wake(&a);
	agz_waker_clear(test_waker);
	wake(&b);
	assert_ptr_equal(agz_waker_next(test_waker), &a);
	wake(&a);
	assert_ptr_equal(agz_waker_next(test_waker), &b);
	assert_ptr_equal(agz_waker_next(test_waker), &a);
	assert_null(agz_waker_next(test_waker));
	wake(&b);
	assert_ptr_equal(test_named(test_waker), &b);
	leave(&a);
	leave(&b);
}

/* Closed files come off the list wherever they are in it. */
static void closed(void **state)
{
	agz__sleeper s[5];

	(void)state;
	for (int gone = 0; gone < 5; gone++) {
		for (int i = 0; i < 5; i++) {
			agz__sleeper_init(&s[i], test_waker, &s[i]);
			wake(&s[i]);
		}
		leave(&s[gone]);
		leave(&s[gone]); /* twice is once */
		wake(&s[gone]);  /* and never again */
		for (int i = 0; i < 5; i++) {
			if (i != gone)
				assert_ptr_equal(agz_waker_next(test_waker), &s[i]);
		}
		assert_null(agz_waker_next(test_waker));
		agz_waker_clear(test_waker);
		for (int i = 0; i < 5; i++)
			leave(&s[i]);
	}
}

/* Files outlive their waker, listed or not. */
static void waker_goes_first(void **state)
{
	agz__sleeper a, b;
	agz_waker *waker;

	(void)state;
	assert_int_equal(agz_waker_new(&waker), AGZ_OK);
	agz__sleeper_init(&a, waker, &a);
	agz__sleeper_init(&b, waker, &b);
	wake(&a);
	int fd = agz_waker_fd(waker);
	agz_waker_free(waker);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	wake(&a);
	wake(&b);
	leave(&a);
	leave(&b);
	agz_waker_free(NULL);
}

static void nobody_to_wake(void **state)
{
	agz__sleeper s;

	(void)state;
	agz__sleeper_init(&s, NULL, NULL);
	wake(&s);
	leave(&s);
}

static void bells(void **state)
{
	agz__bell bell;
	struct pollfd p = {.events = POLLIN};

	(void)state;
	assert_int_equal(agz__bell_open(&bell), AGZ_OK);
	p.fd = bell.fd;
	assert_int_equal(poll(&p, 1, 0), 0);
	for (int i = 0; i < 100000; i++) /* more than a pipe would hold */
		agz__bell_ring(&bell);
	assert_int_equal(poll(&p, 1, 0), 1);
	agz__bell_clear(&bell);
	assert_int_equal(poll(&p, 1, 0), 0);
	agz__bell_close(&bell);
	agz__bell_close(&bell);
	assert_int_equal(bell.fd, -1);
}

static void nothing_left(void **state)
{
	struct rlimit old, none;
	agz_waker *waker;

	(void)state;
	test_fail_after(0);
	assert_int_equal(agz_waker_new(&waker), AGZ_E_NOMEM);
	assert_null(waker);
	test_fail_after(-1);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(agz_waker_new(&waker), AGZ_E_SYSTEM);
	assert_int_equal(errno, EMFILE);
	assert_null(waker);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

/* ---- fork --------------------------------------------------------------------------------- */

static int ring_and_eat(void *arg)
{
	agz__sleeper *s = arg;
	struct pollfd p = {.fd = agz_waker_fd(test_waker), .events = POLLIN};

	/* What was listed is still, and the child's bell says so. */
	if (poll(&p, 1, 0) != 1 || !(fcntl(p.fd, F_GETFD) & FD_CLOEXEC))
		return 1;
	agz_waker_clear(test_waker);
	if (agz_waker_next(test_waker) != &s[0] || agz_waker_next(test_waker) != NULL)
		return 2;
	wake(&s[1]);
	return test_named(test_waker) == &s[1] ? 0 : 3;
}

/* Neither eats the other's rings nor hears them. */
static void forked(void **state)
{
	agz__sleeper s[2];

	(void)state;
	test_needs_fork();
	agz__sleeper_init(&s[0], test_waker, &s[0]);
	agz__sleeper_init(&s[1], test_waker, &s[1]);
	wake(&s[0]);
	test_in_child(ring_and_eat, s);
	assert_int_equal(bell_count(test_waker), 1);
	assert_ptr_equal(agz_waker_next(test_waker), &s[0]);
	assert_true(test_quiet(test_waker));
	leave(&s[0]);
	leave(&s[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        io_test(descriptor),
	        io_test(coalesced),
	        io_test(between_clear_and_next),
	        io_test(closed),
	        io_test(waker_goes_first),
	        io_test(nobody_to_wake),
	        io_test(bells),
	        io_test(nothing_left),
	        io_test(forked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
