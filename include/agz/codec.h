/*
 * agz/codec.h - the gzip codec (RFC 1952 around RFC 1951): spans in, spans out.
 *
 * No I/O, no threads, no globals that change. The caller owns both spans; a step
 * takes what it can, moves `pos`, and says why it stopped:
 *
 *            ptr              pos                nbytes
 *             ├─ taken/made ───┼─ left / room ─────┤
 *
 * A loop that decodes a whole file held in memory:
 *
 *     agz_input in = {file, file_nbytes, 0};
 *     for (;;) {
 *             agz_output out = {buf, sizeof(buf), 0};
 *             int rc = agz_decoder_step(d, &in, &out, AGZ_INPUT_ENDS);
 *             use(buf, out.pos);              // also when rc is an error
 *             if (rc < 0 || rc == AGZ_STREAM_DONE)
 *                     break;
 *     }
 */
#ifndef AGZ_CODEC_H
#define AGZ_CODEC_H

#include "agz/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct agz_input {
	const void *ptr;
	size_t nbytes;
	size_t pos;
} agz_input;

typedef struct agz_output {
	void *ptr;
	size_t nbytes;
	size_t pos;
} agz_output;

/* Why a step stopped, where it did not fail. */
enum agz_step {
	AGZ_NEEDS_INPUT = 0, /* all input taken; all output it allows was made */
	AGZ_OUTPUT_FULL = 1, /* no room left; there may be more to make */
	AGZ_MEMBER_DONE = 2, /* decoder: a member's trailer was right; call again */
	AGZ_STREAM_DONE = 3  /* nothing is left to be made */
};

/* ---- decoder ---------------------------------------------------------------- */

/*
 * One member whose trailer was validated. Sizes and offsets are compressed bytes
 * unless they say otherwise. Strings are not NUL-terminated; NULL: not in the
 * header, or not collected. Name and comment are Latin-1, the ending NUL left off.
 */
typedef struct agz_member {
	uint64_t index;      /* from 0 */
	uint64_t in_offset;  /* where its header starts */
	uint64_t in_nbytes;  /* header to trailer */
	uint64_t out_nbytes; /* decompressed */
	uint32_t mtime;
	uint32_t crc32;
	uint32_t isize; /* the trailer's field: out_nbytes mod 2^32 */
	uint8_t flags;  /* FLG of RFC 1952 */
	uint8_t xfl;
	uint8_t os;
	const uint8_t *name;
	size_t name_nbytes;
	const uint8_t *comment;
	size_t comment_nbytes;
	const uint8_t *extra;
	size_t extra_nbytes;
} agz_member;

typedef struct agz_decoder_options {
	size_t struct_nbytes;
	const char *engine;      /* NULL or "auto": AGZ_ENGINE, else the fastest */
	uint64_t max_out_nbytes; /* cap on all members together; 0: none */
	int collect;             /* keep name, comment and extra of each header */
} agz_decoder_options;

#define AGZ_DECODER_OPTIONS_INIT                                                         \
	{                                                                                \
		sizeof(agz_decoder_options), NULL, 0, 0                                  \
	}

typedef struct agz_decoder agz_decoder;

/* *decoder is NULL on failure. opts may be NULL: all defaults. */
AGZ_API int agz_decoder_new(const agz_decoder_options *opts, agz_decoder **decoder);
AGZ_API void agz_decoder_free(agz_decoder *decoder);

/* Back to the state after _new, its memory kept for the next stream. */
AGZ_API void agz_decoder_reset(agz_decoder *decoder);

#define AGZ_INPUT_ENDS 1u /* nothing follows after `in` */

/*
 * Decodes. Returns
 *
 *   AGZ_NEEDS_INPUT  give more input. All that the input so far can give has been
 *                    written: after a sync flush, or at a member's end, nothing is
 *                    held back.
 *   AGZ_OUTPUT_FULL  give more room (out->pos == out->nbytes).
 *   AGZ_MEMBER_DONE  agz_decoder_member() describes the member that just ended.
 *   AGZ_STREAM_DONE  only with AGZ_INPUT_ENDS: the input ended where a stream may
 *                    end: at its start (an empty file is valid), after a member,
 *                    or in the NUL padding behind one. More input may still be
 *                    stepped later, as when a file has grown.
 *   < 0              see agz_decoder_fault(). What was decoded before the fault is
 *                    in `out`. Every further step fails alike, but that more input
 *                    goes on behind AGZ_E_TRUNCATED.
 *
 * A first wrong byte is an error at once: garbage after a member never waits for
 * more. Under a cap, every allowed byte comes out before AGZ_E_OUTPUT_LIMIT.
 * A member passes only if its CRC-32 and ISIZE are right, whichever engine decoded it.
 * Engines agree on errors and on what comes before them, but here: a Huffman code that is
 * incomplete and not used may pass; and in a member of more than 64 KiB compressed ISA-L
 * may hold back the last two bytes before a cut, and see only by the trailer what zlib
 * sees in the deflate data. (A reader of what can be read again asks zlib about those.)
 * The cost of a step is linear in what it takes plus what it makes.
 */
AGZ_API int agz_decoder_step(agz_decoder *decoder, agz_input *in, agz_output *out,
                             unsigned flags);

/* The member that ended last, or NULL. Valid until the next step, reset or free. */
AGZ_API const agz_member *agz_decoder_member(const agz_decoder *decoder);

/* Its code is 0 while nothing failed. Never NULL. */
AGZ_API const agz_fault *agz_decoder_fault(const agz_decoder *decoder);

AGZ_API uint64_t agz_decoder_in_nbytes(const agz_decoder *decoder);
AGZ_API uint64_t agz_decoder_out_nbytes(const agz_decoder *decoder);
AGZ_API uint64_t agz_decoder_member_count(const agz_decoder *decoder);

/* 1 and *mtime of the newest complete header, also of a member still running; else 0. */
AGZ_API int agz_decoder_mtime(const agz_decoder *decoder, uint32_t *mtime);

/* ---- encoder ---------------------------------------------------------------- */

typedef struct agz_encoder_options {
	size_t struct_nbytes;
	const char *engine; /* NULL or "auto": zlib's exact output, unless `fast` */
	int level;          /* -1..9, as zlib means them */
	int fast;           /* the fastest engine for the level; other bytes */
	uint32_t mtime;
	const uint8_t *name; /* FNAME, Latin-1, copied; NULL: none */
	size_t name_nbytes;  /* without a NUL; a NUL inside is AGZ_E_ARGUMENT */
	int strict_size;     /* a member of 4 GiB or more is AGZ_E_MEMBER_SIZE */
} agz_encoder_options;

#define AGZ_ENCODER_OPTIONS_INIT                                                         \
	{                                                                                \
		sizeof(agz_encoder_options), NULL, 6, 0, 0, NULL, 0, 0                   \
	}

typedef struct agz_encoder agz_encoder;

AGZ_API int agz_encoder_new(const agz_encoder_options *opts, agz_encoder **encoder);
AGZ_API void agz_encoder_free(agz_encoder *encoder);

/* What a step is asked to have written when it returns AGZ_NEEDS_INPUT. */
enum agz_flush {
	AGZ_RUN = 0,        /* whatever is cheapest */
	AGZ_SYNC_FLUSH = 1, /* all that was given, as by Z_SYNC_FLUSH; nothing if
	                       nothing was given since the last one */
	AGZ_FINISH = 2      /* the end of the member and its trailer */
};

/*
 * Encodes one member. The header comes first, before any input is needed. Returns
 * AGZ_NEEDS_INPUT, AGZ_OUTPUT_FULL (call again, same `flush`), AGZ_STREAM_DONE
 * (after AGZ_FINISH), or < 0. The bytes do not depend on how input and room are cut,
 * but for level 0; they are those of CPython's gzip.compress(data, level, mtime=m).
 * Neither holds with `fast` or an engine other than zlib.
 */
AGZ_API int agz_encoder_step(agz_encoder *encoder, agz_input *in, agz_output *out,
                             enum agz_flush flush);

AGZ_API uint64_t agz_encoder_in_nbytes(const agz_encoder *encoder);
AGZ_API uint32_t agz_encoder_crc32(const agz_encoder *encoder);
AGZ_API const agz_fault *agz_encoder_fault(const agz_encoder *encoder);

/* ---- checks and engines ------------------------------------------------------ */

/* CRC-32 of RFC 1952. Start with 0, feed the result back in. */
AGZ_API uint32_t agz_crc32(uint32_t crc, const void *ptr, size_t nbytes);

/* The CRC of A then B, from the CRC of each and B's length. */
AGZ_API uint32_t agz_crc32_combine(uint32_t crc_a, uint32_t crc_b, uint64_t b_nbytes);

/*
 * The engines built in, best first for streams; NULL past the last. "libdeflate" decodes
 * members that lie whole in `in`, and leaves the others to zlib; "auto" does the same with
 * the best stream engine.
 */
typedef struct agz_engine_info {
	const char *name;    /* "zlib", "zlib-ng", "isal", "libdeflate" */
	const char *version; /* of the library it was built with */
	int inflates;        /* decodes streams: usable as a decoder's engine alone */
	int deflates;
} agz_engine_info;

AGZ_API const agz_engine_info *agz_engine_at(size_t i);

/*
 * What a decoder / an encoder made now with these choices would use, as a static
 * string; NULL if `name` is no engine built in. `name` as in the options.
 */
AGZ_API const char *agz_engine_for_inflate(const char *name);
AGZ_API const char *agz_engine_for_deflate(const char *name, int level, int fast);
AGZ_API const char *agz_engine_for_crc32(void);

#ifdef __cplusplus
}
#endif

#endif
