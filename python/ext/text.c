/*
 * text.c - TextFile, the base of AsyncGzipTextFile: characters and lines over a File.
 *
 * The File has the state, the guard and the position; a TextFile adds the encoding and
 * what newlines mean. There are two ways for the bytes:
 *
 *     UTF-8, ASCII, Latin-1 (strict)   File's cursor ──────────────────────▶ lines ─▶ str
 *     any other encoding or handler    File's cursor ─▶ decoder ─▶ UTF-8 ─▶ own cursor ─▶
 *
 * In the first, a line is decoded when it is handed out, and every position is a plain
 * byte offset. In the second, Python's incremental decoder gives characters, which go on as
 * UTF-8 (surrogates and all), so that there is one line splitter for both.
 */
#include "module.h"

#include <structmember.h>
#include <string.h>

enum { LINES_A_LOOK = 64, DECODE_NBYTES = 64 << 10, MAX_SPANS = 8 };

enum text_kind { TEXT_UTF8, TEXT_ASCII, TEXT_LATIN1, TEXT_DECODER };

typedef struct Text {
	PyObject_HEAD
	State *state;
	File *file;
	enum text_kind kind;
	int translate;           /* line ends become "\n" when read */
	int universal;           /* all kinds of line ends are looked for */
	agz_cursor *cursor;      /* TEXT_DECODER: what is decoded, as UTF-8 */
	PyObject *decoder;       /* TEXT_DECODER, reading */
	int decoder_ended;
	PyObject *spans;         /* TEXT_DECODER: where the characters in `cursor` come from, a
	                            list of (byte offset, decoder state, bytes of UTF-8) */
	PyObject *encoder;       /* TEXT_DECODER, writing */
	PyObject *write_newline; /* what "\n" is written as, or NULL */
	unsigned seen;           /* AGZ_SAW_* of what read() handed out */
} Text;

static agz_cursor *cursor_of(Text *t)
{
	return t->kind == TEXT_DECODER ? t->cursor : t->file->cursor;
}

static void moved(Text *t, size_t nbytes)
{
	/* With a decoder, the bytes were counted when they went in. */
	if (t->kind != TEXT_DECODER)
		t->file->pos += nbytes;
}

/* ---- bytes to characters -------------------------------------------------------------------- */

static PyObject *decode(Text *t, const char *ptr, size_t nbytes)
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
static PyObject *run_str(Text *t, const char *ptr, size_t nbytes)
{
	see_newlines(t, ptr, nbytes);
	if (!t->translate || memchr(ptr, '\r', nbytes) == NULL)
		return decode(t, ptr, nbytes);
	char *copy = PyMem_Malloc(nbytes);
	if (copy == NULL)
		return PyErr_NoMemory();
	PyObject *str = decode(t, copy, translate_newlines(copy, ptr, nbytes));
	PyMem_Free(copy);
	return str;
}

/* A line as a str. This is the hot path: most lines are ASCII and end with "\n". */
static PyObject *line_str(Text *t, const agz_line *line)
{
	const char *ptr = (const char *)line->ptr;
	size_t n = line->nbytes;
	int translate = t->translate && line->end_nbytes > 0 && ptr[n - line->end_nbytes] == '\r';
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
		return decode(t, ptr, n);
	char *copy = PyMem_Malloc(n);
	if (copy == NULL)
		return PyErr_NoMemory();
	n -= line->end_nbytes - 1;
	memcpy(copy, ptr, n);
	copy[n - 1] = '\n';
	PyObject *str = decode(t, copy, n);
	PyMem_Free(copy);
	return str;
}

/* ---- the way through a decoder ------------------------------------------------------------------ */

/* Drops the spans that the cursor has left. */
static int prune_spans(Text *t)
{
	size_t ahead = agz_cursor_nbytes(t->cursor);
	Py_ssize_t i = PyList_GET_SIZE(t->spans);
	while (i > 0 && ahead > 0) {
		size_t n = PyLong_AsSize_t(PyTuple_GET_ITEM(PyList_GET_ITEM(t->spans, i - 1), 2));
		ahead = ahead > n ? ahead - n : 0;
		i--;
	}
	return PyList_SetSlice(t->spans, 0, i, NULL);
}

/* A str, as UTF-8 behind the own cursor; the File is at its first byte still. */
static int append_str(Text *t, PyObject *str, PyObject *state_before)
{
	agz_block *block;
	if (PyUnicode_GET_LENGTH(str) == 0)
		return 0;
	PyObject *bytes = PyUnicode_AsEncodedString(str, "utf-8", "surrogatepass");
	if (bytes == NULL)
		return -1;
	size_t nbytes = (size_t)PyBytes_GET_SIZE(bytes);
	PyObject *span = Py_BuildValue("KOn", (unsigned long long)t->file->pos, state_before,
	                               (Py_ssize_t)nbytes);
	int rc = span == NULL ? -1 : PyList_Append(t->spans, span);
	Py_XDECREF(span);
	if (rc < 0) {
		Py_DECREF(bytes);
		return -1;
	}
	block = agzpy_block(bytes, nbytes);
	if (block == NULL)
		return -1;
	agz_cursor_append(t->cursor, block);
	return 0;
}

static PyObject *decoder_state(Text *t)
{
	return PyObject_CallMethod(t->decoder, "getstate", NULL);
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
		PyErr_Format(PyExc_TypeError, "decoder should return a string result, not '%.200s'",
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
	if (value != NULL && PyErr_GivenExceptionMatches(value, PyExc_UnicodeDecodeError)) {
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
	PyObject *before = decoder_state(t);
	if (before == NULL)
		return -1;
	PyObject *str = decoder_step(t, ptr, n, 0);
	if (str == NULL) {
		size_t good = good_nbytes(n);
		PyObject *type, *value, *traceback;
		PyErr_Fetch(&type, &value, &traceback);
		PyObject *r = PyObject_CallMethod(t->decoder, "setstate", "(O)", before);
		Py_XDECREF(r);
		if (r == NULL || good == 0) {
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
	Py_DECREF(before);
	Py_XDECREF(str);
	if (rc == 0)
		file->pos += agz_cursor_skip(file->cursor, n);
	return rc;
}

/* What the decoder makes of the bytes it holds, now that no more come. */
static int end_decoder(Text *t)
{
	PyObject *before = decoder_state(t);
	PyObject *str = before == NULL ? NULL : decoder_step(t, "", 0, 1);
	int rc = str == NULL ? -1 : append_str(t, str, before);
	t->decoder_ended = rc == 0;
	if (rc == 0 && PyUnicode_GET_LENGTH(str) == 0)
		rc = AT_END;
	Py_XDECREF(before);
	Py_XDECREF(str);
	return rc;
}

/* More for cursor_of(t): as agzpy_pull(), or -1 and an exception. */
static int text_pull(Text *t)
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

/* ---- lines -------------------------------------------------------------------------------------- */

/* As next_line() of read.c, over text_pull(). */
static int next_line(Text *t, size_t limit, agz_line *line)
{
	unsigned flags = 0;
	for (;;) {
		int rc = agz_cursor_line(cursor_of(t), limit, flags, line);
		if (rc == 1)
			return NEED_NOTHING;
		if (rc < 0)
			return agzpy_raise(t->state, rc, NULL, NULL);
		if (flags != 0)
			return AT_END;
		rc = text_pull(t);
		if (rc == AT_END)
			flags = AGZ_LINES_END;
		else if (rc != NEED_NOTHING)
			return rc;
	}
}

/* Bytes that were taken go back before the cursor; the exception set stays. */
static void put_back(Text *t, const void *ptr, size_t nbytes)
{
	PyObject *type, *value, *traceback;
	PyErr_Fetch(&type, &value, &traceback);
	PyObject *copy = PyBytes_FromStringAndSize(ptr, (Py_ssize_t)nbytes);
	agz_block *block = copy == NULL ? NULL : agzpy_block(copy, nbytes);
	if (block != NULL)
		agz_cursor_prepend(cursor_of(t), block);
	PyErr_Restore(type, value, traceback);
}

/* The line as a str. One that cannot be decoded is gone back to by undoing the call. */
static PyObject *take_line(Text *t, const agz_line *line)
{
	PyObject *str = line_str(t, line);
	if (str != NULL)
		moved(t, line->nbytes);
	return str;
}

/*
 * How many bytes the first `limit` characters take, as handed out: a "\r\n" is one if line
 * ends are translated. Stops before a character or a "\r" that what follows could change,
 * unless the stream ends there. *count says how many characters were found.
 */
static size_t measure(Text *t, const uint8_t *ptr, size_t nbytes, size_t limit, int ends,
                      size_t *count)
{
	size_t i = 0, n = 0;
	int multibyte = t->kind == TEXT_UTF8 || t->kind == TEXT_DECODER;
	while (n < limit && i < nbytes) {
		uint8_t c = ptr[i];
		size_t width = 1;
		if (multibyte && c >= 0xC2)
			width = c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
		else if (t->translate && c == '\r' && (i + 1 == nbytes || ptr[i + 1] == '\n'))
			width = 2;
		if (width > nbytes - i) {
			if (!ends)
				break;
			width = nbytes - i;
		}
		i += width;
		n++;
	}
	*count = n;
	return i;
}

/*
 * No line end and not `bound` bytes are there, but the `limit` characters may be; else the
 * answer is `otherwise`.
 */
static int limited_part(Text *t, size_t limit, size_t bound, int otherwise, PyObject **result)
{
	agz_cursor *cursor = cursor_of(t);
	size_t have = agz_cursor_nbytes(cursor), count;
	if (have < limit)
		return otherwise;
	if (bound > 0 && have > bound)
		have = bound;
	uint8_t *copy = PyMem_Malloc(have);
	if (copy == NULL) {
		PyErr_NoMemory();
		return -1;
	}
	(void)agz_cursor_peek(cursor, copy, have);
	size_t keep = measure(t, copy, have, limit, 0, &count);
	if (count == limit)
		*result = decode(t, (const char *)copy, keep);
	PyMem_Free(copy);
	if (count < limit)
		return otherwise;
	if (*result == NULL)
		return -1;
	moved(t, agz_cursor_skip(cursor, keep));
	return NEED_NOTHING;
}

/* A line of at most `limit` characters, each of at most four bytes. */
static int limited_line(Text *t, size_t limit, PyObject **result)
{
	agz_line line;
	size_t bound = limit > SIZE_MAX / 8 ? 0 : 4 * limit + 1, count;
	int rc = next_line(t, bound, &line);
	if (rc != NEED_NOTHING)
		return rc < 0 || rc == AT_END ? rc : limited_part(t, limit, bound, rc, result);
	size_t keep = measure(t, line.ptr, line.nbytes, limit, 1, &count);
	if (keep == line.nbytes) {
		*result = take_line(t, &line);
		return *result == NULL ? -1 : NEED_NOTHING;
	}
	/* Back to where the line began, and on by what is handed out. */
	agz_cursor *cursor = cursor_of(t);
	*result = decode(t, (const char *)line.ptr, keep);
	if (*result == NULL)
		return -1;
	agz_cursor_reset(cursor);
	moved(t, agz_cursor_skip(cursor, keep));
	return NEED_NOTHING;
}

static int readline_step(File *file, Call *call, PyObject **result)
{
	Text *t = (Text *)call->owner;
	agz_line line;
	int rc = agzpy_settle(file);
	if (rc != NEED_NOTHING)
		return rc;
	if (call->size == 0) {
		rc = AT_END;
	} else if (call->size > 0) {
		rc = limited_line(t, (size_t)call->size, result);
	} else {
		rc = next_line(t, 0, &line);
		if (rc == NEED_NOTHING)
			*result = take_line(t, &line);
	}
	if (rc == AT_FAULT)
		return agzpy_raise_fault(file);
	if (rc == AT_END) {
		*result = Py_NewRef(t->state->empty_str);
		rc = NEED_NOTHING;
	}
	return rc == NEED_NOTHING && *result == NULL ? -1 : rc;
}

static int anext_step(File *file, Call *call, PyObject **result)
{
	Text *t = (Text *)call->owner;
	agz_line line;
	int rc = agzpy_settle(file);
	if (rc == NEED_NOTHING)
		rc = next_line(t, 0, &line);
	if (rc == AT_END) {
		PyErr_SetNone(PyExc_StopAsyncIteration);
		return -1;
	}
	if (rc != NEED_NOTHING)
		return rc == AT_FAULT ? agzpy_raise_fault(file) : rc;
	*result = take_line(t, &line);
	return *result == NULL ? -1 : NEED_NOTHING;
}

/* call->object: the list; call->done: characters in it. */
static int readlines_step(File *file, Call *call, PyObject **result)
{
	Text *t = (Text *)call->owner;
	int rc = agzpy_settle(file);
	if (rc != NEED_NOTHING)
		return rc;
	if (call->object == NULL) {
		call->object = PyList_New(0);
		if (call->object == NULL)
			return -1;
	}
	for (int n = 1;; n++) {
		agz_line line;
		rc = next_line(t, 0, &line);
		if (rc == AT_FAULT && !(file->fault_raised && call->done > 0))
			return agzpy_raise_fault(file);
		if (rc == AT_END || rc == AT_FAULT)
			break;
		if (rc != NEED_NOTHING)
			return rc;
		PyObject *str = take_line(t, &line);
		if (str == NULL)
			return -1;
		Py_ssize_t length = PyUnicode_GET_LENGTH(str);
		rc = PyList_Append(call->object, str);
		Py_DECREF(str);
		if (rc < 0)
			return -1;
		if (call->size > 0 && length > call->size - call->done)
			break;
		call->done += length;
		if (n % LINES_A_LOOK == 0 && agzpy_turn_is_due(file->waker))
			return NEED_TURN;
	}
	*result = call->object;
	call->object = NULL;
	return NEED_NOTHING;
}

static void readlines_undo(File *file, Call *call)
{
	(void)file;
	Py_CLEAR(call->object);
	call->done = 0;
}

/* ---- read(size) ------------------------------------------------------------------------------------ */

enum { READ_BEGINS = 0, READ_AT_END };

/* call->done: bytes that have to be there before it is worth measuring again. */
static int read_some_step(File *file, Call *call, PyObject **result)
{
	Text *t = (Text *)call->owner;
	size_t limit = (size_t)call->size;
	int rc = agzpy_settle(file), ends = call->stage == READ_AT_END, broken = 0;
	if (rc != NEED_NOTHING)
		return rc;
	if (call->done == 0)
		call->done = call->size;
	for (;;) {
		agz_cursor *cursor = cursor_of(t);
		while (!ends && !broken && agz_cursor_nbytes(cursor) < (size_t)call->done) {
			rc = text_pull(t);
			if (rc == AT_FAULT &&
			    !(file->fault_raised && agz_cursor_nbytes(cursor) > 0))
				return agzpy_raise_fault(file);
			if (rc == AT_END)
				ends = 1;
			else if (rc == AT_FAULT)
				broken = 1;
			else if (rc != NEED_NOTHING)
				return rc;
		}
		size_t have = agz_cursor_nbytes(cursor), span_nbytes, count;
		if (have > limit && limit <= SIZE_MAX / 4 && have > 4 * limit + 1)
			have = 4 * limit + 1;
		const uint8_t *ptr = agz_cursor_span(cursor, &span_nbytes);
		uint8_t *copy = NULL;
		if (span_nbytes < have) {
			ptr = copy = PyMem_Malloc(have);
			if (copy == NULL) {
				PyErr_NoMemory();
				return -1;
			}
			(void)agz_cursor_peek(cursor, copy, have);
		}
		size_t nbytes = measure(t, ptr, have, limit, ends, &count);
		if (broken && count == 0) {
			PyMem_Free(copy);
			return agzpy_raise_fault(file);
		}
		if (count < limit && !ends && !broken) {
			PyMem_Free(copy);
			call->done = (Py_ssize_t)(have + (limit - count));
			continue;
		}
		*result = run_str(t, (const char *)ptr, nbytes);
		PyMem_Free(copy);
		if (*result == NULL)
			return -1;
		moved(t, agz_cursor_skip(cursor, nbytes));
		return NEED_NOTHING;
	}
}

/* All of it through a decoder: in pieces, so that the loop is not held up. */
static int decode_all(Text *t)
{
	for (;;) {
		int rc = text_pull(t);
		if (rc != NEED_NOTHING)
			return rc;
		if (agzpy_turn_is_due(t->file->waker))
			return NEED_TURN;
	}
}

/* The rest of the stream. */
static int read_all_step(File *file, Call *call, PyObject **result)
{
	Text *t = (Text *)call->owner;
	if (t->kind == TEXT_DECODER) {
		int rc = agzpy_settle(file);
		if (rc == NEED_NOTHING)
			rc = decode_all(t);
		if (rc == AT_FAULT && !(file->fault_raised && agz_cursor_nbytes(t->cursor) > 0))
			return agzpy_raise_fault(file);
		if (rc != AT_END && rc != AT_FAULT)
			return rc;
		call->size = (Py_ssize_t)agz_cursor_nbytes(t->cursor);
		if (call->size == 0) {
			*result = Py_NewRef(t->state->empty_str);
			return NEED_NOTHING;
		}
		call->stage = READ_AT_END;
		return read_some_step(file, call, result);
	}
	PyObject *bytes = NULL;
	int rc = agzpy_read_step(file, call, &bytes);
	if (rc != NEED_NOTHING)
		return rc;
	size_t nbytes = (size_t)PyBytes_GET_SIZE(bytes), whole = nbytes;
	if (file->fault_raised && t->kind == TEXT_UTF8) {
		/* What was decoded before a fault may end in half a character. */
		int cut = 0;
		size_t valid = agz_utf8_valid(PyBytes_AS_STRING(bytes), nbytes, &cut);
		if (cut)
			whole = valid;
		if (whole == 0 && nbytes > 0) {
			Py_DECREF(bytes);
			return agzpy_raise_fault(file);
		}
	}
	*result = run_str(t, PyBytes_AS_STRING(bytes), whole);
	if (*result != NULL) {
		Py_DECREF(bytes);
		return NEED_NOTHING;
	}
	/* It cannot be decoded: the position stays where it was. */
	put_back(t, PyBytes_AS_STRING(bytes), nbytes);
	Py_DECREF(bytes);
	file->pos -= nbytes;
	return -1;
}

/* ---- methods ------------------------------------------------------------------------------------- */


static PyObject *reading_call(Text *t, int (*step)(File *, Call *, PyObject **),
                              Py_ssize_t size)
{
	Call call = {.step = step,
	             .cursor = cursor_of(t),
	             .wants = FILE_READING,
	             .verb = "read",
	             .owner = (PyObject *)t,
	             .size = size};
	if (step == readlines_step)
		call.undo = readlines_undo;
	/* Between calls no mark needs what the cursor has left. */
	if (t->spans != NULL && t->file->running == NULL && PyList_GET_SIZE(t->spans) > MAX_SPANS &&
	    prune_spans(t) < 0)
		return agzpy_ready(t->file, NULL);
	return agzpy_answer(t->file, &call);
}

#define FASTCALL                                                                         \
	PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames

static PyObject *text_read(FASTCALL)
{
	Text *t = (Text *)self;
	Py_ssize_t size;
	if (agzpy_size_arg("read", "size", args, nargs, kwnames, &size) < 0)
		return agzpy_ready(t->file, NULL);
	return reading_call(t, size < 0 ? read_all_step : read_some_step, size);
}

static PyObject *text_readline(FASTCALL)
{
	Text *t = (Text *)self;
	Py_ssize_t limit;
	if (agzpy_size_arg("readline", "limit", args, nargs, kwnames, &limit) < 0)
		return agzpy_ready(t->file, NULL);
	return reading_call(t, readline_step, limit);
}

static PyObject *text_readlines(FASTCALL)
{
	Text *t = (Text *)self;
	Py_ssize_t hint;
	if (agzpy_size_arg("readlines", "hint", args, nargs, kwnames, &hint) < 0)
		return agzpy_ready(t->file, NULL);
	return reading_call(t, readlines_step, hint);
}

static PyObject *text_anext(PyObject *self)
{
	Text *t = (Text *)self;
	if (t->file->state == FILE_CLOSED) {
		PyErr_SetNone(PyExc_StopAsyncIteration);
		return agzpy_ready(t->file, NULL);
	}
	return reading_call(t, anext_step, -1);
}

/* call->size becomes the number of characters, before newlines are translated. */
static int fill_text(Call *call, PyObject *item)
{
	Text *t = (Text *)call->owner;
	if (!PyUnicode_Check(item)) {
		PyErr_Format(PyExc_TypeError, "write() argument must be str, not %.200s",
		             Py_TYPE(item)->tp_name);
		return -1;
	}
	call->size = PyUnicode_GET_LENGTH(item);
	PyObject *str = t->write_newline == NULL
	                        ? PyUnicode_FromObject(item)
	                        : PyObject_CallMethod(item, "replace", "sO", "\n",
	                                              t->write_newline);
	if (str == NULL)
		return -1;
	int rc = -1;
	if (t->kind != TEXT_DECODER && PyUnicode_IS_COMPACT_ASCII(str)) {
		rc = PyBuffer_FillInfo(&call->view, str, PyUnicode_DATA(str),
		                       PyUnicode_GET_LENGTH(str), 1, PyBUF_SIMPLE);
		Py_DECREF(str);
		if (rc < 0)
			call->view.obj = NULL;
		return rc;
	}
	PyObject *bytes;
	if (t->kind == TEXT_DECODER)
		bytes = PyObject_CallMethodOneArg(t->encoder, t->state->str_encode, str);
	else if (t->kind == TEXT_UTF8)
		bytes = PyUnicode_AsUTF8String(str);
	else if (t->kind == TEXT_LATIN1)
		bytes = PyUnicode_AsLatin1String(str);
	else
		bytes = PyUnicode_AsASCIIString(str);
	Py_DECREF(str);
	if (bytes == NULL)
		return -1;
	rc = PyObject_GetBuffer(bytes, &call->view, PyBUF_SIMPLE);
	Py_DECREF(bytes);
	if (rc < 0)
		call->view.obj = NULL;
	return rc;
}

static PyObject *text_write(FASTCALL)
{
	Text *t = (Text *)self;
	PyObject *data;
	if (agzpy_one_arg("write", "data", args, nargs, kwnames, &data) < 0)
		return agzpy_ready(t->file, NULL);
	if (data == NULL) {
		PyErr_SetString(PyExc_TypeError, "write() missing 1 required argument: 'data'");
		return agzpy_ready(t->file, NULL);
	}
	return agzpy_write(t->file, self, data, fill_text);
}

static PyObject *text_writelines(FASTCALL)
{
	Text *t = (Text *)self;
	PyObject *lines;
	if (agzpy_one_arg("writelines", "lines", args, nargs, kwnames, &lines) < 0)
		return agzpy_ready(t->file, NULL);
	if (lines == NULL) {
		PyErr_SetString(PyExc_TypeError, "writelines() missing 1 required argument: 'lines'");
		return agzpy_ready(t->file, NULL);
	}
	return agzpy_writelines(t->file, self, lines, fill_text);
}

/* ---- the type --------------------------------------------------------------------------------------- */

/*
 * _bind(file, kind, translate, newline, decoder, encoder, write_newline): once, before the
 * file is opened. kind: "utf-8", "ascii", "latin-1" or "decoder".
 */
static PyObject *text_bind(PyObject *self, PyObject *args)
{
	static const char *const kinds[] = {"utf-8", "ascii", "latin-1", "decoder"};
	Text *t = (Text *)self;
	PyObject *file, *decoder, *encoder, *write_newline;
	const char *kind;
	int translate, newline;
	if (!PyArg_ParseTuple(args, "O!spiOOO:_bind", (PyTypeObject *)t->state->file_type, &file,
	                      &kind, &translate, &newline, &decoder, &encoder, &write_newline))
		return NULL;
	if (t->file != NULL) {
		PyErr_SetString(PyExc_RuntimeError, "bound already");
		return NULL;
	}
	t->kind = TEXT_DECODER;
	for (int i = TEXT_UTF8; i < TEXT_DECODER; i++) {
		if (strcmp(kind, kinds[i]) == 0)
			t->kind = (enum text_kind)i;
	}
	t->translate = translate;
	t->universal = newline == AGZ_NEWLINE_ANY;
	if (t->kind == TEXT_DECODER) {
		t->spans = PyList_New(0);
		if (t->spans == NULL)
			return NULL;
		if (agz_cursor_new((enum agz_newline)newline, &t->cursor) < 0)
			return PyErr_NoMemory();
	}
	t->file = (File *)Py_NewRef(file);
	t->decoder = decoder == Py_None ? NULL : Py_NewRef(decoder);
	t->encoder = encoder == Py_None ? NULL : Py_NewRef(encoder);
	t->write_newline = write_newline == Py_None ? NULL : Py_NewRef(write_newline);
	Py_RETURN_NONE;
}

/*
 * _forget(state): after the File moved elsewhere, what was decoded ahead is gone; the
 * decoder starts anew, or in a state that _place gave.
 */
static PyObject *text_forget(PyObject *self, PyObject *state)
{
	Text *t = (Text *)self;
	t->decoder_ended = 0;
	if (t->decoder == NULL)
		Py_RETURN_NONE;
	agz_cursor_clear(t->cursor);
	if (PyList_SetSlice(t->spans, 0, PyList_GET_SIZE(t->spans), NULL) < 0)
		return NULL;
	if (state == Py_None)
		return PyObject_CallMethod(t->decoder, "reset", NULL);
	return PyObject_CallMethod(t->decoder, "setstate", "(O)", state);
}

/*
 * _place: where the next character comes from, as (byte offset, state of the decoder there
 * or None, bytes of UTF-8 to leave out of what is decoded from there).
 */
static PyObject *text_get_place(PyObject *self, void *unused)
{
	(void)unused;
	Text *t = (Text *)self;
	if (t->decoder == NULL)
		return Py_BuildValue("KOi", (unsigned long long)t->file->pos, Py_None, 0);
	size_t ahead = agz_cursor_nbytes(t->cursor);
	for (Py_ssize_t i = PyList_GET_SIZE(t->spans); i > 0 && ahead > 0; i--) {
		PyObject *span = PyList_GET_ITEM(t->spans, i - 1);
		size_t n = PyLong_AsSize_t(PyTuple_GET_ITEM(span, 2));
		if (ahead <= n)
			return Py_BuildValue("OOn", PyTuple_GET_ITEM(span, 0),
			                     PyTuple_GET_ITEM(span, 1), (Py_ssize_t)(n - ahead));
		ahead -= n;
	}
	PyObject *state = decoder_state(t);
	if (state == NULL)
		return NULL;
	return Py_BuildValue("KNi", (unsigned long long)t->file->pos, state, 0);
}

/* _skip(n): leaves out n bytes of the own cursor's UTF-8, decoding them first. */
static int skip_step(File *file, Call *call, PyObject **result)
{
	Text *t = (Text *)call->owner;
	int rc = agzpy_settle(file);
	while (rc == NEED_NOTHING && agz_cursor_nbytes(t->cursor) < (size_t)call->size) {
		rc = text_pull(t);
		if (rc == AT_FAULT)
			return agzpy_raise_fault(file);
	}
	if (rc != NEED_NOTHING && rc != AT_END)
		return rc;
	(void)agz_cursor_skip(t->cursor, (size_t)call->size);
	*result = Py_NewRef(Py_None);
	return NEED_NOTHING;
}

static PyObject *text_skip(PyObject *self, PyObject *count)
{
	Py_ssize_t n = PyLong_AsSsize_t(count);
	if (n < 0 || ((Text *)self)->cursor == NULL) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_ValueError, "nothing to leave out");
		return NULL;
	}
	return reading_call((Text *)self, skip_step, n);
}

static PyObject *text_get_newlines(PyObject *self, void *unused)
{
	(void)unused;
	static const char *const kinds[] = {"\r", "\n", "\r\n"};
	Text *t = (Text *)self;
	unsigned seen = t->seen;
	if (t->file != NULL && cursor_of(t) != NULL)
		seen |= agz_cursor_seen(cursor_of(t));
	PyObject *list = PyList_New(0);
	for (int i = 0; list != NULL && i < 3; i++) {
		PyObject *kind = (seen >> i) & 1 ? PyUnicode_FromString(kinds[i]) : NULL;
		if (kind != NULL && PyList_Append(list, kind) < 0)
			Py_CLEAR(list);
		Py_XDECREF(kind);
	}
	if (list == NULL || PyErr_Occurred()) {
		Py_XDECREF(list);
		return NULL;
	}
	PyObject *newlines;
	if (PyList_GET_SIZE(list) == 0)
		newlines = Py_NewRef(Py_None);
	else if (PyList_GET_SIZE(list) == 1)
		newlines = Py_NewRef(PyList_GET_ITEM(list, 0));
	else
		newlines = PyList_AsTuple(list);
	Py_DECREF(list);
	return newlines;
}

static PyObject *text_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	(void)args;
	(void)kwargs;
	PyObject *module = PyType_GetModuleByDef(type, &agzpy_module);
	if (module == NULL)
		return NULL;
	Text *t = (Text *)type->tp_alloc(type, 0);
	if (t != NULL)
		t->state = PyModule_GetState(module);
	return (PyObject *)t;
}

#define TEXT_OBJECTS(X) X(file) X(decoder) X(spans) X(encoder) X(write_newline)

static int text_traverse(PyObject *self, visitproc visit, void *arg)
{
	Text *t = (Text *)self;
	Py_VISIT(Py_TYPE(self));
#define VISIT(field) Py_VISIT(t->field);
	TEXT_OBJECTS(VISIT)
#undef VISIT
	return 0;
}

static int text_clear(PyObject *self)
{
	Text *t = (Text *)self;
#define CLEAR(field) Py_CLEAR(t->field);
	TEXT_OBJECTS(CLEAR)
#undef CLEAR
	return 0;
}

static void text_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	Text *t = (Text *)self;
	PyObject_GC_UnTrack(self);
	if (t->file != NULL && t->cursor != NULL && t->file->undo == t->cursor)
		t->file->undo = NULL;
	agz_cursor_free(t->cursor);
	t->cursor = NULL;
	(void)text_clear(self);
	type->tp_free(self);
	Py_DECREF(type);
}

#define FAST(name, doc)                                                                  \
	{#name, (PyCFunction)(void (*)(void))text_##name, METH_FASTCALL | METH_KEYWORDS, doc}

static PyMethodDef text_methods[] = {
	FAST(read, "read($self, size=-1)\n--\n\n"
	           "Read up to size characters, all if size is negative or None.\n\n"
	           "Fewer only at the end of the stream; \"\" there."),
	FAST(readline, "readline($self, limit=-1)\n--\n\n"
	               "Read one line, its end included, or up to limit characters of it."),
	FAST(readlines, "readlines($self, hint=-1)\n--\n\n"
	                "Read lines into a list, until they pass hint characters; all by default."),
	FAST(write, "write($self, data)\n--\n\nWrite a str; return its number of characters."),
	FAST(writelines, "writelines($self, lines)\n--\n\nWrite each str of an iterable."),
	{"_bind", text_bind, METH_VARARGS, NULL},
	{"_forget", text_forget, METH_O, NULL},
	{"_skip", text_skip, METH_O, NULL},
	{NULL, NULL, 0, NULL},
};

static PyMemberDef text_members[] = {
	{"_file", T_OBJECT, offsetof(Text, file), READONLY, NULL},
	{"_decoder", T_OBJECT, offsetof(Text, decoder), READONLY, NULL},
	{"_encoder", T_OBJECT, offsetof(Text, encoder), READONLY, NULL},
	{NULL, 0, 0, 0, NULL},
};

static PyGetSetDef text_getset[] = {
	{"newlines", text_get_newlines, NULL,
	 "The kinds of line ends read so far: None, a str, or a tuple of str.", NULL},
	{"_place", text_get_place, NULL, NULL, NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot text_slots[] = {
	{Py_tp_new, text_new},
	{Py_tp_dealloc, text_dealloc},
	{Py_tp_traverse, text_traverse},
	{Py_tp_clear, text_clear},
	{Py_am_aiter, PyObject_SelfIter},
	{Py_am_anext, text_anext},
	{Py_tp_methods, text_methods},
	{Py_tp_members, text_members},
	{Py_tp_getset, text_getset},
	{0, NULL},
};

PyType_Spec agzpy_text_spec = {
	.name = "agz._agz.TextFile",
	.basicsize = sizeof(Text),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
	.slots = text_slots,
};
