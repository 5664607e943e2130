/*
 * module.h - what the files of the extension share: its state, and the way a call is
 * answered.
 *
 * A method of a file makes a Call and hands it to agzpy_answer(). If the call's step can
 * be done now, the answer is an awaitable that is ready (ready.c). If not, it is the
 * coroutine File._run(operation), written in Python, which waits and steps again.
 */
#ifndef AGZPY_MODULE_H
#define AGZPY_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "agz.h"

/* Every PyObject of the module state, once: traverse, clear and the struct agree. */
#define AGZPY_STATE(X)                                                                   \
	X(ready_type)                                                                    \
	X(operation_type)                                                                \
	X(waker_type)                                                                    \
	X(file_type)                                                                     \
	X(text_type)                                                                     \
	X(decoder_type)                                                                  \
	X(encoder_type)                                                                  \
	X(fault_error) /* agz._errors.fault_error(code, sys, text, limit, file) */       \
	X(refusal)     /* agz._errors.refusal(file, verb) */                             \
	X(broken_file) /* agz._errors.broken_file(file) */                               \
	X(get_running_loop)                                                              \
	X(str_mark)                                                                      \
	X(str_call_soon)                                                                 \
	X(str_run)                                                                       \
	X(str_done)                                                                      \
	X(str_set_result)                                                                \
	X(str_decode)                                                                    \
	X(str_encode)                                                                    \
	X(empty_str)                                                                     \
	X(empty_bytes)

typedef struct State {
#define AGZPY_FIELD(name) PyObject *name;
	AGZPY_STATE(AGZPY_FIELD)
#undef AGZPY_FIELD
	const char *engine; /* for the options of libagz: a static string, or NULL */
} State;

extern struct PyModuleDef agzpy_module;

/* ---- ready.c: an awaitable whose answer is known ---------------------------------- */

typedef struct Waker Waker;
struct Text; /* text.h */

typedef struct Ready {
	PyObject_HEAD PyObject *value; /* the answer; NULL when it was given */
	PyObject *error;               /* or an exception to raise */
	Waker *waker; /* told that the loop had a turn, when `pause` is over */
	struct File
	        *file; /* borrowed, while it is that file's newest answer; else NULL */
	int pause;     /* suspend once first, so that other tasks run */
} Ready;

extern PyType_Spec agzpy_ready_spec;

/* ---- waker.c: one for each event loop --------------------------------------------- */

struct Waker {
	PyObject_HEAD agz_waker *waker;
	State *state;
	unsigned files;        /* that are open and name it */
	uint64_t run_ns;       /* when the first task of this run of the loop went on */
	uint64_t turn_ns;      /* when the one that runs went on ... */
	uint64_t slice_ns;     /* ... and for how long it may */
	uint64_t looked_ns;    /* the last look at the clock */
	int calls, calls_left; /* from one look to the next */
	unsigned tasks,
	        last_tasks; /* that went on in this run of the loop, and in the last */
	int marked;         /* mark() is scheduled */
};

extern PyType_Spec agzpy_waker_spec;

/* True when the task that runs has used up its slice. */
int agzpy_turn_is_due(Waker *waker);
void agzpy_turn_taken(Waker *waker);

/* ---- file.c ------------------------------------------------------------------------ */

enum file_state {
	FILE_NEW, /* made, never opened */
	FILE_READING,
	FILE_WRITING,
	FILE_BROKEN, /* a writer whose user's sink failed: it can only be closed */
	FILE_CLOSED
};

/* Nobody has taken the answer: what the call read is there for the next one. */
void agzpy_give_back(struct File *file);

typedef struct File {
	PyObject_HEAD State *state_of_module;
	enum file_state state;
	int pushes; /* a user's own source or sink moves the bytes */
	enum {
		FAULT_NONE,
		FAULT_TOLD, /* an error of the stream: what is left may be read */
		FAULT_FINAL /* its source failed, or it was too long: nothing may */
	} fault_raised;
	int at_end; /* the newest answer of the reader was AGZ_END */
	agz_reader *reader;
	agz_cursor *cursor;
	agz_writer *writer;
	unsigned seen; /* AGZ_SAW_*: what the cursor saw before it was cleared or freed */
	uint64_t pos;  /* the caller's place, in decompressed bytes */
	Waker *waker;
	Ready *ready;        /* reused while nobody else holds it */
	agz_cursor *undo;    /* what the newest answer was read from, or NULL ... */
	uint64_t undo_pos;   /* ... and where */
	int in_use;          /* it was opened, be it closed now */
	int asked;           /* something was asked of the reader */
	int has_mtime;       /* a reader that is closed had read a header ... */
	uint32_t mtime;      /* ... with this */
	PyObject *waiter;    /* the future of the task that waits, or NULL */
	PyObject *running;   /* the operation that holds the file, or NULL */
	PyObject *large;     /* a bytes that the worker fills, or NULL */
	size_t large_nbytes; /* of it that are filled */
	int seeking;         /* a seek to seek_target is under way */
	uint64_t seek_target;
	int returning; /* and it was cancelled: back to return_to after it */
	uint64_t return_to;
	int lost;        /* and must: what a large read held is gone */
	PyObject *block; /* compressed bytes that the user's sink has to get */
	PyObject *name;  /* the path, for errors */
	PyObject *rest;  /* a bytes accepted for writing, or NULL ... */
	size_t rest_pos; /* ... and how much of it the writer has */
} File;

/* Drops what was decoded ahead; what of it was handed out has been seen. */
static inline void agzpy_drop_ahead(File *file)
{
	file->seen |= agz_cursor_seen(file->cursor);
	agz_cursor_clear(file->cursor);
}

extern PyType_Spec agzpy_file_spec;
extern PyType_Spec agzpy_operation_spec;

/* What a step answers, beside -1 (an exception is set). */
enum need {
	NEED_NOTHING = 0, /* done, *result is set */
	NEED_WAKE = 1,    /* the worker has to get on */
	NEED_INPUT = 2,   /* the user's source has to be read */
	NEED_TURN = 3,    /* other tasks have to run */
	NEED_OUTPUT = 4,  /* the user's sink has to be written to */
	NEED_REWIND = 5,  /* the user's source has to go back to its start */
	NEED_FLUSH = 6,   /* the user's sink has to be flushed */
	NEED_START = 7,   /* it must not begin before it is awaited */
	/* Answers of agzpy_pull() alone: */
	AT_END = 8,  /* the stream has no more, for now */
	AT_FAULT = 9 /* agzpy_raise_fault() says why */
};

typedef struct Call Call;
struct Call {
	/* Does what it can now. Called again with the same Call after a need was met. */
	int (*step)(File *file, Call *call, PyObject **result);
	/* Forgets the progress of a call that failed or was cancelled, beside `cursor`. */
	void (*undo)(File *file, Call *call);
	/* What it reads from, marked where it began: undoing goes back there. NULL: it does
	 * not, or no more. */
	agz_cursor *cursor;
	enum file_state wants; /* the state the file has to be in */
	/* Writing: makes call->view the bytes of an item. 0, or -1 and an exception. */
	int (*fill)(Call *call, PyObject *item);
	const char *verb; /* "read", "write", "flush", "seek": for a refusal */
	PyObject *owner;  /* the object whose method it is */
	PyObject *object; /* an argument or a part of the result */
	Py_buffer view;   /* an argument; view.obj is NULL if there is none */
	Py_ssize_t size;  /* an argument: bytes, characters or a hint */
	Py_ssize_t goal;  /* of a seek: the offset as it was given */
	uint64_t target;  /* of a seek: the absolute offset */
	Py_ssize_t done;  /* progress */
	uint64_t start;   /* file->pos when it began */
	int apart;        /* file->pos is not the place in `cursor` */
	int tries;        /* not awaited yet: nothing may be left under way */
	int large;        /* it reads through file->large, which no mark goes back to */
	int stage;        /* which part of the call comes next; 0 at first */
};

/*
 * Answers a call: a new reference to an awaitable. Errors are given when it is awaited.
 * Takes over call->object and call->view.
 */
PyObject *agzpy_answer(File *file, Call *call);

/*
 * The short way of the calls that are made most, for a line: true and *line if it is there,
 * and nothing else has to be done first. The answer is then what agzpy_line_answer() makes
 * of the line's object, which it takes over, or of the exception set.
 */
int agzpy_line_at_hand(File *file, agz_cursor *cursor, agz_line *line);
PyObject *agzpy_line_answer(File *file, PyObject *str);

/*
 * Answers a call whose arguments are wrong, as the exception that is set says; but what the
 * file refuses whatever the arguments comes first.
 */
PyObject *agzpy_misused(File *file, const Call *call);

/* An awaitable that is ready; takes over `value`. With value NULL, the exception set is
 * what awaiting raises. */
PyObject *agzpy_ready(File *file, PyObject *value);

/* The next block into the cursor: NEED_NOTHING, NEED_WAKE, NEED_INPUT, AT_END, AT_FAULT. */
int agzpy_pull(File *file);

/* Raises the fault of the reader; from the second time on, that the file is broken.
 * Returns -1. */
int agzpy_raise_fault(File *file);

/* A line as bytes, handed out. */
static inline PyObject *line_bytes(File *file, const agz_line *line)
{
	file->pos += line->nbytes;
	return PyBytes_FromStringAndSize((const char *)line->ptr,
	                                 (Py_ssize_t)line->nbytes);
}

/*
 * The next line, of at most `limit` bytes if that is not 0, of the file's bytes or of `text`:
 * NEED_NOTHING and *line, a need, AT_END (nothing is left), AT_FAULT, or -1.
 */
int agzpy_next_line(File *file, struct Text *text, size_t limit, agz_line *line);

/* The steps of calls that give whole lines, of bytes or of the text that is call->owner. */
int agzpy_anext_step(File *file, Call *call, PyObject **result);
int agzpy_readlines_step(File *file, Call *call, PyObject **result);
void agzpy_readlines_undo(File *file, Call *call);

/* Goes on with a seek that is under way: a need, NEED_NOTHING when it is done, or -1. */
int agzpy_seek_on(File *file);

/* A call that moved the reader is undone: it goes back before anything else is done. */
void agzpy_return_to(File *file, uint64_t pos);

/* Ends what a cancelled call left under way. Before all else in each step that reads. */
int agzpy_settle(File *file);

/* What a large read took, from `pos` on, is gone: the reader has to go back there before
 * anything else is read. Returns -1. */
int agzpy_lost(File *file, uint64_t pos);

/* Wraps a bytes, which it takes over, as a block. NULL and an exception on failure. */
agz_block *agzpy_block(PyObject *bytes, size_t nbytes);

/* The one guard: 0, or -1 and why the file refuses the call. */
int agzpy_guard(File *file, enum file_state wants, const char *verb);

/* Marks where a call begins. */
void agzpy_begin(File *file, Call *call);

/* The Call of an Operation. */
Call *agzpy_call_of(PyObject *operation);

/* The caller's place; while a call runs, the one where that began. */
uint64_t agzpy_place(const File *file);

/* Raises an exception that Python made, or failed to make. Returns -1. */
int agzpy_raise_made(PyObject *error);

/* Sets the exception that a code and fault stand for. Returns -1. */
int agzpy_raise(State *state, int code, const agz_fault *fault, PyObject *file);

/*
 * The one optional argument of a method, by place or by name: NULL where it is not given.
 * Returns 0, or -1 and a TypeError.
 */
int agzpy_one_arg(const char *method, const char *name, PyObject *const *args,
                  Py_ssize_t nargs, PyObject *kwnames, PyObject **arg);

/* The same as a size: no argument and None give -1, as does any negative number. */
int agzpy_size_arg(const char *method, const char *name, PyObject *const *args,
                   Py_ssize_t nargs, PyObject *kwnames, Py_ssize_t *size);

/* write(object) and writelines(object), for any `fill`. */
PyObject *agzpy_write(File *file, PyObject *owner, PyObject *data,
                      int (*fill)(Call *call, PyObject *item));
PyObject *agzpy_writelines(File *file, PyObject *owner, PyObject *lines,
                           int (*fill)(Call *call, PyObject *item));

/* Passes on what the writer made, for a user's sink: a need, NEED_NOTHING or -1. */
int agzpy_pass_output(File *file);

/* read.c and write.c: methods of File, METH_FASTCALL. */
PyObject *agzpy_file_anext(PyObject *self);
#define AGZPY_FILE_METHODS(X)                                                            \
	X(read)                                                                          \
	X(read1)                                                                         \
	X(readinto)                                                                      \
	X(readinto1)                                                                     \
	X(peek)                                                                          \
	X(readline)                                                                      \
	X(readlines)                                                                     \
	X(seek)                                                                          \
	X(tell)                                                                          \
	X(write)                                                                         \
	X(writelines)                                                                    \
	X(flush)
#define AGZPY_DECLARE(name)                                                              \
	PyObject *agzpy_file_##name(PyObject *self, PyObject *const *args,               \
	                            Py_ssize_t nargs, PyObject *kwnames);
AGZPY_FILE_METHODS(AGZPY_DECLARE)
#undef AGZPY_DECLARE
PyObject *agzpy_file_finish(PyObject *self, PyObject *unused);
PyObject *agzpy_write_seek(File *file, Py_ssize_t offset, Py_ssize_t whence);
/* _seek(offset, whence): seek(), which mends a stream that failed wherever it goes. */
PyObject *agzpy_file_seek_mending(PyObject *self, PyObject *const *args,
                                  Py_ssize_t nargs);
PyObject *agzpy_file_scan(PyObject *self, PyObject *unused);
PyObject *agzpy_file_stop(PyObject *self, PyObject *unused);

/* A record as the tuple that GzipMemberInfo(*record) takes. */
PyObject *agzpy_member_record(const agz_member *member);

/* ---- text.c ------------------------------------------------------------------------ */

extern PyType_Spec agzpy_text_spec;

/* ---- codec.c ----------------------------------------------------------------------- */

extern PyType_Spec agzpy_decoder_spec;
extern PyType_Spec agzpy_encoder_spec;

#endif
