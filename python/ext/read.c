/*
 * read.c - the reading calls of File.
 *
 * Each is a step over the cursor's chain of blocks:
 *
 *     reader ─▶ agzpy_pull() ─▶ [ block ]─[ block ]─ ... ─▶ bytes, lines
 *                               ▲ cursor (file->pos)
 *
 * A step takes nothing until it can answer, or marks where it began, so that a call that
 * fails or is cancelled leaves the position where it was. A large read is the exception:
 * the worker fills file->large directly; if the call is cancelled, agzpy_settle() of the
 * next one puts what was read back in front.
 */
#include "module.h"

#include <string.h>

enum {
	LARGE_NBYTES =
	        1 << 20, /* from here on a read is decoded straight into its result */
	PEEK_NBYTES = 64 << 10,
	MOST_PEEK_NBYTES = 128 << 20
};

int agzpy_pull(File *file)
{
	agz_block *block;
	file->asked = 1;
	if (file->pushes && file->fault_raised)
		return AT_FAULT; /* the user's source is asked for nothing until it went back */
	int rc = agz_reader_take(file->reader, &block);
	switch (rc) {
	case AGZ_OK:
		agz_cursor_append(file->cursor, block);
		file->fault_raised = FAULT_NONE; /* a file that was cut has grown */
		return NEED_NOTHING;
	case AGZ_WAIT:
		return NEED_WAKE;
	case AGZ_HUNGRY:
		return NEED_INPUT;
	case AGZ_END:
		file->fault_raised = FAULT_NONE;
		return AT_END;
	default:
		return AT_FAULT;
	}
}

static void release_bytes(void *bytes)
{
	Py_DECREF((PyObject *)bytes);
}

agz_block *agzpy_block(PyObject *bytes, size_t nbytes)
{
	agz_block *block;
	if (agz_block_wrap(PyBytes_AS_STRING(bytes), nbytes, release_bytes, bytes,
	                   &block) < 0) {
		Py_DECREF(bytes);
		PyErr_NoMemory();
		return NULL;
	}
	return block;
}

/* ---- what a cancelled call left under way ------------------------------------------------ */

static int large_room(File *file, size_t *got)
{
	int rc = agz_reader_into(
	        file->reader, PyBytes_AS_STRING(file->large) + file->large_nbytes,
	        (size_t)PyBytes_GET_SIZE(file->large) - file->large_nbytes, got);
	if (rc == AGZ_WAIT)
		return NEED_WAKE;
	if (rc == AGZ_HUNGRY)
		return NEED_INPUT;
	if (rc < 0)
		return agzpy_raise(file->state_of_module, rc,
		                   agz_reader_fault(file->reader), (PyObject *)file);
	file->large_nbytes += *got;
	return NEED_NOTHING;
}

/* What the worker has filled becomes a block at the cursor. Without memory all stays. */
static int large_to_cursor(File *file)
{
	if (file->large_nbytes > 0) {
		/* The cursor's chain is empty: it was moved into `large` when that began. */
		agz_block *block =
		        agzpy_block(Py_NewRef(file->large), file->large_nbytes);
		if (block == NULL)
			return -1;
		agz_cursor_append(file->cursor, block);
	}
	Py_CLEAR(file->large);
	return 0;
}

int agzpy_lost(File *file, uint64_t pos)
{
	Py_CLEAR(file->large);
	file->lost = file->returning = 1;
	file->pos = file->return_to = pos;
	return -1;
}

int agzpy_settle(File *file)
{
	if (file->fault_raised == FAULT_FINAL)
		return agzpy_raise_fault(file);
	while (file->seeking || file->returning) {
		/* Back at once, since what a cancelled seek would still meet is nobody's;
		 * by the start if it is on its way there, which mends it. */
		int went_on = file->seeking;
		int back = file->returning && (!went_on || file->seek_target != 0);
		uint64_t cancelled = file->seek_target;
		if (back) {
			file->returning = 0;
			file->seeking = 1;
			file->seek_target = file->return_to;
		}
		int rc = agzpy_seek_on(file);
		if (back && rc == NEED_REWIND)
			file->returning = 1; /* again, when the source went back */
		if (back && rc < 0 && !file->pushes && !file->fault_raised) {
			if (file->lost) {
				file->returning = 1; /* a pipe: there is no way back */
				return -1;
			}
			PyErr_Clear(); /* a pipe: the seek that was cancelled stands */
			file->seeking = went_on;
			file->seek_target = cancelled;
			rc = NEED_NOTHING;
		}
		if (rc != NEED_NOTHING)
			return rc;
	}
	file->lost = 0;
	if (file->large != NULL) {
		size_t got;
		int rc = large_room(file, &got);
		if (rc != NEED_NOTHING)
			return rc;
		if (large_to_cursor(file) < 0)
			return -1;
	}
	return NEED_NOTHING;
}

static Call reading(File *file, int (*step)(File *, Call *, PyObject **))
{
	return (Call){.step = step,
	              .cursor = file->cursor,
	              .wants = FILE_READING,
	              .verb = "read"};
}

/* ---- read(size) --------------------------------------------------------------------------- */

/* The cursor's next n bytes as the result. */
static int take_bytes(File *file, size_t n, PyObject **result)
{
	*result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)n);
	if (*result == NULL)
		return -1;
	file->pos += agz_cursor_read(file->cursor, PyBytes_AS_STRING(*result), n);
	return NEED_NOTHING;
}

/* Room for what a large read may give: the hint and one more, to see the end in one go. */
static int large_begin(File *file, Py_ssize_t size)
{
	size_t have = agz_cursor_nbytes(file->cursor);
	uint64_t hint = agz_reader_size_hint(file->reader);
	size_t want = have + have / 2 < LARGE_NBYTES ? LARGE_NBYTES : have + have / 2;
	if (hint > file->pos + have && hint - file->pos < (uint64_t)PY_SSIZE_T_MAX / 2)
		want = (size_t)(hint - file->pos) + 1;
	if (size >= 0 && want > (size_t)size)
		want = (size_t)size;
	file->large = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)want);
	if (file->large == NULL)
		return -1;
	file->large_nbytes =
	        agz_cursor_read(file->cursor, PyBytes_AS_STRING(file->large), want);
	return 0;
}

static int large_grow(File *file, Py_ssize_t size)
{
	size_t n = (size_t)PyBytes_GET_SIZE(file->large);
	if (n > (size_t)PY_SSIZE_T_MAX / 2) {
		PyErr_NoMemory();
		return -1;
	}
	n += n / 2;
	if (size >= 0 && n > (size_t)size)
		n = (size_t)size;
	return _PyBytes_Resize(&file->large, (Py_ssize_t)n) < 0
	               ? agzpy_lost(file, file->pos)
	               : 0;
}

static int large_end(File *file, PyObject **result)
{
	if (_PyBytes_Resize(&file->large, (Py_ssize_t)file->large_nbytes) < 0)
		return agzpy_lost(file, file->pos);
	file->pos += file->large_nbytes;
	*result = file->large;
	file->large = NULL;
	return NEED_NOTHING;
}

static int large_step(File *file, Call *call, PyObject **result)
{
	Py_ssize_t size = call->size;
	for (;;) {
		size_t room = (size_t)PyBytes_GET_SIZE(file->large) - file->large_nbytes;
		if (room == 0) {
			if (PyBytes_GET_SIZE(file->large) == size)
				return large_end(file, result);
			if (large_grow(file, size) < 0)
				return -1;
			continue;
		}
		size_t got;
		int rc = large_room(file, &got);
		if (rc != NEED_NOTHING)
			return rc;
		if (got == room)
			continue;
		/* The end or a fault: which, says the next pull. */
		rc = agzpy_pull(file);
		if (rc == AT_END ||
		    (rc == AT_FAULT && file->fault_raised && file->large_nbytes))
			return large_end(file, result);
		if (rc == AT_FAULT) {
			if (large_to_cursor(file) < 0)
				return agzpy_lost(file, file->pos);
			return agzpy_raise_fault(file);
		}
		if (rc != NEED_NOTHING)
			return rc;
		/* A file that grew meanwhile. */
		size_t n = agz_cursor_nbytes(file->cursor);
		while ((size_t)PyBytes_GET_SIZE(file->large) - file->large_nbytes < n) {
			if (large_grow(file, -1) < 0)
				return -1;
		}
		file->large_nbytes += agz_cursor_read(
		        file->cursor, PyBytes_AS_STRING(file->large) + file->large_nbytes,
		        n);
		if (size >= 0 && file->large_nbytes >= (size_t)size)
			return large_end(file, result);
	}
}

enum { READ_BEGINS = 0, READ_GOES_ON, READ_LARGE };

static int read_step(File *file, Call *call, PyObject **result)
{
	if (call->stage == READ_LARGE)
		return large_step(file, call, result);
	int rc = agzpy_settle(file);
	if (rc != NEED_NOTHING)
		return rc;
	size_t want = call->size < 0 ? SIZE_MAX : (size_t)call->size;
	/* A whole file of some size, or a large piece: decoded straight into the result.
	 * After a fault nothing more is decoded. */
	int large =
	        want > LARGE_NBYTES && !file->fault_raised &&
	        (call->size >= 0 || agz_reader_size_hint(file->reader) > LARGE_NBYTES ||
	         agz_cursor_nbytes(file->cursor) > LARGE_NBYTES);
	while (!large && agz_cursor_nbytes(file->cursor) < want) {
		rc = agzpy_pull(file);
		if (rc == AT_FAULT &&
		    !(file->fault_raised && agz_cursor_nbytes(file->cursor) > 0))
			return agzpy_raise_fault(file);
		if (rc == AT_END || rc == AT_FAULT)
			break;
		if (rc != NEED_NOTHING)
			return rc;
		large = want > LARGE_NBYTES && !file->fault_raised &&
		        agz_cursor_nbytes(file->cursor) > LARGE_NBYTES;
	}
	if (large && call->tries)
		return NEED_START;
	if (large) {
		if (large_begin(file, call->size) < 0)
			return -1;
		/* From here on it is file->large that goes back. */
		agz_cursor_unmark(file->cursor);
		call->cursor = NULL;
		call->large = 1;
		call->stage = READ_LARGE;
		return large_step(file, call, result);
	}
	size_t have = agz_cursor_nbytes(file->cursor);
	return take_bytes(file, have < want ? have : want, result);
}

PyObject *agzpy_file_read(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames)
{
	File *file = (File *)self;
	Call call = reading(file, read_step);
	if (agzpy_size_arg("read", "size", args, nargs, kwnames, &call.size) < 0)
		return agzpy_misused(file, &call);
	return agzpy_answer(file, &call);
}

/* ---- read1, peek, readinto ----------------------------------------------------------------- */

/* At least one byte at the cursor: NEED_NOTHING, or the need, or AT_END. */
static int something(File *file)
{
	int rc = agzpy_settle(file);
	while (rc == NEED_NOTHING && agz_cursor_nbytes(file->cursor) == 0) {
		rc = agzpy_pull(file);
		if (rc == AT_FAULT)
			return agzpy_raise_fault(file);
	}
	return rc;
}

static int read1_step(File *file, Call *call, PyObject **result)
{
	int rc = call->size == 0 ? agzpy_settle(file) : something(file);
	if (rc != NEED_NOTHING && rc != AT_END)
		return rc;
	size_t n;
	(void)agz_cursor_span(file->cursor, &n);
	if (call->size >= 0 && n > (size_t)call->size)
		n = (size_t)call->size;
	return take_bytes(file, n, result);
}

PyObject *agzpy_file_read1(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
	File *file = (File *)self;
	Call call = reading(file, read1_step);
	if (agzpy_size_arg("read1", "size", args, nargs, kwnames, &call.size) < 0)
		return agzpy_misused(file, &call);
	return agzpy_answer(file, &call);
}

static int peek_step(File *file, Call *call, PyObject **result)
{
	int rc = something(file);
	while (rc == NEED_NOTHING && call->size > 0 &&
	       agz_cursor_nbytes(file->cursor) < (size_t)call->size)
		rc = agzpy_pull(file);
	if (rc != NEED_NOTHING && rc != AT_END && rc != AT_FAULT)
		return rc;
	size_t n;
	(void)agz_cursor_span(file->cursor, &n);
	if (call->size > 0)
		n = (size_t)call->size;
	else if (n > PEEK_NBYTES)
		n = PEEK_NBYTES;
	if (n > agz_cursor_nbytes(file->cursor))
		n = agz_cursor_nbytes(file->cursor);
	*result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)n);
	if (*result == NULL)
		return -1;
	(void)agz_cursor_peek(file->cursor, PyBytes_AS_STRING(*result), n);
	return NEED_NOTHING;
}

PyObject *agzpy_file_peek(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames)
{
	File *file = (File *)self;
	Call call = reading(file, peek_step);
	if (agzpy_size_arg("peek", "size", args, nargs, kwnames, &call.size) < 0)
		return agzpy_misused(file, &call);
	if (call.size > MOST_PEEK_NBYTES) {
		PyErr_SetString(PyExc_ValueError,
		                "peek size must be <= 134217728 bytes (128 MiB)");
		return agzpy_misused(file, &call);
	}
	return agzpy_answer(file, &call);
}

/* call->size 1: as read1(), of what is there. Nothing is taken until all is there. */
static int readinto_step(File *file, Call *call, PyObject **result)
{
	size_t want = (size_t)call->view.len;
	int rc = want == 0 ? agzpy_settle(file) : something(file);
	if (rc != NEED_NOTHING && rc != AT_END)
		return rc;
	while (call->size != 1 && rc == NEED_NOTHING &&
	       agz_cursor_nbytes(file->cursor) < want) {
		rc = agzpy_pull(file);
		if (rc == AT_FAULT) {
			if (!file->fault_raised)
				return agzpy_raise_fault(file);
			break;
		}
		if (rc != NEED_NOTHING && rc != AT_END)
			return rc;
	}
	size_t n = agz_cursor_read(file->cursor, call->view.buf, want);
	file->pos += n;
	*result = PyLong_FromSize_t(n);
	return *result == NULL ? -1 : NEED_NOTHING;
}

static PyObject *readinto(PyObject *self, const char *name, Py_ssize_t kind,
                          PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
	File *file = (File *)self;
	Call call = reading(file, readinto_step);
	call.size = kind;
	PyObject *target;
	if (agzpy_one_arg(name, "b", args, nargs, kwnames, &target) < 0)
		return agzpy_misused(file, &call);
	if (target == NULL ||
	    PyObject_GetBuffer(target, &call.view, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) <
	            0) {
		PyErr_Clear();
		call.view.obj = NULL;
		PyErr_Format(PyExc_TypeError, "%s() argument must be writable", name);
		return agzpy_misused(file, &call);
	}
	return agzpy_answer(file, &call);
}

PyObject *agzpy_file_readinto(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
	return readinto(self, "readinto", 0, args, nargs, kwnames);
}

PyObject *agzpy_file_readinto1(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
	return readinto(self, "readinto1", 1, args, nargs, kwnames);
}

/* ---- lines ------------------------------------------------------------------------------------ */

static int readline_step(File *file, Call *call, PyObject **result)
{
	agz_line line;
	int rc = agzpy_settle(file);
	if (rc != NEED_NOTHING)
		return rc;
	rc = call->size == 0
	             ? AT_END
	             : agzpy_next_line(file, NULL,
	                               call->size < 0 ? 0 : (size_t)call->size, &line);
	if (rc == AT_END)
		*result = Py_NewRef(file->state_of_module->empty_bytes);
	else if (rc == NEED_NOTHING)
		*result = line_bytes(file, &line);
	else
		return rc == AT_FAULT ? agzpy_raise_fault(file) : rc;
	return *result == NULL ? -1 : NEED_NOTHING;
}

PyObject *agzpy_file_readline(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
	File *file = (File *)self;
	agz_line line;
	if (nargs == 0 && kwnames == NULL &&
	    agzpy_line_at_hand(file, file->cursor, &line))
		return agzpy_line_answer(file, line_bytes(file, &line));
	Call call = reading(file, readline_step);
	if (agzpy_size_arg("readline", "limit", args, nargs, kwnames, &call.size) < 0)
		return agzpy_misused(file, &call);
	return agzpy_answer(file, &call);
}

PyObject *agzpy_file_anext(PyObject *self)
{
	File *file = (File *)self;
	agz_line line;
	if (agzpy_line_at_hand(file, file->cursor, &line))
		return agzpy_line_answer(file, line_bytes(file, &line));
	Call call = reading(file, agzpy_anext_step);
	if (file->reader != NULL)
		agz_reader_want_lines(file->reader);
	else if (file->state == FILE_CLOSED) {
		PyErr_SetNone(PyExc_StopAsyncIteration);
		return agzpy_ready(file, NULL);
	}
	return agzpy_answer(file, &call);
}

PyObject *agzpy_file_readlines(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
	File *file = (File *)self;
	Call call = reading(file, agzpy_readlines_step);
	call.undo = agzpy_readlines_undo;
	if (agzpy_size_arg("readlines", "hint", args, nargs, kwnames, &call.size) < 0)
		return agzpy_misused(file, &call);
	if (file->reader != NULL)
		agz_reader_want_lines(file->reader);
	return agzpy_answer(file, &call);
}
