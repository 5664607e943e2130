/*
 * text_decode.c - bytes to characters: directly for UTF-8, ASCII and Latin-1, through an
 * incremental decoder of Python for any other encoding.
 */
#include "text.h"

#include <string.h>

enum { DECODE_NBYTES = 64 << 10 };

/* ---- bytes to characters -------------------------------------------------------------------- */

PyObject *agzpy_text_decode(Text *t, const char *ptr, size_t nbytes)
{
	Py_ssize_t n = (Py_ssize_t)nbytes;
	switch (t->kind) {
	case TEXT_ASCII:
		return PyUnicode_DecodeASCII(ptr, n, NULL);
	case TEXT_LATIN1:
		return PyUnicode_DecodeLatin1(ptr, n, NULL);
	case TEXT_DECODER:
		return PyUnicode_DecodeUTF8(ptr, n, "surrogatepass");
	case TEXT_UTF8:
	default:
		return PyUnicode_DecodeUTF8(ptr, n, NULL);
	}
}

/* Notes the kinds of line ends in a run, for `newlines`. */
static void see_newlines(Text *t, const char *src, size_t nbytes)
{
	enum { ALL = AGZ_SAW_LF | AGZ_SAW_CR | AGZ_SAW_CRLF };
	const char *end = src + nbytes;
	while (t->universal && src < end && t->seen != ALL) {
		const char *cr = memchr(src, '\r', (size_t)(end - src));
		size_t run = (size_t)((cr == NULL ? end : cr) - src);
		if ((t->seen & AGZ_SAW_LF) == 0 && memchr(src, '\n', run) != NULL)
			t->seen |= AGZ_SAW_LF;
		if (cr == NULL)
			break;
		int pair = cr + 1 < end && cr[1] == '\n';
		t->seen |= pair ? AGZ_SAW_CRLF : AGZ_SAW_CR;
		src = cr + (pair ? 2 : 1);
	}
}

/* Copies, with each "\r\n" and "\r" as "\n". Returns the length. */
static size_t translate_newlines(char *dst, const char *src, size_t nbytes)
{
	const char *end = src + nbytes;
	char *to = dst;
	while (src < end) {
		const char *cr = memchr(src, '\r', (size_t)(end - src));
		size_t run = (size_t)((cr == NULL ? end : cr) - src);
		memcpy(to, src, run);
		to += run;
		src += run;
		if (cr == NULL)
			break;
		src += src + 1 < end && src[1] == '\n' ? 2 : 1;
		*to++ = '\n';
	}
	return (size_t)(to - dst);
}

/* A run of whole characters as a str. */
PyObject *agzpy_text_run(Text *t, const char *ptr, size_t nbytes)
{
	if (nbytes == 0) /* ptr may be NULL then, at the end of the stream */
		return Py_NewRef(t->state->empty_str);
	see_newlines(t, ptr, nbytes);
	if (!t->translate || memchr(ptr, '\r', nbytes) == NULL)
		return agzpy_text_decode(t, ptr, nbytes);
	char *copy = PyMem_Malloc(nbytes);
	if (copy == NULL)
		return PyErr_NoMemory();
	PyObject *str = agzpy_text_decode(t, copy, translate_newlines(copy, ptr, nbytes));
	PyMem_Free(copy);
	return str;
}

/* A line as a str. This is the hot path: most lines are ASCII and end with "\n". */
PyObject *agzpy_text_line(Text *t, const agz_line *line)
{
	const char *ptr = (const char *)line->ptr;
	size_t n = line->nbytes;
	int translate =
	        t->translate && line->end_nbytes > 0 && ptr[n - line->end_nbytes] == '\r';
	if (line->ascii) {
		if (translate)
			n -= line->end_nbytes - 1;
		PyObject *str = PyUnicode_New((Py_ssize_t)n, 127);
		if (str == NULL)
			return NULL;
		char *data = (char *)PyUnicode_1BYTE_DATA(str);
		memcpy(data, ptr, n);
		if (translate)
			data[n - 1] = '\n';
		return str;
	}
	if (!translate)
		return agzpy_text_decode(t, ptr, n);
	char *copy = PyMem_Malloc(n);
	if (copy == NULL)
		return PyErr_NoMemory();
	n -= line->end_nbytes - 1;
	memcpy(copy, ptr, n);
	copy[n - 1] = '\n';
	PyObject *str = agzpy_text_decode(t, copy, n);
	PyMem_Free(copy);
	return str;
}

/* ---- the way through a decoder ------------------------------------------------------------------ */

/* Drops the spans that the cursor has left. */
int agzpy_text_prune(Text *t)
{
	size_t ahead = agz_cursor_nbytes(t->cursor);
	Py_ssize_t i = PyList_GET_SIZE(t->spans);
	while (i > 0 && ahead > 0) {
		size_t n = PyLong_AsSize_t(
		        PyTuple_GET_ITEM(PyList_GET_ITEM(t->spans, i - 1), 2));
		ahead = ahead > n ? ahead - n : 0;
		i--;
	}
	return PyList_SetSlice(t->spans, 0, i, NULL);
}

/* New UTF-8 as a block, less what a seek has put behind its place; steals the reference. */
static agz_block *block_of(PyObject *bytes, size_t skipped)
{
	if (skipped > 0) {
		PyObject *rest = PyBytes_FromStringAndSize(
		        PyBytes_AS_STRING(bytes) + skipped,
		        PyBytes_GET_SIZE(bytes) - (Py_ssize_t)skipped);
		Py_DECREF(bytes);
		if (rest == NULL)
			return NULL;
		bytes = rest;
	}
	return agzpy_block(bytes, (size_t)PyBytes_GET_SIZE(bytes));
}

/* A str, as UTF-8 behind the own cursor; the File is at its first byte still. All of it or,
 * if that fails, nothing. */
static int append_str(Text *t, PyObject *str, PyObject *state_before)
{
	if (PyUnicode_GET_LENGTH(str) == 0)
		return 0;
	PyObject *bytes = PyUnicode_AsEncodedString(str, "utf-8", "surrogatepass");
	if (bytes == NULL)
		return -1;
	size_t nbytes = (size_t)PyBytes_GET_SIZE(bytes);
	size_t skipped = t->to_skip < nbytes ? t->to_skip : nbytes;
	agz_block *block = block_of(bytes, skipped);
	if (block == NULL)
		return -1;
	PyObject *span = Py_BuildValue("KOn", (unsigned long long)t->file->pos,
	                               state_before, (Py_ssize_t)nbytes);
	int rc = span == NULL ? -1 : PyList_Append(t->spans, span);
	Py_XDECREF(span);
	if (rc < 0) {
		agz_block_free(block);
		return -1;
	}
	t->to_skip -= skipped;
	agz_cursor_append(t->cursor, block);
	return 0;
}

PyObject *agzpy_text_state(Text *t)
{
	return PyObject_CallMethod(t->decoder, "getstate", NULL);
}

/* Back to a state it had. Returns 0, or -1 and an exception. */
static int set_state(Text *t, PyObject *state)
{
	PyObject *r = PyObject_CallMethod(t->decoder, "setstate", "(O)", state);
	Py_XDECREF(r);
	return r == NULL ? -1 : 0;
}

/* The same where it failed; the exception set stays. */
static void step_back(Text *t, PyObject *state)
{
	PyObject *type, *value, *traceback;
	PyErr_Fetch(&type, &value, &traceback);
	(void)set_state(t, state);
	PyErr_Restore(type, value, traceback);
}

static PyObject *decoder_step(Text *t, const char *ptr, size_t nbytes, int final)
{
	PyObject *bytes = PyBytes_FromStringAndSize(ptr, (Py_ssize_t)nbytes);
	if (bytes == NULL)
		return NULL;
	PyObject *args[] = {t->decoder, bytes, final ? Py_True : Py_False};
	PyObject *str = PyObject_VectorcallMethod(t->state->str_decode, args, 3, NULL);
	Py_DECREF(bytes);
	if (str != NULL && !PyUnicode_Check(str)) {
		PyErr_Format(PyExc_TypeError,
		             "decoder should return a string result, not '%.200s'",
		             Py_TYPE(str)->tp_name);
		Py_CLEAR(str);
	}
	return str;
}

/*
 * A UnicodeDecodeError is set: how many of the nbytes that went in come before the wrong
 * one. Bytes that the decoder held from before count as none.
 */
static size_t good_nbytes(size_t nbytes)
{
	PyObject *type, *value, *traceback;
	size_t good = 0;
	PyErr_Fetch(&type, &value, &traceback);
	PyErr_NormalizeException(&type, &value, &traceback);
	if (value != NULL &&
	    PyErr_GivenExceptionMatches(value, PyExc_UnicodeDecodeError)) {
		Py_ssize_t start = 0;
		PyObject *object = PyUnicodeDecodeError_GetObject(value);
		if (object != NULL && PyUnicodeDecodeError_GetStart(value, &start) == 0) {
			size_t all = (size_t)PyBytes_GET_SIZE(object);
			size_t held = all > nbytes ? all - nbytes : 0;
			good = (size_t)start > held ? (size_t)start - held : 0;
		}
		PyErr_Clear();
		Py_XDECREF(object);
	}
	PyErr_Restore(type, value, traceback);
	return good < nbytes ? good : 0;
}

/* Decodes the next bytes of the File's cursor; what precedes a wrong one comes out first. */
static int decode_span(Text *t)
{
	File *file = t->file;
	size_t n;
	const char *ptr = agz_cursor_span(file->cursor, &n);
	if (n > DECODE_NBYTES)
		n = DECODE_NBYTES;
	PyObject *before = agzpy_text_state(t);
	if (before == NULL)
		return -1;
	PyObject *str = decoder_step(t, ptr, n, 0);
	if (str == NULL) {
		size_t good = good_nbytes(n);
		PyObject *type, *value, *traceback;
		PyErr_Fetch(&type, &value, &traceback);
		if (set_state(t, before) < 0 || good == 0) {
			PyErr_Restore(type, value, traceback);
			Py_DECREF(before);
			return -1;
		}
		Py_XDECREF(type);
		Py_XDECREF(value);
		Py_XDECREF(traceback);
		n = good;
		str = decoder_step(t, ptr, n, 0);
	}
	int rc = str == NULL ? -1 : append_str(t, str, before);
	if (rc == 0)
		file->pos += agz_cursor_skip(file->cursor, n);
	else
		step_back(t, before);
	Py_DECREF(before);
	Py_XDECREF(str);
	return rc;
}

/* What the decoder makes of the bytes it holds, now that no more come. */
static int end_decoder(Text *t)
{
	PyObject *before = agzpy_text_state(t);
	PyObject *str = before == NULL ? NULL : decoder_step(t, "", 0, 1);
	int rc = str == NULL ? -1 : append_str(t, str, before);
	if (rc < 0 && before != NULL)
		step_back(t, before);
	t->decoder_ended = rc == 0;
	if (rc == 0 && PyUnicode_GET_LENGTH(str) == 0)
		rc = AT_END;
	Py_XDECREF(before);
	Py_XDECREF(str);
	return rc;
}

/* More for cursor_of(t): as agzpy_pull(), or -1 and an exception. */
int agzpy_text_pull(Text *t)
{
	File *file = t->file;
	if (t->kind != TEXT_DECODER)
		return agzpy_pull(file);
	if (agz_cursor_nbytes(file->cursor) == 0) {
		int rc = agzpy_pull(file);
		if (rc == AT_END && !t->decoder_ended)
			return end_decoder(t);
		if (rc != NEED_NOTHING)
			return rc;
	}
	t->decoder_ended = 0;
	return decode_span(t);
}
