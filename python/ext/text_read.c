/*
 * text_read.c - the reading calls of TextFile, as read.c has those of File.
 */
#include "text.h"

#include <string.h>

enum { LINES_A_LOOK = 64, MAX_SPANS = 8 };

/* ---- lines -------------------------------------------------------------------------------------- */

/* As next_line() of read.c, over agzpy_text_pull(). */
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
		rc = agzpy_text_pull(t);
		if (rc == AT_END)
			flags = AGZ_LINES_END;
		else if (rc != NEED_NOTHING)
			return rc;
	}
}

/* The line as a str. One that cannot be decoded is gone back to by undoing the call. */
static PyObject *take_line(Text *t, const agz_line *line)
{
	PyObject *str = agzpy_text_line(t, line);
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
		else if (t->translate && c == '\r' &&
		         (i + 1 == nbytes || ptr[i + 1] == '\n'))
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
static int limited_part(Text *t, size_t limit, size_t bound, int otherwise,
                        PyObject **result)
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
		*result = agzpy_text_decode(t, (const char *)copy, keep);
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
		return rc < 0 || rc == AT_END ? rc
		                              : limited_part(t, limit, bound, rc, result);
	size_t keep = measure(t, line.ptr, line.nbytes, limit, 1, &count);
	if (keep == line.nbytes) {
		*result = take_line(t, &line);
		return *result == NULL ? -1 : NEED_NOTHING;
	}
	/* Back to where the line began, and on by what is handed out. */
	agz_cursor *cursor = cursor_of(t);
	*result = agzpy_text_decode(t, (const char *)line.ptr, keep);
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
		while (!ends && !broken &&
		       agz_cursor_nbytes(cursor) < (size_t)call->done) {
			rc = agzpy_text_pull(t);
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
		*result = agzpy_text_run(t, (const char *)ptr, nbytes);
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
		int rc = agzpy_text_pull(t);
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
		if (rc == AT_FAULT &&
		    !(file->fault_raised && agz_cursor_nbytes(t->cursor) > 0))
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
	*result = agzpy_text_run(t, PyBytes_AS_STRING(bytes), whole);
	if (*result != NULL) {
		Py_DECREF(bytes);
		return NEED_NOTHING;
	}
	/* It cannot be decoded: the position stays where it was, by undoing the call or so. */
	if (call->large)
		agzpy_unread(file, bytes);
	else
		Py_DECREF(bytes);
	return -1;
}

/* ---- the calls ------------------------------------------------------------------------------------- */

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
	if (t->spans != NULL && t->file->running == NULL &&
	    PyList_GET_SIZE(t->spans) > MAX_SPANS && agzpy_text_prune(t) < 0)
		return agzpy_ready(t->file, NULL);
	return agzpy_answer(t->file, &call);
}

#define FASTCALL                                                                         \
	PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames

PyObject *agzpy_text_read(FASTCALL)
{
	Text *t = (Text *)self;
	Py_ssize_t size;
	if (agzpy_size_arg("read", "size", args, nargs, kwnames, &size) < 0)
		return agzpy_ready(t->file, NULL);
	return reading_call(t, size < 0 ? read_all_step : read_some_step, size);
}

PyObject *agzpy_text_readline(FASTCALL)
{
	Text *t = (Text *)self;
	Py_ssize_t limit;
	if (agzpy_size_arg("readline", "limit", args, nargs, kwnames, &limit) < 0)
		return agzpy_ready(t->file, NULL);
	return reading_call(t, readline_step, limit);
}

PyObject *agzpy_text_readlines(FASTCALL)
{
	Text *t = (Text *)self;
	Py_ssize_t hint;
	if (agzpy_size_arg("readlines", "hint", args, nargs, kwnames, &hint) < 0)
		return agzpy_ready(t->file, NULL);
	return reading_call(t, readlines_step, hint);
}

PyObject *agzpy_text_anext(PyObject *self)
{
	Text *t = (Text *)self;
	if (t->file->state == FILE_CLOSED) {
		PyErr_SetNone(PyExc_StopAsyncIteration);
		return agzpy_ready(t->file, NULL);
	}
	return reading_call(t, anext_step, -1);
}
