/*
 * test_faults.c - attacks readers and writers with a system that fails: each system call,
 * each thread start and each allocation, at each position, once and from there on for good,
 * with each error, in each scenario. Whatever fails: the right error, told for as long as it
 * lasts; what came before it is right; nothing is left behind; nobody waits for ever.
 */
#define _GNU_SOURCE 1

#ifdef __linux__
#include <sys/eventfd.h>
#include <sys/syscall.h>
#endif

#include "io_support.h"

/* ---- the plan: which call fails, and how --------------------------------------------------- */

enum call {
	OPEN,
	FSTAT,
	READ,
	PREAD,
	WRITE,
	LSEEK,
	POLL,
	CLOSE,
	OPEN_NOW,
	PREAD_NOW,
	EVENTFD,
	THREAD,
	N_CALLS,
	ALLOCATION
};

#define SHORT (-1) /* no error: one byte is read or written */

static const int errors[] = {SHORT,  EINTR, EAGAIN, EIO,    ENOSPC,
                             EDQUOT, EPIPE, EBADF,  ENOMEM, EMFILE};

static struct {
	enum call call;
	atomic_int at; /* the at-th of them fails, from 1 on; 0: none does */
	int error;
	int place, way, last_at;
	bool for_good; /* and all that follow */
	bool over;     /* it came to pass, and was ended */
	atomic_int n[N_CALLS], hits;
} plan;

static long n_faults; /* of all plans, that came to pass */

static bool hit(enum call call)
{
	int n = atomic_fetch_add(&plan.n[call], 1) + 1;

	if (plan.at == 0 || call != plan.call ||
	    (plan.for_good ? n < plan.at : n != plan.at))
		return false;
	atomic_fetch_add(&plan.hits, 1);
	errno = plan.error;
	return true;
}

static bool came_to_pass(void)
{
	return plan.over || (plan.call == ALLOCATION ? test_failed() : plan.hits > 0);
}

static void end_plan(void)
{
	plan.over = came_to_pass();
	plan.at = 0;
	test_fail_after(-1);
}

static int f_open(const char *path, int flags, mode_t mode)
{
	return hit(OPEN) ? -1 : agz__real_system.open(path, flags, mode);
}

static int f_fstat(int fd, struct stat *st)
{
	return hit(FSTAT) ? -1 : agz__real_system.fstat(fd, st);
}

static ssize_t f_read(int fd, void *ptr, size_t nbytes)
{
	if (!hit(READ))
		return agz__real_system.read(fd, ptr, nbytes);
	return plan.error == SHORT ? agz__real_system.read(fd, ptr, 1) : -1;
}

static ssize_t f_pread(int fd, void *ptr, size_t nbytes, off_t offset)
{
	if (!hit(PREAD))
		return agz__real_system.pread(fd, ptr, nbytes, offset);
	return plan.error == SHORT ? agz__real_system.pread(fd, ptr, 1, offset) : -1;
}

static ssize_t f_write(int fd, const void *ptr, size_t nbytes)
{
	if (!hit(WRITE))
		return agz__real_system.write(fd, ptr, nbytes);
	return plan.error == SHORT ? agz__real_system.write(fd, ptr, 1) : -1;
}

static off_t f_lseek(int fd, off_t offset, int whence)
{
	return hit(LSEEK) ? -1 : agz__real_system.lseek(fd, offset, whence);
}

static int f_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	return hit(POLL) ? -1 : agz__real_system.poll(fds, n, timeout);
}

/* One that fails has closed the descriptor. */
static int f_close(int fd)
{
	int rc = agz__real_system.close(fd);

	return hit(CLOSE) ? -1 : rc;
}

static int f_open_now(const char *path, struct stat *st)
{
	return hit(OPEN_NOW) ? -1 : agz__real_system.open_now(path, st);
}

static ssize_t f_pread_now(int fd, void *ptr, size_t nbytes, off_t offset)
{
	if (!hit(PREAD_NOW))
		return agz__real_system.pread_now(fd, ptr, nbytes, offset);
	return plan.error == SHORT ? agz__real_system.pread_now(fd, ptr, 1, offset) : -1;
}

static int f_thread(pthread_t *thread, const pthread_attr_t *attr, void *(*f)(void *),
                    void *arg)
{
	return hit(THREAD) ? plan.error : pthread_create(thread, attr, f, arg);
}

#ifdef __linux__
/* Takes the place of the C library's, for the bells of the library. */
int eventfd(unsigned count, int flags)
{
	return hit(EVENTFD) ? -1 : (int)syscall(SYS_eventfd2, count, flags);
}
#endif

/* Does this error make sense for this call? Those that last are all treated alike: one of
 * them is enough for good. */
static bool possible(enum call call, int error, bool for_good)
{
	if (call == THREAD)
		return error == EAGAIN;
	if (error == SHORT)
		return call == READ || call == PREAD || call == PREAD_NOW ||
		       call == WRITE;
	return !for_good || error == EIO;
}

/* ---- scenarios ------------------------------------------------------------------------------ */

enum place { AT_PATH, AT_FD, AT_FIFO, AT_PIPE, IN_MEMORY, BY_HAND, N_PLACES };

static bool is_live(enum place place)
{
	return place == AT_FIFO || place == AT_PIPE;
}

/* Is the failure one that nobody but us notices? */
static bool forgiven(enum place place, bool writes)
{
	bool first = plan.at == 1 && !plan.for_good;

	switch (plan.call) {
	case OPEN:
		return plan.error == EINTR || plan.error == EAGAIN;
	case READ:
	case WRITE:
		return plan.error == SHORT || plan.error == EINTR ||
		       (plan.error == EAGAIN && is_live(place));
	case PREAD: /* the first is for the size hint alone, of an fd the only one */
		return plan.error == SHORT || plan.error == EINTR ||
		       (first && plan.n[PREAD_NOW] == 0) || place == AT_FD;
	case POLL:
		return plan.error == EINTR || plan.error == EAGAIN;
	case LSEEK: /* the first asks whether it can be done */
		return first;
	case OPEN_NOW: /* a worker does it then */
	case PREAD_NOW:
		return true;
	case CLOSE:
		return !writes || plan.error == EINTR;
	default:
		return false;
	}
}

/* The error that was told is that of the plan. */
static void is_planned(const agz_fault *fault, int rc)
{
	assert_int_equal(fault->code, rc);
	if (plan.call == ALLOCATION) {
		assert_int_equal(rc, AGZ_E_NOMEM);
		assert_int_equal(fault->sys, 0);
	} else {
		assert_int_equal(rc, AGZ_E_SYSTEM);
		assert_int_equal(fault->sys, plan.error);
	}
}

/* Nothing was opened, and errno says why. */
static void refused(int rc)
{
	int sys = errno;

	if (plan.call == ALLOCATION) {
		assert_int_equal(rc, AGZ_E_NOMEM);
	} else {
		assert_int_equal(plan.call, THREAD);
		assert_int_equal(rc, AGZ_E_SYSTEM);
		assert_int_equal(sys, plan.error);
	}
}

typedef void scenario(enum place place, int way, test_bytes text, test_bytes gz);

/* One run with one plan, from an even ledger to an even ledger. Returns whether it failed. */
static bool run_once(scenario *f, enum place place, int way, test_bytes text,
                     test_bytes gz)
{
	agz__block_cache_clear();
	long live = test_live();
	int n_fds = test_count_fds();

	assert_int_equal(agz_pool_new(2, &test_pool), AGZ_OK);
	plan.place = place;
	plan.way = way;
	plan.over = false;
	plan.last_at = plan.at;
	plan.hits = 0;
	memset(plan.n, 0, sizeof(plan.n));
	if (plan.call == ALLOCATION && plan.for_good)
		test_fail_after(plan.at - 1);
	else if (plan.call == ALLOCATION)
		test_fail_at(plan.at);
	f(place, way, text, gz);
	agz_pool_free(test_pool);
	test_pool = NULL;
	while (agz_waker_next(test_waker) != NULL)
		fail();
	end_plan();
	agz__block_cache_clear();
	assert_int_equal(test_live(), live);
	assert_int_equal(test_count_fds(), n_fds);
	n_faults += plan.over;
	return plan.over;
}

static void each_position(scenario *f, enum place place, int way, test_bytes text,
                          test_bytes gz)
{
	for (int at = 1;; at++) {
		plan.at = at;
		if (!run_once(f, place, way, text, gz))
			return;
		/* Byte by byte there are too many positions. */
		if (plan.error == SHORT && plan.for_good)
			return;
	}
}

static void each_plan(scenario *f, enum place place, int way, test_bytes text,
                      test_bytes gz)
{
	for (int good = 0; good < 2; good++) {
		plan.for_good = good;
		for (int call = 0; call < N_CALLS && place < IN_MEMORY; call++) {
			for (size_t e = 0; e < sizeof(errors) / sizeof(errors[0]); e++) {
				plan.call = (enum call)call;
				plan.error = errors[e];
				if (possible(plan.call, plan.error, good))
					each_position(f, place, way, text, gz);
			}
		}
		plan.call = ALLOCATION;
		plan.error = 0;
		each_position(f, place, way, text, gz);
	}
}

/* ---- readers ---------------------------------------------------------------------------------- */

/* What becomes of an answer. After a thread that could not start once, the same call works. */
static int answer(int rc, agz_reader *r, test_bytes *push)
{
	if (rc == AGZ_WAIT) {
		test_sleep(test_waker);
	} else if (rc == AGZ_E_SYSTEM && plan.call == THREAD && !plan.for_good) {
		is_planned(agz_reader_fault(r), rc);
		return AGZ_WAIT;
	} else if (rc == AGZ_HUNGRY && push != NULL) {
		size_t n = push->nbytes < 5000 ? push->nbytes : 5000;
		int pushed =
		        agz_reader_push(r, push->ptr, n, n == push->nbytes, NULL, NULL);
		push->ptr += n;
		push->nbytes -= n;
		return pushed == AGZ_OK ? AGZ_WAIT : pushed;
	}
	return rc;
}

static int take(agz_reader *r, agz_block **block, test_bytes *push)
{
	int rc;

	while ((rc = answer(agz_reader_take(r, block), r, push)) == AGZ_WAIT)
		;
	return rc;
}

static int seek(agz_reader *r, uint64_t offset, uint64_t *reached, test_bytes *push)
{
	int rc;

	while ((rc = answer(agz_reader_seek(r, offset, reached), r, push)) == AGZ_WAIT)
		;
	return rc;
}

/* All that follows is text from `at` on, or its start and then an error. */
static int take_all(agz_reader *r, test_bytes text, size_t at, test_bytes *push)
{
	agz_block *block;
	int rc;

	while ((rc = take(r, &block, push)) == AGZ_OK) {
		size_t n = agz_block_nbytes(block);
		assert_true(n <= text.nbytes - at);
		assert_memory_equal(agz_block_ptr(block), text.ptr + at, n);
		agz_block_free(block);
		at += n;
	}
	if (rc == AGZ_END)
		assert_int_equal(at, text.nbytes);
	return rc;
}

static int read_blocks(agz_reader *r, test_bytes text, test_bytes *push)
{
	return take_all(r, text, 0, push);
}

/* The caller's own failure, not the reader's: the same call works later. */
static void cursor_failed(int rc)
{
	assert_int_equal(plan.call, ALLOCATION);
	assert_int_equal(rc, AGZ_E_NOMEM);
	end_plan();
}

static int read_lines(agz_reader *r, test_bytes text, test_bytes *push)
{
	agz_cursor *cursor;
	agz_block *block;
	agz_line line;
	size_t at = 0;
	int rc, got;

	while ((rc = agz_cursor_new(AGZ_NEWLINE_LF, &cursor)) != AGZ_OK)
		cursor_failed(rc);
	do {
		rc = take(r, &block, push);
		if (rc == AGZ_OK)
			agz_cursor_append(cursor, block);
		while ((got = agz_cursor_line(cursor, 0,
		                              rc == AGZ_END ? AGZ_LINES_END : 0,
		                              &line)) != 0) {
			if (got < 0) {
				cursor_failed(got);
				continue;
			}
			assert_memory_equal(line.ptr, text.ptr + at, line.nbytes);
			at += line.nbytes;
		}
	} while (rc == AGZ_OK);
	if (rc == AGZ_END)
		assert_int_equal(at, text.nbytes);
	agz_cursor_free(cursor);
	return rc;
}

static int read_into(agz_reader *r, test_bytes text, test_bytes *push)
{
	static uint8_t dst[200000]; /* the reader's until it is closed, if it fails */
	size_t nbytes = text.nbytes + 1, got;
	int rc;

	assert_true(nbytes <= sizeof(dst));
	while ((rc = answer(agz_reader_into(r, dst, nbytes, &got), r, push)) == AGZ_WAIT)
		;
	if (rc == AGZ_OK) {
		assert_memory_equal(dst, text.ptr, got);
		rc = take_all(r, text, got, push);
	}
	return rc;
}

static int read_end(agz_reader *r, test_bytes text, test_bytes *push)
{
	uint64_t reached;
	int rc = seek(r, UINT64_MAX, &reached, push);

	if (rc == AGZ_OK)
		assert_int_equal(reached, text.nbytes);
	return rc;
}

static int read_back(agz_reader *r, test_bytes text, test_bytes *push)
{
	uint64_t reached;
	agz_block *block;
	int rc = seek(r, text.nbytes / 2, &reached, push);

	if (rc == AGZ_OK)
		rc = take(r, &block, push);
	if (rc == AGZ_OK)
		agz_block_free(block);
	if (rc == AGZ_OK)
		rc = seek(r, 10, &reached, push);
	return rc == AGZ_OK ? take_all(r, text, 10, push) : rc;
}

static int leave(agz_reader *r, test_bytes text, test_bytes *push)
{
	agz_block *block;
	int rc = agz_reader_take(r, &block);

	(void)text;
	(void)push;
	if (rc == AGZ_OK)
		agz_block_free(block);
	return rc < 0 ? rc : AGZ_OK;
}

static int stop(agz_reader *r, test_bytes text, test_bytes *push)
{
	int rc = leave(r, text, push);

	while (agz_reader_stop(r) == AGZ_WAIT)
		test_sleep(test_waker);
	return rc;
}

static int (*const readings[])(agz_reader *, test_bytes, test_bytes *) = {
        read_blocks, read_lines, read_into, read_end, read_back, leave, stop,
};
#define N_READINGS (int)(sizeof(readings) / sizeof(readings[0]))

/* The descriptor of one that has the bytes; for a FIFO, one that keeps it open. */
static int provide(enum place place, test_bytes gz, agz_reader_options *o)
{
	int fds[2];

	o->path = test_path("file.gz");
	if (place == AT_FD)
		o->fd = open(o->path, O_RDONLY);
	if (place == AT_PIPE) {
		assert_int_equal(pipe(fds), 0);
		assert_int_equal(write(fds[1], gz.ptr, gz.nbytes), gz.nbytes);
		close(fds[1]);
		o->fd = fds[0];
	}
	if (place != AT_FIFO)
		return o->fd;
	o->path = test_path("fifo");
	int fd = open(o->path, O_RDWR);
	assert_int_equal(write(fd, gz.ptr, gz.nbytes), gz.nbytes);
	return fd;
}

/* It is told again, until the reader goes back to its start: there it is as good as new. */
static void reader_failed(agz_reader *r, enum place place, test_bytes text)
{
	agz_block *block;
	uint64_t reached;

	if (plan.call == THREAD)
		return;
	is_planned(agz_reader_fault(r), agz_reader_take(r, &block));
	bool can = agz_reader_opened(r) == AGZ_OK && !is_live(place) && place != BY_HAND;
	end_plan();
	assert_int_equal(seek(r, 0, &reached, NULL) == AGZ_OK, can);
	if (can)
		assert_int_equal(take_all(r, text, 0, NULL), AGZ_END);
}

static void reading(enum place place, int way, test_bytes text, test_bytes gz)
{
	static const enum agz_source sources[] = {
	        [AT_PATH] = AGZ_SOURCE_PATH,     [AT_FD] = AGZ_SOURCE_FD,
	        [AT_FIFO] = AGZ_SOURCE_PATH,     [AT_PIPE] = AGZ_SOURCE_FD,
	        [IN_MEMORY] = AGZ_SOURCE_MEMORY, [BY_HAND] = AGZ_SOURCE_PUSH};
	agz_reader_options o = AGZ_READER_OPTIONS_INIT;
	test_bytes pushed = gz, *push = place == BY_HAND ? &pushed : NULL;
	agz_reader *r;

	o.pool = test_pool;
	o.waker = test_waker;
	o.user = test_dir;
	o.source = sources[place];
	o.chunk_nbytes = 5000;
	o.flags = AGZ_READER_MEMBERS | (way % 2 ? AGZ_READER_LINES : 0);
	o.close_fd = 1;
	o.memory = gz.ptr;
	o.memory_nbytes = gz.nbytes;
	int fd = provide(place, gz, &o);
	int rc = agz_reader_open(&o, &r);
	if (rc < 0) {
		assert_null(r);
		refused(rc);
		if (fd >= 0)
			close(fd);
		return;
	}
	if (place == AT_FIFO) {
		while (agz_reader_opened(r) == AGZ_WAIT)
			test_sleep(test_waker);
		close(fd);
	}
	rc = readings[way](r, text, push);
	if (rc == AGZ_E_NOT_SEEKABLE) {
		assert_true(way == 4 && (place >= AT_FIFO || plan.call == LSEEK));
	} else if (rc < 0) {
		is_planned(agz_reader_fault(r), rc);
		assert_true(came_to_pass() && !forgiven(place, false));
		if (readings[way] != stop)
			reader_failed(r, place, text);
	}
	agz_reader_close(r);
}

static void readers(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 60000),
	           gz = test_gzip(text.ptr, text.nbytes);

	(void)state;
	assert_in_range(gz.nbytes, 16000, 60000);
	test_file("file.gz", gz.ptr, gz.nbytes);
	assert_int_equal(mkfifo(test_path("fifo"), 0600), 0);
	for (int place = 0; place < N_PLACES; place++) {
		for (int way = 0; way < N_READINGS; way++)
			each_plan(reading, (enum place)place, way, text, gz);
	}
	test_drop(&text);
	test_drop(&gz);
}

/* A file so small that the call which opens it may read all of it. */
static void tiny_readers(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 3000),
	           gz = test_gzip(text.ptr, text.nbytes);

	(void)state;
	test_file("file.gz", gz.ptr, gz.nbytes);
	for (int way = 0; way < N_READINGS; way++)
		each_plan(reading, AT_PATH, way, text, gz);
	test_drop(&text);
	test_drop(&gz);
}

/* ---- writers ---------------------------------------------------------------------------------- */

static test_bytes taken; /* by hand */

static void take_some(agz_writer *w)
{
	agz_block *block;

	while (plan.place == BY_HAND && agz_writer_take(w, &block) == AGZ_OK) {
		test_add(&taken, agz_block_ptr(block), agz_block_nbytes(block));
		agz_block_free(block);
	}
}

static int w_answer(agz_writer *w, int rc)
{
	size_t before = taken.nbytes;

	if (rc != AGZ_WAIT)
		return rc;
	take_some(w);
	if (taken.nbytes == before)
		test_sleep(test_waker);
	return rc;
}

static int flush(agz_writer *w)
{
	int rc;

	while ((rc = w_answer(w, agz_writer_flush(w))) == AGZ_WAIT)
		;
	take_some(w);
	return rc;
}

static int finish(agz_writer *w)
{
	int rc;

	while ((rc = w_answer(w, agz_writer_finish(w))) == AGZ_WAIT)
		;
	take_some(w);
	return rc;
}

/* In pieces. */
static int write_all(agz_writer *w, test_bytes text)
{
	size_t at = 0, accepted;
	int rc = AGZ_OK;

	while (rc >= 0 && at < text.nbytes) {
		size_t n = text.nbytes - at < 3000 ? text.nbytes - at : 3000;
		rc = w_answer(w, agz_writer_write(w, text.ptr + at, n, &accepted));
		at += accepted;
	}
	return rc < 0 ? rc : AGZ_OK;
}

static int n_released;

static void count_release(void *arg)
{
	(void)arg;
	n_released++;
}

static int write_plainly(agz_writer *w, test_bytes text)
{
	int rc = write_all(w, text);

	return rc == AGZ_OK ? finish(w) : rc;
}

static int write_flushed(agz_writer *w, test_bytes text)
{
	test_bytes half = {text.ptr, text.nbytes / 2, 0},
	           rest = {text.ptr + half.nbytes, text.nbytes - half.nbytes, 0};
	int rc = write_all(w, half);

	if (rc == AGZ_OK)
		rc = flush(w);
	if (rc == AGZ_OK)
		rc = write_all(w, rest);
	return rc == AGZ_OK ? finish(w) : rc;
}

static int write_given(agz_writer *w, test_bytes text)
{
	int rc;

	n_released = 0;
	while ((rc = w_answer(w, agz_writer_give(w, text.ptr, text.nbytes, count_release,
	                                         NULL))) == AGZ_WAIT)
		;
	if (rc == AGZ_OK)
		n_released--; /* must come back to 0 */
	return rc == AGZ_OK ? finish(w) : rc;
}

static int abandon(agz_writer *w, test_bytes text)
{
	int rc = write_all(w, text);

	return rc == AGZ_OK ? flush(w) : rc;
}

static int abandon_at_once(agz_writer *w, test_bytes text)
{
	return write_all(w, text);
}

static int (*const writings[])(agz_writer *, test_bytes) = {
        write_plainly, write_flushed, write_given, abandon, abandon_at_once,
};
#define N_WRITINGS (int)(sizeof(writings) / sizeof(writings[0]))

/* What each writes where nothing fails. */
static test_bytes right[N_WRITINGS];

/* It is told again by whatever is called, for good; finish closes the sink all the same. */
static void writer_failed(agz_writer *w)
{
	size_t accepted;

	is_planned(agz_writer_fault(w), agz_writer_write(w, "x", 1, &accepted));
	assert_int_equal(accepted, 0);
	is_planned(agz_writer_fault(w), agz_writer_give(w, "x", 1, NULL, NULL));
	is_planned(agz_writer_fault(w), agz_writer_flush(w));
	is_planned(agz_writer_fault(w), finish(w));
	is_planned(agz_writer_fault(w), finish(w));
}

/* A sink that the test reads from when it is closed; -1: the file. */
static int collect_from(enum place place, agz_writer_options *o)
{
	int fds[2] = {-1, -1};

	o->path = test_path("out.gz");
	unlink(o->path);
	if (place == AT_FD)
		o->fd = open(o->path, O_WRONLY | O_CREAT, 0600);
	if (place == AT_PIPE) {
		assert_int_equal(pipe(fds), 0);
		o->fd = fds[1];
	}
	if (place != AT_FIFO)
		return fds[0];
	o->path = test_path("fifo");
	return open(o->path, O_RDONLY | O_NONBLOCK);
}

static test_bytes collected(int fd, const char *path)
{
	test_bytes b = {0};
	uint8_t some[4096];
	ssize_t n;

	if (fd < 0)
		fd = open(path, O_RDONLY);
	while (fd >= 0 && (n = read(fd, some, sizeof(some))) > 0)
		test_add(&b, some, (size_t)n);
	if (fd >= 0)
		close(fd);
	return b;
}

static void writing(enum place place, int way, test_bytes text, test_bytes gz)
{
	static const enum agz_sink sinks[] = {[AT_PATH] = AGZ_SINK_PATH,
	                                      [AT_FD] = AGZ_SINK_FD,
	                                      [AT_FIFO] = AGZ_SINK_PATH,
	                                      [AT_PIPE] = AGZ_SINK_FD,
	                                      [BY_HAND] = AGZ_SINK_TAKE};
	agz_writer_options o = AGZ_WRITER_OPTIONS_INIT;
	agz_writer *w;

	(void)gz;
	o.pool = test_pool;
	o.waker = test_waker;
	o.user = test_dir;
	o.sink = sinks[place];
	o.chunk_nbytes = 5000;
	o.close_fd = 1;
	int fd = collect_from(place, &o);
	int rc = agz_writer_open(&o, &w);
	if (rc < 0) {
		assert_null(w);
		refused(rc);
		if (o.fd >= 0)
			close(o.fd);
		if (fd >= 0)
			close(fd);
		return;
	}
	rc = writings[way](w, text);
	if (rc < 0) {
		is_planned(agz_writer_fault(w), rc);
		assert_true(came_to_pass() && !forgiven(place, true));
		writer_failed(w);
	}
	agz_writer_close(w);
	if (writings[way] == write_given)
		assert_int_equal(n_released, 0);
	agz_pool_free(test_pool); /* it may have had the close to do */
	test_pool = NULL;
	end_plan();
	test_bytes got = place == BY_HAND ? taken : collected(fd, o.path);
	test_bytes *want = &right[writings[way] == abandon_at_once ? 0 : way];
	taken = (test_bytes){0};
	if (want->ptr == NULL) {
		assert_int_equal(rc, AGZ_OK);
		*want = got;
		return;
	}
	assert_true(got.nbytes <= want->nbytes);
	if (got.nbytes > 0)
		assert_memory_equal(got.ptr, want->ptr, got.nbytes);
	if (rc == AGZ_OK && writings[way] != abandon_at_once)
		assert_int_equal(got.nbytes, want->nbytes);
	test_drop(&got);
}

static void writers(void **state)
{
	test_bytes text = test_data(TEST_NOISE, 20000), none = {0};

	(void)state;
	assert_int_equal(mkfifo(test_path("fifo"), 0600), 0);
	for (int way = 0; way < N_WRITINGS; way++) {
		plan.call = OPEN;
		plan.at = 0;
		run_once(writing, AT_PATH, way, text, none);
		for (int place = 0; place < N_PLACES; place++) {
			if (place != IN_MEMORY)
				each_plan(writing, (enum place)place, way, text, none);
		}
	}
	for (int way = 0; way < N_WRITINGS; way++)
		test_drop(&right[way]);
	test_drop(&text);
}

static int setup(void **state)
{
	static agz__system table = {f_open,  f_fstat, f_read,  f_pread, f_write,
	                            f_lseek, f_poll,  f_close, NULL,    NULL};
	int rc = test_setup(state);

	if (agz__real_system.open_now != NULL) {
		table.open_now = f_open_now;
		table.pread_now = f_pread_now;
	}

	agz_pool_free(test_pool);
	test_pool = NULL;
	agz__system_table = &table;
	agz__thread_create = f_thread;
	signal(SIGPIPE, SIG_IGN);
	return rc;
}

static int teardown(void **state)
{
	agz__thread_create = pthread_create;
	/* A test that failed has stopped at this one. */
	printf("%ld faults; the last: place %d, way %d, call %d, error %d, at %d%s\n",
	       n_faults, plan.place, plan.way, (int)plan.call, plan.error, plan.last_at,
	       plan.for_good ? " and for good" : "");
	return test_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(readers, setup, teardown),
	        cmocka_unit_test_setup_teardown(tiny_readers, setup, teardown),
	        cmocka_unit_test_setup_teardown(writers, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
