/*
 * test_leaving.c - attacks the end of readers and writers: stopped and closed while their
 * job is queued, in a system call, in the caller's memory, about to end, or waits for
 * somebody who never comes; and a pool freed behind them.
 */
#define _GNU_SOURCE 1

#include <pthread.h>
#include <sched.h>

#include "io/writer.h"
#include "io_support.h"

enum { TIMES = 200 }; /* where only the scheduler can do harm */

static agz_reader *open_reader(agz_reader_options o)
{
	agz_reader *r;

	o.pool = test_pool;
	o.waker = test_waker;
	o.user = test_dir; /* anything */
	assert_int_equal(agz_reader_open(&o, &r), AGZ_OK);
	return r;
}

static agz_reader *open_path(const char *path)
{
	agz_reader_options o = AGZ_READER_OPTIONS_INIT;

	o.path = path;
	return open_reader(o);
}

static agz_writer *open_writer(agz_writer_options o)
{
	agz_writer *w;

	o.pool = test_pool;
	o.waker = test_waker;
	o.user = test_dir;
	assert_int_equal(agz_writer_open(&o, &w), AGZ_OK);
	return w;
}

static void stop(agz_reader *r)
{
	while (agz_reader_stop(r) == AGZ_WAIT)
		test_sleep(test_waker);
}

/* By close itself, not by a job a moment later. */
static void close_at_once(agz_reader *r)
{
	agz_reader_close(r);
	assert_int_equal(test_sys.opened, test_sys.closed);
}

/* ---- stopping --------------------------------------------------------------------------- */

static void stop_idle(void **state)
{
	agz_reader_options o = AGZ_READER_OPTIONS_INIT;
	test_bytes gz = test_gzip("abc", 3);

	(void)state;
	o.source = AGZ_SOURCE_MEMORY;
	o.memory = gz.ptr;
	o.memory_nbytes = gz.nbytes;
	agz_reader *r = open_reader(o);
	assert_int_equal(agz_reader_stop(r), AGZ_OK);
	assert_int_equal(agz_reader_stop(r), AGZ_OK);
	agz_reader_close(r);
	test_drop(&gz);
}

/* In a read, and behind another file's in the queue of the one thread. */
static void stop_in_a_read(void **state)
{
	test_bytes text = test_data(TEST_NOISE, 2000000),
	           gz = test_gzip(text.ptr, text.nbytes);
	const char *path = test_file("a.gz", gz.ptr, gz.nbytes);
	agz_block *block;

	(void)state;
	agz_pool_free(test_pool);
	assert_int_equal(agz_pool_new(1, &test_pool), AGZ_OK);
	test_gate(true);
	agz_reader *r = open_path(path);
	test_wait_for(&test_sys.came); /* the look at its size */
	agz_reader *queued = open_path(path);
	assert_int_equal(agz_reader_stop(queued), AGZ_OK);
	agz_reader_close(queued);
	sem_post(&test_sys.go);
	assert_int_equal(agz_reader_take(r, &block), AGZ_WAIT);
	test_wait_for(&test_sys.came);
	assert_int_equal(agz_reader_stop(r), AGZ_WAIT);
	assert_int_equal(agz_reader_stop(r), AGZ_WAIT);
	test_gate(false);
	sem_post(&test_sys.go);
	stop(r);
	close_at_once(r);
	assert_null(agz_waker_next(test_waker)); /* the bell may have been rung */
	test_drop(&text);
	test_drop(&gz);
}

/* Waiting for bytes that never come, or about to. */
static void stop_in_silence(void **state)
{
	agz_block *block;

	(void)state;
	assert_int_equal(mkfifo(test_path("fifo"), 0600), 0);
	for (int i = 0; i < TIMES; i++) {
		agz_reader *r = open_path(test_path("fifo"));
		if (i % 3 > 0)
			assert_int_equal(agz_reader_take(r, &block), AGZ_WAIT);
		for (int spin = 0; i % 3 > 1 && spin < i * 10; spin++)
			agz_reader_opened(r);
		stop(r);
		close_at_once(r);
	}
	assert_null(agz_waker_next(test_waker)); /* the bell may have been rung */
}

/* ---- closing, with the job in what is the caller's ----------------------------------------- */

/* Opens the gate once the caller waits in close: his job then ends before he wakes. */
static void *let_go(void *arg)
{
	agz__job *job = arg;
	bool kept;

	do {
		agz__lock();
		kept = job->kept;
		agz__unlock();
	} while (!kept);
	test_gate(false);
	sem_post(&test_sys.go);
	return NULL;
}

static void at_the_gate(agz__job *job, pthread_t *thread)
{
	test_wait_for(&test_sys.came);
	assert_int_equal(pthread_create(thread, NULL, let_go, job), 0);
}

static void reader_ends_meanwhile(void **state)
{
	test_bytes gz = test_gzip("abc", 3);
	const char *path = test_file("a.gz", gz.ptr, gz.nbytes);
	agz_reader_options o = AGZ_READER_OPTIONS_INIT;
	agz_block *block;
	pthread_t thread;

	(void)state;
	o.source = AGZ_SOURCE_FD;
	o.fd = open(path, O_RDONLY);
	for (int i = 0; i < TIMES; i++) {
		lseek(o.fd, 0, SEEK_SET);
		test_gate(true);
		agz_reader *r = open_reader(o);
		test_wait_for(&test_sys.came); /* the look at its size */
		sem_post(&test_sys.go);
		agz_reader_take(r, &block);
		at_the_gate((agz__job *)r, &thread);
		agz_reader_close(r);
		pthread_join(thread, NULL);
	}
	close(o.fd);
	test_drop(&gz);
}

static int n_released;

static void count_release(void *arg)
{
	(void)arg;
	n_released++;
}

static void writer_ends_meanwhile(void **state)
{
	agz_writer_options o = AGZ_WRITER_OPTIONS_INIT;
	pthread_t thread;

	(void)state;
	o.sink = AGZ_SINK_FD;
	o.fd = open(test_path("a.gz"), O_WRONLY | O_CREAT, 0600);
	for (int i = 0; i < TIMES; i++) {
		test_gate(true);
		agz_writer *w = open_writer(o);
		n_released = 0;
		assert_int_equal(agz_writer_give(w, "abc", 3, count_release, NULL),
		                 AGZ_OK);
		assert_int_equal(agz_writer_finish(w), AGZ_WAIT);
		at_the_gate((agz__job *)w, &thread);
		agz_writer_close(w);
		assert_int_equal(n_released, 1);
		pthread_join(thread, NULL);
	}
	close(o.fd);
}

static agz_writer *writing;
static uint64_t header_nbytes;
static atomic_bool passes_on, let_on;

/* On the job's thread, which meets the caller's with nothing but these two: what is in order
 * only by luck is a race to ThreadSanitizer. */
static void wait_if_it_passes_on(void)
{
	if (writing->made == header_nbytes)
		return;
	atomic_store_explicit(&passes_on, true, memory_order_relaxed);
	while (!atomic_load_explicit(&let_on, memory_order_relaxed))
		sched_yield();
}

/* While the job passes on what it made of a caller's bytes, into a block of the right size. It
 * has left them for good, and they go without a wait for it. */
static void close_while_passing_on(void **state)
{
	agz_writer_options o = AGZ_WRITER_OPTIONS_INIT;
	test_bytes noise = test_data(TEST_NOISE, 20000);

	(void)state;
	o.sink = AGZ_SINK_TAKE;
	writing = open_writer(o);
	header_nbytes = writing->made;
	test_at_each_allocation(wait_if_it_passes_on);
	assert_int_equal(
	        agz_writer_give(writing, noise.ptr, noise.nbytes, free, noise.ptr),
	        AGZ_OK);
	while (!atomic_load_explicit(&passes_on, memory_order_relaxed))
		sched_yield();
	agz_writer_close(writing);
	atomic_store_explicit(&let_on, true, memory_order_relaxed);
	agz_pool_free(test_pool);
	test_pool = NULL;
	test_at_each_allocation(NULL);
}

static int gated_close(int fd)
{
	(void)test_sys_cut(0);
	return test_sys_close(fd);
}

/* The bell that ends a wait goes with its sink: from then on nobody may ring it, since its
 * number may be another file's. */
static void close_while_finishing(void **state)
{
	agz__system table = *agz__system_table;
	agz_writer_options o = AGZ_WRITER_OPTIONS_INIT;

	(void)state;
	table.close = gated_close;
	agz__system_table = &table;
	o.path = test_path("fifo");
	assert_int_equal(mkfifo(o.path, 0600), 0);
	int fd = open(o.path, O_RDONLY | O_NONBLOCK);
	agz_writer *w = open_writer(o);
	while (agz_writer_opened(w) == AGZ_WAIT)
		test_sleep(test_waker);
	test_gate(true);
	assert_int_equal(agz_writer_finish(w), AGZ_WAIT);
	test_wait_for(&test_sys.came); /* write(2) */
	sem_post(&test_sys.go);
	test_wait_for(&test_sys.came); /* close(2) */
	agz__lock();
	bool rings = w->sink.live;
	agz__unlock();
	assert_false(rings);
	agz_writer_close(w);
	test_gate(false);
	sem_post(&test_sys.go);
	close(fd);
	agz_pool_free(test_pool);
	test_pool = NULL;
}

/* Whenever it is closed after it was opened, a descriptor that was given away is closed. */
static void close_at_once_closes(void **state)
{
	agz_writer_options o = AGZ_WRITER_OPTIONS_INIT;

	(void)state;
	o.sink = AGZ_SINK_FD;
	o.close_fd = 1;
	for (int i = 0; i < 20 * TIMES; i++) {
		o.fd = open(test_path("a.gz"), O_WRONLY | O_CREAT, 0600);
		agz_writer *w = open_writer(o);
		for (int spin = 0; spin < i % 200; spin++)
			atomic_thread_fence(memory_order_seq_cst);
		agz_writer_close(w);
	}
	agz_pool_free(test_pool);
	test_pool = NULL;
	assert_int_equal(test_sys.closed, 20 * TIMES);
}

/* ---- nobody comes ----------------------------------------------------------------------------- */

/* A FIFO that nobody reads keeps neither a thread nor whoever frees the pool. */
static void no_reader(void **state)
{
	agz_writer_options o = AGZ_WRITER_OPTIONS_INIT;
	size_t accepted;

	(void)state;
	o.path = test_path("fifo");
	assert_int_equal(mkfifo(o.path, 0600), 0);
	for (int i = 0; i < TIMES; i++) {
		agz_writer *w = open_writer(o);
		assert_int_equal(agz_writer_write(w, "abc", 3, &accepted), AGZ_OK);
		assert_int_equal(agz_writer_flush(w), AGZ_WAIT);
		for (int spin = 0; spin < i * 10; spin++)
			agz_writer_out_nbytes(w);
		agz_writer_close(w);
	}
	agz_pool_free(test_pool);
	test_pool = NULL;
	assert_int_equal(test_sys.opened, test_sys.closed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        io_test(stop_idle),
	        io_test(stop_in_a_read),
	        io_test(stop_in_silence),
	        io_test(reader_ends_meanwhile),
	        io_test(writer_ends_meanwhile),
	        io_test(close_while_passing_on),
	        io_test(close_while_finishing),
	        io_test(close_at_once_closes),
	        io_test(no_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
