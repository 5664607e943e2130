/*
 * text_build.c - see text_build.h.
 */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* MADV_HUGEPAGE */
#endif
#include "text_build.h"

#include <sys/mman.h>

#if defined(__linux__) && !defined(MADV_HUGEPAGE)
#error "<sys/mman.h> gives no MADV_HUGEPAGE"
#endif

enum {
	MOST_PARTS = 4 + 64, /* wider four times at most; else twice as long */
	SLICE = 64 << 10,    /* characters copied between two looks at the clock */
	HUGE_PAGE = 2 << 20
};

typedef struct Part {
	PyObject *room;      /* a str that nobody else has */
	Py_ssize_t from, to; /* its characters */
} Part;

struct Build {
	size_t hint;
	int n_parts;
	Part parts[MOST_PARTS];
	int n_moved; /* parts that are where they belong */
};

static const char capsule_name[] = "agz._agz.Build";

static void build_free(PyObject *object)
{
	Build *build = agzpy_build_of(object);
	for (int i = 0; i < build->n_parts; i++)
		Py_XDECREF(build->parts[i].room);
	PyMem_Free(build);
}

PyObject *agzpy_build_new(size_t hint)
{
	Build *build = PyMem_Calloc(1, sizeof *build);
	if (build == NULL)
		return PyErr_NoMemory();
	build->hint = hint < PY_SSIZE_T_MAX / 8 ? hint : 0;
	PyObject *object = PyCapsule_New(build, capsule_name, build_free);
	if (object == NULL)
		PyMem_Free(build);
	return object;
}

Build *agzpy_build_of(PyObject *object)
{
	return PyCapsule_GetPointer(object, capsule_name);
}

/* Fresh pages of 4 KiB would cost more than the characters that are put there. */
static void prefer_huge_pages(PyObject *room)
{
#ifdef MADV_HUGEPAGE
	uintptr_t from = (uintptr_t)PyUnicode_DATA(room), to = from;
	to += (uintptr_t)PyUnicode_GET_LENGTH(room) * PyUnicode_KIND(room);
	from = (from + HUGE_PAGE - 1) & ~((uintptr_t)HUGE_PAGE - 1);
	to &= ~((uintptr_t)HUGE_PAGE - 1);
	if (from < to)
		madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
	(void)room;
#endif
}

/* Room for `more` characters up to `widest`, in the last part or in a new one. Room that
 * is never used costs no memory, so the hint is taken at its word. */
static Part *room_for(Build *build, Py_ssize_t more, Py_UCS4 widest)
{
	Part *last = build->n_parts > 0 ? &build->parts[build->n_parts - 1] : NULL;
	Py_ssize_t length = last == NULL ? 0 : last->to;
	if (more > PY_SSIZE_T_MAX / 8 - length) {
		PyErr_NoMemory();
		return NULL;
	}
	if (last != NULL && PyUnicode_MAX_CHAR_VALUE(last->room) >= widest) {
		if (more <= PyUnicode_GET_LENGTH(last->room) - length)
			return last;
		widest = PyUnicode_MAX_CHAR_VALUE(last->room);
	}
	Py_ssize_t room = length + more < 2 * length ? 2 * length : length + more;
	if (build->hint > (size_t)room)
		room = (Py_ssize_t)build->hint;
	last = &build->parts[build->n_parts];
	last->room = PyUnicode_New(room, widest);
	if (last->room == NULL)
		return NULL;
	prefer_huge_pages(last->room);
	last->from = last->to = length;
	build->n_parts++;
	return last;
}

int agzpy_build_add(Build *build, PyObject *str)
{
	Py_ssize_t n = PyUnicode_GET_LENGTH(str);
	if (n == 0)
		return 0;
	Part *part = room_for(build, n, PyUnicode_MAX_CHAR_VALUE(str));
	if (part == NULL || PyUnicode_CopyCharacters(part->room, part->to, str, 0, n) < 0)
		return -1;
	part->to += n;
	return 0;
}

int agzpy_build_end(Build *build, Waker *waker, PyObject **result)
{
	if (build->n_parts == 0) {
		*result = PyUnicode_New(0, 0);
		return *result == NULL ? -1 : NEED_NOTHING;
	}
	Part *last = &build->parts[build->n_parts - 1];
	while (build->n_moved < build->n_parts - 1) {
		Part *part = &build->parts[build->n_moved];
		Py_ssize_t n =
		        part->to - part->from < SLICE ? part->to - part->from : SLICE;
		if (PyUnicode_CopyCharacters(last->room, part->from, part->room,
		                             part->from, n) < 0)
			return -1;
		part->from += n;
		if (part->from == part->to) {
			Py_CLEAR(part->room);
			build->n_moved++;
		}
		if (agzpy_turn_is_due(waker))
			return NEED_TURN;
	}
	if (PyUnicode_Resize(&last->room, last->to) < 0)
		return -1;
	*result = last->room;
	last->room = NULL;
	return NEED_NOTHING;
}
