/*
 * header.c - parses and makes the header of a member; the bytes are drawn in header.h.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "codec/header.h"

enum part { FIXED, EXTRA_LEN, EXTRA, NAME, COMMENT, HCRC, COMPLETE };

#define RESERVED_FLAGS 0xe0u

/* A large field asks for memory as its bytes come, never on the word of a length. */
static int keep(struct agz__field *field, const uint8_t *ptr, size_t nbytes)
{
	field->present = true;
	if (nbytes > field->capacity - field->nbytes) {
		size_t capacity = field->capacity * 2;
		uint8_t *grown;

		if (capacity < field->nbytes + nbytes)
			capacity = field->nbytes + nbytes;
		grown = agz__realloc(field->ptr, capacity);
		if (grown == NULL)
			return AGZ_E_NOMEM;
		field->ptr = grown;
		field->capacity = capacity;
	}
	if (nbytes > 0)
		memcpy(field->ptr + field->nbytes, ptr, nbytes);
	field->nbytes += nbytes;
	return 0;
}

static void forget(struct agz__field *field)
{
	field->nbytes = 0;
	field->present = false;
}

void agz__header_reset(agz__header *header)
{
	header->part = FIXED;
	header->n = 0;
	header->nbytes = 0;
	header->crc = 0;
	forget(&header->extra);
	forget(&header->name);
	forget(&header->comment);
}

void agz__header_release(agz__header *header)
{
	agz__free(header->extra.ptr);
	agz__free(header->name.ptr);
	agz__free(header->comment.ptr);
}

uint8_t agz__header_flags(const agz__header *header)
{
	return header->fixed[3];
}

uint32_t agz__header_mtime(const agz__header *header)
{
	return agz__load32(header->fixed + 4);
}

/* The parts below take bytes from `ptr`, say how many in *used, and return 1 when they are
 * complete, 0 when they want more, or an error at ptr[*used]. */

static int take_fixed(agz__header *header, const uint8_t *ptr, size_t nbytes,
                      size_t *used)
{
	size_t i;

	for (i = 0; i < nbytes && header->n < sizeof(header->fixed); i++) {
		int wrong = 0;

		switch (header->n) {
		case 0:
			wrong = ptr[i] != 0x1f ? AGZ_E_MAGIC : 0;
			break;
		case 1:
			wrong = ptr[i] != 0x8b ? AGZ_E_MAGIC : 0;
			break;
		case 2:
			wrong = ptr[i] != 8 ? AGZ_E_METHOD : 0;
			break;
		case 3:
			wrong = ptr[i] & RESERVED_FLAGS ? AGZ_E_FLAGS : 0;
			break;
		}
		if (wrong) {
			*used = i;
			return wrong;
		}
		header->fixed[header->n++] = ptr[i];
	}
	*used = i;
	return header->n == sizeof(header->fixed);
}

static int take_extra_len(agz__header *header, const uint8_t *ptr, size_t nbytes,
                          size_t *used)
{
	size_t i;

	for (i = 0; i < nbytes && header->n < 2; i++)
		header->extra_left |= (size_t)ptr[i] << (8 * header->n++);
	*used = i;
	return header->n == 2;
}

static int take_extra(agz__header *header, const uint8_t *ptr, size_t nbytes,
                      size_t *used)
{
	size_t n = nbytes < header->extra_left ? nbytes : header->extra_left;

	*used = 0;
	if (header->collect && keep(&header->extra, ptr, n) < 0)
		return AGZ_E_NOMEM;
	header->extra_left -= n;
	*used = n;
	return header->extra_left == 0;
}

static int take_string(agz__header *header, struct agz__field *field, const uint8_t *ptr,
                       size_t nbytes, size_t *used)
{
	const uint8_t *end = nbytes > 0 ? memchr(ptr, 0, nbytes) : NULL;
	size_t n = end != NULL ? (size_t)(end - ptr) : nbytes;

	*used = 0;
	if (header->collect && keep(field, ptr, n) < 0)
		return AGZ_E_NOMEM;
	*used = end != NULL ? n + 1 : n;
	return end != NULL;
}

static int take_hcrc(agz__header *header, const uint8_t *ptr, size_t nbytes, size_t *used)
{
	size_t i;

	for (i = 0; i < nbytes && header->n < 2; i++) {
		if (ptr[i] != (header->crc >> (8 * header->n) & 0xff)) {
			*used = i;
			return AGZ_E_HEADER_CRC;
		}
		header->n++;
	}
	*used = i;
	return header->n == 2;
}

static bool wanted(const agz__header *header, int part)
{
	uint8_t flags = agz__header_flags(header);

	switch (part) {
	case EXTRA_LEN:
	case EXTRA:
		return flags & AGZ__FEXTRA;
	case NAME:
		return flags & AGZ__FNAME;
	case COMMENT:
		return flags & AGZ__FCOMMENT;
	case HCRC:
		return flags & AGZ__FHCRC;
	default:
		return true;
	}
}

static int take_part(agz__header *header, const uint8_t *ptr, size_t nbytes, size_t *used)
{
	switch (header->part) {
	case FIXED:
		return take_fixed(header, ptr, nbytes, used);
	case EXTRA_LEN:
		return take_extra_len(header, ptr, nbytes, used);
	case EXTRA:
		return take_extra(header, ptr, nbytes, used);
	case NAME:
		return take_string(header, &header->name, ptr, nbytes, used);
	case COMMENT:
		return take_string(header, &header->comment, ptr, nbytes, used);
	default:
		return take_hcrc(header, ptr, nbytes, used);
	}
}

/* What the header CRC covers: all that stands before it. FLG, which asks for it, is only
 * known when the fixed part is there. */
static void add_to_crc(agz__header *header, int part, const uint8_t *ptr, size_t nbytes)
{
	if (part == FIXED ? header->n < sizeof(header->fixed) : part == HCRC)
		return;
	if (!(agz__header_flags(header) & AGZ__FHCRC))
		return;
	if (part == FIXED)
		header->crc = agz_crc32(0, header->fixed, sizeof(header->fixed));
	else
		header->crc = agz_crc32(header->crc, ptr, nbytes);
}

int agz__header_parse(agz__header *header, const uint8_t *ptr, size_t nbytes,
                      size_t *used)
{
	*used = 0;
	while (header->part != COMPLETE) {
		uint64_t allowed = AGZ__HEADER_MAX - header->nbytes;
		size_t left = nbytes - *used;
		size_t taken;
		int rc = take_part(header, ptr + *used,
		                   left < allowed ? left : (size_t)allowed, &taken);

		add_to_crc(header, header->part, ptr + *used, taken);
		header->nbytes += taken;
		*used += taken;
		if (rc < 0)
			return rc;
		if (rc == 0)
			return *used < nbytes ? AGZ_E_HEADER_SIZE : 0;
		header->n = 0;
		do
			header->part++;
		while (!wanted(header, header->part));
	}
	return 1;
}

int agz__header_build(int level, uint32_t mtime, const uint8_t *name, size_t name_nbytes,
                      uint8_t **ptr, size_t *nbytes)
{
	uint8_t fixed[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
	bool named = name != NULL;

	*ptr = NULL;
	if (named && (name_nbytes >= AGZ__HEADER_MAX - sizeof(fixed) ||
	              memchr(name, 0, name_nbytes) != NULL))
		return AGZ_E_ARGUMENT;
	fixed[3] = named ? AGZ__FNAME : 0;
	agz__store32(fixed + 4, mtime);
	fixed[8] = level == 9 ? 2 : level == 1 ? 4 : 0;
	*nbytes = sizeof(fixed) + (named ? name_nbytes + 1 : 0);
	*ptr = agz__malloc(*nbytes);
	if (*ptr == NULL)
		return AGZ_E_NOMEM;
	memcpy(*ptr, fixed, sizeof(fixed));
	if (named) {
		memcpy(*ptr + sizeof(fixed), name, name_nbytes);
		(*ptr)[*nbytes - 1] = 0;
	}
	return 0;
}
