/*
 * engine.c - the engines built in, and who is used for what.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/engine.h"

/* Best first for streams. */
static const agz__engine *const engines[] = {
#ifdef AGZ_HAVE_ISAL
        &agz__engine_isal,
#endif
#ifdef AGZ_HAVE_ZLIBNG
        &agz__engine_zlibng,
#endif
        &agz__engine_zlib,
#ifdef AGZ_HAVE_LIBDEFLATE
        &agz__engine_libdeflate,
#endif
};

#define N_ENGINES (sizeof(engines) / sizeof(engines[0]))

static bool is_auto(const char *name)
{
	return name == NULL || name[0] == '\0' || strcmp(name, "auto") == 0;
}

static const agz__engine *find(const char *name)
{
	size_t i;

	for (i = 0; i < N_ENGINES; i++)
		if (strcmp(engines[i]->info.name, name) == 0)
			return engines[i];
	return NULL;
}

static const agz__engine *find_whole(void)
{
	size_t i;

	for (i = 0; i < N_ENGINES; i++)
		if (engines[i]->whole != NULL)
			return engines[i];
	return NULL;
}

int agz__choose_inflate(const char *name, struct agz__inflate_choice *choice)
{
	const agz__engine *engine;

	if (is_auto(name))
		name = getenv("AGZ_ENGINE");
	if (is_auto(name)) {
		choice->stream = engines[0];
		choice->whole = find_whole();
		return AGZ_OK;
	}
	engine = find(name);
	if (engine == NULL)
		return AGZ_E_ENGINE;
	choice->stream = engine->inflater != NULL ? engine : &agz__engine_zlib;
	choice->whole = engine->whole != NULL ? engine : NULL;
	return AGZ_OK;
}

/*
 * For `fast`: the fastest engine, and its level, whose output is at most 2 % larger than
 * zlib's at the level asked for, on both of two texts: 31.5 MB of Python sources and 6.8 MB
 * of JSON Lines made from syntax trees. An engine that is not built in leaves the level to
 * the next column. Measured: MB/s on the sources, and the output against zlib's at that
 * level, in percent, on the sources and on the JSON.
 *
 *     level   zlib 1.2.13   ISA-L 2.30              zlib-ng 2.3.3
 *       1         119       2: 393  -3.4  -2.5      2: 165  -5.0  -4.1
 *       2         110       3: 163  -2.0  +0.3      2: 165  -0.1  +1.9
 *       3          84                               3: 128  -5.3  -4.6
 *       4          71                               3: 128  +1.9  +1.8
 *       5          52                               5:  84  -1.1  -1.6
 *       6          32                               5:  84  +0.8  +1.0
 *       7          24       (zlib 6: +0.7  +0.5)    5:  84  +1.5  +1.5
 *       8          15       (zlib 6: +1.2  +1.1)    6:  60  +1.4  +1.3
 *       9           9       (zlib 6: +1.4  +1.3)    6:  60  +1.5  +1.5
 */
static const struct {
	signed char isal, zlibng, zlib; /* -1: none that meets the bound */
} fast_levels[10] = {
        {-1, -1, 0}, {2, 2, 1},  {3, 2, 2},  {-1, 3, 3}, {-1, 3, 4},
        {-1, 5, 5},  {-1, 5, 6}, {-1, 5, 6}, {-1, 6, 6}, {-1, 6, 6},
};

static void choose_fast(int level, struct agz__deflate_choice *choice)
{
	if (level < 0)
		level = 6; /* zlib's default */
	choice->engine = &agz__engine_zlib;
	choice->level = fast_levels[level].zlib;
#ifdef AGZ_HAVE_ZLIBNG
	if (fast_levels[level].zlibng >= 0) {
		choice->engine = &agz__engine_zlibng;
		choice->level = fast_levels[level].zlibng;
	}
#endif
#ifdef AGZ_HAVE_ISAL
	if (fast_levels[level].isal >= 0) {
		choice->engine = &agz__engine_isal;
		choice->level = fast_levels[level].isal;
	}
#endif
}

int agz__choose_deflate(const char *name, int level, bool fast,
                        struct agz__deflate_choice *choice)
{
	if (level < -1 || level > 9)
		return AGZ_E_ARGUMENT;
	if (is_auto(name) && fast) {
		choose_fast(level, choice);
		return AGZ_OK;
	}
	choice->engine = is_auto(name) ? &agz__engine_zlib : find(name);
	choice->level = level;
	if (choice->engine == NULL || choice->engine->deflater == NULL)
		return AGZ_E_ENGINE;
	return AGZ_OK;
}

const agz_engine_info *agz_engine_at(size_t i)
{
	return i < N_ENGINES ? &engines[i]->info : NULL;
}

const char *agz_engine_for_inflate(const char *name)
{
	struct agz__inflate_choice choice;

	if (agz__choose_inflate(name, &choice) < 0)
		return NULL;
	return choice.stream->info.name;
}

const char *agz_engine_for_deflate(const char *name, int level, int fast)
{
	struct agz__deflate_choice choice;

	if (agz__choose_deflate(name, level, fast != 0, &choice) < 0)
		return NULL;
	return choice.engine->info.name;
}
