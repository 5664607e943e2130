/*
 * decoder.h - what a decoder says of itself to those who can go back.
 */
#ifndef AGZ_CODEC_DECODER_H
#define AGZ_CODEC_DECODER_H

#include <stdbool.h>

#include "agz/codec.h"

/* A member that failed, and what its engine gave of it. */
typedef struct agz__doubt {
	uint64_t in_offset;  /* of the member's header */
	uint64_t out_offset; /* of its first byte */
	uint32_t crc;        /* of its bytes up to the fault */
} agz__doubt;

/* True if zlib might find other bytes before the fault, or another fault. */
bool agz__decoder_in_doubt(const agz_decoder *decoder, agz__doubt *doubt);

#endif
