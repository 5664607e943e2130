/*
 * error.c - names and messages from the one table, and the sentence of a fault.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agz/error.h"

const char *agz_version(void)
{
	return AGZ_VERSION;
}

const char *agz_error_name(int code)
{
	switch (code) {
	case AGZ_OK:
		return "OK";
#define NAME(name, code, message)                                                        \
	case code:                                                                       \
		return #name;
		AGZ_ERROR_MAP(NAME)
#undef NAME
	}
	return "UNKNOWN";
}

const char *agz_error_message(int code)
{
	switch (code) {
	case AGZ_OK:
		return "no error";
#define MESSAGE(name, code, message)                                                     \
	case code:                                                                       \
		return message;
		AGZ_ERROR_MAP(MESSAGE)
#undef MESSAGE
	}
	return "unknown error";
}

/* Text that grows in a buffer of fixed size; what does not fit is cut. */
struct text {
	char *ptr;
	size_t nbytes;
	size_t room;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
add(struct text *text, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text->ptr + text->nbytes, text->room - text->nbytes, format, args);
	va_end(args);
	if (n > 0)
		text->nbytes += (size_t)n;
	if (text->nbytes >= text->room)
		text->nbytes = text->room - 1;
}

/* " (b'<!' = 3c 21 found)": as Python shows bytes, and in hex, since either may be
 * the one that is recognized. */
static void add_found(struct text *text, const agz_fault *fault)
{
	unsigned i;

	add(text, " (b'");
	for (i = 0; i < fault->n_found; i++) {
		unsigned char c = fault->found[i];

		if (c == '\'' || c == '\\')
			add(text, "\\%c", c);
		else if (c >= 0x20 && c < 0x7f)
			add(text, "%c", c);
		else
			add(text, "\\x%02x", c);
	}
	add(text, "' =");
	for (i = 0; i < fault->n_found; i++)
		add(text, " %02x", fault->found[i]);
	add(text, " found)");
}

char *agz_fault_format(const agz_fault *fault, char *buf, size_t buf_nbytes)
{
	struct text text = {buf, 0, buf_nbytes};

	if (buf_nbytes == 0)
		return buf;
	add(&text, "%s", agz_error_message(fault->code));
	if (fault->code == AGZ_E_MAGIC && fault->n_found > 0)
		add_found(&text, fault);
	if (fault->code == AGZ_E_SYSTEM && fault->sys != 0)
		add(&text, ": %s", strerror(fault->sys));
	if (fault->code == AGZ_E_OUTPUT_LIMIT)
		add(&text, " of %" PRIu64 " bytes", fault->limit_nbytes);
	if (AGZ_IS_CORRUPT(fault->code) || fault->code == AGZ_E_OUTPUT_LIMIT)
		add(&text, ", member %" PRIu64 ", compressed offset %" PRIu64,
		    fault->member, fault->in_offset);
	return buf;
}
