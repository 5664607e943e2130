/*
 * seek.c - seek() and tell() of a File that is read, and what else moves its reader.
 */
#include "module.h"

int agzpy_seek_on(File *file)
{
	uint64_t reached;
	file->asked = 1;
	int rc = agz_reader_seek(file->reader, file->seek_target, &reached);
	if (rc == AGZ_E_NOT_SEEKABLE) {
		file->seeking = 0;
		if (file->pushes)
			return NEED_REWIND;
		PyErr_SetString(PyExc_OSError, "Underlying file is not seekable");
		return -1;
	}
	/* From here on what was decoded ahead is gone. */
	agzpy_drop_ahead(file);
	if (rc == AGZ_WAIT)
		return NEED_WAKE;
	if (rc == AGZ_HUNGRY)
		return NEED_INPUT;
	file->seeking = 0;
	if (rc < 0) {
		const agz_fault *fault = agz_reader_fault(file->reader);
		file->returning = 0;
		file->fault_raised = FAULT_TOLD;
		file->pos = agz_reader_out_nbytes(file->reader);
		return agzpy_raise(file->state_of_module, rc, fault, (PyObject *)file);
	}
	file->pos = reached;
	file->fault_raised = FAULT_NONE;
	return NEED_NOTHING;
}

void agzpy_return_to(File *file, uint64_t pos)
{
	file->returning = 1;
	file->return_to = pos;
	file->pos = pos;
}

/* ---- seek and tell ---------------------------------------------------------------------------- */

/*
 * The reader goes to `target`, whatever is decoded ahead: a need, NEED_NOTHING or -1. If
 * the user's source has to be rewound first, the same call begins again behind that.
 */
static int move_reader(File *file, uint64_t target)
{
	if (!file->seeking) {
		/* A source that failed has to go back itself, though nothing was decoded. */
		if (file->pushes && file->fault_raised && target == 0)
			return NEED_REWIND;
		file->seeking = 1;
		file->seek_target = target;
	}
	return agzpy_seek_on(file);
}

enum { SEEK_BEGINS = 0, SEEK_MENDS, SEEK_TO_END, SEEK_TO_TARGET };

/* What whence and offset come to, once they can be known. */
static uint64_t seek_target(File *file, const Call *call, uint64_t pos)
{
	uint64_t base = call->done == SEEK_SET   ? 0
	                : call->done == SEEK_END ? file->pos
	                                         : pos;
	if (call->goal < 0) {
		uint64_t back = -(uint64_t)call->goal;
		return back > base ? 0 : base - back;
	}
	return base + (uint64_t)call->goal;
}

/* The first part of a seek: what is refused, and where it goes. */
static int seek_begin(File *file, Call *call)
{
	int mends = call->done == SEEK_SET && (call->goal == 0 || call->size > 0);
	if (mends && file->fault_raised == FAULT_FINAL) {
		/* What was under way is given up: it would ask the source that failed. */
		file->seeking = file->returning = 0;
	} else {
		int rc = agzpy_settle(file);
		if (rc != NEED_NOTHING)
			return rc;
	}
	if (file->fault_raised && !mends)
		return agzpy_raise_fault(file);
	if (call->done != SEEK_SET && call->done != SEEK_CUR && call->done != SEEK_END) {
		PyErr_Format(PyExc_ValueError, "Invalid whence value: %zd", call->done);
		return -1;
	}
	if (call->goal < 0 &&
	    (call->done == SEEK_SET ||
	     (call->done == SEEK_CUR && -(uint64_t)call->goal > file->pos))) {
		PyErr_SetString(PyExc_OSError, "Negative seek in read mode");
		return -1;
	}
	call->target = seek_target(file, call, file->pos);
	call->stage = file->fault_raised       ? SEEK_MENDS
	              : call->done == SEEK_END ? SEEK_TO_END
	                                       : SEEK_TO_TARGET;
	return NEED_NOTHING;
}

/*
 * call->goal: the offset; call->done: whence. A stream that failed is mended by going back
 * to its start: by seek(0), and if call->size is 1 by any absolute seek.
 */
static int seek_step(File *file, Call *call, PyObject **result)
{
	int rc = call->stage == SEEK_BEGINS ? seek_begin(file, call) : NEED_NOTHING;
	if (rc != NEED_NOTHING)
		return rc;
	if (call->tries && call->stage != SEEK_TO_TARGET)
		return NEED_START;
	if (call->stage == SEEK_MENDS) {
		rc = move_reader(file, 0);
		if (rc != NEED_NOTHING)
			return rc;
		call->stage = SEEK_TO_TARGET;
	}
	if (call->stage == SEEK_TO_END) {
		rc = move_reader(file, UINT64_MAX);
		if (rc != NEED_NOTHING)
			return rc;
		call->target = seek_target(file, call, file->pos);
		call->stage = SEEK_TO_TARGET;
	}
	if (!file->seeking && call->target >= file->pos &&
	    call->target - file->pos <= agz_cursor_nbytes(file->cursor)) {
		file->pos +=
		        agz_cursor_skip(file->cursor, (size_t)(call->target - file->pos));
	} else {
		rc = call->tries ? NEED_START : move_reader(file, call->target);
		if (rc != NEED_NOTHING)
			return rc;
	}
	*result = PyLong_FromUnsignedLongLong(file->pos);
	return *result == NULL ? -1 : NEED_NOTHING;
}

/*
 * A seek that is cancelled goes back to where it came from, before anything else is done;
 * also from the start, where a user's source was rewound to.
 */
static void seek_undo(File *file, Call *call)
{
	int rewound = file->pos == 0 && call->start > 0 && !file->fault_raised;
	if (file->seeking || rewound)
		agzpy_return_to(file, call->start);
	call->stage = SEEK_BEGINS;
}

static int seek_args(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                     Py_ssize_t *offset, Py_ssize_t *whence)
{
	Py_ssize_t nkw = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
	PyObject *given[2] = {NULL, NULL};
	static const char *const names[2] = {"offset", "whence"};
	if (nargs + nkw > 2) {
		PyErr_SetString(PyExc_TypeError, "seek() takes at most 2 arguments");
		return -1;
	}
	for (Py_ssize_t i = 0; i < nargs; i++)
		given[i] = args[i];
	for (Py_ssize_t i = 0; i < nkw; i++) {
		PyObject *kw = PyTuple_GET_ITEM(kwnames, i);
		int k = PyUnicode_CompareWithASCIIString(kw, names[0]) == 0   ? 0
		        : PyUnicode_CompareWithASCIIString(kw, names[1]) == 0 ? 1
		                                                              : -1;
		if (k < 0 || given[k] != NULL) {
			PyErr_Format(PyExc_TypeError,
			             "seek() got an unexpected argument '%U'", kw);
			return -1;
		}
		given[k] = args[nargs + i];
	}
	if (given[0] == NULL) {
		PyErr_SetString(PyExc_TypeError,
		                "seek() missing required argument: 'offset'");
		return -1;
	}
	for (int k = 0; k < 2; k++) {
		if (given[k] != NULL && !PyIndex_Check(given[k])) {
			PyErr_Format(PyExc_TypeError, "%s must be an integer, not %.200s",
			             names[k], Py_TYPE(given[k])->tp_name);
			return -1;
		}
	}
	/* Clipped: beyond every end, before every start, of no known kind. */
	*offset = PyNumber_AsSsize_t(given[0], NULL);
	*whence = given[1] == NULL ? SEEK_SET : PyNumber_AsSsize_t(given[1], NULL);
	return PyErr_Occurred() ? -1 : 0;
}

static PyObject *seek(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *kwnames, int mends)
{
	File *file = (File *)self;
	Call call = {.step = seek_step,
	             .undo = seek_undo,
	             .wants = file->state == FILE_WRITING ? FILE_WRITING : FILE_READING,
	             .verb = "seek",
	             .size = mends};
	if (seek_args(args, nargs, kwnames, &call.goal, &call.done) < 0)
		return agzpy_misused(file, &call);
	if (file->state == FILE_WRITING)
		return agzpy_write_seek(file, call.goal, call.done);
	return agzpy_answer(file, &call);
}

PyObject *agzpy_file_seek(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames)
{
	return seek(self, args, nargs, kwnames, 0);
}

PyObject *agzpy_file_seek_mending(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
	return seek(self, args, nargs, NULL, 1);
}

static int tell_step(File *file, Call *call, PyObject **result)
{
	(void)call;
	if (file->state == FILE_READING && (file->seeking || file->returning) &&
	    file->fault_raised != FAULT_FINAL) {
		int rc = agzpy_settle(file);
		if (rc != NEED_NOTHING)
			return rc;
	}
	*result = PyLong_FromUnsignedLongLong(file->pos);
	return *result == NULL ? -1 : NEED_NOTHING;
}

uint64_t agzpy_place(const File *file)
{
	return file->running != NULL ? agzpy_call_of(file->running)->start : file->pos;
}

PyObject *agzpy_file_tell(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames)
{
	(void)args;
	File *file = (File *)self;
	enum file_state wants = file->state == FILE_WRITING || file->state == FILE_BROKEN
	                                ? file->state
	                                : FILE_READING;
	Call call = {.step = tell_step, .wants = wants, .verb = "tell"};
	if (nargs != 0 || kwnames != NULL) {
		PyErr_SetString(PyExc_TypeError, "tell() takes no arguments");
		return agzpy_ready(file, NULL);
	}
	if (file->running != NULL && file->in_use && file->state == wants &&
	    strcmp(agzpy_call_of(file->running)->verb, "close") != 0)
		return agzpy_ready(file, PyLong_FromUnsignedLongLong(agzpy_place(file)));
	return agzpy_answer(file, &call);
}

/* _scan(): to the end of the stream without handing anything out; gives its size. */
static int scan_step(File *file, Call *call, PyObject **result)
{
	int rc = call->tries ? NEED_START : move_reader(file, UINT64_MAX);
	if (rc != NEED_NOTHING)
		return rc;
	*result = PyLong_FromUnsignedLongLong(file->pos);
	return *result == NULL ? -1 : NEED_NOTHING;
}

PyObject *agzpy_file_scan(PyObject *self, PyObject *unused)
{
	(void)unused;
	Call call = {.step = scan_step, .wants = FILE_READING, .verb = "read"};
	return agzpy_answer((File *)self, &call);
}

/* _stop(): what reads ahead ends, so that closing gives the descriptor back at once. */
static int stop_step(File *file, Call *call, PyObject **result)
{
	(void)call;
	if (agz_reader_stop(file->reader) == AGZ_WAIT)
		return NEED_WAKE;
	*result = Py_NewRef(Py_None);
	return NEED_NOTHING;
}

PyObject *agzpy_file_stop(PyObject *self, PyObject *unused)
{
	(void)unused;
	Call call = {.step = stop_step, .wants = FILE_READING, .verb = "close"};
	return agzpy_answer((File *)self, &call);
}
