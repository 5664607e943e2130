/*
 * engine.h - one table of functions for each engine.
 *
 * An engine moves raw deflate (RFC 1951); headers, trailers, checks and limits are the
 * decoder's and encoder's. Every quirk of an engine ends in its own file: behind these
 * tables all behave alike.
 *
 *     in  ├─ taken ─┼─ left ──────┤        a step moves `in` and `out` forward and
 *     out ├─ made ──┼─ room ─┤             counts both sizes down
 */
#ifndef AGZ_CODEC_ENGINE_H
#define AGZ_CODEC_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agz/codec.h"

typedef struct agz__flow {
	const uint8_t *in;
	size_t in_nbytes;
	uint8_t *out; /* never NULL, also where there is no room */
	size_t out_nbytes;
} agz__flow;

/* Why an engine's step stopped, where it did not fail. */
enum agz__stop {
	AGZ__NEEDS_INPUT = 0, /* all input was taken, nothing is held back */
	AGZ__NEEDS_ROOM = 1,  /* the room is used up; there may be more to make */
	AGZ__END = 2 /* inflate: the deflate stream ended. deflate: it is complete */
};

/* The most that an engine may have read beyond the end of a deflate stream. */
#define AGZ__TAIL_MAX 8

struct agz__inflater {
	/* NULL: no memory. */
	void *(*create)(void);
	void (*destroy)(void *state);
	void (*reset)(void *state);

	/*
	 * An agz__stop, AGZ_E_DEFLATE (what precedes the fault was written before it is
	 * told, over several steps if need be), or AGZ_E_NOMEM. `ends`: no input follows
	 * this; an engine that holds bytes back must give them then.
	 */
	int (*step)(void *state, agz__flow *flow, bool ends);

	/*
	 * After AGZ__END. An engine reads ahead: bytes that lie behind the stream's end and
	 * were taken in this step were given back in `flow`; those of earlier steps, whose
	 * span is gone, are copied to tail, in order. Returns how many. NULL: never any.
	 */
	size_t (*tail)(void *state, uint8_t tail[AGZ__TAIL_MAX]);

	/*
	 * Called after AGZ__END when the trailer turned out wrong or cut: AGZ_E_DEFLATE if the
	 * deflate stream was wrong already, as zlib sees it; 0 if not, or if that cannot be
	 * told any more; AGZ_E_NOMEM. NULL: always 0.
	 */
	int (*second_opinion)(void *state);

	/* After a fault, an early end or a wrong trailer: whether zlib, given the same input,
	 * would have made the same bytes and said the same. NULL: always. */
	bool (*sure)(const void *state);
};

/* Decodes a whole deflate stream in one call, or refuses. */
struct agz__whole_inflater {
	void *(*create)(void);
	void (*destroy)(void *state);

	/* True: *taken and *made say how much. False: it does not fit, is cut, or is bad;
	 * out[] is then undefined. */
	bool (*inflate)(void *state, const uint8_t *in, size_t in_nbytes, uint8_t *out,
	                size_t out_nbytes, size_t *taken, size_t *made);
};

struct agz__deflater {
	/* `level` as zlib means it, -1..9. NULL: no memory. */
	void *(*create)(int level);
	void (*destroy)(void *state);

	/* An agz__stop or AGZ_E_NOMEM. AGZ__NEEDS_INPUT after AGZ_SYNC_FLUSH: flushed. The
	 * caller repeats `flush` until then, and never asks for two flushes in a row. */
	int (*step)(void *state, agz__flow *flow, enum agz_flush flush);
};

typedef struct agz__engine {
	agz_engine_info info;
	const struct agz__inflater *inflater;    /* NULL where it has none */
	const struct agz__whole_inflater *whole; /* NULL where it has none */
	const struct agz__deflater *deflater;    /* NULL where it has none */
} agz__engine;

extern const agz__engine agz__engine_zlib;

/* zlib alone: the reference that other engines ask. */
extern const struct agz__inflater agz__inflater_zlib;

#ifdef AGZ_HAVE_ZLIBNG
extern const agz__engine agz__engine_zlibng;
#endif
#ifdef AGZ_HAVE_ISAL
extern const agz__engine agz__engine_isal;
#endif
#ifdef AGZ_HAVE_LIBDEFLATE
extern const agz__engine agz__engine_libdeflate;
#endif

/* What a decoder uses: a stream engine always, one for whole members or NULL. */
struct agz__inflate_choice {
	const agz__engine *stream;
	const agz__engine *whole;
};

/* What an encoder uses, and which of the engine's levels, on zlib's scale. */
struct agz__deflate_choice {
	const agz__engine *engine;
	int level;
};

/* AGZ_OK, or AGZ_E_ENGINE if `name` is none that is built in and can do it. */
int agz__choose_inflate(const char *name, struct agz__inflate_choice *choice);

/* The same, or AGZ_E_ARGUMENT for a level that there is not. */
int agz__choose_deflate(const char *name, int level, bool fast,
                        struct agz__deflate_choice *choice);

#endif
