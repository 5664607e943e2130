/*
 * call.c - how calls on a File are answered: their arguments, the one guard, the awaitable
 * that is ready, and Operation, the call that has to wait.
 */
#include "module.h"

/* ---- arguments ---------------------------------------------------------------------- */

int agzpy_one_arg(const char *method, const char *name, PyObject *const *args,
                  Py_ssize_t nargs, PyObject *kwnames, PyObject **arg)
{
	Py_ssize_t nkw = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
	*arg = NULL;
	if (nargs + nkw == 0)
		return 0;
	if (nargs + nkw > 1) {
		PyErr_Format(PyExc_TypeError, "%s() takes at most 1 argument (%zd given)",
		             method, nargs + nkw);
		return -1;
	}
	if (nkw == 1 &&
	    PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), name) != 0) {
		PyErr_Format(PyExc_TypeError,
		             "%s() got an unexpected keyword argument '%U'", method,
		             PyTuple_GET_ITEM(kwnames, 0));
		return -1;
	}
	*arg = args[0];
	return 0;
}

int agzpy_size_arg(const char *method, const char *name, PyObject *const *args,
                   Py_ssize_t nargs, PyObject *kwnames, Py_ssize_t *size)
{
	PyObject *arg;
	*size = -1;
	if (agzpy_one_arg(method, name, args, nargs, kwnames, &arg) < 0)
		return -1;
	if (arg == NULL || arg == Py_None)
		return 0;
	if (!PyIndex_Check(arg)) {
		PyErr_Format(PyExc_TypeError, "%s must be an integer, not %.200s", name,
		             Py_TYPE(arg)->tp_name);
		return -1;
	}
	/* Clipped: a size beyond what a buffer can hold means "all". */
	*size = PyNumber_AsSsize_t(arg, NULL);
	if (*size == -1 && PyErr_Occurred())
		return -1;
	if (*size < 0)
		*size = -1;
	return 0;
}

/* ---- answering ----------------------------------------------------------------------- */

void agzpy_give_back(File *file)
{
	if (file->undo == NULL)
		return;
	agz_cursor_reset(file->undo);
	if (file->undo == file->cursor)
		file->pos = file->undo_pos;
	file->undo = NULL;
}

/* The file's Ready if nobody else holds it, else a new one. */
static Ready *ready_for(File *file)
{
	Ready *r = file->ready;
	if (r != NULL && Py_REFCNT(r) == 1) {
		Py_CLEAR(r->value);
		Py_CLEAR(r->error);
		r->pause = 0;
		Py_INCREF(r);
		return r;
	}
	if (r != NULL)
		r->file = NULL; /* no longer the newest */
	PyTypeObject *type = (PyTypeObject *)file->state_of_module->ready_type;
	r = (Ready *)type->tp_alloc(type, 0);
	if (r == NULL)
		return NULL;
	r->waker = (Waker *)Py_XNewRef((PyObject *)file->waker);
	Py_INCREF(r);
	Py_XSETREF(file->ready, r);
	return r;
}

/* Gives r its answer: a value, which is taken over, or NULL and the exception set. */
static PyObject *fill_ready(Ready *r, File *file, PyObject *value)
{
	if (value == NULL) {
		PyObject *type, *traceback;
		PyErr_Fetch(&type, &r->error, &traceback);
		PyErr_NormalizeException(&type, &r->error, &traceback);
		Py_XDECREF(type);
		Py_XDECREF(traceback);
	}
	r->value = value;
	r->file = value != NULL && r == file->ready ? file : NULL;
	r->pause = value != NULL && agzpy_turn_is_due(file->waker);
	return (PyObject *)r;
}

PyObject *agzpy_ready(File *file, PyObject *value)
{
	PyObject *type = NULL, *error = NULL, *traceback = NULL;
	if (value == NULL)
		PyErr_Fetch(&type, &error, &traceback);
	Ready *r = ready_for(file);
	if (r == NULL) {
		Py_XDECREF(value);
		Py_XDECREF(type);
		Py_XDECREF(error);
		Py_XDECREF(traceback);
		return NULL;
	}
	if (value == NULL)
		PyErr_Restore(type, error, traceback);
	return fill_ready(r, file, value);
}

typedef struct Operation {
	PyObject_HEAD File *file;
	Call call;
	PyObject *result;
} Operation;

static void call_clear(Call *call)
{
	Py_CLEAR(call->object);
	if (call->view.obj != NULL)
		PyBuffer_Release(&call->view);
}

/* The one guard: 0, or -1 and why the file refuses the call. */
int agzpy_guard(File *file, enum file_state wants, const char *verb)
{
	if (file->state == wants && file->running == NULL)
		return 0;
	return agzpy_raise_made(PyObject_CallFunction(file->state_of_module->refusal,
	                                              "Os", (PyObject *)file, verb));
}

PyObject *agzpy_misused(File *file, const Call *call)
{
	PyObject *type, *error, *traceback;
	PyErr_Fetch(&type, &error, &traceback);
	if (agzpy_guard(file, call->wants, call->verb) == 0) {
		PyErr_Restore(type, error, traceback);
	} else {
		Py_XDECREF(type);
		Py_XDECREF(error);
		Py_XDECREF(traceback);
	}
	return agzpy_ready(file, NULL);
}

static PyObject *answer_later(File *file, Call *call)
{
	State *state = file->state_of_module;
	PyTypeObject *type = (PyTypeObject *)state->operation_type;
	Operation *op = (Operation *)type->tp_alloc(type, 0);
	if (op == NULL) {
		call_clear(call);
		return NULL;
	}
	op->file = (File *)Py_NewRef((PyObject *)file);
	op->call = *call;
	Py_XINCREF(op->call.owner);
	PyObject *coroutine = PyObject_CallMethodOneArg((PyObject *)file, state->str_run,
	                                                (PyObject *)op);
	Py_DECREF(op);
	return coroutine;
}

void agzpy_begin(File *file, Call *call)
{
	call->start = file->pos;
	if (call->cursor != NULL)
		agz_cursor_mark(call->cursor);
}

static void undo(File *file, Call *call)
{
	if (call->undo != NULL)
		call->undo(file, call);
	if (call->cursor == NULL)
		return;
	agz_cursor_reset(call->cursor);
	if (call->cursor == file->cursor)
		file->pos = call->start;
}

/* Before each call: an answer that nobody waits for any more was never given. */
static void settle_answer(File *file)
{
	if (file->ready != NULL && file->ready->value != NULL &&
	    Py_REFCNT(file->ready) == 1)
		agzpy_give_back(file);
	file->undo = NULL;
}

int agzpy_line_at_hand(File *file, agz_cursor *cursor, agz_line *line)
{
	if (file->state != FILE_READING || file->running != NULL || file->large != NULL ||
	    file->seeking || file->returning || file->fault_raised == FAULT_FINAL)
		return 0;
	settle_answer(file);
	agz_cursor_mark(cursor);
	if (agz_cursor_line(cursor, 0, 0, line) != 1)
		return 0;
	file->undo = cursor;
	file->undo_pos = file->pos;
	return 1;
}

PyObject *agzpy_line_answer(File *file, PyObject *str)
{
	if (str == NULL) /* the line stays where it is */
		agzpy_give_back(file);
	return agzpy_ready(file, str);
}

PyObject *agzpy_answer(File *file, Call *call)
{
	PyObject *result = NULL;
	settle_answer(file);
	/* Had first: what the step has done could not be taken back for want of it. */
	Ready *ready = ready_for(file);
	if (ready == NULL) {
		call_clear(call);
		return NULL;
	}
	int rc = agzpy_guard(file, call->wants, call->verb);
	if (rc == 0) {
		agzpy_begin(file, call);
		call->tries = 1;
		rc = call->step(file, call, &result);
		call->tries = 0;
		if (rc != 0) {
			PyObject *type, *value, *traceback;
			PyErr_Fetch(&type, &value, &traceback);
			undo(file, call);
			PyErr_Restore(type, value, traceback);
		}
		if (rc > 0) {
			Py_DECREF(ready);
			return answer_later(file, call);
		}
		file->undo = call->cursor;
		file->undo_pos = call->start;
	}
	call_clear(call);
	return fill_ready(ready, file, rc < 0 ? NULL : result);
}

/* ---- Operation: a call that has to wait ------------------------------------------------ */

/* What is needed for it to go on: an int, 0 when it is done. */
static PyObject *operation_step(PyObject *self, PyObject *unused)
{
	(void)unused;
	Operation *op = (Operation *)self;
	if (op->file->running != self) {
		PyErr_SetString(PyExc_RuntimeError,
		                "the operation does not hold the file");
		return NULL;
	}
	if (op->file->state != op->call.wants) {
		PyErr_Format(PyExc_OSError, "%s aborted because the gzip file was closed",
		             op->call.verb);
		return NULL;
	}
	PyObject *result = NULL;
	int rc = op->call.step(op->file, &op->call, &result);
	if (rc < 0)
		return NULL;
	Py_XSETREF(op->result, result);
	return PyLong_FromLong(rc);
}

static PyObject *operation_result(PyObject *self, PyObject *unused)
{
	(void)unused;
	Operation *op = (Operation *)self;
	PyObject *result = op->result;
	op->result = NULL;
	return result != NULL ? result : Py_NewRef(Py_None);
}

static PyObject *operation_undo(PyObject *self, PyObject *unused)
{
	(void)unused;
	Operation *op = (Operation *)self;
	if (op->file->state == op->call.wants) {
		undo(op->file, &op->call);
		if (op->call.large && op->result != NULL)
			(void)agzpy_lost(op->file, op->call.start);
	} else if (op->file->state == FILE_BROKEN) {
		op->file->pos = op->call.start; /* the sink has not had all of it */
	}
	Py_RETURN_NONE;
}

static int operation_traverse(PyObject *self, visitproc visit, void *arg)
{
	Operation *op = (Operation *)self;
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(op->file);
	Py_VISIT(op->call.owner);
	Py_VISIT(op->call.object);
	Py_VISIT(op->result);
	return 0;
}

static int operation_clear(PyObject *self)
{
	Operation *op = (Operation *)self;
	call_clear(&op->call);
	Py_CLEAR(op->call.owner);
	Py_CLEAR(op->file);
	Py_CLEAR(op->result);
	return 0;
}

static void operation_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	PyObject_GC_UnTrack(self);
	(void)operation_clear(self);
	type->tp_free(self);
	Py_DECREF(type);
}

Call *agzpy_call_of(PyObject *operation)
{
	return &((Operation *)operation)->call;
}

static PyObject *operation_verb(PyObject *self, void *unused)
{
	(void)unused;
	return PyUnicode_FromString(((Operation *)self)->call.verb);
}

static PyMethodDef operation_methods[] = {
        {"step", operation_step, METH_NOARGS, NULL},
        {"result", operation_result, METH_NOARGS, NULL},
        {"undo", operation_undo, METH_NOARGS, NULL},
        {NULL, NULL, 0, NULL},
};

static PyGetSetDef operation_getset[] = {
        {"verb", operation_verb, NULL, NULL, NULL},
        {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot operation_slots[] = {
        {Py_tp_dealloc, operation_dealloc}, {Py_tp_traverse, operation_traverse},
        {Py_tp_clear, operation_clear},     {Py_tp_methods, operation_methods},
        {Py_tp_getset, operation_getset},   {0, NULL},
};

PyType_Spec agzpy_operation_spec = {
        .name = "agz._agz.Operation",
        .basicsize = sizeof(Operation),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                 Py_TPFLAGS_DISALLOW_INSTANTIATION,
        .slots = operation_slots,
};
