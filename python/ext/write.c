/*
 * write.c - the writing calls of File.
 *
 *     bytes ─▶ accept() ─▶ writer's batch ─▶ worker ─▶ path
 *                                                       └──▶ file->block ─▶ user's sink
 *
 * A write is accepted whole or not at all: if it is cancelled when the writer has a part,
 * the rest stays with the file (file->rest) and goes before anything written later.
 */
#include "module.h"

enum {
	GIVE_NBYTES = 256 << 10, /* from here on a bytes object is not copied */
	ITEMS_A_LOOK = 64
};

static int raise_writer(File *file, int code)
{
	return agzpy_raise(file->state_of_module, code, agz_writer_fault(file->writer),
	                   (PyObject *)file);
}

static void release_object(void *object)
{
	Py_DECREF((PyObject *)object);
}

/* From ptr + *done on. `owner`, if not NULL, is an immutable object that holds it. */
static int accept(File *file, const void *ptr, Py_ssize_t nbytes, PyObject *owner,
                  Py_ssize_t *done)
{
	while (*done < nbytes) {
		const char *from = (const char *)ptr + *done;
		size_t left = (size_t)(nbytes - *done), accepted = 0;
		int rc;
		if (owner != NULL && left >= GIVE_NBYTES) {
			Py_INCREF(owner);
			rc = agz_writer_give(file->writer, from, left, release_object,
			                     owner);
			if (rc != AGZ_OK)
				Py_DECREF(owner);
			else
				accepted = left;
		} else {
			rc = agz_writer_write(file->writer, from, left, &accepted);
		}
		*done += (Py_ssize_t)accepted;
		if (rc == AGZ_WAIT)
			return NEED_WAKE;
		if (rc < 0)
			return raise_writer(file, rc);
	}
	return NEED_NOTHING;
}

static int accept_view(File *file, Call *call)
{
	PyObject *holder = call->view.obj;
	int lasts = PyBytes_CheckExact(holder) || PyUnicode_CheckExact(holder);
	return accept(file, call->view.buf, call->view.len, lasts ? holder : NULL,
	              &call->done);
}

/* What a cancelled write left goes first. */
static int accept_rest(File *file)
{
	if (file->rest == NULL)
		return NEED_NOTHING;
	Py_ssize_t done = (Py_ssize_t)file->rest_pos;
	int rc = accept(file, PyBytes_AS_STRING(file->rest), PyBytes_GET_SIZE(file->rest),
	                file->rest, &done);
	file->rest_pos = (size_t)done;
	if (rc == NEED_NOTHING)
		Py_CLEAR(file->rest);
	return rc;
}

int agzpy_pass_output(File *file)
{
	agz_block *block;
	if (!file->pushes)
		return NEED_NOTHING;
	if (file->block != NULL && file->block != Py_None)
		return NEED_OUTPUT;
	int rc = agz_writer_take(file->writer, &block);
	if (rc == AGZ_WAIT)
		return NEED_WAKE;
	if (rc == AGZ_END || rc == AGZ_HUNGRY)
		return NEED_NOTHING;
	if (rc < 0)
		return raise_writer(file, rc);
	PyObject *bytes = PyBytes_FromStringAndSize(agz_block_ptr(block),
	                                            (Py_ssize_t)agz_block_nbytes(block));
	agz_block_free(block);
	if (bytes == NULL)
		return -1;
	Py_XSETREF(file->block, bytes);
	return NEED_OUTPUT;
}

/* Room for more, where a user's sink has to take some first. */
static int make_room(File *file, int rc)
{
	if (rc != NEED_WAKE || !file->pushes)
		return rc;
	int need = agzpy_pass_output(file);
	return need == NEED_OUTPUT || need < 0 ? need : NEED_WAKE;
}

/* ---- write and writelines ------------------------------------------------------------------ */

/*
 * The item in call->view is with the file: what the writer has no room for becomes
 * file->rest, which no cancellation can take back. False and nothing happens if the writer
 * has taken none of it, or without memory.
 */
static int keep_rest(File *file, Call *call)
{
	if (call->done == 0 && call->view.len > 0)
		return 0;
	if (PyBytes_CheckExact(call->view.obj)) {
		file->rest = Py_NewRef(call->view.obj);
		file->rest_pos = (size_t)call->done;
	} else {
		file->rest = PyBytes_FromStringAndSize((const char *)call->view.buf +
		                                               call->done,
		                                       call->view.len - call->done);
		file->rest_pos = 0;
	}
	if (file->rest == NULL) {
		PyErr_Clear();
		return 0;
	}
	return 1;
}

enum { WRITE_BEGINS = 0, WRITE_ACCEPTS, WRITE_PASSES_ON };

/* call->object: the data; the result is call->size, what `fill` says it counts. */
static int write_step(File *file, Call *call, PyObject **result)
{
	int rc = NEED_NOTHING;
	if (call->stage == WRITE_BEGINS) {
		if (call->fill(call, call->object) < 0)
			return -1;
		call->stage = WRITE_ACCEPTS;
	}
	rc = accept_rest(file);
	if (rc != NEED_NOTHING)
		return make_room(file, rc);
	if (call->stage == WRITE_ACCEPTS) {
		rc = accept_view(file, call);
		if (rc < 0 || (rc != NEED_NOTHING && !keep_rest(file, call)))
			return make_room(file, rc);
		call->stage = WRITE_PASSES_ON;
		if (!file->pushes)
			file->pos += (uint64_t)call->view.len;
		if (rc != NEED_NOTHING)
			return make_room(file, rc);
	}
	if (file->pushes) {
		rc = agzpy_pass_output(file);
		if (rc != NEED_NOTHING)
			return rc;
		file->pos += (uint64_t)call->view.len;
	}
	*result = PyLong_FromSsize_t(call->size);
	return *result == NULL ? -1 : NEED_NOTHING;
}

/*
 * A write to a user's sink counts when that has taken it. One that is cancelled while the
 * worker still has it goes to the sink later, and counts from now on.
 */
static void write_undo(File *file, Call *call)
{
	if (file->running != NULL && file->pushes && call->stage == WRITE_PASSES_ON)
		file->pos += (uint64_t)call->view.len;
}

/* The bytes of any buffer; one that is not contiguous is copied. */
static int fill_bytes(Call *call, PyObject *data)
{
	if (PyUnicode_Check(data) || !PyObject_CheckBuffer(data)) {
		PyErr_Format(PyExc_TypeError,
		             "write() argument must be a bytes-like object, not %.200s",
		             Py_TYPE(data)->tp_name);
		return -1;
	}
	int rc = PyObject_GetBuffer(data, &call->view, PyBUF_SIMPLE);
	if (rc < 0 && PyErr_ExceptionMatches(PyExc_BufferError)) {
		PyErr_Clear();
		PyObject *copy = PyBytes_FromObject(data);
		rc = copy == NULL ? -1
		                  : PyObject_GetBuffer(copy, &call->view, PyBUF_SIMPLE);
		Py_XDECREF(copy);
	}
	if (rc < 0)
		call->view.obj = NULL;
	else
		call->size = call->view.len;
	return rc;
}

PyObject *agzpy_write(File *file, PyObject *owner, PyObject *data,
                      int (*fill)(Call *call, PyObject *item))
{
	Call call = {.step = write_step,
	             .undo = write_undo,
	             .wants = FILE_WRITING,
	             .fill = fill,
	             .verb = "write",
	             .owner = owner,
	             .object = Py_NewRef(data)};
	return agzpy_answer(file, &call);
}

PyObject *agzpy_file_write(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
	PyObject *data;
	if (agzpy_one_arg("write", "data", args, nargs, kwnames, &data) < 0)
		return agzpy_ready((File *)self, NULL);
	if (data == NULL) {
		PyErr_SetString(PyExc_TypeError,
		                "write() missing 1 required argument: 'data'");
		return agzpy_ready((File *)self, NULL);
	}
	return agzpy_write((File *)self, self, data, fill_bytes);
}

/* call->object: the iterator. The item at hand is in call->view. */
static int writelines_step(File *file, Call *call, PyObject **result)
{
	int rc = accept_rest(file);
	if (rc != NEED_NOTHING)
		return make_room(file, rc);
	for (int n = 1;; n++) {
		if (call->view.obj == NULL) {
			PyObject *item = PyIter_Next(call->object);
			if (item == NULL)
				break;
			call->done = 0;
			rc = call->fill(call, item);
			Py_DECREF(item);
			if (rc < 0)
				return -1;
		}
		rc = accept_view(file, call);
		if (rc < 0 || (rc != NEED_NOTHING && !keep_rest(file, call)))
			return make_room(file, rc);
		file->pos += (uint64_t)call->view.len;
		PyBuffer_Release(&call->view);
		if (rc != NEED_NOTHING)
			return make_room(file, rc);
		if (n % ITEMS_A_LOOK == 0 && agzpy_turn_is_due(file->waker))
			return NEED_TURN;
	}
	if (PyErr_Occurred())
		return -1;
	rc = agzpy_pass_output(file);
	if (rc == NEED_NOTHING)
		*result = Py_NewRef(Py_None);
	return rc;
}

PyObject *agzpy_writelines(File *file, PyObject *owner, PyObject *lines,
                           int (*fill)(Call *call, PyObject *item))
{
	Call call = {.step = writelines_step,
	             .wants = FILE_WRITING,
	             .fill = fill,
	             .verb = "write",
	             .owner = owner,
	             .object = PyObject_GetIter(lines)};
	if (call.object == NULL)
		return agzpy_misused(file, &call);
	return agzpy_answer(file, &call);
}

PyObject *agzpy_file_writelines(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
	PyObject *lines;
	if (agzpy_one_arg("writelines", "lines", args, nargs, kwnames, &lines) < 0)
		return agzpy_ready((File *)self, NULL);
	if (lines == NULL) {
		PyErr_SetString(PyExc_TypeError,
		                "writelines() missing 1 required argument: 'lines'");
		return agzpy_ready((File *)self, NULL);
	}
	return agzpy_writelines((File *)self, self, lines, fill_bytes);
}

/* ---- flush, finish, seek --------------------------------------------------------------------------- */

static int settle_with(File *file, int (*barrier)(agz_writer *), PyObject **result)
{
	int rc = accept_rest(file);
	if (rc != NEED_NOTHING)
		return make_room(file, rc);
	int done = barrier(file->writer);
	if (done < 0)
		return raise_writer(file, done);
	if (file->pushes) {
		rc = agzpy_pass_output(file);
		if (rc != NEED_NOTHING)
			return rc;
	}
	if (done == AGZ_WAIT)
		return NEED_WAKE;
	*result = Py_NewRef(Py_None);
	return NEED_NOTHING;
}

enum { FLUSH_BEGINS = 0, FLUSH_GOES_ON };

static int flush_step(File *file, Call *call, PyObject **result)
{
	if (call->stage == FLUSH_GOES_ON) {
		*result = Py_NewRef(Py_None);
		return NEED_NOTHING;
	}
	int rc = settle_with(file, agz_writer_flush, result);
	if (rc != NEED_NOTHING || !file->pushes)
		return rc;
	if (call->tries)
		return NEED_START;
	call->stage = FLUSH_GOES_ON;
	return NEED_FLUSH;
}

PyObject *agzpy_file_flush(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
	(void)args;
	File *file = (File *)self;
	Call call = {.step = flush_step, .wants = FILE_WRITING, .verb = "flush"};
	if (nargs != 0 || kwnames != NULL) {
		PyErr_SetString(PyExc_TypeError, "flush() takes no arguments");
		return agzpy_ready(file, NULL);
	}
	/* Nothing was written; or the guard refuses it, below. */
	if (file->running != NULL
	            ? !file->in_use
	            : file->state == FILE_READING || file->state == FILE_NEW)
		return agzpy_ready(file, Py_NewRef(Py_None));
	return agzpy_answer(file, &call);
}

static int finish_step(File *file, Call *call, PyObject **result)
{
	(void)call;
	return settle_with(file, agz_writer_finish, result);
}

/* _finish(): the end of the member; the sink closed if it is the writer's. */
PyObject *agzpy_file_finish(PyObject *self, PyObject *unused)
{
	(void)unused;
	Call call = {.step = finish_step, .wants = FILE_WRITING, .verb = "close"};
	return agzpy_answer((File *)self, &call);
}

/* call->size: how many zeros are still to be written. */
static int zeros_step(File *file, Call *call, PyObject **result)
{
	static const char zeros[4096];
	int rc = accept_rest(file);
	for (int n = 1; rc == NEED_NOTHING && call->size > 0; n++) {
		Py_ssize_t part = call->size < (Py_ssize_t)sizeof(zeros)
		                          ? call->size
		                          : (Py_ssize_t)sizeof(zeros);
		Py_ssize_t done = 0;
		rc = accept(file, zeros, part, NULL, &done);
		call->size -= done;
		file->pos += (uint64_t)done;
		if (rc == NEED_NOTHING && n % ITEMS_A_LOOK == 0 &&
		    agzpy_turn_is_due(file->waker))
			return NEED_TURN;
	}
	if (rc == NEED_NOTHING)
		rc = agzpy_pass_output(file);
	else
		rc = make_room(file, rc);
	if (rc != NEED_NOTHING)
		return rc;
	*result = PyLong_FromUnsignedLongLong(file->pos);
	return *result == NULL ? -1 : NEED_NOTHING;
}

PyObject *agzpy_write_seek(File *file, Py_ssize_t offset, Py_ssize_t whence)
{
	Call call = {.step = zeros_step, .wants = FILE_WRITING, .verb = "seek"};
	Py_ssize_t pos = whence == SEEK_SET ? (Py_ssize_t)file->pos : 0;
	if (whence != SEEK_SET && whence != SEEK_CUR) {
		PyErr_SetString(PyExc_ValueError,
		                "Seek from end not supported in write mode");
		return agzpy_misused(file, &call);
	}
	if (offset < pos) {
		PyErr_SetString(PyExc_OSError, "Negative seek in write mode");
		return agzpy_misused(file, &call);
	}
	call.size = offset - pos;
	return agzpy_answer(file, &call);
}
