/*
 * lines.c - the calls that give whole lines, of bytes and of text.
 *
 * Where a call belongs to a text file, that is its owner: what is read from, and what a line
 * is made into, depend on it, and nothing else does.
 */
#include "text.h"

enum { LINES_A_LOOK = 64 /* lines between two looks at the clock */ };

int agzpy_next_line(File *file, Text *t, size_t limit, agz_line *line)
{
	agz_cursor *cursor = t != NULL ? cursor_of(t) : file->cursor;
	unsigned flags = 0;
	for (;;) {
		int rc = agz_cursor_line(cursor, limit, flags, line);
		if (rc == 1)
			return NEED_NOTHING;
		if (rc < 0)
			return agzpy_raise(file->state_of_module, rc, NULL, NULL);
		if (flags != 0)
			return AT_END;
		rc = t != NULL ? agzpy_text_pull(t) : agzpy_pull(file);
		if (rc == AT_END)
			flags = AGZ_LINES_END;
		else if (rc != NEED_NOTHING)
			return rc;
	}
}

static PyObject *take(File *file, Text *t, const agz_line *line)
{
	return t != NULL ? line_str(t, line) : line_bytes(file, line);
}

int agzpy_anext_step(File *file, Call *call, PyObject **result)
{
	Text *t = (Text *)call->owner;
	agz_line line;
	int rc = agzpy_settle(file);
	if (rc == NEED_NOTHING)
		rc = agzpy_next_line(file, t, 0, &line);
	if (rc == AT_END) {
		PyErr_SetNone(PyExc_StopAsyncIteration);
		return -1;
	}
	if (rc != NEED_NOTHING)
		return rc == AT_FAULT ? agzpy_raise_fault(file) : rc;
	*result = take(file, t, &line);
	return *result == NULL ? -1 : NEED_NOTHING;
}

/* call->object: the list. call->done: bytes or characters in it. */
int agzpy_readlines_step(File *file, Call *call, PyObject **result)
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
		rc = agzpy_next_line(file, t, 0, &line);
		if (rc == AT_FAULT && !(file->fault_raised && call->done > 0))
			return agzpy_raise_fault(file);
		if (rc == AT_END || rc == AT_FAULT)
			break;
		if (rc != NEED_NOTHING)
			return rc;
		PyObject *item = take(file, t, &line);
		if (item == NULL)
			return -1;
		Py_ssize_t length =
		        t != NULL ? PyUnicode_GET_LENGTH(item) : PyBytes_GET_SIZE(item);
		rc = PyList_Append(call->object, item);
		Py_DECREF(item);
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

void agzpy_readlines_undo(File *file, Call *call)
{
	(void)file;
	Py_CLEAR(call->object);
	call->done = 0;
}
