#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "agz/error.h"
#include "support.h"

/* ---- allocator --------------------------------------------------------------------- */

/*
 *     │ size │ what the library gets │
 */
union block {
	size_t nbytes;
	max_align_t align;
};

static atomic_long left = -1;
static atomic_bool once; /* and then no more */
static atomic_bool failed;
static atomic_long live;
static atomic_size_t live_nbytes;
static atomic_size_t peak_nbytes;
static _Atomic(void (*)(void)) at_each;

static bool must_fail(void)
{
	long n = atomic_load(&left);

	while (n >= 0) {
		if (n == 0) {
			atomic_store(&failed, true);
			if (atomic_load(&once))
				atomic_store(&left, -1);
			return true;
		}
		if (atomic_compare_exchange_weak(&left, &n, n - 1))
			break;
	}
	return false;
}

static void count(size_t plus, size_t minus)
{
	size_t now = atomic_fetch_add(&live_nbytes, plus - minus) + (plus - minus);
	size_t peak = atomic_load(&peak_nbytes);

	while (now > peak && !atomic_compare_exchange_weak(&peak_nbytes, &peak, now))
		;
}

static void *resize(void *ptr, size_t nbytes)
{
	union block *old = ptr != NULL ? (union block *)ptr - 1 : NULL;
	size_t old_nbytes = old != NULL ? old->nbytes : 0;
	union block *block;
	void (*f)(void) = atomic_load(&at_each);

	if (f != NULL)
		f();
	if (must_fail())
		return NULL;
	block = realloc(old, sizeof(*block) + nbytes);
	if (block == NULL)
		return NULL;
	if (old == NULL) {
		atomic_fetch_add(&live, 1);
		/* What is not written must not be read, and not be zero by luck. */
		memset(block + 1, 0xa5, nbytes);
	}
	block->nbytes = nbytes;
	count(nbytes, old_nbytes);
	return block + 1;
}

static void *allocate(size_t nbytes)
{
	return resize(NULL, nbytes);
}

static void release(void *ptr)
{
	union block *block = (union block *)ptr - 1;

	if (ptr == NULL)
		return;
	atomic_fetch_sub(&live, 1);
	count(0, block->nbytes);
	free(block);
}

void test_fail_after(long n)
{
	static const agz_allocator allocator = {allocate, resize, release};
	static bool installed;

	if (!installed)
		agz_set_allocator(&allocator);
	installed = true;
	atomic_store(&once, false);
	atomic_store(&left, n);
	atomic_store(&failed, false);
	atomic_store(&peak_nbytes, atomic_load(&live_nbytes));
}

void test_fail_at(long n)
{
	test_fail_after(-1);
	atomic_store(&once, true);
	atomic_store(&left, n - 1);
}

void test_at_each_allocation(void (*f)(void))
{
	atomic_store(&at_each, f);
}

bool test_failed(void)
{
	return atomic_load(&failed);
}

long test_live(void)
{
	return atomic_load(&live);
}

size_t test_live_nbytes(void)
{
	return atomic_load(&live_nbytes);
}

size_t test_peak_nbytes(void)
{
	return atomic_load(&peak_nbytes);
}

/* ---- numbers --------------------------------------------------------------------------- */

static uint64_t random_state = 1;

void test_seed(uint64_t seed)
{
	random_state = seed * 2 + 1;
}

uint32_t test_random(void)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 32);
}

size_t test_below(size_t n)
{
	return (size_t)((uint64_t)test_random() * n >> 32);
}

/* ---- bytes ----------------------------------------------------------------------------- */

void test_add(test_bytes *bytes, const void *ptr, size_t nbytes)
{
	if (bytes->nbytes + nbytes > bytes->capacity || bytes->ptr == NULL) {
		bytes->capacity = 2 * (bytes->nbytes + nbytes) + 16;
		bytes->ptr = realloc(bytes->ptr, bytes->capacity);
		assert_non_null(bytes->ptr);
	}
	if (nbytes > 0)
		memcpy(bytes->ptr + bytes->nbytes, ptr, nbytes);
	bytes->nbytes += nbytes;
}

void test_add_fill(test_bytes *bytes, int byte, size_t nbytes)
{
	uint8_t value = (uint8_t)byte;

	while (nbytes-- > 0)
		test_add(bytes, &value, 1);
}

void test_add_bytes(test_bytes *bytes, const test_bytes *more)
{
	test_add(bytes, more->ptr, more->nbytes);
}

void test_drop(test_bytes *bytes)
{
	free(bytes->ptr);
	memset(bytes, 0, sizeof(*bytes));
}

static size_t guard_map_nbytes(size_t nbytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (nbytes + page - 1) / page * page + page;
}

uint8_t *test_guard(const void *ptr, size_t nbytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t map_nbytes = guard_map_nbytes(nbytes);
	uint8_t *map = mmap(NULL, map_nbytes, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *guarded = map + map_nbytes - page - nbytes;

	assert_true(map != MAP_FAILED);
	assert_int_equal(mprotect(map + map_nbytes - page, page, PROT_NONE), 0);
	if (ptr != NULL && nbytes > 0)
		memcpy(guarded, ptr, nbytes);
	return guarded;
}

void test_unguard(uint8_t *guarded, size_t nbytes)
{
	size_t map_nbytes = guard_map_nbytes(nbytes);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	assert_int_equal(munmap(guarded + nbytes + page - map_nbytes, map_nbytes), 0);
}

test_bytes test_data(enum test_kind kind, size_t nbytes)
{
	static const char *const words[] = {
	        "the ",  "self", ".",           "return ", "in ",     "\n",   "    ",
	        "def ",  "(",    ")",           ":",       "import ", "None", " = ",
	        "value", "line", "caf\xc3\xa9", "0",       "x",       ", ",
	};
	test_bytes data = {NULL, 0, 0};
	char text[64];

	test_add(&data, "", 0);
	while (data.nbytes < nbytes) {
		size_t n = nbytes - data.nbytes;

		switch (kind) {
		case TEST_TEXT: {
			const char *word =
			        words[test_below(sizeof(words) / sizeof(words[0]))];

			test_add(&data, word, n < strlen(word) ? n : strlen(word));
			break;
		}
		case TEST_JSON: {
			int length = snprintf(
			        text, sizeof(text), "{\"id\": %u, \"name\": \"n%u\"}\n",
			        (unsigned)data.nbytes, test_random() % 1000);

			test_add(&data, text, n < (size_t)length ? n : (size_t)length);
			break;
		}
		case TEST_NOISE: {
			uint8_t byte = (uint8_t)test_random();

			test_add(&data, &byte, 1);
			break;
		}
		case TEST_RUNS: {
			size_t length = 1 + test_below(600);

			test_add_fill(&data, (int)test_below(4) + 'a',
			              n < length ? n : length);
			break;
		}
		default:
			test_add_fill(&data, 0, n);
			break;
		}
	}
	return data;
}

/* ---- gzip ------------------------------------------------------------------------------ */

void test_add_member(test_bytes *gzip, const test_bytes *data, int level, int strategy)
{
	z_stream z = {0};
	uint8_t *out;
	size_t nbytes;

	assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, 31, 8, strategy), Z_OK);
	nbytes = deflateBound(&z, data->nbytes) + 64;
	out = malloc(nbytes);
	assert_non_null(out);
	z.next_in = data->ptr;
	z.avail_in = (unsigned)data->nbytes;
	z.next_out = out;
	z.avail_out = (unsigned)nbytes;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	test_add(gzip, out, nbytes - z.avail_out);
	free(out);
	deflateEnd(&z);
}

static void add_le32(test_bytes *bytes, uint32_t value)
{
	int i;

	for (i = 0; i < 4; i++) {
		uint8_t byte = (uint8_t)(value >> 8 * i);

		test_add(bytes, &byte, 1);
	}
}

void test_add_wrapped(test_bytes *gzip, const test_bytes *deflate_stream,
                      const test_bytes *data)
{
	test_add(gzip, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
	test_add_bytes(gzip, deflate_stream);
	add_le32(gzip, (uint32_t)crc32(0, data->ptr, (unsigned)data->nbytes));
	add_le32(gzip, (uint32_t)data->nbytes);
}

void test_put(test_bits *bits, uint32_t value, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		if (bits->n % 8 == 0)
			test_add(&bits->bytes, "", 1);
		bits->bytes.ptr[bits->bytes.nbytes - 1] |=
		        (uint8_t)((value >> i & 1) << bits->n % 8);
		bits->n++;
	}
}

void test_put_code(test_bits *bits, uint32_t code, unsigned n)
{
	while (n-- > 0)
		test_put(bits, code >> n, 1);
}
