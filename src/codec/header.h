/*
 * header.h - the header of a member (RFC 1952), read in any pieces, and made.
 *
 *     1f 8b 08 FLG  MTIME(4) XFL OS │ XLEN(2) extra │ name 00 │ comment 00 │ CRC16(2)
 *     └─────── always, 10 bytes ────┴───── each if its bit of FLG is set ──┴─────────┘
 */
#ifndef AGZ_CODEC_HEADER_H
#define AGZ_CODEC_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agz/codec.h"

#define AGZ__HEADER_MAX ((uint64_t)128 << 20)

#define AGZ__FTEXT    0x01u
#define AGZ__FHCRC    0x02u
#define AGZ__FEXTRA   0x04u
#define AGZ__FNAME    0x08u
#define AGZ__FCOMMENT 0x10u

/* A field that is kept. */
struct agz__field {
	uint8_t *ptr; /* owned; its memory serves the next header too */
	size_t nbytes;
	size_t capacity;
	bool present;
};

typedef struct agz__header {
	int part;     /* which part comes next, as numbered in header.c */
	bool collect; /* keep the fields below */
	uint8_t fixed[10];
	size_t n; /* bytes of the part that have come */
	size_t extra_left;
	uint64_t nbytes; /* of the header so far */
	uint32_t crc;    /* of them, where FHCRC asks for it */
	struct agz__field extra;
	struct agz__field name;
	struct agz__field comment;
} agz__header;

/* All zero, but for `collect`, is a fresh one. */
void agz__header_reset(agz__header *header);
void agz__header_release(agz__header *header);

/*
 * Takes bytes of a header from ptr[0..nbytes); *used says how many. Returns 1 when the
 * header is complete, 0 when it takes more, or an error at the first wrong byte, which is
 * then ptr[*used]. Linear in all it takes, however that is cut.
 */
int agz__header_parse(agz__header *header, const uint8_t *ptr, size_t nbytes,
                      size_t *used);

uint8_t agz__header_flags(const agz__header *header);
uint32_t agz__header_mtime(const agz__header *header);

/*
 * Makes the header that CPython's gzip writes. *ptr is the caller's to free with
 * agz__free(). AGZ_E_ARGUMENT for a name with a NUL in it.
 */
int agz__header_build(int level, uint32_t mtime, const uint8_t *name, size_t name_nbytes,
                      uint8_t **ptr, size_t *nbytes);

#endif
