/*
 * text.h - TextFile, the base of AsyncGzipTextFile: characters and lines over a File.
 *
 * The File has the state, the guard and the position; a TextFile adds the encoding and
 * what newlines mean. There are two ways for the bytes:
 *
 *     UTF-8, ASCII, Latin-1 (strict)   File's cursor ──────────────────────▶ lines ─▶ str
 *     any other encoding or handler    File's cursor ─▶ decoder ─▶ UTF-8 ─▶ own cursor ─▶
 *
 * In the first, a line is decoded when it is handed out, and every position is a plain
 * byte offset. In the second, Python's incremental decoder gives characters, which go on as
 * UTF-8 (surrogates and all), so that there is one line splitter for both.
 */
#ifndef AGZPY_TEXT_H
#define AGZPY_TEXT_H

#include "module.h"

enum text_kind { TEXT_UTF8, TEXT_ASCII, TEXT_LATIN1, TEXT_DECODER };

typedef struct Text {
	PyObject_HEAD State *state;
	File *file;
	enum text_kind kind;
	int translate;      /* line ends become "\n" when read */
	int universal;      /* all kinds of line ends are looked for */
	agz_cursor *cursor; /* TEXT_DECODER: what is decoded, as UTF-8 */
	PyObject *decoder;  /* TEXT_DECODER, reading */
	int decoder_ended;
	size_t to_skip;    /* bytes of UTF-8 to leave out of what is decoded next */
	PyObject *spans;   /* TEXT_DECODER: where the characters in `cursor` come from, a
	                            list of (byte offset, decoder state, bytes of UTF-8) */
	PyObject *encoder; /* TEXT_DECODER, writing */
	PyObject *write_newline; /* what "\n" is written as, or NULL */
	/* AGZ_SAW_*: what read() handed out, what `cursor` saw before it was cleared */
	unsigned seen;
} Text;

/* What characters are read from. */
static inline agz_cursor *cursor_of(Text *t)
{
	return t->kind == TEXT_DECODER ? t->cursor : t->file->cursor;
}

/* nbytes of it were handed out. */
static inline void moved(Text *t, size_t nbytes)
{
	/* With a decoder, the bytes were counted when they went in. */
	if (t->kind != TEXT_DECODER)
		t->file->pos += nbytes;
}

/* ---- text_decode.c: bytes to characters ---------------------------------------------- */

/* Whole characters as they are; a run with its line ends translated; a line. */
PyObject *agzpy_text_decode(Text *t, const char *ptr, size_t nbytes);
PyObject *agzpy_text_run(Text *t, const char *ptr, size_t nbytes);
PyObject *agzpy_text_line(Text *t, const agz_line *line);

/* A line as a str, handed out. One that cannot be decoded is gone back to by undoing the call. */
static inline PyObject *line_str(Text *t, const agz_line *line)
{
	PyObject *str = agzpy_text_line(t, line);
	if (str != NULL)
		moved(t, line->nbytes);
	return str;
}

/* More for cursor_of(t): as agzpy_pull(), or -1 and an exception. */
int agzpy_text_pull(Text *t);

/* Drops what is known of where the characters that were handed out came from. */
int agzpy_text_prune(Text *t);

/* The state of the incremental decoder, as getstate() gives it. */
PyObject *agzpy_text_state(Text *t);

/* ---- text_read.c: the reading calls, METH_FASTCALL ------------------------------------- */

PyObject *agzpy_text_read(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames);
PyObject *agzpy_text_readline(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames);
PyObject *agzpy_text_readlines(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames);
PyObject *agzpy_text_anext(PyObject *self);
PyObject *agzpy_text_pass(PyObject *self, PyObject *unused);

#endif
