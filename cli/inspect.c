/*
 * inspect.c - checks each file as verify does, and describes its members.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

#define FLAG_EXTRA 0x04 /* FEXTRA of RFC 1952 */

static int inspect_open(struct work *work)
{
	return check_open(work, AGZ_READER_MEMBERS);
}

/* Latin-1 to UTF-8, malloc'd. A header holds at most 128 MiB: no overflow. */
static char *from_latin1(const uint8_t *ptr, size_t nbytes)
{
	char *text = malloc(nbytes * 2 + 1), *to = text;
	for (size_t i = 0; text != NULL && i < nbytes; i++) {
		if (ptr[i] >= 0x80) {
			*to++ = (char)(0xc0 | ptr[i] >> 6);
			*to++ = (char)(0x80 | (ptr[i] & 0x3f));
		} else {
			*to++ = (char)ptr[i];
		}
	}
	if (text != NULL)
		*to = '\0';
	return text;
}

static char *to_hex(const uint8_t *ptr, size_t nbytes)
{
	char *text = malloc(nbytes * 2 + 1);
	for (size_t i = 0; text != NULL && i < nbytes; i++)
		sprintf(text + i * 2, "%02x", ptr[i]);
	if (text != NULL)
		text[nbytes * 2] = '\0';
	return text;
}

/* The JSON value of a header's field, by way of one of the two above. */
static json_t *field(const uint8_t *ptr, size_t nbytes,
                     char *(*convert)(const uint8_t *, size_t))
{
	if (ptr == NULL)
		return json_null();
	char *text = convert(ptr, nbytes);
	json_t *value = text != NULL ? json_string(text) : NULL;
	free(text);
	return value;
}

static json_t *member_object(const agz_member *m)
{
	const uint8_t *extra = m->flags & FLAG_EXTRA ? m->extra : NULL;

	/* clang-format off */
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:i, s:I, s:I}",
		"index", (json_int_t)m->index,
		"compressed_offset", (json_int_t)m->in_offset,
		"compressed_size", (json_int_t)m->in_nbytes,
		"uncompressed_size", (json_int_t)m->out_nbytes,
		"mtime", (json_int_t)m->mtime,
		"original_filename", field(m->name, m->name_nbytes, from_latin1),
		"comment", field(m->comment, m->comment_nbytes, from_latin1),
		"extra", field(extra, m->extra_nbytes, to_hex),
		"flags", m->flags,
		"crc32", (json_int_t)m->crc32,
		"trailer_isize", (json_int_t)m->isize);
	/* clang-format on */
}

static int print_json(const struct work *work)
{
	json_t *members = json_array();
	const agz_member *m;
	for (uint64_t i = 0; (m = agz_reader_member(work->reader, i)) != NULL; i++) {
		if (json_array_append_new(members, member_object(m)) != 0) {
			json_decref(members);
			members = NULL;
			break;
		}
	}
	/* clang-format off */
	return check_print(work, json_pack("{s:o, s:I, s:I}",
		"members", members,
		"compressed_size", (json_int_t)agz_reader_in_nbytes(work->reader),
		"uncompressed_size", (json_int_t)agz_reader_out_nbytes(work->reader)));
	/* clang-format on */
}

static int print_words(const struct work *work)
{
	check_words(work, "");
	const agz_member *m;
	for (uint64_t i = 0; (m = agz_reader_member(work->reader, i)) != NULL; i++) {
		char *text = from_latin1(m->name, m->name_nbytes);
		char *name = text != NULL ? escape(text) : NULL;
		free(text);
		if (name == NULL)
			return fail(work, agz_error_message(AGZ_E_NOMEM));
		printf("  member %" PRIu64 ": offset=%" PRIu64 " compressed=%" PRIu64
		       " uncompressed=%" PRIu64 " mtime=%" PRIu32 " crc32=0x%08" PRIx32
		       " name=%s\n",
		       m->index, m->in_offset, m->in_nbytes, m->out_nbytes, m->mtime,
		       m->crc32, *name != '\0' ? name : "-");
		free(name);
	}
	return DONE;
}

static int inspect_step(struct work *work)
{
	int rc = check_step(work);
	if (rc != RUNNING)
		return rc;
	if (work->cli->json)
		return print_json(work);
	return work->cli->quiet ? DONE : print_words(work);
}

const struct verb inspect_verb = {
        .name = "inspect",
        .args = "FILE...",
        .help = "Check each FILE, and describe its members.\n\n"
                "Exit status: 0 if all are valid, 1 if one is not, 2 if one could "
                "not be read.",
        .bit = OPTION_CHECK,
        .checks = 1,
        .open = inspect_open,
        .step = inspect_step,
};
