/*
 * encoder.c - any data, cut anywhere, flushed anywhere, in one or more members, on each
 * engine at each level: a decoder on any engine gives them back; after a flush all that was
 * given can be decoded; zlib's bytes do not depend on how data and room are cut.
 */
#include "agz/codec.h"
#include "fuzz.h"

/* Steps until all is written that `flush` asks for. */
static void run(agz_encoder *e, fuzz *f, const uint8_t *ptr, size_t nbytes,
                enum agz_flush flush, fuzz_bytes *gzip)
{
	agz_input in = {ptr, nbytes, 0};
	int rc;

	do {
		size_t room = fuzz_cut(f, 100001) - 1;
		uint8_t *block = malloc(room);
		agz_output out = {block, room, 0};
		rc = agz_encoder_step(e, &in, &out, flush);
		CHECK(rc >= 0 && in.pos <= in.nbytes && out.pos <= room);
		CHECK(rc != AGZ_OUTPUT_FULL || out.pos == room);
		fuzz_add(gzip, block, out.pos);
		free(block);
	} while (rc == AGZ_OUTPUT_FULL);
	CHECK(rc == (flush == AGZ_FINISH ? AGZ_STREAM_DONE : AGZ_NEEDS_INPUT));
	CHECK(in.pos == nbytes);
}

/* A decoder's output up to now is the data up to `upto`. */
static void check_decoded(agz_decoder *d, const fuzz_bytes *gzip, const uint8_t *data,
                          size_t upto)
{
	size_t from = agz_decoder_in_nbytes(d), made = agz_decoder_out_nbytes(d);
	agz_input in = {gzip->ptr + from, gzip->nbytes - from, 0};
	uint8_t *room = malloc(upto - made + 1);
	agz_output out = {room, upto - made + 1, 0};
	int rc;

	do
		rc = agz_decoder_step(d, &in, &out, 0);
	while (rc == AGZ_MEMBER_DONE);
	CHECK(rc == AGZ_NEEDS_INPUT && out.pos == upto - made);
	CHECK(out.pos == 0 || memcmp(room, data + made, out.pos) == 0);
	free(room);
}

/* The data in members, ended and flushed where `places` says; pieces and rooms by `cuts`. */
static void encode(const agz_encoder_options *opts, fuzz places, fuzz cuts,
                   agz_decoder *d, fuzz_bytes *gzip)
{
	size_t at = 0;
	bool more = true;

	while (more) {
		agz_encoder *e;
		bool ended = false;
		size_t start = at;

		CHECK(agz_encoder_new(opts, &e) == AGZ_OK);
		while (!ended) {
			size_t upto = at + fuzz_cut(&places, places.nbytes - at);
			more = upto < places.nbytes;
			ended = !more || fuzz_random(&places) % 8 == 0;
			while (at < upto) {
				size_t n = fuzz_cut(&cuts, upto - at);
				uint8_t *piece = fuzz_copy(places.ptr + at, n);
				run(e, &cuts, piece, n, AGZ_RUN, gzip);
				free(piece);
				at += n;
			}
			run(e, &cuts, NULL, 0, ended ? AGZ_FINISH : AGZ_SYNC_FLUSH, gzip);
			check_decoded(d, gzip, places.ptr, at);
		}
		CHECK(agz_encoder_in_nbytes(e) == at - start);
		CHECK(agz_encoder_crc32(e) ==
		      agz_crc32(0, places.ptr + start, at - start));
		agz_encoder_free(e);
	}
}

static const char *engine_name(unsigned choice)
{
	size_t n = 0;
	while (agz_engine_at(n) != NULL)
		n++;
	choice %= n + 1;
	return choice < n ? agz_engine_at(choice)->name : "auto";
}

int LLVMFuzzerTestOneInput(const uint8_t *ptr, size_t nbytes)
{
	fuzz f = fuzz_start(ptr, nbytes);
	agz_encoder_options opts = AGZ_ENCODER_OPTIONS_INIT;
	agz_decoder_options decoder_opts = AGZ_DECODER_OPTIONS_INIT;
	fuzz_bytes gzip[2] = {{0}, {0}};
	agz_decoder *d;

	opts.level = fuzz_byte(&f) % 11 - 1;
	opts.engine = engine_name(fuzz_byte(&f));
	decoder_opts.engine = engine_name(fuzz_byte(&f));
	unsigned choice = fuzz_byte(&f);
	opts.fast = choice & 1;
	opts.mtime = choice * 0x1010101u;
	opts.name = choice & 2 ? (const uint8_t *)"name" : NULL;
	opts.name_nbytes = choice & 2 ? choice / 64 : 0;
	for (int i = 0; i < 2; i++) {
		fuzz cuts = {NULL, 0, f.random + (uint32_t)i};
		const char *used =
		        agz_engine_for_deflate(opts.engine, opts.level, opts.fast);

		if (used == NULL) /* it does not deflate */
			break;
		CHECK(agz_decoder_new(&decoder_opts, &d) == AGZ_OK);
		encode(&opts, f, cuts, d, &gzip[i]);
		agz_decoder_free(d);
		if (i == 1 && opts.level != 0 && strcmp(used, "zlib") == 0)
			CHECK(fuzz_same(&gzip[0], &gzip[1]));
	}
	free(gzip[0].ptr);
	free(gzip[1].ptr);
	return 0;
}
