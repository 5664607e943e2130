/*
 * Attack: codes without a name, names or messages that are not the table's, buffers that
 * are too short for the sentence.
 */
#include <errno.h>
#include <string.h>

#include "agz/error.h"
#include "support.h"

static void table(void **state)
{
	(void)state;
#define CHECK(name, code, message)                                                       \
	assert_int_equal(AGZ_E_##name, code);                                            \
	assert_string_equal(agz_error_name(code), #name);                                \
	assert_string_equal(agz_error_message(code), message);
	AGZ_ERROR_MAP(CHECK)
#undef CHECK
	assert_string_equal(agz_error_name(0), "OK");
	assert_string_equal(agz_error_name(1), "UNKNOWN");
	assert_string_equal(agz_error_name(-999), "UNKNOWN");
	assert_string_equal(agz_error_message(-999), "unknown error");
	assert_string_equal(agz_version(), AGZ_VERSION);
}

static void corrupt_codes(void **state)
{
	(void)state;
	assert_true(AGZ_IS_CORRUPT(AGZ_E_MAGIC));
	assert_true(AGZ_IS_CORRUPT(AGZ_E_DEFLATE));
	assert_true(AGZ_IS_CORRUPT(AGZ_E_TRUNCATED));
	assert_false(AGZ_IS_CORRUPT(AGZ_OK));
	assert_false(AGZ_IS_CORRUPT(AGZ_E_NOMEM));
	assert_false(AGZ_IS_CORRUPT(AGZ_E_OUTPUT_LIMIT));
}

/* The message, then `rest`. */
static void check(const agz_fault *fault, const char *rest)
{
	const char *message = agz_error_message(fault->code);
	char buf[160];

	assert_ptr_equal(agz_fault_format(fault, buf, sizeof(buf)), buf);
	assert_memory_equal(buf, message, strlen(message));
	assert_string_equal(buf + strlen(message), rest);
}

static void sentences(void **state)
{
	agz_fault crc = {.code = AGZ_E_CRC, .member = 2, .in_offset = 4711};
	agz_fault magic = {.code = AGZ_E_MAGIC, .found = {'<', '!'}, .n_found = 2};
	agz_fault odd = {.code = AGZ_E_MAGIC, .found = {'\'', 0xff}, .n_found = 2};
	agz_fault one = {.code = AGZ_E_MAGIC,
	                 .member = 1,
	                 .in_offset = 9,
	                 .found = {'x'},
	                 .n_found = 1};
	agz_fault limit = {
	        .code = AGZ_E_OUTPUT_LIMIT, .limit_nbytes = 10, .in_offset = 7};
	agz_fault sys = {.code = AGZ_E_SYSTEM, .sys = ENOENT};
	agz_fault none = {.code = AGZ_OK};

	(void)state;
	check(&crc, ", member 2, compressed offset 4711");
	check(&magic, " (b'<!' = 3c 21 found), member 0, compressed offset 0");
	check(&odd, " (b'\\'\\xff' = 27 ff found), member 0, compressed offset 0");
	check(&one, " (b'x' = 78 found), member 1, compressed offset 9");
	check(&limit, " of 10 bytes, member 0, compressed offset 7");
	check(&sys, ": No such file or directory");
	check(&none, "");
}

static void cut(void **state)
{
	agz_fault fault = {.code = AGZ_E_OUTPUT_LIMIT,
	                   .limit_nbytes = UINT64_MAX,
	                   .member = UINT64_MAX,
	                   .in_offset = UINT64_MAX};
	char whole[256];
	size_t n;

	(void)state;
	agz_fault_format(&fault, whole, sizeof(whole));
	assert_true(strlen(whole) < 160);
	for (n = 0; n <= strlen(whole) + 1; n++) {
		uint8_t *buf = test_guard(NULL, n);

		agz_fault_format(&fault, (char *)buf, n);
		if (n > 0) {
			assert_int_equal(strlen((char *)buf), n - 1);
			assert_memory_equal(buf, whole, n - 1);
		}
		test_unguard(buf, n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(table),
	        cmocka_unit_test(corrupt_codes),
	        cmocka_unit_test(sentences),
	        cmocka_unit_test(cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
