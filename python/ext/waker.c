/*
 * waker.c - agz_waker as an object: one for each event loop, registered by
 * agz._loops with loop.add_reader(waker.fileno(), waker.dispatch).
 *
 * It also knows when the loop had its last turn, for the fairness of loops over lines
 * that are all ready.
 */
#include "module.h"

#include <time.h>

enum { TURN_NS = 500000, CALLS_A_LOOK = 16 };

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The clock is looked at every 16th call: 2 ns a call instead of 30. */
int agzpy_turn_is_due(Waker *w)
{
	if (w == NULL || ++w->calls < CALLS_A_LOOK)
		return 0;
	w->calls = 0;
	return now_ns() - w->turn_ns > TURN_NS;
}

void agzpy_turn_taken(Waker *w)
{
	w->turn_ns = now_ns();
	w->calls = 0;
}

static PyObject *waker_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {NULL};
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, ":Waker", names))
		return NULL;
	PyObject *module = PyType_GetModuleByDef(type, &agzpy_module);
	if (module == NULL)
		return NULL;
	Waker *w = (Waker *)type->tp_alloc(type, 0);
	if (w == NULL)
		return NULL;
	w->state = PyModule_GetState(module);
	int rc = agz_waker_new(&w->waker);
	if (rc < 0) {
		w->waker = NULL;
		Py_DECREF(w);
		if (rc == AGZ_E_NOMEM)
			return PyErr_NoMemory();
		return PyErr_SetFromErrno(PyExc_OSError);
	}
	agzpy_turn_taken(w);
	return (PyObject *)w;
}

static void waker_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	agz_waker_free(((Waker *)self)->waker);
	type->tp_free(self);
	Py_DECREF(type);
}

static PyObject *waker_fileno(PyObject *self, PyObject *unused)
{
	(void)unused;
	return PyLong_FromLong(agz_waker_fd(((Waker *)self)->waker));
}

/* Sets the result of a file's waiter, unless it was cancelled meanwhile. */
static int resume(State *state, File *file)
{
	PyObject *waiter = file->waiter;
	if (waiter == NULL || waiter == Py_None)
		return 0;
	file->waiter = NULL;
	int rc = -1;
	PyObject *done = PyObject_CallMethodNoArgs(waiter, state->str_done);
	if (done != NULL) {
		rc = PyObject_IsTrue(done);
		Py_DECREF(done);
	}
	if (rc == 0) {
		PyObject *r =
			PyObject_CallMethodOneArg(waiter, state->str_set_result, Py_None);
		Py_XDECREF(r);
		rc = r == NULL ? -1 : 0;
	}
	Py_DECREF(waiter);
	return rc < 0 ? -1 : 0;
}

static PyObject *waker_dispatch(PyObject *self, PyObject *unused)
{
	(void)unused;
	Waker *w = (Waker *)self;
	agzpy_turn_taken(w);
	agz_waker_clear(w->waker);
	File *file;
	while ((file = agz_waker_next(w->waker)) != NULL) {
		Py_INCREF(file);
		int rc = resume(w->state, file);
		Py_DECREF(file);
		/* One waiter's error must not cost the others their wake-up. */
		if (rc < 0)
			PyErr_WriteUnraisable(self);
	}
	Py_RETURN_NONE;
}

static PyMethodDef waker_methods[] = {
	{"fileno", waker_fileno, METH_NOARGS, NULL},
	{"dispatch", waker_dispatch, METH_NOARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot waker_slots[] = {
	{Py_tp_new, waker_new},
	{Py_tp_dealloc, waker_dealloc},
	{Py_tp_methods, waker_methods},
	{0, NULL},
};

PyType_Spec agzpy_waker_spec = {
	.name = "agz._agz.Waker",
	.basicsize = sizeof(Waker),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = waker_slots,
};
