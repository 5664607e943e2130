/*
 * text_build.h - a str made of pieces, without a moment in which the loop waits for it.
 *
 * CPython stores 1, 2 or 4 bytes a character, as the widest one asks for. Pieces go into a
 * part that is as wide as they are. A wider one, or one too many, begins a new part, with
 * room in front for all that came before, which is moved there in the end, by slices:
 *
 *     ASCII     [ characters ┆ room ]
 *     2 bytes   [            ┆ characters ┆ room ]
 *     4 bytes   [ ◀───────── ◀─────────── ┆ characters ┆ room ]
 */
#ifndef AGZPY_TEXT_BUILD_H
#define AGZPY_TEXT_BUILD_H

#include "module.h"

typedef struct Build Build;

/* A new one, for about `hint` characters, as an object that frees it. NULL and an
 * exception on failure. */
PyObject *agzpy_build_new(size_t hint);

/* Of such an object; cannot fail. */
Build *agzpy_build_of(PyObject *object);

/* Appends. 0, or -1 and an exception. */
int agzpy_build_add(Build *build, PyObject *str);

/* NEED_NOTHING and the str, NEED_TURN, or -1 and an exception. */
int agzpy_build_end(Build *build, Waker *waker, PyObject **result);

#endif
