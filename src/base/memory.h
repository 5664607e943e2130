/*
 * memory.h - every allocation of the library goes through here, so that a test can make
 * the n-th one fail. Sizes are checked for overflow before they are multiplied.
 */
#ifndef AGZ_BASE_MEMORY_H
#define AGZ_BASE_MEMORY_H

#include <stddef.h>

void *agz__malloc(size_t nbytes);
void *agz__calloc(size_t n, size_t nbytes); /* zeroed; NULL on overflow */
void *agz__realloc(void *ptr, size_t nbytes);
void *agz__realloc_array(void *ptr, size_t n, size_t nbytes); /* NULL on overflow */
void agz__free(void *ptr);

#endif
