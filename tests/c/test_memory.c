/*
 * Attack: products that overflow, sizes of zero, hooks that are not called in pairs.
 */
#include <string.h>

#include "agz/error.h"
#include "base/memory.h"
#include "support.h"

static void overflow(void **state)
{
	void *ptr;

	(void)state;
	assert_null(agz__calloc(SIZE_MAX / 2, 3));
	assert_null(agz__calloc(3, SIZE_MAX / 2));
	ptr = agz__malloc(8);
	assert_non_null(ptr);
	assert_null(agz__realloc_array(ptr, SIZE_MAX / 4, 5));
	agz__free(ptr);
}

static void zero_is_not_failure(void **state)
{
	void *ptr = agz__malloc(0);

	(void)state;
	assert_non_null(ptr);
	ptr = agz__realloc(ptr, 0);
	assert_non_null(ptr);
	agz__free(ptr);
	ptr = agz__calloc(0, 8);
	assert_non_null(ptr);
	agz__free(ptr);
	agz__free(NULL);
}

static void hooks(void **state)
{
	uint8_t *ptr;
	int i;

	(void)state;
	test_fail_after(-1);
	assert_int_equal(test_live(), 0);
	ptr = agz__calloc(3, 5);
	assert_int_equal(test_live(), 1);
	assert_int_equal(test_live_nbytes(), 15);
	for (i = 0; i < 15; i++)
		assert_int_equal(ptr[i], 0);
	ptr = agz__realloc_array(ptr, 4, 5);
	assert_int_equal(test_live_nbytes(), 20);
	agz__free(ptr);
	assert_int_equal(test_live(), 0);
	assert_int_equal(test_peak_nbytes(), 20);
}

static void failure(void **state)
{
	void *ptr;

	(void)state;
	test_fail_after(1);
	ptr = agz__malloc(1);
	assert_non_null(ptr);
	assert_false(test_failed());
	assert_null(agz__malloc(1));
	assert_null(agz__calloc(1, 1));
	assert_null(agz__realloc(ptr, 100));
	assert_true(test_failed());
	agz__free(ptr);
	test_fail_after(-1);
	assert_int_equal(test_live(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(overflow),
	        cmocka_unit_test(zero_is_not_failure),
	        cmocka_unit_test(hooks),
	        cmocka_unit_test(failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
