/*
 * text_read.c - the reading calls of TextFile, as read.c has those of File.
 */
#include "text.h"
#include "text_build.h"

enum { MAX_SPANS = 8 };

/* ---- lines -------------------------------------------------------------------------------------- */

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
	int rc = agzpy_next_line(t->file, t, bound, &line);
	if (rc != NEED_NOTHING)
		return rc < 0 || rc == AT_END ? rc
		                              : limited_part(t, limit, bound, rc, result);
	size_t keep = measure(t, line.ptr, line.nbytes, limit, 1, &count);
	if (keep == line.nbytes) {
		*result = line_str(t, &line);
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
		rc = agzpy_next_line(t->file, t, 0, &line);
		if (rc == NEED_NOTHING)
			*result = line_str(t, &line);
	}
	if (rc == AT_FAULT)
		return agzpy_raise_fault(file);
	if (rc == AT_END) {
		*result = Py_NewRef(t->state->empty_str);
		rc = NEED_NOTHING;
	}
	return rc == NEED_NOTHING && *result == NULL ? -1 : rc;
}

/* ---- read(size) ------------------------------------------------------------------------------------ */

enum {
	READ_BEGINS = 0,
	READ_AGAIN,
	READ_GOES_ON,
	READ_LOOKS,
	READ_FAILS,
	READ_AT_END,
	READ_JOINS
};
enum { PIECE_NBYTES = 64 << 10, LONGEST_NBYTES = 4, LARGE_LENGTH = 1 << 20 };

/* Of n bytes, those before a character or a "\r" that what follows could change. */
static size_t whole_nbytes(const Text *t, const uint8_t *ptr, size_t n)
{
	int multibyte = t->kind == TEXT_UTF8 || t->kind == TEXT_DECODER;
	for (size_t back = 1; multibyte && back < LONGEST_NBYTES && back <= n; back++) {
		uint8_t c = ptr[n - back];
		if (c < 0x80)
			break;
		if (c >= 0xC2) { /* it begins a character */
			size_t width = c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
			if (back < width)
				return n - back;
			break;
		}
	}
	return (t->translate || t->universal) && n > 0 && ptr[n - 1] == '\r' ? n - 1 : n;
}

/*
 * The next piece at the cursor, of at most `limit` characters (SIZE_MAX: any number):
 * how many bytes, and where. 0: more have to come first. Its bytes lie in `seam` where
 * they come from two blocks.
 */
static size_t next_piece(Text *t, size_t limit, int ends,
                         uint8_t seam[2 * LONGEST_NBYTES], const uint8_t **ptr)
{
	agz_cursor *cursor = cursor_of(t);
	size_t n, count;
	*ptr = agz_cursor_span(cursor, &n);
	int last = ends && n == agz_cursor_nbytes(cursor);
	if (n > PIECE_NBYTES) {
		n = PIECE_NBYTES;
		last = 0;
	}
	size_t nbytes = last ? n : whole_nbytes(t, *ptr, n);
	if (nbytes == 0 && n > 0) {
		*ptr = seam;
		n = agz_cursor_peek(cursor, seam, 2 * LONGEST_NBYTES);
		last = ends && n == agz_cursor_nbytes(cursor);
		nbytes = last ? n : whole_nbytes(t, seam, n);
	}
	if (limit >= nbytes && (!last || limit == SIZE_MAX))
		return nbytes;
	return measure(t, *ptr, nbytes, limit, last, &count);
}

/*
 * A piece could not be decoded. Raises what decoding all of the call's bytes in one go
 * raises: its places count from where the call began.
 */
static int undecodable(Text *t, size_t nbytes)
{
	agz_cursor *cursor = cursor_of(t);
	if (t->kind == TEXT_DECODER || !PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
		return -1;
	size_t behind = agz_cursor_nbytes(cursor) - nbytes;
	agz_cursor_reset(cursor);
	nbytes = agz_cursor_nbytes(cursor) - behind;
	char *copy = PyMem_Malloc(nbytes);
	if (copy == NULL)
		return -1;
	(void)agz_cursor_peek(cursor, copy, nbytes);
	PyErr_Clear();
	PyObject *str = agzpy_text_decode(t, copy, nbytes);
	PyMem_Free(copy);
	if (str != NULL) {
		Py_DECREF(str);
		PyErr_SetString(PyExc_SystemError, "wrong in part and right as a whole");
	}
	return -1;
}

/* How many characters there may be, at most `limit`; 0: not known. */
static size_t length_hint(const File *file, size_t limit)
{
	uint64_t hint = agz_reader_size_hint(file->reader);
	hint = hint > file->pos ? hint - file->pos : 0;
	return hint < limit ? (size_t)hint : limit;
}

/* The reader goes back to where the call began: by its start, which mends it if it failed. */
static void go_back(File *file, Call *call)
{
	agzpy_return_to(file, call->start);
	file->seeking = 1;
	file->seek_target = 0;
}

/* Nothing was read: `newlines` tells as before. */
static void unsee(const Call *call)
{
	((Text *)call->owner)->seen = (unsigned)call->goal;
}

/* Something went wrong that can only be told by all of the call's bytes, or that leaves them
 * for the next call: the same again, and they are kept this time. */
static void read_again(File *file, Call *call)
{
	Py_CLEAR(call->object);
	PyErr_Clear();
	call->done = 0;
	call->stage = READ_AGAIN;
	unsee(call);
	go_back(file, call);
}

/*
 * Before the first byte. Of a large file nothing is kept (call->cursor is NULL then): if
 * the call is cancelled, the reader goes back, which it can.
 */
static int read_begins(File *file, Call *call)
{
	if (call->stage == READ_AGAIN) {
		call->cursor = file->cursor;
		agz_cursor_mark(call->cursor);
	} else if (length_hint(file, SIZE_MAX) > LARGE_LENGTH &&
	           call->cursor == file->cursor &&
	           (call->size < 0 || call->size > LARGE_LENGTH)) {
		if (call->tries)
			return NEED_START;
		agz_cursor_unmark(call->cursor);
		call->cursor = NULL;
	}
	call->goal = ((Text *)call->owner)->seen;
	call->stage = READ_GOES_ON;
	return NEED_NOTHING;
}

/*
 * A call that reads all has met what cannot be decoded, which a fault further on may be the
 * reason of: whether it first looks for one, as if all were read and then decoded.
 */
static int looks_on(Call *call)
{
	if (call->size >= 0 || call->stage != READ_GOES_ON ||
	    !PyErr_ExceptionMatches(PyExc_UnicodeError))
		return 0;
	PyErr_Clear();
	call->stage = READ_LOOKS;
	return 1;
}

static int look_for_fault(File *file, Call *call)
{
	int rc;
	while ((rc = agzpy_pull(file)) == NEED_NOTHING) {
		if (agzpy_turn_is_due(file->waker))
			return NEED_TURN;
	}
	if (rc == AT_FAULT && !file->fault_raised)
		return agzpy_raise_fault(file);
	if (rc != AT_END && rc != AT_FAULT)
		return rc;
	call->stage = READ_FAILS;
	return NEED_NOTHING;
}

/*
 * call->done: characters that were read; call->object: they, if they came in pieces;
 * call->goal: what t->seen was.
 */
static int read_step(File *file, Call *call, PyObject **result)
{
	Text *t = (Text *)call->owner;
	size_t limit = call->size < 0 ? SIZE_MAX : (size_t)call->size;
	int rc = call->stage == READ_JOINS ? NEED_NOTHING : agzpy_settle(file);
	if (rc == NEED_NOTHING && call->stage <= READ_AGAIN)
		rc = read_begins(file, call);
	if (rc == NEED_NOTHING && call->stage == READ_LOOKS)
		rc = look_for_fault(file, call);
	while (rc == NEED_NOTHING && call->stage != READ_JOINS) {
		uint8_t seam[2 * LONGEST_NBYTES];
		const uint8_t *ptr;
		size_t left = limit == SIZE_MAX ? limit : limit - (size_t)call->done;
		size_t nbytes =
		        next_piece(t, left, call->stage == READ_AT_END, seam, &ptr);
		if (nbytes == 0) {
			rc = left == 0 || call->stage == READ_AT_END ? AT_END
			                                             : agzpy_text_pull(t);
			if (rc == AT_END && left > 0 && call->stage == READ_GOES_ON) {
				call->stage = READ_AT_END;
			} else if (rc == AT_END ||
			           (rc == AT_FAULT && file->fault_raised &&
			            call->done > 0)) {
				call->stage = READ_JOINS;
			} else if (rc == AT_FAULT) {
				if (call->cursor != NULL)
					return agzpy_raise_fault(file);
				read_again(file, call);
				return NEED_TURN;
			} else if (rc != NEED_NOTHING) {
				return rc < 0 && looks_on(call) ? NEED_TURN : rc;
			}
			rc = NEED_NOTHING;
			continue;
		}
		PyObject *str = agzpy_text_run(t, (const char *)ptr, nbytes);
		if (str == NULL && call->cursor != NULL)
			return looks_on(call) ? NEED_TURN : undecodable(t, nbytes);
		if (str == NULL && !PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
			return -1;
		if (str == NULL) {
			read_again(file, call);
			return NEED_TURN;
		}
		if (call->object == NULL && PyUnicode_GET_LENGTH(str) != call->size)
			call->object = agzpy_build_new(length_hint(file, limit));
		moved(t, agz_cursor_skip(cursor_of(t), nbytes));
		call->done += PyUnicode_GET_LENGTH(str);
		if (call->done == call->size && call->object == NULL) {
			*result = str;
			return NEED_NOTHING;
		}
		rc = call->object == NULL
		             ? -1
		             : agzpy_build_add(agzpy_build_of(call->object), str);
		Py_DECREF(str);
		if (rc < 0)
			return -1;
		if (agzpy_turn_is_due(file->waker))
			return NEED_TURN;
	}
	if (rc != NEED_NOTHING)
		return rc;
	if (call->object == NULL) {
		*result = Py_NewRef(t->state->empty_str);
		return NEED_NOTHING;
	}
	return agzpy_build_end(agzpy_build_of(call->object), file->waker, result);
}

static void read_undo(File *file, Call *call)
{
	Py_CLEAR(call->object);
	call->done = 0;
	if (call->stage != READ_BEGINS)
		unsee(call);
	call->stage = READ_BEGINS;
	if (call->cursor == NULL)
		go_back(file, call);
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
	if (step == agzpy_readlines_step)
		call.undo = agzpy_readlines_undo;
	if (step == read_step)
		call.undo = read_undo;
	/* Between calls no mark needs what the cursor has left. */
	if (t->spans != NULL && t->file->running == NULL &&
	    PyList_GET_SIZE(t->spans) > MAX_SPANS && agzpy_text_prune(t) < 0)
		return agzpy_ready(t->file, NULL);
	return agzpy_answer(t->file, &call);
}

/*
 * To the end, if that is near: what is passed over is kept, so that a fault on the way leaves
 * it to be read. True, or false where it is too much for that or no text; nothing has moved
 * then.
 */
static int pass_step(File *file, Call *call, PyObject **result)
{
	Text *t = (Text *)call->owner;
	agz_cursor *cursor = cursor_of(t);
	int rc = agzpy_settle(file);
	while (rc == NEED_NOTHING && agz_cursor_nbytes(cursor) <= LARGE_LENGTH) {
		rc = agzpy_text_pull(t);
		if (rc == NEED_NOTHING && agzpy_turn_is_due(file->waker))
			return NEED_TURN;
	}
	if (rc < 0 && PyErr_ExceptionMatches(PyExc_UnicodeError)) {
		PyErr_Clear();
		rc = NEED_NOTHING;
	}
	size_t nbytes = agz_cursor_nbytes(cursor);
	if (rc == AT_FAULT && (!file->fault_raised || nbytes == 0))
		return agzpy_raise_fault(file);
	if (rc != AT_END && rc != AT_FAULT && rc != NEED_NOTHING)
		return rc;
	if (rc != NEED_NOTHING)
		moved(t, agz_cursor_skip(cursor, nbytes));
	*result = PyBool_FromLong(rc != NEED_NOTHING);
	return NEED_NOTHING;
}

PyObject *agzpy_text_pass(PyObject *self, PyObject *unused)
{
	(void)unused;
	return reading_call((Text *)self, pass_step, -1);
}

static PyObject *misused(Text *t)
{
	Call call = {.wants = FILE_READING, .verb = "read"};
	return agzpy_misused(t->file, &call);
}

#define FASTCALL                                                                         \
	PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames

PyObject *agzpy_text_read(FASTCALL)
{
	Text *t = (Text *)self;
	Py_ssize_t size;
	if (agzpy_size_arg("read", "size", args, nargs, kwnames, &size) < 0)
		return misused(t);
	return reading_call(t, read_step, size);
}

PyObject *agzpy_text_readline(FASTCALL)
{
	Text *t = (Text *)self;
	Py_ssize_t limit;
	agz_line line;
	if (nargs == 0 && kwnames == NULL &&
	    agzpy_line_at_hand(t->file, cursor_of(t), &line))
		return agzpy_line_answer(t->file, line_str(t, &line));
	if (agzpy_size_arg("readline", "limit", args, nargs, kwnames, &limit) < 0)
		return misused(t);
	return reading_call(t, readline_step, limit);
}

PyObject *agzpy_text_readlines(FASTCALL)
{
	Text *t = (Text *)self;
	Py_ssize_t hint;
	if (agzpy_size_arg("readlines", "hint", args, nargs, kwnames, &hint) < 0)
		return misused(t);
	return reading_call(t, agzpy_readlines_step, hint);
}

PyObject *agzpy_text_anext(PyObject *self)
{
	Text *t = (Text *)self;
	agz_line line;
	if (agzpy_line_at_hand(t->file, cursor_of(t), &line))
		return agzpy_line_answer(t->file, line_str(t, &line));
	if (t->file->state == FILE_CLOSED) {
		PyErr_SetNone(PyExc_StopAsyncIteration);
		return agzpy_ready(t->file, NULL);
	}
	return reading_call(t, agzpy_anext_step, -1);
}
