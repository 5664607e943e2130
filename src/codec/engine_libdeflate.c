/*
 * engine_libdeflate.c - libdeflate: whole deflate streams, in one call or not at all.
 */
#include "codec/engine.h"

#ifdef AGZ_HAVE_LIBDEFLATE
#include <libdeflate.h>

static void *create(void)
{
	return libdeflate_alloc_decompressor();
}

static void destroy(void *state)
{
	libdeflate_free_decompressor(state);
}

static bool inflate_whole(void *state, const uint8_t *in, size_t in_nbytes, uint8_t *out,
                          size_t out_nbytes, size_t *taken, size_t *made)
{
	return libdeflate_deflate_decompress_ex(state, in, in_nbytes, out, out_nbytes,
	                                        taken, made) == LIBDEFLATE_SUCCESS;
}

static const struct agz__whole_inflater whole = {create, destroy, inflate_whole};

const agz__engine agz__engine_libdeflate = {
        {"libdeflate", LIBDEFLATE_VERSION_STRING, 0, 0}, NULL, &whole, NULL};
#endif
