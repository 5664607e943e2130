/*
 * memory.c - the allocator behind the whole library.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef AGZ_HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif

#include "agz/error.h"
#include "base/memory.h"

/* Set before any other call of the library (agz/error.h), hence no lock. */
static agz_allocator hooks = {malloc, realloc, free};

void agz_set_allocator(const agz_allocator *allocator)
{
	static const agz_allocator libc = {malloc, realloc, free};

	hooks = allocator != NULL ? *allocator : libc;
#ifdef AGZ_HAVE_LIBDEFLATE
	/* Its hooks are global to the process: touched only when the program asks. */
	libdeflate_set_memory_allocator(hooks.allocate, hooks.release);
#endif
}

void *agz__malloc(size_t nbytes)
{
	/* NULL must mean failure alone. */
	return hooks.allocate(nbytes > 0 ? nbytes : 1);
}

void *agz__calloc(size_t n, size_t nbytes)
{
	void *ptr;

	if (nbytes != 0 && n > SIZE_MAX / nbytes)
		return NULL;
	ptr = agz__malloc(n * nbytes);
	if (ptr != NULL)
		memset(ptr, 0, n * nbytes);
	return ptr;
}

void *agz__realloc(void *ptr, size_t nbytes)
{
	return hooks.resize(ptr, nbytes > 0 ? nbytes : 1);
}

void *agz__realloc_array(void *ptr, size_t n, size_t nbytes)
{
	if (nbytes != 0 && n > SIZE_MAX / nbytes)
		return NULL;
	return agz__realloc(ptr, n * nbytes);
}

void agz__free(void *ptr)
{
	if (ptr != NULL)
		hooks.release(ptr);
}
