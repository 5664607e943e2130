/*
 * waker.c - agz_waker as an object: one for each event loop, registered by
 * agz._loops with loop.add_reader(waker.fileno(), waker.dispatch).
 *
 * It also shares out the loop's time among tasks whose calls are all ready: each goes on
 * for a slice, then lets the others run.
 */
#include "module.h"

#include <time.h>

enum {
	TURN_NS = 500000, /* of all tasks together, in one run of the loop */
	LEAST_SLICE_NS = 20000,
	MOST_CALLS = 16, /* between two looks at the clock */
	MOST_WOKEN = 8   /* tasks in one run of the loop */
};

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * A look at the clock costs 30 ns, so it is taken every few calls: as many as fit well into a
 * slice at the pace of the last ones, since each may have a caller's own work behind it.
 */
int agzpy_turn_is_due(Waker *w)
{
	if (w == NULL || w->calls_left-- > 0)
		return 0;
	uint64_t now = now_ns();
	if (now - w->looked_ns > w->slice_ns / 8)
		w->calls /= 2;
	else if (w->calls < MOST_CALLS)
		w->calls = w->calls * 2 + 1;
	w->looked_ns = now;
	w->calls_left = w->calls;
	return now - w->turn_ns > w->slice_ns;
}

/* Sees that waker.mark() runs once in each run of the loop in which a task was resumed. */
static void schedule_mark(Waker *w)
{
	PyObject *loop = PyObject_CallNoArgs(w->state->get_running_loop);
	PyObject *mark =
	        loop == NULL ? NULL : PyObject_GetAttr((PyObject *)w, w->state->str_mark);
	PyObject *handle =
	        mark == NULL
	                ? NULL
	                : PyObject_CallMethodOneArg(loop, w->state->str_call_soon, mark);
	w->marked = handle != NULL;
	Py_XDECREF(handle);
	Py_XDECREF(mark);
	Py_XDECREF(loop);
	PyErr_Clear(); /* driven without a loop there are no turns to share */
}

/*
 * A task goes on. Its slice is its share of TURN_NS among as many as there were last time, and
 * no more than is left of it in this run of the loop.
 */
void agzpy_turn_taken(Waker *w)
{
	uint64_t now = now_ns();
	if (!w->marked) {
		w->run_ns = now;
		schedule_mark(w);
	}
	uint64_t used = now - w->run_ns, left = used < TURN_NS ? TURN_NS - used : 0;
	w->tasks++;
	w->slice_ns = TURN_NS / (w->last_tasks > 0 ? w->last_tasks : 1);
	if (w->slice_ns > left)
		w->slice_ns = left;
	if (w->slice_ns < LEAST_SLICE_NS)
		w->slice_ns = LEAST_SLICE_NS;
	w->turn_ns = w->looked_ns = now;
	if (w->calls_left > w->calls)
		w->calls_left = w->calls;
}

/* The loop has come round. */
static PyObject *waker_mark(PyObject *self, PyObject *unused)
{
	(void)unused;
	Waker *w = (Waker *)self;
	w->last_tasks = w->tasks;
	w->tasks = 0;
	w->marked = 0;
	Py_RETURN_NONE;
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
	w->slice_ns = TURN_NS;
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

/*
 * Wakes a few tasks; an event loop runs all that are awake before it looks at timers and
 * sockets again, so a thousand at once would hold up all else. The bell is not cleared
 * while there are more: the loop comes back for them.
 */
static PyObject *waker_dispatch(PyObject *self, PyObject *unused)
{
	(void)unused;
	Waker *w = (Waker *)self;
	PyObject *type = NULL, *value = NULL, *traceback = NULL;
	/* Those that went on for longer than a slice are awake still. */
	int left = w->last_tasks < 2 * MOST_WOKEN ? MOST_WOKEN : 1;
	int cleared = 0;
	while (left-- > 0 || cleared) {
		File *file = agz_waker_next(w->waker);
		if (file == NULL && cleared)
			break;
		if (file == NULL) {
			agz_waker_clear(w->waker);
			cleared = 1;
			continue; /* for one that came in between */
		}
		Py_INCREF(file);
		int rc = resume(w->state, file);
		Py_DECREF(file);
		/* One waiter's error, or a signal that raises, must not cost the others their
		 * wake-up; the loop gets it when all have had theirs. */
		if (rc < 0 && type == NULL)
			PyErr_Fetch(&type, &value, &traceback);
		else if (rc < 0)
			PyErr_WriteUnraisable(self);
	}
	if (type == NULL)
		Py_RETURN_NONE;
	PyErr_Restore(type, value, traceback);
	return NULL;
}

static PyMethodDef waker_methods[] = {
        {"fileno", waker_fileno, METH_NOARGS, NULL},
        {"dispatch", waker_dispatch, METH_NOARGS, NULL},
        {"mark", waker_mark, METH_NOARGS, NULL},
        {NULL, NULL, 0, NULL},
};

static PyObject *waker_files(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLong(((Waker *)self)->files);
}

static PyGetSetDef waker_getset[] = {
        {"files", waker_files, NULL, NULL, NULL},
        {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot waker_slots[] = {
        {Py_tp_new, waker_new},
        {Py_tp_dealloc, waker_dealloc},
        {Py_tp_methods, waker_methods},
        {Py_tp_getset, waker_getset},
        {0, NULL},
};

PyType_Spec agzpy_waker_spec = {
        .name = "agz._agz.Waker",
        .basicsize = sizeof(Waker),
        .flags = Py_TPFLAGS_DEFAULT,
        .slots = waker_slots,
};
