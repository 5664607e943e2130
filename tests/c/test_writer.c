/*
 * test_writer.c - attacks writers: bytes cut in every way, each system call and each
 * allocation failing at each position, full disks and full pipes, callers who write faster
 * than a disk, take nothing, flush nothing, or leave at any moment; a close(2) that fails;
 * forks with a job in flight; a thousand open files.
 */
#define _GNU_SOURCE 1

#include "io_support.h"

#define CHUNK ((size_t)256 * 1024)

static agz_encoder_options encoder = AGZ_ENCODER_OPTIONS_INIT;

static agz_writer_options options(enum agz_sink sink)
{
	agz_writer_options o = AGZ_WRITER_OPTIONS_INIT;

	encoder = (agz_encoder_options)AGZ_ENCODER_OPTIONS_INIT;
	encoder.mtime = 4711;
	o.pool = test_pool;
	o.waker = test_waker;
	o.user = test_dir; /* anything */
	o.sink = sink;
	o.encoder = &encoder;
	return o;
}

static agz_writer *open_with(const agz_writer_options *o)
{
	agz_writer *w;

	assert_int_equal(agz_writer_open(o, &w), AGZ_OK);
	return w;
}

static agz_writer *open_path(const char *path)
{
	agz_writer_options o = options(AGZ_SINK_PATH);

	o.path = path;
	return open_with(&o);
}

static int opened(agz_writer *w)
{
	int rc;

	while ((rc = agz_writer_opened(w)) == AGZ_WAIT)
		test_sleep(test_waker);
	return rc;
}

static int flush(agz_writer *w)
{
	int rc;

	while ((rc = agz_writer_flush(w)) == AGZ_WAIT)
		test_sleep(test_waker);
	return rc;
}

static int finish(agz_writer *w)
{
	int rc;

	while ((rc = agz_writer_finish(w)) == AGZ_WAIT)
		test_sleep(test_waker);
	return rc;
}

/* Writes all, in pieces. */
static int write_all(agz_writer *w, test_bytes data, size_t piece)
{
	for (size_t at = 0; at < data.nbytes;) {
		size_t n = data.nbytes - at < piece ? data.nbytes - at : piece, accepted;
		int rc = agz_writer_write(w, data.ptr + at, n, &accepted);
		assert_true(accepted <= n && (rc != AGZ_OK || accepted == n));
		if (rc < 0)
			assert_int_equal(accepted, 0);
		if (rc < 0)
			return rc;
		at += accepted;
		if (rc == AGZ_WAIT)
			test_sleep(test_waker);
	}
	return AGZ_OK;
}

static void holds(const char *path, test_bytes text)
{
	test_bytes gz = test_slurp(path), got = test_gunzip(gz);

	assert_same(got, text);
	test_drop(&gz);
	test_drop(&got);
}

/* ---- bytes are zlib's, however they come ------------------------------------------------ */

static void all_sizes(void **state)
{
	static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 262144, 262145, 1500000};
	static const size_t pieces[] = {1, 1000, 300000, 10000000};
	const char *path = test_path("a.gz");

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		test_bytes text = test_data(TEST_TEXT, sizes[i]);
		test_bytes want = test_gzip(text.ptr, text.nbytes);
		want.ptr[9] = 255; /* OS: unknown */
		for (size_t j = sizes[i] > 5000; j < 4; j++) {
			agz_writer *w = open_path(path);
			assert_int_equal(write_all(w, text, pieces[j]), AGZ_OK);
			assert_int_equal(finish(w), AGZ_OK);
			assert_int_equal(agz_writer_in_nbytes(w), text.nbytes);
			assert_int_equal(agz_writer_out_nbytes(w), want.nbytes);
			agz_writer_close(w);
			test_bytes got = test_slurp(path);
			assert_same(got, want);
			test_drop(&got);
		}
		test_drop(&text);
		test_drop(&want);
	}
}

static void small_chunks(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 50000);
	agz_writer_options o = options(AGZ_SINK_PATH);

	(void)state;
	o.path = test_path("a.gz");
	for (size_t chunk = 1; chunk < 100000; chunk = chunk * 10 + 7) {
		o.chunk_nbytes = chunk;
		agz_writer *w = open_with(&o);
		assert_int_equal(write_all(w, text, 1234), AGZ_OK);
		assert_int_equal(finish(w), AGZ_OK);
		agz_writer_close(w);
		holds(o.path, text);
	}
	test_drop(&text);
}

static void create(void **state)
{
	agz_writer_options o = options(AGZ_SINK_PATH);
	test_bytes one = test_data(TEST_TEXT, 1000), both = {0};
	struct stat st;
	agz_writer *w;

	(void)state;
	umask(022);
	test_add_bytes(&both, &one);
	test_add_bytes(&both, &one);
	o.path = test_path("a.gz");
	o.create = AGZ_CREATE_NEW;
	o.mode = 0640;
	encoder.name = (const uint8_t *)"nom";
	encoder.name_nbytes = 3;
	w = open_with(&o);
	assert_int_equal(opened(w), AGZ_OK);
	assert_true(agz_writer_fd(w) >= 0);
	assert_int_equal(write_all(w, one, 1000), AGZ_OK);
	assert_int_equal(finish(w), AGZ_OK);
	assert_int_equal(agz_writer_fd(w), -1);
	agz_writer_close(w);
	assert_int_equal(stat(o.path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	test_bytes gz = test_slurp(o.path);
	assert_memory_equal(gz.ptr + 10, "nom", 4);
	test_drop(&gz);

	w = open_with(&o);
	assert_int_equal(opened(w), AGZ_E_SYSTEM);
	assert_int_equal(agz_writer_fault(w)->sys, EEXIST);
	agz_writer_close(w);
	holds(o.path, one);

	o.create = AGZ_CREATE_APPEND;
	w = open_with(&o);
	assert_int_equal(write_all(w, one, 1000), AGZ_OK);
	assert_int_equal(finish(w), AGZ_OK);
	agz_writer_close(w);
	holds(o.path, both);

	/* A descriptor, which stays open. */
	o.sink = AGZ_SINK_FD;
	o.fd = open(o.path, O_WRONLY | O_TRUNC);
	w = open_with(&o);
	assert_int_equal(write_all(w, one, 1000), AGZ_OK);
	assert_int_equal(finish(w), AGZ_OK);
	agz_writer_close(w);
	holds(o.path, one);
	o.close_fd = 1;
	w = open_with(&o);
	assert_int_equal(write_all(w, one, 1000), AGZ_OK);
	assert_int_equal(finish(w), AGZ_OK);
	assert_int_equal(fcntl(o.fd, F_GETFD), -1);
	agz_writer_close(w);
	holds(o.path, both);
	test_drop(&one);
	test_drop(&both);
}

static void bad_options(void **state)
{
	agz_writer_options o = options(AGZ_SINK_PATH);
	agz_writer *w;

	(void)state;
	assert_int_equal(agz_writer_open(&o, &w), AGZ_E_ARGUMENT);
	assert_null(w);
	o.path = "x";
	encoder.level = 10;
	assert_int_equal(agz_writer_open(&o, &w), AGZ_E_ARGUMENT);
	encoder.level = 6;
	encoder.engine = "steam";
	assert_int_equal(agz_writer_open(&o, &w), AGZ_E_ENGINE);
	encoder.engine = "a name that is longer than any engine's name";
	assert_int_equal(agz_writer_open(&o, &w), AGZ_E_ENGINE);
	encoder.engine = NULL;
	encoder.name = (const uint8_t *)"a\0b";
	encoder.name_nbytes = 3;
	assert_int_equal(agz_writer_open(&o, &w), AGZ_E_ARGUMENT);
	encoder.name = NULL;
	o.chunk_nbytes = SIZE_MAX;
	assert_int_equal(agz_writer_open(&o, &w), AGZ_E_ARGUMENT);
	o.chunk_nbytes = 0;
	o.create = (enum agz_create)7;
	assert_int_equal(agz_writer_open(&o, &w), AGZ_E_ARGUMENT);
	o.sink = AGZ_SINK_FD;
	assert_int_equal(agz_writer_open(&o, &w), AGZ_E_ARGUMENT);
	o.sink = (enum agz_sink)7;
	assert_int_equal(agz_writer_open(&o, &w), AGZ_E_ARGUMENT);
	agz_writer_close(NULL);
}

/* ---- back-pressure ------------------------------------------------------------------------- */

/* No more than four chunks are accepted while nothing can be written; then the caller is
 * named, once. */
static void bounded(void **state)
{
	test_bytes text = test_data(TEST_NOISE, 10 * CHUNK);
	agz_writer *w;
	size_t accepted, before = test_live_nbytes();

	(void)state;
	test_gate(true);
	w = open_path(test_path("a.gz"));
	test_fail_after(-1); /* the peak is from here on */
	assert_int_equal(agz_writer_write(w, text.ptr, text.nbytes, &accepted), AGZ_WAIT);
	test_wait_for(&test_sys.came);
	assert_int_equal(accepted, 4 * CHUNK);
	assert_int_equal(agz_writer_write(w, text.ptr, 1, &accepted), AGZ_WAIT);
	assert_int_equal(accepted, 0);
	assert_int_equal(agz_writer_give(w, text.ptr, 1, NULL, NULL), AGZ_WAIT);
	assert_true(test_peak_nbytes() - before < 5 * CHUNK + 500 * 1024);
	assert_true(test_quiet(test_waker));
	test_gate(false);
	sem_post(&test_sys.go);
	assert_ptr_equal(test_named(test_waker), test_dir);
	text.ptr += 4 * CHUNK;
	text.nbytes -= 4 * CHUNK;
	assert_int_equal(write_all(w, text, 100000), AGZ_OK);
	assert_int_equal(finish(w), AGZ_OK);
	agz_writer_close(w);
	text.ptr -= 4 * CHUNK;
	text.nbytes += 4 * CHUNK;
	holds(test_path("a.gz"), text);
	test_drop(&text);
}

static void thousand_files(void **state)
{
	enum { N = 1000 };
	static agz_writer *writers[N];
	agz_writer_options o = options(AGZ_SINK_TAKE);
	size_t accepted, before = test_live_nbytes();

	(void)state;
	for (int i = 0; i < N; i++) {
		if (i % 10 == 0) {
			o.sink = AGZ_SINK_PATH;
			o.path = test_path("a.gz");
		} else {
			o.sink = AGZ_SINK_FD;
			o.fd = STDERR_FILENO; /* nothing gets there */
		}
		writers[i] = open_with(&o);
	}
	for (int i = 0; i < N; i++)
		assert_int_equal(opened(writers[i]), AGZ_OK);
	assert_true(test_live_nbytes() - before < N * (size_t)2048);
	for (int i = 0; i < N; i++) {
		assert_int_equal(agz_writer_write(writers[i], "abc", 3, &accepted),
		                 AGZ_OK);
		assert_int_equal(accepted, 3);
	}
	assert_true(test_live_nbytes() - before < N * (size_t)8192);
	for (int i = 0; i < N; i++)
		agz_writer_close(writers[i]);
}

/* ---- spans that are given ---------------------------------------------------------------------- */

static int n_released;

static void count_release(void *arg)
{
	(void)arg;
	n_released++;
}

/* Given and copied bytes keep their order; each span is given back once, by a later call. */
static void give(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 3000000);
	agz_writer *w = open_path(test_path("a.gz"));
	size_t at = 0, accepted;
	int n_given = 0;

	(void)state;
	n_released = 0;
	for (size_t i = 0; at < text.nbytes; i++) {
		size_t n = i % 3 * 70001 + 1;
		if (n > text.nbytes - at)
			n = text.nbytes - at;
		int rc;
		if (i % 2 == 0) {
			rc = agz_writer_give(w, text.ptr + at, n, count_release, NULL);
			assert_true(rc == AGZ_OK || rc == AGZ_WAIT);
			accepted = rc == AGZ_OK ? n : 0;
			n_given += rc == AGZ_OK;
			i -= rc == AGZ_WAIT;
		} else {
			rc = agz_writer_write(w, text.ptr + at, n, &accepted);
			assert_true(rc == AGZ_OK || rc == AGZ_WAIT);
		}
		at += accepted;
		if (rc == AGZ_WAIT)
			test_sleep(test_waker);
	}
	assert_int_equal(finish(w), AGZ_OK);
	assert_int_equal(n_released, n_given);
	agz_writer_close(w);
	assert_int_equal(n_released, n_given);
	holds(test_path("a.gz"), text);
	test_drop(&text);
}

/* Spans are the caller's again when close has returned, used up or not. */
static void spans_are_mine_again(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 600000);

	(void)state;
	for (int i = 0; i < 40; i++) {
		uint8_t *mine = malloc(text.nbytes);
		memcpy(mine, text.ptr, text.nbytes);
		agz_writer *w = open_path(test_path("a.gz"));
		n_released = 0;
		for (int j = 0; j < 3; j++)
			assert_int_equal(agz_writer_give(w, mine + j * 200000, 200000,
			                                 count_release, NULL),
			                 AGZ_OK);
		if (i % 3 == 1)
			assert_int_equal(opened(w), AGZ_OK);
		for (int spin = 0; i % 3 == 2 && spin < i * 200; spin++)
			agz_writer_opened(w);
		agz_writer_close(w);
		assert_int_equal(n_released, 3);
		memset(mine, 0xff, text.nbytes);
		free(mine);
	}
	test_drop(&text);
}

/* ---- flush and finish ----------------------------------------------------------------------------- */

static size_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (size_t)st.st_size;
}

static void flushes(void **state)
{
	const char *path = test_path("a.gz");
	agz_writer *w = open_path(path);
	agz_decoder *d;
	uint8_t buf[4096], text[64];
	size_t accepted, at = 0;

	(void)state;
	assert_int_equal(agz_decoder_new(NULL, &d), AGZ_OK);
	assert_int_equal(flush(w), AGZ_OK);
	assert_int_equal(size_of(path), 0); /* nothing was written, so nothing is */
	for (int i = 0; i < 10; i++) {
		assert_int_equal(agz_writer_write(w, &"0123456789"[i], 1, &accepted),
		                 AGZ_OK);
		assert_int_equal(flush(w), AGZ_OK);
		size_t nbytes = size_of(path);
		/* All so far can be decoded. */
		FILE *f = fopen(path, "rb");
		assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
		assert_int_equal(fread(buf, 1, sizeof(buf), f), nbytes - at);
		fclose(f);
		agz_input in = {buf, nbytes - at, 0};
		agz_output out = {text, sizeof(text), 0};
		assert_int_equal(agz_decoder_step(d, &in, &out, 0), AGZ_NEEDS_INPUT);
		assert_int_equal(out.pos, 1);
		assert_int_equal(text[0], '0' + i);
		at = nbytes;
		assert_int_equal(flush(w), AGZ_OK);
		assert_int_equal(size_of(path), at);
	}
	agz_decoder_free(d);
	assert_int_equal(finish(w), AGZ_OK);
	assert_int_equal(finish(w), AGZ_OK);
	assert_int_equal(agz_writer_write(w, "x", 1, &accepted), AGZ_E_STATE);
	assert_int_equal(agz_writer_give(w, "x", 1, NULL, NULL), AGZ_E_STATE);
	assert_int_equal(agz_writer_flush(w), AGZ_E_STATE);
	assert_int_equal(agz_writer_fault(w)->code, AGZ_E_STATE);
	agz_writer_close(w);
}

/* ---- failures ---------------------------------------------------------------------------------------- */

/* Whatever is called, it is the first error that is told, and for ever. */
static void stays_failed(agz_writer *w, int sys)
{
	size_t accepted;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(agz_writer_write(w, "x", 1, &accepted), AGZ_E_SYSTEM);
		assert_int_equal(agz_writer_give(w, "x", 1, NULL, NULL), AGZ_E_SYSTEM);
		assert_int_equal(agz_writer_flush(w), AGZ_E_SYSTEM);
		assert_int_equal(agz_writer_fault(w)->sys, sys);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(finish(w), AGZ_E_SYSTEM);
		assert_int_equal(agz_writer_fault(w)->sys, sys);
	}
}

static void full_disk(void **state)
{
	test_bytes text = test_data(TEST_NOISE, 5 * CHUNK);
	agz_writer *w;
	size_t accepted;

	(void)state;
	/* Found out by a write, a flush or the finish. */
	w = open_path("/dev/full");
	assert_int_equal(write_all(w, text, 10000), AGZ_E_SYSTEM);
	stays_failed(w, ENOSPC);
	agz_writer_close(w);
	w = open_path("/dev/full");
	assert_int_equal(agz_writer_write(w, "x", 1, &accepted), AGZ_OK);
	assert_int_equal(flush(w), AGZ_E_SYSTEM);
	stays_failed(w, ENOSPC);
	agz_writer_close(w);
	w = open_path("/dev/full");
	assert_int_equal(finish(w), AGZ_E_SYSTEM);
	stays_failed(w, ENOSPC);
	agz_writer_close(w);
	test_drop(&text);
}

static void cannot_open(void **state)
{
	agz_writer *w = open_path(test_path("no/where"));
	size_t accepted;
	int rc = agz_writer_write(w, "x", 1, &accepted);

	(void)state;
	assert_true(rc == AGZ_OK || rc == AGZ_E_SYSTEM); /* the worker may be faster */
	assert_int_equal(opened(w), AGZ_E_SYSTEM);
	assert_int_equal(agz_writer_fd(w), -1);
	stays_failed(w, ENOENT);
	agz_writer_close(w);
}

static int do_much(test_bytes text, int n_fail)
{
	agz_writer_options o = options(AGZ_SINK_PATH);
	agz_writer *w;
	int rc, first = 0;

	o.path = test_path("a.gz");
	o.chunk_nbytes = 50000;
	test_fail_after(n_fail);
	rc = agz_writer_open(&o, &w);
	if (rc != AGZ_OK)
		return rc;
	for (int i = 0; i < 2 && first == 0; i++) {
		n_released = 0;
		first = write_all(w, text, 1000);
		if (first == 0)
			first = flush(w);
		if (first == 0 &&
		    agz_writer_give(w, text.ptr, text.nbytes, count_release, NULL) < 0)
			n_released = 1;
		if (first == 0)
			first = flush(w);
		assert_true(first != 0 || n_released == 1);
	}
	rc = finish(w);
	assert_true(first == 0 || rc == first);
	assert_true(rc == AGZ_OK || agz_writer_fault(w)->code == rc);
	agz_writer_close(w);
	if (rc == AGZ_OK) {
		test_bytes four = {0};
		for (int i = 0; i < 4; i++)
			test_add_bytes(&four, &text);
		test_fail_after(-1);
		holds(o.path, four);
		test_drop(&four);
	}
	return rc;
}

static void each_call_fails(void **state)
{
	test_bytes text = test_data(TEST_NOISE, 150000);
	int n;

	(void)state;
	for (n = 1;; n++) {
		test_sys_fail_at(n, EIO);
		int rc = do_much(text, -1);
		/* The pool may be closing the sink still. */
		agz_pool_free(test_pool);
		assert_int_equal(agz_pool_new(2, &test_pool), AGZ_OK);
		if (!test_sys_failed())
			break;
		assert_int_equal(rc, AGZ_E_SYSTEM); /* close(2) included */
		assert_int_equal(test_sys.opened, test_sys.closed);
	}
	assert_true(n > 10);
	test_drop(&text);
}

static void each_allocation_fails(void **state)
{
	test_bytes text = test_data(TEST_NOISE, 150000);

	(void)state;
	for (int n = 0;; n++) {
		int rc = do_much(text, n);
		bool came = test_failed();
		test_fail_after(-1);
		if (!came)
			break;
		assert_int_equal(rc, AGZ_E_NOMEM);
	}
	test_drop(&text);
}

/* ---- leaving ------------------------------------------------------------------------------------------- */

/* At the n-th write. What is on disk is a prefix; of a borrowed descriptor, nothing is
 * written after close has returned. */
static void close_at_each_write(void **state)
{
	test_bytes text = test_data(TEST_NOISE, 4 * CHUNK);
	const char *path = test_path("a.gz");

	(void)state;
	for (int n = 0; n < 8; n++) {
		test_gate(true);
		agz_writer *w = open_path(path);
		assert_int_equal(opened(w), AGZ_OK);
		for (size_t at = 0, k; at < text.nbytes && n > 0; at += k) {
			k = text.nbytes - at;
			if (agz_writer_write(w, text.ptr + at, k, &k) == AGZ_WAIT)
				break;
		}
		for (int i = 0; i < n; i++) {
			test_wait_for(&test_sys.came);
			if (i < n - 1)
				sem_post(&test_sys.go);
		}
		agz_writer_close(w);
		test_gate(false);
		sem_post(&test_sys.go);
		agz_pool_free(test_pool);
		assert_int_equal(agz_pool_new(2, &test_pool), AGZ_OK);
		assert_int_equal(test_sys.opened, test_sys.closed);
		assert_true(test_quiet(test_waker));
		assert_int_equal(size_of(path), n * (size_t)65536);
		sem_init(&test_sys.go, 0, 0);
	}
	test_drop(&text);
}

static void *let_go(void *arg)
{
	(void)arg;
	test_wait_for(&test_sys.came);
	test_gate(false);
	sem_post(&test_sys.go);
	return NULL;
}

static void borrowed_descriptor(void **state)
{
	test_bytes text = test_data(TEST_NOISE, 4 * CHUNK);
	agz_writer_options o = options(AGZ_SINK_FD);
	const char *path = test_path("a.gz");
	pthread_t thread;
	size_t accepted;

	(void)state;
	o.fd = open(path, O_WRONLY | O_CREAT, 0600);
	test_gate(true);
	agz_writer *w = open_with(&o);
	agz_writer_write(w, text.ptr, text.nbytes, &accepted);
	assert_int_equal(pthread_create(&thread, NULL, let_go, NULL), 0);
	agz_writer_close(w); /* at the first write, or before it */
	size_t nbytes = size_of(path);
	sem_post(&test_sys.came);
	pthread_join(thread, NULL);
	agz_pool_free(test_pool);
	assert_int_equal(agz_pool_new(2, &test_pool), AGZ_OK);
	assert_int_equal(size_of(path), nbytes);
	close(o.fd);
	test_drop(&text);
}

/* A pipe that is full keeps nobody from leaving, nor other files from going on. */
static void full_pipe(void **state)
{
	test_bytes text = test_data(TEST_NOISE, 3 * CHUNK),
	           small = test_data(TEST_TEXT, 100);
	const char *path = test_path("fifo");
	size_t accepted;
	int fds[2];

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	assert_int_equal(pipe(fds), 0);
	for (int i = 0; i < 2; i++) {
		agz_writer_options o = options(i ? AGZ_SINK_FD : AGZ_SINK_PATH);
		o.path = path;
		o.fd = fds[1];
		agz_writer *w = open_with(&o);
		assert_int_equal(opened(w), AGZ_OK);
		assert_int_equal(agz_writer_write(w, text.ptr, text.nbytes, &accepted),
		                 AGZ_OK);
		assert_int_equal(agz_writer_finish(w), AGZ_WAIT);
		agz_writer *other = open_path(test_path("a.gz"));
		assert_int_equal(write_all(other, small, 10), AGZ_OK);
		assert_int_equal(finish(other), AGZ_OK);
		agz_writer_close(other);
		agz_writer_close(w);
	}
	close(fd);
	close(fds[0]);
	close(fds[1]);
	test_drop(&text);
	test_drop(&small);
}

static void *read_fifo(void *arg)
{
	test_bytes *got = arg;

	*got = test_slurp(test_path("fifo"));
	return NULL;
}

/* A FIFO that nobody reads yet is waited for. */
static void fifo(void **state)
{
	test_bytes text = test_data(TEST_NOISE, 3 * CHUNK), got;
	pthread_t thread;

	(void)state;
	assert_int_equal(mkfifo(test_path("fifo"), 0600), 0);
	agz_writer *w = open_path(test_path("fifo"));
	assert_int_equal(agz_writer_opened(w), AGZ_WAIT);
	assert_int_equal(pthread_create(&thread, NULL, read_fifo, &got), 0);
	assert_int_equal(opened(w), AGZ_OK);
	assert_int_equal(write_all(w, text, 100000), AGZ_OK);
	assert_int_equal(finish(w), AGZ_OK);
	agz_writer_close(w);
	pthread_join(thread, NULL);
	test_bytes plain = test_gunzip(got);
	assert_same(plain, text);
	test_drop(&plain);
	test_drop(&got);
	test_drop(&text);
}

/* ---- blocks to take -------------------------------------------------------------------------------------- */

/* Takes what there is now. */
static int take_some(agz_writer *w, test_bytes *gz)
{
	agz_block *block;
	int rc;

	while ((rc = agz_writer_take(w, &block)) == AGZ_OK) {
		assert_in_range(agz_block_nbytes(block), 1, 65536);
		test_add(gz, agz_block_ptr(block), agz_block_nbytes(block));
		agz_block_free(block);
	}
	return rc;
}

static void take(void **state)
{
	test_bytes text = test_data(TEST_NOISE, 5 * CHUNK), gz = {0}, want;
	agz_writer_options o = options(AGZ_SINK_TAKE);
	agz_writer *w = open_with(&o);
	size_t at = 0, accepted;
	int rc;

	(void)state;
	assert_int_equal(agz_writer_opened(w), AGZ_OK);
	assert_int_equal(agz_writer_fd(w), -1);
	/* The header comes first, by itself; then nothing until there is more. */
	while ((rc = take_some(w, &gz)) == AGZ_WAIT)
		test_sleep(test_waker);
	assert_int_equal(rc, AGZ_HUNGRY);
	assert_int_equal(gz.nbytes, 10);

	/* A caller who takes nothing is soon told to wait; after taking he is named. */
	size_t before = test_live_nbytes();
	while (at < text.nbytes) {
		rc = agz_writer_write(w, text.ptr + at, text.nbytes - at, &accepted);
		at += accepted;
		if (rc != AGZ_WAIT)
			continue;
		take_some(w, &gz);
		test_sleep(test_waker);
		assert_true(test_live_nbytes() - before < 3 * 1024 * 1024);
	}
	assert_int_equal(rc, AGZ_OK);
	/* Flushed: all can be taken at once. */
	while ((rc = agz_writer_flush(w)) == AGZ_WAIT)
		test_sleep(test_waker);
	assert_int_equal(rc, AGZ_OK);
	assert_int_equal(take_some(w, &gz), AGZ_HUNGRY);
	assert_true(gz.nbytes > text.nbytes);
	assert_int_equal(finish(w), AGZ_OK);
	assert_int_equal(take_some(w, &gz), AGZ_END);
	assert_int_equal(take_some(w, &gz), AGZ_END);
	assert_int_equal(agz_writer_out_nbytes(w), gz.nbytes);
	agz_writer_close(w);
	test_bytes plain = test_gunzip(gz);
	assert_same(plain, text);
	test_drop(&plain);
	test_drop(&gz);

	/* Not flushed in between, the bytes are zlib's; though the header came first. */
	gz = (test_bytes){0};
	w = open_with(&o);
	for (at = 0; at < text.nbytes; at += accepted) {
		rc = agz_writer_write(w, text.ptr + at, text.nbytes - at, &accepted);
		take_some(w, &gz);
		if (rc == AGZ_WAIT)
			test_sleep(test_waker);
	}
	assert_int_equal(finish(w), AGZ_OK);
	assert_int_equal(take_some(w, &gz), AGZ_END);
	agz_writer_close(w);
	want = test_gzip(text.ptr, text.nbytes);
	want.ptr[9] = 255;
	assert_same(gz, want);
	test_drop(&want);
	test_drop(&gz);

	/* Only one that gives blocks has some; and they need not be taken. */
	w = open_path(test_path("a.gz"));
	assert_int_equal(agz_writer_take(w, &(agz_block *){NULL}), AGZ_E_STATE);
	agz_writer_close(w);
	w = open_with(&o);
	agz_writer_write(w, text.ptr, text.nbytes, &accepted);
	assert_int_equal(flush(w), AGZ_OK);
	agz_writer_close(w);
	test_drop(&text);
}

/* ---- fork ------------------------------------------------------------------------------------------------- */

static agz_writer *fork_writers[3];

/* 0: its job was running; 1: queued; 2: idle, with bytes in its batch. */
static int close_in_child(void *arg)
{
	size_t accepted;

	(void)arg;
	test_gate(false);
	if (agz_writer_write(fork_writers[0], "x", 1, &accepted) != AGZ_E_FORKED ||
	    finish(fork_writers[0]) != AGZ_E_FORKED)
		return 1;
	for (int i = 0; i < 3; i++)
		agz_writer_close(fork_writers[i]);
	/* Nothing of this was written: another file, by the same pool, is. */
	agz_writer *w = open_path(test_path("child.gz"));
	if (agz_writer_write(w, "abc", 3, &accepted) != AGZ_OK || finish(w) != AGZ_OK)
		return 2;
	agz_writer_close(w);
	return 0;
}

static void forked(void **state)
{
	test_bytes text = test_data(TEST_NOISE, 2 * CHUNK);
	char path[3][128];
	size_t accepted;

	(void)state;
	test_needs_fork();
	agz_pool_free(test_pool);
	assert_int_equal(agz_pool_new(1, &test_pool), AGZ_OK);
	for (int i = 0; i < 3; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/%d.gz", test_dir, i);
		fork_writers[i] = open_path(path[i]);
		assert_int_equal(opened(fork_writers[i]), AGZ_OK);
	}
	test_gate(true);
	assert_int_equal(agz_writer_write(fork_writers[2], text.ptr, 1000, &accepted),
	                 AGZ_OK);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(write_all(fork_writers[i], text, text.nbytes), AGZ_OK);
		if (i == 0)
			test_wait_for(&test_sys.came);
	}
	test_in_child(close_in_child, NULL);
	test_gate(false);
	sem_post(&test_sys.go);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(finish(fork_writers[i]), AGZ_OK);
		agz_writer_close(fork_writers[i]);
		text.nbytes = i < 2 ? 2 * CHUNK : 1000;
		holds(path[i], text);
	}
	text.nbytes = 3;
	memcpy(text.ptr, "abc", 3);
	holds(test_path("child.gz"), text);
	test_drop(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        io_test(all_sizes),
	        io_test(small_chunks),
	        io_test(create),
	        io_test(bad_options),
	        io_test(bounded),
	        io_test(thousand_files),
	        io_test(give),
	        io_test(spans_are_mine_again),
	        io_test(flushes),
	        io_test(full_disk),
	        io_test(cannot_open),
	        io_test(each_call_fails),
	        io_test(each_allocation_fails),
	        io_test(close_at_each_write),
	        io_test(borrowed_descriptor),
	        io_test(full_pipe),
	        io_test(fifo),
	        io_test(take),
	        io_test(forked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
