/*
 * test_at_hand.c - small files that are opened and read without a worker. Attacked: what may
 * not be opened so (FIFOs, directories, large files, what is not in memory), reads that come
 * out short, files that change, bombs, and that such a reader is then as any other.
 */
#define _GNU_SOURCE 1
#include "io/stream.h"
#include "io_support.h"

static int n_opened, n_read;
static long cut; /* what a read lacks */

static int open_now(const char *path, struct stat *st)
{
	int fd = agz__real_system.open_now == NULL ? -1
	                                           : agz__real_system.open_now(path, st);
	n_opened += fd >= 0;
	return fd;
}

static ssize_t pread_now(int fd, void *ptr, size_t nbytes, off_t offset)
{
	ssize_t n = agz__real_system.pread_now(fd, ptr, nbytes, offset);
	n_read++;
	return n < cut ? -1 : n - cut;
}

static agz__system table;

static int setup(void **state)
{
	int rc = test_setup(state);
	table = *agz__system_table;
	table.open_now = open_now;
	table.pread_now = pread_now;
	agz__system_table = &table;
	n_opened = n_read = 0;
	cut = 0;
	return rc;
}

/* Whether the system can: it may be too old, or the directory on another machine. */
static bool able(void)
{
	struct stat st;
	const char *path = test_file("probe", "x", 1);
	int fd = agz__real_system.open_now == NULL ? -1
	                                           : agz__real_system.open_now(path, &st);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static agz_reader *open_reader(const char *path)
{
	agz_reader_options opts = AGZ_READER_OPTIONS_INIT;
	agz_reader *r;

	opts.pool = test_pool;
	opts.waker = test_waker;
	opts.path = path;
	assert_int_equal(agz_reader_open(&opts, &r), AGZ_OK);
	return r;
}

/* All of it, however long it takes, and what came last. */
static test_bytes read_all(agz_reader *r, int *rc)
{
	test_bytes all = {0};
	agz_block *block;

	while ((*rc = agz_reader_take(r, &block)) == AGZ_OK || *rc == AGZ_WAIT) {
		if (*rc == AGZ_WAIT) {
			test_sleep(test_waker);
			continue;
		}
		test_add(&all, agz_block_ptr(block), agz_block_nbytes(block));
		agz_block_free(block);
	}
	return all;
}

static void reads_as(const char *path, const void *ptr, size_t nbytes)
{
	int rc;
	agz_reader *r = open_reader(path);
	test_bytes all = read_all(r, &rc);

	assert_int_equal(rc, AGZ_END);
	assert_int_equal(all.nbytes, nbytes);
	assert_memory_equal(all.ptr, ptr, nbytes);
	agz_reader_close(r);
	test_drop(&all);
}

static void at_once(void **state)
{
	(void)state;
	if (!able())
		skip();
	test_bytes gz = test_gzip("a line\n", 7);
	const char *path = test_file("small.gz", gz.ptr, gz.nbytes);
	agz_reader *r = open_reader(path);
	agz_block *block;

	/* No call has to wait, nothing went through a worker. */
	assert_int_equal(agz_reader_opened(r), AGZ_OK);
	assert_true(agz_reader_fd(r) >= 0);
	assert_int_equal(agz_reader_size_hint(r), 7);
	assert_int_equal(agz_reader_take(r, &block), AGZ_OK);
	assert_int_equal(agz_block_nbytes(block), 7);
	agz_block_free(block);
	assert_int_equal(agz_reader_take(r, &block), AGZ_END);
	assert_int_equal(test_sys.n, 0);
	assert_true(test_quiet(test_waker));

	/* From here on it is as any other: it is looked at again, and goes back. */
	FILE *f = fopen(path, "ab");
	assert_int_equal(fwrite(gz.ptr, 1, gz.nbytes, f), gz.nbytes);
	fclose(f);
	int rc;
	test_bytes more = read_all(r, &rc);
	assert_int_equal(more.nbytes, 7);
	uint64_t reached;
	while ((rc = agz_reader_seek(r, 3, &reached)) == AGZ_WAIT)
		test_sleep(test_waker);
	assert_int_equal(reached, 3);
	test_bytes rest = read_all(r, &rc);
	assert_int_equal(rest.nbytes, 11);
	assert_memory_equal(rest.ptr, "ine\na line\n", 11);
	agz_reader_close(r);
	test_drop(&gz);
	test_drop(&more);
	test_drop(&rest);
}

static void without_it(void **state)
{
	(void)state;
	test_bytes gz = test_gzip("a line\n", 7);
	const char *path = test_file("small.gz", gz.ptr, gz.nbytes);

	if (able()) {
		cut = 1; /* not all of it is in memory */
		reads_as(path, "a line\n", 7);
		assert_int_equal(n_read, 1);
		cut = 1000; /* none of it is, or the file system cannot tell */
		reads_as(path, "a line\n", 7);
		assert_int_equal(n_read, 2);
	}
	table.open_now = NULL;
	reads_as(path, "a line\n", 7);
	assert_true(test_sys.n > 2);
	test_drop(&gz);
}

static void only_small_files(void **state)
{
	enum { EDGE = AGZ__TINY_NBYTES };
	(void)state;
	if (!able())
		skip();
	/* Members that hold nothing, up to either side of the edge. */
	test_bytes gz = test_gzip("", 0), file = {0};
	while (file.nbytes + gz.nbytes <= EDGE)
		test_add_bytes(&file, &gz);
	while (file.nbytes < EDGE)
		test_add(&file, "", 1);
	reads_as(test_file("tiny.gz", file.ptr, file.nbytes), "", 0);
	assert_int_equal(test_sys.n, 1); /* which closed it */
	test_add(&file, "", 1);
	reads_as(test_file("small.gz", file.ptr, file.nbytes), "", 0);
	assert_true(test_sys.n > 2);
	test_drop(&gz);
	test_drop(&file);
}

static void other_things(void **state)
{
	struct stat st;
	(void)state;
	if (!able())
		skip();
	const char *pipe = test_path("pipe"), *link = test_path("link");
	assert_int_equal(mkfifo(pipe, 0600), 0);
	assert_int_equal(symlink(pipe, link), 0);
	assert_int_equal(open_now(pipe, &st), -1); /* and does not wait for a writer */
	assert_int_equal(open_now(link, &st), -1);
	assert_int_equal(open_now(test_dir, &st), -1);
	assert_int_equal(open_now("/dev/null", &st), -1);
	assert_int_equal(open_now("/proc/self/status", &st), -1);
	assert_int_equal(open_now(test_path("missing"), &st), -1);

	/* The error of what is not there is that of open(2). */
	agz_reader *r = open_reader(test_path("missing"));
	while (agz_reader_opened(r) == AGZ_WAIT)
		test_sleep(test_waker);
	assert_int_equal(agz_reader_fault(r)->sys, ENOENT);
	agz_reader_close(r);
}

static void a_bomb_is_left_to_the_worker(void **state)
{
	(void)state;
	if (!able())
		skip();
	test_bytes zeros = {0}, some = {0};
	test_add(&some, NULL, 0);
	for (int i = 0; i < 4096; i++)
		test_add(&zeros, (char[1024]){0}, 1024);
	test_bytes gz = test_gzip(zeros.ptr, zeros.nbytes);
	assert_true(gz.nbytes < AGZ__TINY_NBYTES);
	agz_reader *r = open_reader(test_file("bomb.gz", gz.ptr, gz.nbytes));
	agz_block *block;

	/* One block is made here, the next by a worker. */
	assert_int_equal(agz_reader_take(r, &block), AGZ_OK);
	assert_true(agz_block_nbytes(block) <= (size_t)256 << 10);
	test_add(&some, agz_block_ptr(block), agz_block_nbytes(block));
	agz_block_free(block);
	int rc;
	test_join(&some, read_all(r, &rc));
	assert_int_equal(rc, AGZ_END);
	assert_same(some, zeros);
	agz_reader_close(r);
	test_drop(&gz);
	test_drop(&some);
	test_drop(&zeros);
}

static void broken(void **state)
{
	int rc;
	(void)state;
	test_bytes gz = test_gzip("a line\n", 7);
	gz.ptr[gz.nbytes - 6] ^= 1;
	agz_reader *r = open_reader(test_file("broken.gz", gz.ptr, gz.nbytes));
	test_bytes all = read_all(r, &rc);
	assert_int_equal(rc, AGZ_E_CRC);
	assert_int_equal(all.nbytes, 7);
	agz_reader_close(r);
	test_drop(&all);
	test_drop(&gz);
}

int main(void)
{
#define now_test(f) cmocka_unit_test_setup_teardown(f, setup, test_teardown)
	const struct CMUnitTest tests[] = {
	        now_test(at_once),
	        now_test(without_it),
	        now_test(only_small_files),
	        now_test(other_things),
	        now_test(a_bomb_is_left_to_the_worker),
	        now_test(broken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
