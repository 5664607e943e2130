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
	return name == NULL || strcmp(name, "auto") == 0;
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
	if (is_auto(name) || name[0] == '\0') {
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

int agz__choose_deflate(const char *name, int level, bool fast,
                        const agz__engine **engine)
{
	if (level < -1 || level > 9)
		return AGZ_E_ARGUMENT;
	if (is_auto(name)) {
		(void)fast;
		*engine = &agz__engine_zlib;
		return AGZ_OK;
	}
	*engine = find(name);
	return *engine != NULL && (*engine)->deflater != NULL ? AGZ_OK : AGZ_E_ENGINE;
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
	const agz__engine *engine;

	if (agz__choose_deflate(name, level, fast != 0, &engine) < 0)
		return NULL;
	return engine->info.name;
}
