/*
 * ready.c - an awaitable whose answer is known.
 *
 * It answers through am_send, so that no StopIteration is built, and each file reuses one
 * as long as nobody else holds it: a line of `async for` costs no allocation but the
 * line's own. It is a coroutine in the eyes of collections.abc, so that create_task(),
 * wait_for() and gather() take it.
 */
#include "module.h"

static PySendResult ready_send(PyObject *self, PyObject *arg, PyObject **result)
{
	Ready *r = (Ready *)self;
	(void)arg;
	*result = NULL;
	if (r->pause) {
		if (r->pause == 1) {
			r->pause = 2;
			*result = Py_NewRef(Py_None);
			return PYGEN_NEXT;
		}
		r->pause = 0;
		if (r->waker != NULL)
			agzpy_turn_taken(r->waker);
	}
	if (r->value != NULL) {
		*result = r->value;
		r->value = NULL;
		r->file = NULL;
		return PYGEN_RETURN;
	}
	if (r->error != NULL) {
		PyObject *error = r->error;
		r->error = NULL;
		PyErr_SetObject((PyObject *)Py_TYPE(error), error);
		Py_DECREF(error);
		return PYGEN_ERROR;
	}
	PyErr_SetString(PyExc_RuntimeError, "cannot reuse already awaited coroutine");
	return PYGEN_ERROR;
}

/* send() and __next__ for callers that do not know am_send. */
static PyObject *ready_send_method(PyObject *self, PyObject *arg)
{
	PyObject *result;
	switch (ready_send(self, arg, &result)) {
	case PYGEN_NEXT:
		return result;
	case PYGEN_RETURN: {
		/* A tuple or an exception as the value must not be unpacked. */
		PyObject *stop = PyObject_CallOneArg(PyExc_StopIteration, result);
		Py_DECREF(result);
		if (stop != NULL) {
			PyErr_SetObject(PyExc_StopIteration, stop);
			Py_DECREF(stop);
		}
		return NULL;
	}
	case PYGEN_ERROR:
	default:
		return NULL;
	}
}

static PyObject *ready_next(PyObject *self)
{
	return ready_send_method(self, Py_None);
}

/* The answer was not taken: cancelled before it was awaited, say. */
static void drop_answer(Ready *r)
{
	r->pause = 0;
	if (r->value != NULL && r->file != NULL)
		agzpy_give_back(r->file);
	r->file = NULL;
	Py_CLEAR(r->value);
	Py_CLEAR(r->error);
}

static int ready_clear(PyObject *self)
{
	Ready *r = (Ready *)self;
	r->pause = 0;
	r->file = NULL;
	Py_CLEAR(r->value);
	Py_CLEAR(r->error);
	Py_CLEAR(r->waker);
	return 0;
}

static PyObject *ready_close(PyObject *self, PyObject *unused)
{
	(void)unused;
	drop_answer((Ready *)self);
	Py_RETURN_NONE;
}

static PyObject *ready_throw(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
	if (nargs < 1 || nargs > 3) {
		PyErr_SetString(PyExc_TypeError, "throw() takes one to three arguments");
		return NULL;
	}
	drop_answer((Ready *)self);
	PyObject *type = args[0], *value = nargs > 1 ? args[1] : Py_None;
	if (PyExceptionInstance_Check(type)) {
		PyErr_SetObject((PyObject *)Py_TYPE(type), type);
	} else if (PyExceptionClass_Check(type)) {
		PyErr_SetObject(type, value == Py_None ? NULL : value);
	} else {
		PyErr_SetString(
		        PyExc_TypeError,
		        "exceptions must be classes or instances of BaseException");
	}
	return NULL;
}

static int ready_traverse(PyObject *self, visitproc visit, void *arg)
{
	Ready *r = (Ready *)self;
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(r->value);
	Py_VISIT(r->error);
	Py_VISIT(r->waker);
	return 0;
}

static void ready_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	PyObject_GC_UnTrack(self);
	(void)ready_clear(self);
	type->tp_free(self);
	Py_DECREF(type);
}

static PyMethodDef ready_methods[] = {
        {"send", ready_send_method, METH_O, NULL},
        {"throw", (PyCFunction)(void (*)(void))ready_throw, METH_FASTCALL, NULL},
        {"close", ready_close, METH_NOARGS, NULL},
        {NULL, NULL, 0, NULL},
};

static PyType_Slot ready_slots[] = {
        {Py_tp_dealloc, ready_dealloc},
        {Py_tp_traverse, ready_traverse},
        {Py_tp_clear, ready_clear},
        {Py_tp_iter, PyObject_SelfIter},
        {Py_tp_iternext, ready_next},
        {Py_am_await, PyObject_SelfIter},
        {Py_am_send, ready_send},
        {Py_tp_methods, ready_methods},
        {0, NULL},
};

PyType_Spec agzpy_ready_spec = {
        .name = "agz._agz.Ready",
        .basicsize = sizeof(Ready),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                 Py_TPFLAGS_DISALLOW_INSTANTIATION,
        .slots = ready_slots,
};
