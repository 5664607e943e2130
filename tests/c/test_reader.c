/*
 * test_reader.c - attacks readers: every kind of source, cut at each byte; each system call
 * and each allocation failing at each position; bombs; files that grow; FIFOs that nobody
 * writes to; closing, seeking, forking with a job at every point of its way; callers who
 * take their memory back; a thousand files on two threads.
 */
#define _GNU_SOURCE 1

#include "io_support.h"

#define MIB ((size_t)1024 * 1024)

static agz_reader_options options(enum agz_source source)
{
	agz_reader_options o = AGZ_READER_OPTIONS_INIT;

	o.pool = test_pool;
	o.waker = test_waker;
	o.source = source;
	o.user = test_dir; /* anything */
	return o;
}

static agz_reader *open_with(const agz_reader_options *o)
{
	agz_reader *r;

	assert_int_equal(agz_reader_open(o, &r), AGZ_OK);
	return r;
}

static agz_reader *open_path(const char *path)
{
	agz_reader_options o = options(AGZ_SOURCE_PATH);

	o.path = path;
	return open_with(&o);
}

static agz_reader *open_file(const void *ptr, size_t nbytes)
{
	return open_path(test_file("file.gz", ptr, nbytes));
}

/* Its answer, once it has one. */
static int take(agz_reader *r, agz_block **block)
{
	int rc;

	while ((rc = agz_reader_take(r, block)) == AGZ_WAIT)
		test_sleep(test_waker);
	return rc;
}

static int into(agz_reader *r, void *dst, size_t nbytes, size_t *got)
{
	int rc;

	while ((rc = agz_reader_into(r, dst, nbytes, got)) == AGZ_WAIT)
		test_sleep(test_waker);
	return rc;
}

static int seek(agz_reader *r, uint64_t offset, uint64_t *reached)
{
	int rc;

	while ((rc = agz_reader_seek(r, offset, reached)) == AGZ_WAIT)
		test_sleep(test_waker);
	return rc;
}

static int opened(agz_reader *r)
{
	int rc;

	while ((rc = agz_reader_opened(r)) == AGZ_WAIT)
		test_sleep(test_waker);
	return rc;
}

/* Appends a block to b, and frees it. */
static void append(test_bytes *b, agz_block *block)
{
	size_t n = agz_block_nbytes(block);

	assert_true(n > 0);
	test_add(b, agz_block_ptr(block), n);
	agz_block_free(block);
}

/* Takes till something else than a block comes. */
static int take_all(agz_reader *r, test_bytes *b)
{
	agz_block *block;
	int rc;

	*b = (test_bytes){0};
	while ((rc = take(r, &block)) == AGZ_OK)
		append(b, block);
	assert_null(block);
	return rc;
}

static void expect(agz_reader *r, test_bytes want, int end)
{
	test_bytes got;

	assert_int_equal(take_all(r, &got), end);
	assert_int_equal(got.nbytes, want.nbytes);
	assert_true(want.nbytes == 0 || memcmp(got.ptr, want.ptr, want.nbytes) == 0);
	free(got.ptr);
}

static test_bytes of_string(const char *text)
{
	return (test_bytes){(uint8_t *)(uintptr_t)text, strlen(text), 0};
}

/* ---- bytes are what they were, from wherever they come ------------------------------------- */

static int n_released;

static void count_release(void *arg)
{
	(void)arg;
	n_released++;
}

/* Feeds a pushed reader in spans of `most` bytes. */
static int push_all(agz_reader *r, test_bytes gz, size_t most, test_bytes *b)
{
	size_t at = 0, pushes = 0;
	int rc;

	*b = (test_bytes){0};
	n_released = 0;
	for (;;) {
		agz_block *block;
		while ((rc = take(r, &block)) == AGZ_OK)
			append(b, block);
		if (rc != AGZ_HUNGRY)
			break;
		assert_int_equal(n_released, pushes);
		size_t n = gz.nbytes - at < most ? gz.nbytes - at : most;
		rc = agz_reader_push(r, gz.ptr + at, n, at + n == gz.nbytes,
		                     count_release, NULL);
		assert_int_equal(rc, AGZ_OK);
		at += n;
		pushes++;
	}
	agz_reader_restart(r);
	assert_int_equal(n_released, pushes);
	return rc;
}

static void from_everywhere(test_bytes gz, test_bytes text, size_t chunk, unsigned flags)
{
	const char *path = test_file("file.gz", gz.ptr, gz.nbytes);
	agz_reader_options o = options(AGZ_SOURCE_PATH);
	agz_reader *r;
	test_bytes got;
	uint32_t mtime;

	o.chunk_nbytes = chunk;
	o.flags = flags;
	o.path = path;
	r = open_with(&o);
	expect(r, text, AGZ_END);
	assert_int_equal(agz_reader_in_nbytes(r), gz.nbytes);
	assert_int_equal(agz_reader_out_nbytes(r), text.nbytes);
	assert_int_equal(agz_reader_mtime(r, &mtime), gz.nbytes > 0);
	assert_true(gz.nbytes == 0 || mtime == 4711);
	expect(r, of_string(""), AGZ_END); /* looked again */
	agz_reader_close(r);

	o.source = AGZ_SOURCE_FD;
	o.fd = open(path, O_RDONLY);
	r = open_with(&o);
	expect(r, text, AGZ_END);
	agz_reader_close(r);
	assert_int_equal(lseek(o.fd, 0, SEEK_CUR), (off_t)gz.nbytes);
	assert_int_equal(close(o.fd), 0);

	o.source = AGZ_SOURCE_MEMORY;
	o.memory = gz.ptr;
	o.memory_nbytes = gz.nbytes;
	r = open_with(&o);
	assert_int_equal(agz_reader_opened(r), AGZ_OK);
	expect(r, text, AGZ_END);
	expect(r, of_string(""), AGZ_END);
	agz_reader_close(r);

	o.source = AGZ_SOURCE_PUSH;
	r = open_with(&o);
	assert_int_equal(push_all(r, gz, chunk ? chunk : 100000, &got), AGZ_END);
	assert_same(got, text);
	free(got.ptr);
	agz_reader_close(r);
}

static void all_sizes(void **state)
{
	static const size_t sizes[] = {0,      1,      65535,  65536,  65537,   262143,
	                               262144, 262145, 300000, 600000, 3000000, 10};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		test_bytes text = test_data(TEST_TEXT, sizes[i]);
		test_bytes gz = test_gzip(text.ptr, text.nbytes);
		from_everywhere(gz, text, 0, 0);
		from_everywhere(gz, text, 5000, AGZ_READER_LINES);
		if (sizes[i] <= 65537)
			from_everywhere(gz, text, 1, AGZ_READER_MEMBERS);
		free(text.ptr);
		free(gz.ptr);
	}
	from_everywhere(of_string(""), of_string(""), 0, 0); /* no member at all */
}

static void many_members(void **state)
{
	test_bytes text = {0}, gz = {0};

	(void)state;
	for (size_t n = 0; n < 200; n++) {
		test_bytes t = test_data(TEST_TEXT, n % 3 == 2 ? 5000 : n % 3);
		test_join(&gz, test_gzip(t.ptr, t.nbytes));
		test_join(&text, t);
	}
	from_everywhere(gz, text, 0, 0);
	from_everywhere(gz, text, 17, AGZ_READER_MEMBERS | AGZ_READER_LINES);
	free(text.ptr);
	free(gz.ptr);
}

/* Input that gives nothing is gone through in turns, and ends all the same. */
static void empty_members(void **state)
{
	test_bytes one = test_gzip("", 0), gz = {0};
	agz_reader_options o = options(AGZ_SOURCE_MEMORY);
	uint64_t reached;

	(void)state;
	while (gz.nbytes < 3 * MIB)
		test_add_bytes(&gz, &one);
	o.memory = gz.ptr;
	o.memory_nbytes = gz.nbytes;
	agz_reader *r = open_with(&o);
	expect(r, of_string(""), AGZ_END);
	assert_int_equal(agz_reader_member_count(r), gz.nbytes / one.nbytes);
	assert_int_equal(seek(r, UINT64_MAX, &reached), AGZ_OK);
	assert_int_equal(reached, 0);
	agz_reader_close(r);
	r = open_file(gz.ptr, gz.nbytes);
	expect(r, of_string(""), AGZ_END);
	assert_int_equal(agz_reader_in_nbytes(r), gz.nbytes);
	agz_reader_close(r);
	free(one.ptr);
	free(gz.ptr);
}

/* Short reads, of whatever length, are not ends. */
static void short_reads(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 100000),
	           gz = test_gzip(text.ptr, text.nbytes);

	(void)state;
	for (size_t most = 1; most < 40000; most = most * 3 + 1) {
		test_sys.most = most;
		agz_reader *r = open_file(gz.ptr, gz.nbytes);
		expect(r, text, AGZ_END);
		agz_reader_close(r);
	}
	free(text.ptr);
	free(gz.ptr);
}

/* Cut at each byte: what precedes the cut is handed out, then comes the error, and it stays;
 * but for a cut at nothing. */
static void cut_at_each_byte(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 300),
	           gz = test_gzip(text.ptr, text.nbytes);
	agz_reader_options o = options(AGZ_SOURCE_MEMORY);
	test_bytes got;
	agz_block *block;

	(void)state;
	for (size_t n = 1; n < gz.nbytes; n++) {
		agz_reader *r = open_file(gz.ptr, n);
		assert_int_equal(take_all(r, &got), AGZ_E_TRUNCATED);
		assert_true(got.nbytes <= text.nbytes);
		assert_true(got.nbytes == 0 ||
		            memcmp(got.ptr, text.ptr, got.nbytes) == 0);
		if (n >= gz.nbytes - 8)
			assert_int_equal(got.nbytes, text.nbytes);
		assert_int_equal(agz_reader_fault(r)->in_offset, n);
		assert_int_equal(take(r, &block), AGZ_E_TRUNCATED);
		agz_reader_close(r);

		o.memory = gz.ptr;
		o.memory_nbytes = n;
		r = open_with(&o);
		expect(r, got, AGZ_E_TRUNCATED);
		agz_reader_close(r);
		o.source = AGZ_SOURCE_PUSH;
		r = open_with(&o);
		test_bytes pushed;
		assert_int_equal(push_all(r, (test_bytes){gz.ptr, n, 0}, 50, &pushed),
		                 AGZ_E_TRUNCATED);
		assert_int_equal(pushed.nbytes, got.nbytes);
		free(pushed.ptr);
		agz_reader_close(r);
		o.source = AGZ_SOURCE_MEMORY;
		free(got.ptr);
	}
	free(text.ptr);
	free(gz.ptr);
}

/* A fault in the third member: its number and offset, and all that comes before it. */
static void fault_says_where(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 400000), gz = {0}, got;

	(void)state;
	for (int i = 0; i < 3; i++)
		test_join(&gz, test_gzip(text.ptr, text.nbytes));
	gz.ptr[gz.nbytes - 8] ^= 1; /* of the CRC */
	agz_reader *r = open_file(gz.ptr, gz.nbytes);
	assert_int_equal(take_all(r, &got), AGZ_E_CRC);
	assert_int_equal(got.nbytes, 3 * text.nbytes);
	assert_int_equal(agz_reader_fault(r)->code, AGZ_E_CRC);
	assert_int_equal(agz_reader_fault(r)->member, 2);
	assert_int_equal(agz_reader_fault(r)->in_offset, gz.nbytes - 8);
	free(got.ptr);
	agz_reader_close(r);
	free(text.ptr);
	free(gz.ptr);
}

/* What a reader gives of it, and where it ends. */
static int verdict(const agz_reader_options *o, test_bytes *got, agz_fault *fault)
{
	agz_reader *r = open_with(o);
	int rc = take_all(r, got);

	*fault = *agz_reader_fault(r);
	agz_reader_close(r);
	return rc;
}

/* A member too large for an engine to keep: what comes before a fault, the fault and where
 * it lies are as by zlib alone. */
static void faults_as_by_zlib(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 600000),
	           small = test_data(TEST_TEXT, 3000),
	           gz = test_gzip(small.ptr, small.nbytes);
	agz_reader_options o = options(AGZ_SOURCE_PATH);

	(void)state;
	test_join(&gz, test_gzip(text.ptr, text.nbytes));
	assert_true(gz.nbytes > 120000);
	for (size_t i = 0; i < 90; i++) {
		size_t at = 70000 + i * (gz.nbytes - 70001) / 90, cut = gz.nbytes;
		test_bytes got, want;
		agz_fault fault, told;

		if (i % 3 == 0)
			cut = at;
		else
			gz.ptr[at] ^= (uint8_t)(1 << i % 8);
		o.path = test_file("file.gz", gz.ptr, cut);
		o.memory = gz.ptr;
		o.memory_nbytes = cut;
		o.engine = "zlib";
		int rc = verdict(&o, &want, &told);
		assert_true(rc < 0);
		assert_int_equal(told.member, 1);
		o.engine = NULL;
		for (int kind = AGZ_SOURCE_PATH; kind <= AGZ_SOURCE_MEMORY; kind++) {
			o.source = (enum agz_source)kind;
			o.fd = open(o.path, O_RDONLY);
			o.close_fd = 1;
			if (kind != AGZ_SOURCE_FD)
				close(o.fd);
			assert_int_equal(verdict(&o, &got, &fault), rc);
			assert_same(got, want);
			assert_int_equal(fault.member, 1);
			assert_int_equal(fault.in_offset, told.in_offset);
			free(got.ptr);
		}
		o.source = AGZ_SOURCE_PATH;
		free(want.ptr);
		if (cut == gz.nbytes)
			gz.ptr[at] ^= (uint8_t)(1 << i % 8);
	}
	free(small.ptr);
	free(text.ptr);
	free(gz.ptr);
}

/* A cut file becomes another before zlib is asked about it: the first fault is told, and not
 * a byte of the other. */
static void becomes(test_bytes other)
{
	test_bytes text = test_data(TEST_TEXT, 600000),
	           gz = test_gzip(text.ptr, text.nbytes), got = {0};
	size_t cut = gz.nbytes - 20000;
	bool changed = false;
	agz_block *block;
	int rc;

	assert_true(cut > 100000);
	agz_reader *r = open_file(gz.ptr, cut);
	assert_int_equal(opened(r), AGZ_OK);
	test_gate(true);
	while ((rc = agz_reader_take(r, &block)) == AGZ_OK || rc == AGZ_WAIT) {
		if (rc == AGZ_OK) {
			append(&got, block);
		} else if (sem_trywait(&test_sys.came) == 0) {
			/* A read that comes when all counts are back at nothing. */
			if (got.nbytes > 0 && agz_reader_out_nbytes(r) == 0) {
				test_file("file.gz", other.ptr, other.nbytes);
				changed = true;
			}
			sem_post(&test_sys.go);
		} else {
			sched_yield();
		}
	}
	assert_true(changed);
	assert_int_equal(rc, AGZ_E_TRUNCATED);
	assert_int_equal(agz_reader_fault(r)->in_offset, cut);
	assert_true(got.nbytes > 0 && got.nbytes < text.nbytes);
	assert_memory_equal(got.ptr, text.ptr, got.nbytes);
	test_gate(false);
	agz_reader_close(r);
	free(other.ptr);
	free(got.ptr);
	free(text.ptr);
	free(gz.ptr);
}

static void changed_after_a_fault(void **state)
{
	test_bytes other;

	(void)state;
	if (strcmp(agz_engine_for_inflate(NULL), "isal") != 0)
		skip(); /* the others are never in doubt */
	other = test_data(TEST_JSON, 600000);
	becomes(test_gzip(other.ptr, other.nbytes));
	becomes(test_gzip(other.ptr, 100));
	becomes((test_bytes){0});
	free(other.ptr);
}

static void not_there(void **state)
{
	agz_reader *r = open_path(test_path("nothing"));
	agz_block *block;
	size_t got;
	uint64_t reached;
	char c;

	(void)state;
	assert_int_equal(opened(r), AGZ_E_SYSTEM);
	assert_int_equal(agz_reader_fault(r)->sys, ENOENT);
	assert_int_equal(agz_reader_fd(r), -1);
	assert_int_equal(agz_reader_take(r, &block), AGZ_E_SYSTEM);
	assert_int_equal(agz_reader_into(r, &c, 1, &got), AGZ_E_SYSTEM);
	assert_int_equal(agz_reader_seek(r, 0, &reached), AGZ_E_SYSTEM);
	assert_int_equal(agz_reader_fault(r)->sys, ENOENT);
	agz_reader_close(r);
	r = open_path(test_dir);
	assert_int_equal(take(r, &block), AGZ_E_SYSTEM);
	assert_int_equal(agz_reader_fault(r)->sys, EISDIR);
	agz_reader_close(r);
	agz_reader_close(NULL);
}

static void bad_options(void **state)
{
	agz_reader_options o = options(AGZ_SOURCE_PATH);
	agz_reader *r;

	(void)state;
	assert_int_equal(agz_reader_open(&o, &r), AGZ_E_ARGUMENT);
	assert_null(r);
	o.path = "x";
	o.engine = "steam";
	assert_int_equal(agz_reader_open(&o, &r), AGZ_E_ENGINE);
	o.engine = "a name that is longer than any engine's name";
	assert_int_equal(agz_reader_open(&o, &r), AGZ_E_ENGINE);
	o.engine = NULL;
	o.chunk_nbytes = SIZE_MAX;
	assert_int_equal(agz_reader_open(&o, &r), AGZ_E_ARGUMENT);
	o.chunk_nbytes = 0;
	o.source = AGZ_SOURCE_FD;
	assert_int_equal(agz_reader_open(&o, &r), AGZ_E_ARGUMENT);
	o.source = AGZ_SOURCE_MEMORY;
	o.memory_nbytes = 1;
	assert_int_equal(agz_reader_open(&o, &r), AGZ_E_ARGUMENT);
	o.source = (enum agz_source)9;
	assert_int_equal(agz_reader_open(&o, &r), AGZ_E_ARGUMENT);
	o.source = AGZ_SOURCE_PATH;
	o.struct_nbytes = offsetof(agz_reader_options, path); /* of an older program */
	assert_int_equal(agz_reader_open(&o, &r), AGZ_E_ARGUMENT);
}

/* ---- waiting ---------------------------------------------------------------------------------- */

/* A reader is named only if its caller was told to wait, and once. A small file costs one
 * hand-over: when the caller is woken for the first time, all is there. */
static void named_once(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 20000),
	           gz = test_gzip(text.ptr, text.nbytes);
	agz_block *block;

	(void)state;
	test_gate(true);
	agz_reader *r = open_file(gz.ptr, gz.nbytes);
	test_wait_for(&test_sys.came);
	assert_int_equal(agz_reader_opened(r), AGZ_WAIT);
	assert_int_equal(agz_reader_fd(r), -1);
	test_gate(false);
	sem_post(&test_sys.go);
	assert_ptr_equal(test_named(test_waker), test_dir);
	assert_true(test_quiet(test_waker));
	assert_int_equal(agz_reader_opened(r), AGZ_OK);
	assert_true(agz_reader_fd(r) >= 0);
	assert_int_equal(agz_reader_size_hint(r), text.nbytes);
	assert_int_equal(agz_reader_take(r, &block), AGZ_OK);
	assert_int_equal(agz_block_nbytes(block), text.nbytes);
	agz_block_free(block);
	assert_int_equal(agz_reader_take(r, &block), AGZ_END);
	/* open, fstat, the tail, the file, its end */
	assert_int_equal(test_sys.n, 5);
	assert_true(test_quiet(test_waker));
	agz_reader_close(r);
	free(text.ptr);
	free(gz.ptr);
}

/* Whoever only polls, without a waker, gets all there is. */
static void without_waker(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 2000000),
	           gz = test_gzip(text.ptr, text.nbytes);
	test_bytes got = {0};
	agz_reader_options o = options(AGZ_SOURCE_PATH);
	agz_block *block;
	int rc;

	(void)state;
	o.waker = NULL;
	o.path = test_file("file.gz", gz.ptr, gz.nbytes);
	agz_reader *r = open_with(&o);
	while ((rc = agz_reader_take(r, &block)) != AGZ_END) {
		if (rc == AGZ_OK)
			append(&got, block);
		else
			assert_int_equal(rc, AGZ_WAIT);
	}
	assert_same(got, text);
	agz_reader_close(r);
	free(got.ptr);
	free(text.ptr);
	free(gz.ptr);
}

/* ---- memory -------------------------------------------------------------------------------------- */

static test_bytes bomb(size_t nbytes)
{
	uint8_t *zeros = calloc(1, nbytes);
	assert_non_null(zeros);
	test_bytes gz = test_gzip(zeros, nbytes);
	free(zeros);
	return gz;
}

/* No more is decoded ahead than the ring holds, however much more there is; and that
 * starts with little. */
static void bombs(void **state)
{
	test_bytes gz = bomb(64 * MIB);
	agz_reader_options o = options(AGZ_SOURCE_MEMORY);
	agz_block *block;
	size_t before = test_live_nbytes(), total = 0;

	(void)state;
	o.memory = gz.ptr;
	o.memory_nbytes = gz.nbytes;
	test_fail_after(-1);
	agz_reader *r = open_with(&o);
	assert_int_equal(take(r, &block), AGZ_OK);
	agz_block_free(block);
	assert_true(test_peak_nbytes() - before < 400 * 1024);
	while (take(r, &block) == AGZ_OK) {
		total += agz_block_nbytes(block);
		assert_in_range(agz_block_nbytes(block), 1, 256 * 1024);
		agz_block_free(block);
		/* Ring, the caller's and the job's block, their line ends, decoder, cache. */
		assert_true(test_peak_nbytes() - before < 3 * MIB);
	}
	assert_int_equal(total + 64 * 1024, 64 * MIB);
	agz_reader_close(r);
	free(gz.ptr);
}

/* A thousand files on two threads: open ones cost little, begun ones not much, and each gives
 * what is its own. */
static void thousand_files(void **state)
{
	enum { N = 1000 };
	static agz_reader *readers[N];
	test_bytes text = test_data(TEST_TEXT, 400000),
	           gz = test_gzip(text.ptr, text.nbytes);
	const char *path = test_file("file.gz", gz.ptr, gz.nbytes);
	agz_block *blocks[N];
	size_t before = test_live_nbytes();

	(void)state;
	assert_true(gz.nbytes > 64 * 1024);
	for (int i = 0; i < N; i++) {
		agz_reader_options o = options(AGZ_SOURCE_MEMORY);
		/* Descriptors may be few. */
		if (i % 10 == 0) {
			o.source = AGZ_SOURCE_PATH;
			o.path = path;
		}
		o.memory = gz.ptr;
		o.memory_nbytes = gz.nbytes;
		o.user = &readers[i];
		readers[i] = open_with(&o);
	}
	for (int i = 0; i < N; i++)
		assert_int_equal(opened(readers[i]), AGZ_OK);
	assert_true(test_live_nbytes() - before < N * (size_t)16 * 1024);
	for (int i = 0; i < N; i++)
		agz_reader_take(readers[i], &blocks[i]);
	for (int i = 0; i < N; i++) {
		if (blocks[i] == NULL)
			assert_int_equal(take(readers[i], &blocks[i]), AGZ_OK);
	}
	assert_true(test_peak_nbytes() - before < N * (size_t)320 * 1024);
	for (int i = 0; i < N; i++) {
		test_bytes got, first = {0};
		append(&first, blocks[i]);
		assert_int_equal(take_all(readers[i], &got), AGZ_END);
		test_join(&first, got);
		assert_same(first, text);
		free(first.ptr);
	}
	for (int i = 0; i < N; i++)
		agz_reader_close(readers[i]);
	free(text.ptr);
	free(gz.ptr);
}

static void cap(void **state)
{
	test_bytes one = test_data(TEST_TEXT, 1000), text = {0}, gz = {0};
	agz_reader_options o = options(AGZ_SOURCE_MEMORY);
	uint64_t reached;

	(void)state;
	for (int i = 0; i < 2; i++) {
		test_add_bytes(&text, &one);
		test_join(&gz, test_gzip(one.ptr, one.nbytes));
	}
	test_drop(&one);
	o.memory = gz.ptr;
	o.memory_nbytes = gz.nbytes;
	for (size_t most = 1; most <= 2001; most += 250) {
		o.max_out_nbytes = most;
		agz_reader *r = open_with(&o);
		for (int i = 0; i < 2; i++) {
			if (most < 2000) {
				expect(r, (test_bytes){text.ptr, most, 0},
				       AGZ_E_OUTPUT_LIMIT);
				assert_int_equal(agz_reader_fault(r)->limit_nbytes, most);
			} else {
				expect(r, text, AGZ_END);
			}
			assert_int_equal(seek(r, 0, &reached), AGZ_OK);
		}
		agz_reader_close(r);
	}
	free(text.ptr);
	free(gz.ptr);
}

/* ---- files that grow -------------------------------------------------------------------------------- */

static void grow(const char *path, const void *ptr, size_t nbytes)
{
	int fd = open(path, O_WRONLY | O_APPEND);

	assert_int_equal(write(fd, ptr, nbytes), (ssize_t)nbytes);
	close(fd);
}

static void growing(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 1000),
	           gz = test_gzip(text.ptr, text.nbytes);
	const char *path = test_file("file.gz", "", 0);
	agz_reader_options o = options(AGZ_SOURCE_PATH);

	(void)state;
	o.flags = AGZ_READER_MEMBERS;
	o.max_out_nbytes = 3000;
	o.path = path;
	agz_reader *r = open_with(&o);
	expect(r, of_string(""), AGZ_END);
	for (uint64_t i = 0; i < 3; i++) {
		grow(path, gz.ptr, gz.nbytes);
		grow(path, "\0\0\0", 3);
		expect(r, text, AGZ_END);
		grow(path, "\0", 1);
		expect(r, of_string(""), AGZ_END);
		assert_int_equal(agz_reader_member_count(r), i + 1);
		assert_int_equal(agz_reader_out_nbytes(r), (i + 1) * text.nbytes);
		assert_int_equal(agz_reader_in_nbytes(r), (i + 1) * (gz.nbytes + 4));
		const agz_member *m = agz_reader_member(r, i);
		assert_int_equal(m->index, i);
		assert_int_equal(m->in_offset, i * (gz.nbytes + 4));
		assert_null(agz_reader_member(r, i + 1));
	}
	/* The cap is on all of them together. */
	grow(path, gz.ptr, gz.nbytes);
	expect(r, of_string(""), AGZ_E_OUTPUT_LIMIT);
	assert_int_equal(agz_reader_fault(r)->limit_nbytes, 3000);
	assert_int_equal(agz_reader_fault(r)->member, 3);
	agz_reader_close(r);

	/* Without padding between, and with garbage in the end. */
	r = open_file(gz.ptr, gz.nbytes);
	expect(r, text, AGZ_END);
	grow(path, gz.ptr, gz.nbytes);
	expect(r, text, AGZ_END);
	grow(path, "garbage", 7);
	expect(r, of_string(""), AGZ_E_MAGIC);
	assert_int_equal(agz_reader_fault(r)->member, 2);
	assert_int_equal(agz_reader_fault(r)->in_offset, 2 * gz.nbytes);
	assert_memory_equal(agz_reader_fault(r)->found, "ga", 2);
	agz_reader_close(r);

	free(text.ptr);
	free(gz.ptr);
}

/* A file cut after n bytes; what it grows by is read on. */
static void grow_from(test_bytes gz, test_bytes text, size_t n)
{
	const char *path = test_file("file.gz", "", 0);
	agz_reader *r = open_file(gz.ptr, n);
	test_bytes got, rest;
	uint64_t reached;

	assert_int_equal(take_all(r, &got), AGZ_E_TRUNCATED);
	expect(r, of_string(""), AGZ_E_TRUNCATED);
	grow(path, gz.ptr + n, gz.nbytes - n);
	if (n % 2 == 0) {
		assert_int_equal(seek(r, 0, &reached), AGZ_OK);
		got.nbytes = 0;
	}
	assert_int_equal(take_all(r, &rest), AGZ_END);
	assert_int_equal(got.nbytes + rest.nbytes, text.nbytes);
	assert_memory_equal(rest.ptr, text.ptr + got.nbytes, rest.nbytes);
	assert_int_equal(agz_reader_in_nbytes(r), gz.nbytes);
	free(got.ptr);
	free(rest.ptr);

	/* What is wrong in what came is wrong as ever, and stays so. */
	grow(path, gz.ptr, 2);
	expect(r, of_string(""), AGZ_E_TRUNCATED);
	grow(path, "\7", 1);
	expect(r, of_string(""), AGZ_E_METHOD);
	grow(path, gz.ptr, gz.nbytes);
	expect(r, of_string(""), AGZ_E_METHOD);
	assert_int_equal(agz_reader_fault(r)->member, 1);
	assert_int_equal(agz_reader_fault(r)->in_offset, gz.nbytes + 2);
	agz_reader_close(r);
}

/* Wherever it is cut, in a header or a trailer too; and where an engine was in doubt. */
static void growing_from_a_cut(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 300),
	           gz = test_gzip(text.ptr, text.nbytes);

	(void)state;
	for (size_t n = 1; n < gz.nbytes; n++)
		grow_from(gz, text, n);
	free(text.ptr);
	free(gz.ptr);

	text = test_data(TEST_TEXT, 600000);
	gz = test_gzip(text.ptr, text.nbytes);
	for (size_t n = 1; n < gz.nbytes; n += 10007)
		grow_from(gz, text, n);
	for (size_t n = gz.nbytes - 9; n < gz.nbytes; n++)
		grow_from(gz, text, n);
	free(text.ptr);
	free(gz.ptr);
}

static void members(void **state)
{
	agz_reader_options o = options(AGZ_SOURCE_PATH);
	test_bytes gz = test_gzip("abc", 3);
	agz_encoder_options named = AGZ_ENCODER_OPTIONS_INIT;
	uint8_t buf[200];
	agz_input in = {"defg", 4, 0};
	agz_output out = {buf, sizeof(buf), 0};
	agz_encoder *e;

	(void)state;
	named.name = (const uint8_t *)"nom\xe9";
	named.name_nbytes = 4;
	named.mtime = 99;
	assert_int_equal(agz_encoder_new(&named, &e), AGZ_OK);
	assert_int_equal(agz_encoder_step(e, &in, &out, AGZ_FINISH), AGZ_STREAM_DONE);
	agz_encoder_free(e);
	o.path = test_file("file.gz", gz.ptr, gz.nbytes);
	grow(o.path, buf, out.pos);
	o.flags = AGZ_READER_MEMBERS;
	agz_reader *r = open_with(&o);
	for (int i = 0; i < 2; i++) {
		uint64_t reached;
		expect(r, of_string("abcdefg"), AGZ_END);
		const agz_member *m = agz_reader_member(r, 0);
		assert_int_equal(m->out_nbytes, 3);
		assert_int_equal(m->mtime, 4711);
		assert_null(m->name);
		assert_null(m->comment);
		m = agz_reader_member(r, 1);
		assert_int_equal(m->in_offset, gz.nbytes);
		assert_int_equal(m->in_nbytes, out.pos);
		assert_int_equal(m->name_nbytes, 4);
		assert_memory_equal(m->name, "nom\xe9", 4);
		assert_null(agz_reader_member(r, 2));
		assert_int_equal(seek(r, 0, &reached), AGZ_OK);
		assert_null(agz_reader_member(r, 0));
	}
	agz_reader_close(r);
	free(gz.ptr);
}

/* ---- into ---------------------------------------------------------------------------------------------- */

static void into_pieces(agz_reader *r, test_bytes text, size_t piece)
{
	uint8_t *dst = malloc(piece);
	size_t got, at = 0;
	agz_block *block;

	assert_non_null(dst);
	do {
		assert_int_equal(into(r, dst, piece, &got), AGZ_OK);
		assert_true(got <= text.nbytes - at);
		assert_memory_equal(dst, text.ptr + at, got);
		at += got;
	} while (got == piece);
	assert_int_equal(at, text.nbytes);
	assert_int_equal(take(r, &block), AGZ_END);
	free(dst);
}

static void into_sizes(void **state)
{
	static const size_t sizes[] = {10, 20000, 250000, 700000, 6000000};
	static const size_t pieces[] = {1, 4096, 65536, 300000, 8000000};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		test_bytes text = test_data(TEST_TEXT, sizes[i]),
		           gz = test_gzip(text.ptr, text.nbytes);
		for (size_t j = sizes[i] > 20000; j < 5; j++) {
			agz_reader *r = open_file(gz.ptr, gz.nbytes);
			into_pieces(r, text, pieces[j]);
			agz_reader_close(r);
		}
		/* All of it, exactly; that it is all is known at once. */
		uint8_t *dst = malloc(sizes[i]);
		size_t got;
		agz_block *block;
		agz_reader *r = open_file(gz.ptr, gz.nbytes);
		assert_int_equal(opened(r), AGZ_OK);
		assert_int_equal(agz_reader_size_hint(r), sizes[i]);
		assert_int_equal(into(r, dst, sizes[i], &got), AGZ_OK);
		assert_int_equal(got, sizes[i]);
		assert_memory_equal(dst, text.ptr, got);
		assert_int_equal(agz_reader_take(r, &block), AGZ_END);
		agz_reader_close(r);
		free(dst);
		free(text.ptr);
		free(gz.ptr);
	}
}

/* Blocks and pieces in turn: the bytes go on where they stopped. */
static void into_and_take(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 2000000),
	           gz = test_gzip(text.ptr, text.nbytes);
	agz_reader_options o = options(AGZ_SOURCE_PATH);
	test_bytes got = {malloc(text.nbytes), 0, 0};
	size_t n;

	(void)state;
	o.flags = AGZ_READER_LINES;
	o.path = test_file("file.gz", gz.ptr, gz.nbytes);
	agz_reader *r = open_with(&o);
	for (size_t i = 1;; i++) {
		agz_block *block;
		size_t want = i * 1234;
		if (want > text.nbytes - got.nbytes)
			want = text.nbytes - got.nbytes;
		assert_int_equal(into(r, got.ptr + got.nbytes, want, &n), AGZ_OK);
		assert_int_equal(n, want);
		got.nbytes += n;
		int rc = take(r, &block);
		if (rc == AGZ_END)
			break;
		assert_int_equal(rc, AGZ_OK);
		assert_true(agz_block_nbytes(block) <= text.nbytes - got.nbytes);
		memcpy(got.ptr + got.nbytes, agz_block_ptr(block),
		       agz_block_nbytes(block));
		got.nbytes += agz_block_nbytes(block);
		agz_block_free(block);
	}
	assert_same(got, text);
	agz_reader_close(r);
	free(got.ptr);
	free(text.ptr);
	free(gz.ptr);
}

static void into_rules(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 400000),
	           gz = test_gzip(text.ptr, text.nbytes);
	uint8_t *dst = malloc(text.nbytes);
	size_t got;
	uint64_t reached;
	agz_block *block;

	(void)state;
	/* Others are kept off while one is going on, and harm nothing. */
	test_gate(true);
	agz_reader *r = open_file(gz.ptr, gz.nbytes - 8);
	assert_int_equal(agz_reader_into(r, dst, 0, &got), AGZ_OK);
	assert_int_equal(agz_reader_into(r, NULL, 1, &got), AGZ_E_ARGUMENT);
	assert_int_equal(agz_reader_into(r, dst, text.nbytes, &got), AGZ_WAIT);
	assert_int_equal(agz_reader_into(r, dst, text.nbytes - 1, &got), AGZ_E_BUSY);
	assert_int_equal(agz_reader_into(r, dst + 1, text.nbytes, &got), AGZ_E_BUSY);
	assert_int_equal(agz_reader_take(r, &block), AGZ_E_BUSY);
	assert_int_equal(agz_reader_seek(r, 0, &reached), AGZ_E_BUSY);
	assert_int_equal(agz_reader_fault(r)->code, AGZ_E_BUSY);
	test_gate(false);
	sem_post(&test_sys.go);
	/* The file is cut: all before comes, and then the error. */
	assert_int_equal(into(r, dst, text.nbytes, &got), AGZ_OK);
	assert_int_equal(got, text.nbytes);
	assert_memory_equal(dst, text.ptr, got);
	assert_int_equal(take(r, &block), AGZ_E_TRUNCATED);
	assert_int_equal(agz_reader_fault(r)->code, AGZ_E_TRUNCATED);
	/* Told or not, a fault is told by take() alone. */
	assert_int_equal(into(r, dst, 1, &got), AGZ_OK);
	assert_int_equal(got, 0);
	assert_int_equal(take(r, &block), AGZ_E_TRUNCATED);
	agz_reader_close(r);
	free(dst);
	free(text.ptr);
	free(gz.ptr);
}

/* ---- seek ------------------------------------------------------------------------------------------------- */

static void seek_everywhere(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 1500000),
	           gz = test_gzip(text.ptr, text.nbytes);
	uint8_t some[100];
	uint64_t reached;
	size_t got;
	uint32_t x = 7;

	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		agz_reader_options o = options((enum agz_source[]){
		        AGZ_SOURCE_PATH, AGZ_SOURCE_FD, AGZ_SOURCE_MEMORY}[kind]);
		o.path = test_file("file.gz", gz.ptr, gz.nbytes);
		o.fd = kind == 1 ? open(o.path, O_RDONLY) : -1;
		o.close_fd = 1;
		o.memory = gz.ptr;
		o.memory_nbytes = gz.nbytes;
		agz_reader *r = open_with(&o);
		for (int i = 0; i < 60; i++) {
			x = x * 1664525 + 1013904223;
			uint64_t to = i % 7 == 0 ? 0
			              : i % 5 == 0
			                      ? text.nbytes - 100 + (x >> 24)
			                      : (uint64_t)(x >> 8) * text.nbytes >> 24;
			uint64_t at = to < text.nbytes ? to : text.nbytes;
			assert_int_equal(seek(r, to, &reached), AGZ_OK);
			assert_int_equal(reached, at);
			assert_int_equal(into(r, some, 100, &got), AGZ_OK);
			assert_int_equal(got,
			                 text.nbytes - at < 100 ? text.nbytes - at : 100);
			assert_memory_equal(some, text.ptr + at, got);
			if (i % 4 == 0) { /* on, by little */
				agz_block *block;
				if (take(r, &block) != AGZ_OK)
					continue;
				at += got;
				assert_memory_equal(agz_block_ptr(block), text.ptr + at,
				                    agz_block_nbytes(block));
				at += agz_block_nbytes(block);
				agz_block_free(block);
				to = at + 100;
				assert_int_equal(seek(r, to, &reached), AGZ_OK);
				assert_int_equal(reached,
				                 to < text.nbytes ? to : text.nbytes);
			}
		}
		assert_int_equal(seek(r, UINT64_MAX, &reached), AGZ_OK);
		assert_int_equal(reached, text.nbytes);
		assert_int_equal(agz_reader_member_count(r), 1);
		assert_int_equal(seek(r, 0, &reached), AGZ_OK);
		expect(r, text, AGZ_END);
		agz_reader_close(r);
	}
	free(text.ptr);
	free(gz.ptr);
}

/* To the front needs no job where none is in flight. */
static void seek_at_once(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 50000),
	           gz = test_gzip(text.ptr, text.nbytes);
	uint64_t reached;

	(void)state;
	agz_reader *r = open_file(gz.ptr, gz.nbytes);
	expect(r, text, AGZ_END);
	assert_int_equal(agz_reader_seek(r, text.nbytes + 5, &reached), AGZ_OK);
	assert_int_equal(reached, text.nbytes);
	assert_int_equal(agz_reader_seek(r, 0, &reached), AGZ_OK);
	expect(r, text, AGZ_END);
	agz_reader_close(r);
	free(text.ptr);
	free(gz.ptr);
}

static void seek_and_faults(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 500000),
	           gz = test_gzip(text.ptr, text.nbytes);
	uint64_t reached;
	size_t got;
	uint8_t byte;

	(void)state;
	gz.ptr[gz.nbytes - 1] ^= 1;
	agz_reader *r = open_file(gz.ptr, gz.nbytes);
	/* A fault on the way is the answer, and stays till the front is sought. */
	assert_int_equal(seek(r, UINT64_MAX, &reached), AGZ_E_ISIZE);
	assert_int_equal(agz_reader_fault(r)->code, AGZ_E_ISIZE);
	assert_int_equal(seek(r, 10, &reached), AGZ_E_ISIZE);
	assert_int_equal(into(r, &byte, 1, &got), AGZ_OK);
	assert_int_equal(got, 0);
	assert_int_equal(seek(r, 0, &reached), AGZ_OK);
	assert_int_equal(seek(r, text.nbytes - 1, &reached), AGZ_OK);
	assert_int_equal(into(r, &byte, 1, &got), AGZ_OK);
	assert_int_equal(byte, text.ptr[text.nbytes - 1]);
	/* The fault is known by now, but not told: going back is as ever. */
	assert_int_equal(seek(r, 10, &reached), AGZ_OK);
	assert_int_equal(into(r, &byte, 1, &got), AGZ_OK);
	assert_int_equal(byte, text.ptr[10]);
	agz_reader_close(r);
	free(text.ptr);
	free(gz.ptr);
}

/* A target that changes while the job is on its way; and taking meanwhile is refused. */
static void seek_superseded(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 1000000),
	           gz = test_gzip(text.ptr, text.nbytes);
	agz_reader_options o = options(AGZ_SOURCE_PATH);
	uint64_t reached;
	agz_block *block;
	size_t got;
	uint8_t byte;

	(void)state;
	o.chunk_nbytes = 1000;
	o.path = test_file("file.gz", gz.ptr, gz.nbytes);
	agz_reader *r = open_with(&o);
	assert_int_equal(seek(r, 700000, &reached), AGZ_OK);
	test_gate(true);
	assert_int_equal(agz_reader_seek(r, 1000000, &reached), AGZ_WAIT);
	test_wait_for(&test_sys.came);
	assert_int_equal(agz_reader_take(r, &block), AGZ_E_BUSY);
	assert_int_equal(agz_reader_into(r, &byte, 1, &got), AGZ_E_BUSY);
	assert_int_equal(agz_reader_seek(r, 5, &reached), AGZ_WAIT);
	assert_int_equal(agz_reader_seek(r, 300000, &reached), AGZ_WAIT);
	test_gate(false);
	sem_post(&test_sys.go);
	assert_int_equal(seek(r, 300000, &reached), AGZ_OK);
	assert_int_equal(reached, 300000);
	assert_int_equal(into(r, &byte, 1, &got), AGZ_OK);
	assert_int_equal(byte, text.ptr[300000]);
	agz_reader_close(r);

	/* A new target that the job passes by before it hears of it. */
	r = open_with(&o);
	assert_int_equal(opened(r), AGZ_OK);
	test_gate(true);
	assert_int_equal(agz_reader_seek(r, 1000000, &reached), AGZ_WAIT);
	test_wait_for(&test_sys.came);
	assert_int_equal(agz_reader_seek(r, 100, &reached), AGZ_WAIT);
	test_gate(false);
	sem_post(&test_sys.go);
	assert_int_equal(seek(r, 100, &reached), AGZ_OK);
	assert_int_equal(reached, 100);
	assert_int_equal(into(r, &byte, 1, &got), AGZ_OK);
	assert_int_equal(byte, text.ptr[100]);
	agz_reader_close(r);
	free(text.ptr);
	free(gz.ptr);
}

/* ---- live sources --------------------------------------------------------------------------------------------- */

static agz_reader *open_fifo(const char **path)
{
	*path = test_path("fifo");
	assert_int_equal(mkfifo(*path, 0600), 0);
	return open_path(*path);
}

/* Bytes flushed by the writer come at once, each piece by itself. */
static void live(void **state)
{
	const char *path;
	agz_reader *r = open_fifo(&path);
	agz_encoder *e;
	agz_block *block;
	uint64_t reached;
	size_t got;
	uint8_t buf[1000];
	char byte;

	(void)state;
	assert_int_equal(opened(r), AGZ_OK); /* though nobody writes yet */
	int fd = open(path, O_WRONLY);
	assert_int_equal(agz_encoder_new(NULL, &e), AGZ_OK);
	for (int i = 0; i < 20; i++) {
		char text[2] = {(char)('a' + i), '\n'};
		agz_input in = {text, 2, 0};
		agz_output out = {buf, sizeof(buf), 0};
		enum agz_flush flush = i < 19 ? AGZ_SYNC_FLUSH : AGZ_FINISH;
		assert_int_equal(agz_reader_take(r, &block), AGZ_WAIT);
		agz_encoder_step(e, &in, &out, flush);
		assert_int_equal(write(fd, buf, out.pos), (ssize_t)out.pos);
		assert_int_equal(take(r, &block), AGZ_OK);
		assert_int_equal(agz_block_nbytes(block), 2);
		assert_memory_equal(agz_block_ptr(block), text, 2);
		agz_block_free(block);
		if (i == 5) {
			assert_int_equal(agz_reader_seek(r, 0, &reached),
			                 AGZ_E_NOT_SEEKABLE);
			assert_int_equal(agz_reader_seek(r, 12, &reached), AGZ_OK);
		}
	}
	agz_encoder_free(e);
	/* Garbage is an error at its first byte, not when more comes. */
	assert_int_equal(agz_reader_into(r, &byte, 1, &got), AGZ_WAIT);
	assert_int_equal(write(fd, "?", 1), 1);
	assert_int_equal(into(r, &byte, 1, &got), AGZ_OK);
	assert_int_equal(got, 0);
	assert_int_equal(take(r, &block), AGZ_E_MAGIC);
	assert_int_equal(agz_reader_seek(r, 0, &reached), AGZ_E_NOT_SEEKABLE);
	close(fd);
	agz_reader_close(r);
}

/* One call for more than a read gives: what came first does not pass for all. */
static void into_live(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 120000),
	           gz = test_gzip(text.ptr, text.nbytes);
	agz_reader_options o = options(AGZ_SOURCE_FD);
	uint8_t *dst = malloc(text.nbytes);
	size_t got;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], gz.ptr, gz.nbytes), gz.nbytes);
	close(fds[1]);
	o.fd = fds[0];
	o.close_fd = 1;
	o.chunk_nbytes = 9000;
	agz_reader *r = open_with(&o);
	assert_int_equal(into(r, dst, text.nbytes, &got), AGZ_OK);
	assert_int_equal(got, text.nbytes);
	assert_memory_equal(dst, text.ptr, got);
	agz_reader_close(r);
	free(dst);
	free(text.ptr);
	free(gz.ptr);
}

/* As many FIFOs as there are threads for them, and nobody writes: files are read all the
 * same; and all can be closed. */
static void silent_fifos(void **state)
{
	enum { N = 40 };
	agz_reader *fifos[N];
	agz_block *block;
	char name[20];
	test_bytes text = test_data(TEST_TEXT, 300000),
	           gz = test_gzip(text.ptr, text.nbytes);

	(void)state;
	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "fifo%d", i);
		assert_int_equal(mkfifo(test_path(name), 0600), 0);
		fifos[i] = open_path(test_path(name));
		if (i % 2) /* before the open job is done, or after */
			assert_int_equal(opened(fifos[i]), AGZ_OK);
		assert_int_equal(agz_reader_take(fifos[i], &block), AGZ_WAIT);
	}
	agz_reader *r = open_file(gz.ptr, gz.nbytes);
	expect(r, text, AGZ_END);
	agz_reader_close(r);
	for (int i = 0; i < N; i++)
		agz_reader_close(fifos[i]);
	free(text.ptr);
	free(gz.ptr);
}

/* What comes to a descriptor after the reader was closed is not eaten by it. */
static void nothing_is_eaten(void **state)
{
	agz_reader_options o = options(AGZ_SOURCE_FD);
	agz_block *block;
	char c;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	o.fd = fds[0];
	agz_reader *r = open_with(&o);
	assert_int_equal(agz_reader_take(r, &block), AGZ_WAIT);
	agz_reader_close(r);
	assert_int_equal(write(fds[1], "x", 1), 1);
	agz_pool_free(test_pool); /* whatever still ran is over */
	assert_int_equal(agz_pool_new(2, &test_pool), AGZ_OK);
	assert_int_equal(read(fds[0], &c, 1), 1);
	close(fds[0]);
	close(fds[1]);
}

/* ---- closing ------------------------------------------------------------------------------------------------------ */

/* With the job at the n-th system call. Memory and descriptors are counted by teardown. */
static void close_at_each_call(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 300000),
	           gz = test_gzip(text.ptr, text.nbytes);
	uint8_t *dst = malloc(text.nbytes);
	agz_block *block;
	uint64_t reached;
	size_t got;

	(void)state;
	for (int what = 0; what < 4; what++) {
		/* Opening reads once; a first block needs some reads more, the rest many. */
		for (int n = 0; n < (what == 0 ? 2 : what == 1 ? 4 : 6); n++) {
			agz_reader_options o = options(AGZ_SOURCE_PATH);
			o.path = test_file("file.gz", gz.ptr, gz.nbytes);
			o.chunk_nbytes = 2000;
			test_gate(true);
			agz_reader *r = open_with(&o);
			if (what == 1)
				agz_reader_take(r, &block);
			if (what == 2)
				agz_reader_into(r, dst, text.nbytes, &got);
			if (what == 3)
				agz_reader_seek(r, text.nbytes, &reached);
			for (int i = 0; i < n; i++) {
				test_wait_for(&test_sys.came);
				if (i < n - 1)
					sem_post(&test_sys.go);
			}
			agz_reader_close(r);
			memset(dst, 0, text.nbytes); /* mine again */
			test_gate(false);
			for (int i = 0; i < 3; i++)
				sem_post(&test_sys.go);
			agz_pool_free(test_pool);
			assert_int_equal(agz_pool_new(2, &test_pool), AGZ_OK);
			assert_true(test_quiet(test_waker));
			sem_init(&test_sys.go, 0, 0);
			sem_init(&test_sys.came, 0, 0);
		}
	}
	free(dst);
	free(text.ptr);
	free(gz.ptr);
}

/* A caller's memory, source or result, is his again when close has returned: free it then,
 * at a moment that is another each time. A sanitizer sees what goes wrong. */
static void memory_is_mine_again(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 3000000),
	           gz = test_gzip(text.ptr, text.nbytes);

	(void)state;
	for (int i = 0; i < 60; i++) {
		agz_reader_options o =
		        options(i % 2 ? AGZ_SOURCE_MEMORY : AGZ_SOURCE_PUSH);
		uint8_t *mine = malloc(gz.nbytes), *dst = malloc(text.nbytes);
		size_t got;
		memcpy(mine, gz.ptr, gz.nbytes);
		o.memory = mine;
		o.memory_nbytes = gz.nbytes;
		agz_reader *r = open_with(&o);
		n_released = 0;
		if (i % 2 == 0)
			assert_int_equal(agz_reader_push(r, mine, gz.nbytes, 1,
			                                 count_release, NULL),
			                 AGZ_OK);
		assert_int_equal(agz_reader_into(r, dst, text.nbytes, &got), AGZ_WAIT);
		for (int spin = 0; spin < i * 4; spin++)
			agz_reader_into(r, dst, text.nbytes, &got);
		agz_reader_close(r);
		assert_int_equal(n_released, i % 2 == 0);
		memset(mine, 0xff, gz.nbytes);
		memset(dst, 0xff, text.nbytes);
		free(mine);
		free(dst);
	}
	free(text.ptr);
	free(gz.ptr);
}

/* A block outlives its reader, and the waker its readers. */
static void outlive(void **state)
{
	test_bytes gz = test_gzip("abc", 3);
	agz_reader_options o = options(AGZ_SOURCE_MEMORY);
	agz_block *block;

	(void)state;
	o.memory = gz.ptr;
	o.memory_nbytes = gz.nbytes;
	assert_int_equal(agz_waker_new(&o.waker), AGZ_OK);
	agz_reader *r = open_with(&o);
	agz_waker_free(o.waker);
	while (agz_reader_take(r, &block) == AGZ_WAIT)
		;
	agz_reader_close(r);
	assert_memory_equal(agz_block_ptr(block), "abc", 3);
	agz_block_free(block);
	free(gz.ptr);
}

/* ---- failures ------------------------------------------------------------------------------------------------------- */

/* Reads a file to its end, by blocks and into memory, back and forth. */
static int do_much(const char *path, test_bytes text)
{
	agz_reader_options o = options(AGZ_SOURCE_PATH);
	agz_reader *r;
	test_bytes got;
	uint64_t reached;

	o.path = path;
	o.flags = AGZ_READER_LINES | AGZ_READER_MEMBERS;
	o.chunk_nbytes = 30000;
	int rc = agz_reader_open(&o, &r);
	if (rc != AGZ_OK)
		return rc;
	rc = take_all(r, &got);
	/* What came is right, also if it is not all. */
	assert_true(got.nbytes <= text.nbytes);
	assert_true(got.nbytes == 0 || memcmp(got.ptr, text.ptr, got.nbytes) == 0);
	assert_true(rc != AGZ_END || got.nbytes == text.nbytes);
	free(got.ptr);
	if (rc == AGZ_END)
		rc = seek(r, 0, &reached);
	if (rc == AGZ_OK)
		rc = seek(r, text.nbytes / 2, &reached);
	if (rc == AGZ_OK) {
		uint8_t *dst = malloc(text.nbytes);
		size_t n;
		assert_int_equal(reached, text.nbytes / 2);
		rc = into(r, dst, text.nbytes, &n);
		if (rc == AGZ_OK) {
			agz_block *block;
			assert_memory_equal(dst, text.ptr + text.nbytes / 2, n);
			rc = take(r, &block);
			assert_true(rc != AGZ_END || n == text.nbytes - text.nbytes / 2);
		}
		free(dst);
	}
	if (rc < 0) {
		assert_int_equal(agz_reader_fault(r)->code, rc);
		assert_int_equal(agz_reader_fault(r)->sys, rc == AGZ_E_SYSTEM ? EIO : 0);
	}
	agz_reader_close(r);
	return rc;
}

static void each_call_fails(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 400000),
	           gz = test_gzip(text.ptr, text.nbytes);
	const char *path = test_file("file.gz", gz.ptr, gz.nbytes);
	int n;

	(void)state;
	for (n = 1;; n++) {
		test_sys_fail_at(n, EIO);
		int rc = do_much(path, text);
		if (!test_sys_failed())
			break;
		/* Not to know the tail is no error; and a failing close has nothing to lose. */
		if (rc != AGZ_E_SYSTEM)
			assert_int_equal(rc, AGZ_END);
	}
	assert_true(n > 10);
	free(text.ptr);
	free(gz.ptr);
}

static void each_allocation_fails(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 400000),
	           gz = test_gzip(text.ptr, text.nbytes);
	const char *path = test_file("file.gz", gz.ptr, gz.nbytes);
	int n;

	(void)state;
	for (n = 1;; n++) {
		agz__block_cache_clear();
		test_fail_after(n);
		int rc = do_much(path, text);
		if (!test_failed())
			break;
		/* A block that cannot be trimmed is none the worse. */
		if (rc != AGZ_E_NOMEM)
			assert_int_equal(rc, AGZ_END);
	}
	test_fail_after(-1);
	assert_true(n > 10);
	free(text.ptr);
	free(gz.ptr);
}

/* ---- pushing ---------------------------------------------------------------------------------------------------------- */

static void push_rules(void **state)
{
	test_bytes text = test_data(TEST_TEXT, 1000000),
	           gz = test_gzip(text.ptr, text.nbytes);
	agz_reader_options o = options(AGZ_SOURCE_PUSH);
	agz_reader *r = open_with(&o);
	agz_block *block;
	uint64_t reached;
	size_t got;
	test_bytes all;

	(void)state;
	n_released = 0;
	assert_int_equal(agz_reader_opened(r), AGZ_OK);
	assert_int_equal(agz_reader_fd(r), -1);
	assert_int_equal(agz_reader_take(r, &block), AGZ_HUNGRY);
	/* Small: decoded by the call, and handed out without waiting. */
	assert_int_equal(agz_reader_push(r, gz.ptr, 10000, 0, count_release, NULL),
	                 AGZ_OK);
	assert_int_equal(agz_reader_push(r, gz.ptr, 1, 0, NULL, NULL), AGZ_E_BUSY);
	assert_int_equal(agz_reader_take(r, &block), AGZ_OK);
	assert_memory_equal(agz_block_ptr(block), text.ptr, agz_block_nbytes(block));
	size_t first = agz_block_nbytes(block);
	agz_block_free(block);
	assert_int_equal(agz_reader_take(r, &block), AGZ_HUNGRY);
	assert_int_equal(n_released, 1);
	assert_true(test_quiet(test_waker));
	assert_int_equal(agz_reader_seek(r, 0, &reached), AGZ_E_NOT_SEEKABLE);
	/* An empty span is nothing. */
	assert_int_equal(agz_reader_push(r, NULL, 0, 0, NULL, NULL), AGZ_OK);
	assert_int_equal(agz_reader_take(r, &block), AGZ_HUNGRY);
	/* Large: by a job. */
	assert_int_equal(agz_reader_push(r, gz.ptr + 10000, gz.nbytes - 10000, 1,
	                                 count_release, NULL),
	                 AGZ_OK);
	assert_int_equal(take_all(r, &all), AGZ_END);
	assert_int_equal(n_released, 2);
	assert_int_equal(first + all.nbytes, text.nbytes);
	assert_memory_equal(all.ptr, text.ptr + first, all.nbytes);
	assert_int_equal(agz_reader_push(r, gz.ptr, 1, 0, NULL, NULL), AGZ_E_BUSY);

	/* From the start again, hungry in the middle of an into and of a seek. */
	assert_int_equal(agz_reader_restart(r), AGZ_OK);
	assert_int_equal(agz_reader_in_nbytes(r), 0);
	uint8_t *dst = malloc(text.nbytes);
	size_t at = 0;
	int rc;
	while ((rc = into(r, dst, 500000, &got)) == AGZ_HUNGRY) {
		assert_int_equal(agz_reader_push(r, gz.ptr + at, 20000, 0, NULL, NULL),
		                 AGZ_OK);
		at += 20000;
	}
	assert_int_equal(rc, AGZ_OK);
	assert_int_equal(got, 500000);
	assert_memory_equal(dst, text.ptr, got);
	while ((rc = seek(r, 900000, &reached)) == AGZ_HUNGRY) {
		assert_int_equal(agz_reader_push(r, gz.ptr + at, 10000, 0, NULL, NULL),
		                 AGZ_OK);
		at += 10000;
	}
	assert_int_equal(rc, AGZ_OK);
	assert_int_equal(reached, 900000);
	/* And again, with a span half used. */
	n_released = 0;
	while (agz_reader_restart(r) == AGZ_WAIT)
		test_sleep(test_waker);
	assert_int_equal(agz_reader_push(r, gz.ptr, gz.nbytes, 1, count_release, NULL),
	                 AGZ_OK);
	while (agz_reader_restart(r) == AGZ_WAIT)
		test_sleep(test_waker);
	assert_int_equal(n_released, 1);
	assert_int_equal(agz_reader_take(r, &block), AGZ_HUNGRY);
	assert_int_equal(agz_reader_push(r, "junk", 4, 0, count_release, NULL), AGZ_OK);
	assert_int_equal(agz_reader_take(r, &block), AGZ_E_MAGIC);
	assert_int_equal(agz_reader_push(r, gz.ptr, 1, 0, NULL, NULL), AGZ_E_MAGIC);
	assert_int_equal(n_released, 2);
	agz_reader_close(r);

	r = open_file(gz.ptr, gz.nbytes);
	assert_int_equal(agz_reader_push(r, gz.ptr, 1, 0, NULL, NULL), AGZ_E_STATE);
	assert_int_equal(agz_reader_restart(r), AGZ_E_STATE);
	agz_reader_close(r);
	free(dst);
	free(all.ptr);
	free(text.ptr);
	free(gz.ptr);
}

/* The largest block that a pushed stream comes in. */
static size_t largest_block(test_bytes gz)
{
	agz_reader_options o = options(AGZ_SOURCE_PUSH);
	agz_reader *r = open_with(&o);
	agz_block *block;
	size_t largest = 0;

	assert_int_equal(take(r, &block), AGZ_HUNGRY);
	assert_int_equal(agz_reader_push(r, gz.ptr, gz.nbytes, 1, NULL, NULL), AGZ_OK);
	while (take(r, &block) == AGZ_OK) {
		if (agz_block_nbytes(block) > largest)
			largest = agz_block_nbytes(block);
		agz_block_free(block);
	}
	agz_reader_close(r);
	free(gz.ptr);
	return largest;
}

/* A small span does not make its caller wait for a large block, a large one has them. */
static void push_blocks(void **state)
{
	test_bytes noise = test_data(TEST_NOISE, 4 * MIB);

	(void)state;
	assert_int_equal(largest_block(bomb(8 * MIB)), 64 * 1024);
	assert_int_equal(largest_block(test_gzip(noise.ptr, noise.nbytes)), 256 * 1024);
	free(noise.ptr);
}

/* A small push of a bomb is decoded by the caller no further than one block. */
static void push_bomb(void **state)
{
	test_bytes gz = bomb(8 * MIB), got;
	agz_reader_options o = options(AGZ_SOURCE_PUSH);
	agz_reader *r = open_with(&o);

	(void)state;
	assert_true(gz.nbytes < 16 * 1024);
	assert_int_equal(agz_reader_take(r, &(agz_block *){NULL}), AGZ_HUNGRY);
	assert_int_equal(agz_reader_push(r, gz.ptr, gz.nbytes, 1, NULL, NULL), AGZ_OK);
	assert_int_equal(agz_reader_out_nbytes(r), 64 * 1024);
	assert_int_equal(take_all(r, &got), AGZ_END);
	assert_int_equal(got.nbytes, 8 * MIB);
	free(got.ptr);
	agz_reader_close(r);
	free(gz.ptr);
}

/* ---- others ------------------------------------------------------------------------------------------------------------ */

static void line_ends(void **state)
{
	test_bytes gz = test_gzip("a\nbc\n", 5);
	agz_reader_options o = options(AGZ_SOURCE_MEMORY);
	agz_block *block;

	(void)state;
	o.memory = gz.ptr;
	o.memory_nbytes = gz.nbytes;
	for (int how = 0; how < 3; how++) {
		o.flags = how == 1 ? AGZ_READER_LINES : 0;
		agz_reader *r = open_with(&o);
		if (how == 2)
			agz_reader_want_lines(r);
		assert_int_equal(take(r, &block), AGZ_OK);
		assert_int_equal(block->ends_to, how == 0 ? 0 : 5);
		assert_int_equal(block->n_ends, how == 0 ? 0 : 2);
		agz_block_free(block);
		agz_reader_close(r);
	}
	free(gz.ptr);
}

static void hints(void **state)
{
	agz_reader_options o = options(AGZ_SOURCE_MEMORY);
	test_bytes text = test_data(TEST_TEXT, 100000),
	           gz = test_gzip(text.ptr, text.nbytes);
	static const struct {
		uint32_t isize, hint;
	} cases[] = {{100000, 100000}, {0, 0}, {20, 0}, {0xffffffff, 1}};

	(void)state;
	o.memory = gz.ptr;
	for (size_t i = 0; i < 4; i++) {
		for (int b = 0; b < 4; b++)
			gz.ptr[gz.nbytes - 4 + b] = (uint8_t)(cases[i].isize >> 8 * b);
		o.memory_nbytes = gz.nbytes;
		uint64_t hint = cases[i].hint == 1 ? gz.nbytes * 1032 : cases[i].hint;
		agz_reader *r = open_with(&o);
		assert_int_equal(agz_reader_size_hint(r), hint);
		agz_reader_close(r);
		r = open_file(gz.ptr, gz.nbytes);
		opened(r);
		assert_int_equal(agz_reader_size_hint(r), hint);
		agz_reader_close(r);
	}
	o.memory_nbytes = 3;
	agz_reader *r = open_with(&o);
	assert_int_equal(agz_reader_size_hint(r), 0);
	agz_reader_close(r);
	free(text.ptr);
	free(gz.ptr);
}

/* One thread, and one file that keeps it busy: another file gets its turn before that ends. */
static void turns(void **state)
{
	agz_reader_options o = options(AGZ_SOURCE_PATH), p = options(AGZ_SOURCE_MEMORY);
	test_bytes text = test_data(TEST_TEXT, 9 * MIB),
	           gz = test_gzip(text.ptr, text.nbytes);
	test_bytes small = test_gzip("abc", 3);
	uint8_t *dst = malloc(text.nbytes);
	agz_pool *pool;
	agz_block *block = NULL;
	size_t got;
	int n_reads = 0;

	(void)state;
	assert_int_equal(agz_pool_new(1, &pool), AGZ_OK);
	o.pool = p.pool = pool;
	o.path = test_file("file.gz", gz.ptr, gz.nbytes);
	o.chunk_nbytes = 4096;
	p.memory = small.ptr;
	p.memory_nbytes = small.nbytes;
	test_gate(true);
	agz_reader *r = open_with(&o), *q = open_with(&p);
	assert_int_equal(agz_reader_into(r, dst, text.nbytes, &got), AGZ_WAIT);
	test_wait_for(&test_sys.came);
	assert_int_equal(agz_reader_take(q, &block), AGZ_WAIT);
	for (; block == NULL; n_reads++) {
		sem_post(&test_sys.go);
		test_wait_for(&test_sys.came);
		agz_reader_take(q, &block);
	}
	/* The big one is at its next read. */
	assert_int_equal(agz_reader_into(r, dst, text.nbytes, &got), AGZ_WAIT);
	assert_true((size_t)n_reads < gz.nbytes / 4096);
	agz_block_free(block);
	agz_reader_close(q);
	test_gate(false);
	sem_post(&test_sys.go);
	assert_int_equal(into(r, dst, text.nbytes, &got), AGZ_OK);
	assert_memory_equal(dst, text.ptr, text.nbytes);
	agz_reader_close(r);
	agz_pool_free(pool);
	free(dst);
	free(small.ptr);
	free(text.ptr);
	free(gz.ptr);
}

/* ---- fork ---------------------------------------------------------------------------------------------------------------- */

static test_bytes fork_text;
static agz_reader *fork_readers[4];

/* 0: its job was running; 1: queued; 2: idle, with blocks; 3: opened and not read. */
static int read_in_child(void *arg)
{
	agz_block *block;
	uint64_t reached;
	test_bytes got;
	int rc;

	(void)arg;
	test_gate(false);
	if ((rc = take(fork_readers[0], &block)) != AGZ_E_FORKED)
		return 1;
	if (agz_reader_fault(fork_readers[0])->code != AGZ_E_FORKED)
		return 2;
	if (seek(fork_readers[0], 0, &reached) != AGZ_OK)
		return 3;
	for (int i = 0; i < 4; i++) {
		if (take_all(fork_readers[i], &got) != AGZ_END)
			return 10 + i;
		if (got.nbytes != fork_text.nbytes ||
		    memcmp(got.ptr, fork_text.ptr, got.nbytes) != 0)
			return 20 + i;
		agz_reader_close(fork_readers[i]);
	}
	return 0;
}

static int close_in_child(void *arg)
{
	(void)arg;
	for (int i = 0; i < 4; i++)
		agz_reader_close(fork_readers[i]);
	return 0;
}

static void forked(void **state)
{
	test_bytes gz;
	agz_reader_options o = options(AGZ_SOURCE_PATH);
	agz_pool *pool;
	agz_block *block;

	(void)state;
	test_needs_fork();
	fork_text = test_data(TEST_TEXT, 300000);
	gz = test_gzip(fork_text.ptr, fork_text.nbytes);
	assert_true(gz.nbytes >
	            64 * 1024); /* so that opening reads no bytes but the tail */
	assert_int_equal(agz_pool_new(1, &pool), AGZ_OK);
	o.pool = pool;
	o.path = test_file("file.gz", gz.ptr, gz.nbytes);
	fork_readers[2] = open_with(&o);
	assert_int_equal(opened(fork_readers[2]), AGZ_OK);
	while (agz_reader_take(fork_readers[2], &block) == AGZ_WAIT)
		test_sleep(test_waker);
	agz_block_free(block);
	uint64_t reached;
	assert_int_equal(seek(fork_readers[2], 0, &reached), AGZ_OK);
	fork_readers[3] = open_with(&o);
	assert_int_equal(opened(fork_readers[3]), AGZ_OK);
	fork_readers[0] = open_with(&o);
	assert_int_equal(opened(fork_readers[0]), AGZ_OK);
	test_gate(true);
	assert_int_equal(agz_reader_take(fork_readers[0], &block), AGZ_WAIT);
	test_wait_for(&test_sys.came);
	fork_readers[1] = open_with(&o);
	assert_int_equal(agz_reader_take(fork_readers[1], &block), AGZ_WAIT);

	test_in_child(read_in_child, NULL);
	test_in_child(close_in_child, NULL);
	test_gate(false);
	sem_post(&test_sys.go);
	for (int i = 0; i < 4; i++) {
		expect(fork_readers[i], fork_text, AGZ_END);
		agz_reader_close(fork_readers[i]);
	}
	agz_pool_free(pool);
	free(gz.ptr);
	free(fork_text.ptr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        io_test(all_sizes),
	        io_test(many_members),
	        io_test(empty_members),
	        io_test(short_reads),
	        io_test(cut_at_each_byte),
	        io_test(fault_says_where),
	        io_test(faults_as_by_zlib),
	        io_test(changed_after_a_fault),
	        io_test(not_there),
	        io_test(bad_options),
	        io_test(named_once),
	        io_test(without_waker),
	        io_test(bombs),
	        io_test(thousand_files),
	        io_test(cap),
	        io_test(growing),
	        io_test(growing_from_a_cut),
	        io_test(members),
	        io_test(into_sizes),
	        io_test(into_and_take),
	        io_test(into_rules),
	        io_test(seek_everywhere),
	        io_test(seek_at_once),
	        io_test(seek_and_faults),
	        io_test(seek_superseded),
	        io_test(live),
	        io_test(into_live),
	        io_test(silent_fifos),
	        io_test(nothing_is_eaten),
	        io_test(close_at_each_call),
	        io_test(memory_is_mine_again),
	        io_test(outlive),
	        io_test(each_call_fails),
	        io_test(each_allocation_fails),
	        io_test(push_rules),
	        io_test(push_blocks),
	        io_test(push_bomb),
	        io_test(line_ends),
	        io_test(hints),
	        io_test(turns),
	        io_test(forked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
