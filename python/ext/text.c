/*
 * text.c - TextFile: the type, writing, and what ties it to its File. See text.h.
 */
#include "text.h"

#include <string.h>
#include <structmember.h>

/* ---- writing ---------------------------------------------------------------------------- */

#define FASTCALL                                                                         \
	PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames

/* call->size becomes the number of characters, before newlines are translated. */
static int fill_text(Call *call, PyObject *item)
{
	Text *t = (Text *)call->owner;
	if (!PyUnicode_Check(item)) {
		PyErr_Format(PyExc_TypeError, "write() argument must be str, not %.200s",
		             Py_TYPE(item)->tp_name);
		return -1;
	}
	call->size = PyUnicode_GET_LENGTH(item);
	PyObject *str = t->write_newline == NULL
	                        ? PyUnicode_FromObject(item)
	                        : PyObject_CallMethod(item, "replace", "sO", "\n",
	                                              t->write_newline);
	if (str == NULL)
		return -1;
	int rc = -1;
	if (t->kind != TEXT_DECODER && PyUnicode_IS_COMPACT_ASCII(str)) {
		rc = PyBuffer_FillInfo(&call->view, str, PyUnicode_DATA(str),
		                       PyUnicode_GET_LENGTH(str), 1, PyBUF_SIMPLE);
		Py_DECREF(str);
		if (rc < 0)
			call->view.obj = NULL;
		return rc;
	}
	PyObject *bytes;
	if (t->kind == TEXT_DECODER)
		bytes = PyObject_CallMethodOneArg(t->encoder, t->state->str_encode, str);
	else if (t->kind == TEXT_UTF8)
		bytes = PyUnicode_AsUTF8String(str);
	else if (t->kind == TEXT_LATIN1)
		bytes = PyUnicode_AsLatin1String(str);
	else
		bytes = PyUnicode_AsASCIIString(str);
	Py_DECREF(str);
	if (bytes == NULL)
		return -1;
	rc = PyObject_GetBuffer(bytes, &call->view, PyBUF_SIMPLE);
	Py_DECREF(bytes);
	if (rc < 0)
		call->view.obj = NULL;
	return rc;
}

static PyObject *text_write(FASTCALL)
{
	Text *t = (Text *)self;
	PyObject *data;
	if (agzpy_one_arg("write", "data", args, nargs, kwnames, &data) < 0)
		return agzpy_ready(t->file, NULL);
	if (data == NULL) {
		PyErr_SetString(PyExc_TypeError,
		                "write() missing 1 required argument: 'data'");
		return agzpy_ready(t->file, NULL);
	}
	return agzpy_write(t->file, self, data, fill_text);
}

static PyObject *text_writelines(FASTCALL)
{
	Text *t = (Text *)self;
	PyObject *lines;
	if (agzpy_one_arg("writelines", "lines", args, nargs, kwnames, &lines) < 0)
		return agzpy_ready(t->file, NULL);
	if (lines == NULL) {
		PyErr_SetString(PyExc_TypeError,
		                "writelines() missing 1 required argument: 'lines'");
		return agzpy_ready(t->file, NULL);
	}
	return agzpy_writelines(t->file, self, lines, fill_text);
}

/* ---- the type --------------------------------------------------------------------------------------- */

/*
 * _bind(file, kind, translate, newline, decoder, encoder, write_newline): once, before the
 * file is opened. kind: "utf-8", "ascii", "latin-1" or "decoder".
 */
static PyObject *text_bind(PyObject *self, PyObject *args)
{
	static const char *const kinds[] = {"utf-8", "ascii", "latin-1", "decoder"};
	Text *t = (Text *)self;
	PyObject *file, *decoder, *encoder, *write_newline;
	const char *kind;
	int translate, newline;
	if (!PyArg_ParseTuple(args, "O!spiOOO:_bind", (PyTypeObject *)t->state->file_type,
	                      &file, &kind, &translate, &newline, &decoder, &encoder,
	                      &write_newline))
		return NULL;
	if (t->file != NULL) {
		PyErr_SetString(PyExc_RuntimeError, "bound already");
		return NULL;
	}
	t->kind = TEXT_DECODER;
	for (int i = TEXT_UTF8; i < TEXT_DECODER; i++) {
		if (strcmp(kind, kinds[i]) == 0)
			t->kind = (enum text_kind)i;
	}
	t->translate = translate;
	t->universal = newline == AGZ_NEWLINE_ANY;
	if (t->kind == TEXT_DECODER) {
		t->spans = PyList_New(0);
		if (t->spans == NULL)
			return NULL;
		if (agz_cursor_new((enum agz_newline)newline, &t->cursor) < 0)
			return PyErr_NoMemory();
	}
	t->file = (File *)Py_NewRef(file);
	t->decoder = decoder == Py_None ? NULL : Py_NewRef(decoder);
	t->encoder = encoder == Py_None ? NULL : Py_NewRef(encoder);
	t->write_newline = write_newline == Py_None ? NULL : Py_NewRef(write_newline);
	Py_RETURN_NONE;
}

/*
 * _forget(state, skip): after the File moved elsewhere, what was decoded ahead is gone; the
 * decoder starts anew, or in a state that _place gave, and so many bytes of UTF-8 before.
 */
static PyObject *text_forget(PyObject *self, PyObject *args)
{
	Text *t = (Text *)self;
	PyObject *state;
	Py_ssize_t skip;
	if (!PyArg_ParseTuple(args, "On:_forget", &state, &skip))
		return NULL;
	t->decoder_ended = 0;
	if (t->decoder != NULL)
		t->seen |= agz_cursor_seen(t->cursor);
	if (t->file->pos == 0 && skip == 0)
		t->seen = t->file->seen = 0;
	if (t->decoder == NULL)
		Py_RETURN_NONE;
	agz_cursor_clear(t->cursor);
	t->to_skip = skip > 0 ? (size_t)skip : 0;
	if (PyList_SetSlice(t->spans, 0, PyList_GET_SIZE(t->spans), NULL) < 0)
		return NULL;
	if (state == Py_None)
		return PyObject_CallMethod(t->decoder, "reset", NULL);
	return PyObject_CallMethod(t->decoder, "setstate", "(O)", state);
}

/*
 * _place: where the next character comes from, as (byte offset, state of the decoder there
 * or None, bytes of UTF-8 to leave out of what is decoded from there).
 */
static PyObject *text_get_place(PyObject *self, void *unused)
{
	(void)unused;
	Text *t = (Text *)self;
	if (t->decoder == NULL)
		return Py_BuildValue("KOi", (unsigned long long)agzpy_place(t->file),
		                     Py_None, 0);
	size_t ahead = agz_cursor_nbytes(t->cursor);
	uint64_t pos = agzpy_place(t->file);
	PyObject *running = t->file->running;
	if (running != NULL && agzpy_call_of(running)->cursor == t->cursor) {
		size_t now = ahead;
		pos = t->file->pos; /* goes with the decoder's state */
		agz_cursor_reset(t->cursor);
		ahead = agz_cursor_nbytes(t->cursor);
		(void)agz_cursor_skip(t->cursor, ahead - now);
	}
	for (Py_ssize_t i = PyList_GET_SIZE(t->spans); i > 0 && ahead > 0; i--) {
		PyObject *span = PyList_GET_ITEM(t->spans, i - 1);
		size_t n = PyLong_AsSize_t(PyTuple_GET_ITEM(span, 2));
		if (ahead <= n)
			return Py_BuildValue("OOn", PyTuple_GET_ITEM(span, 0),
			                     PyTuple_GET_ITEM(span, 1),
			                     (Py_ssize_t)(n - ahead));
		ahead -= n;
	}
	PyObject *state = agzpy_text_state(t);
	if (state == NULL)
		return NULL;
	return Py_BuildValue("KNn", (unsigned long long)pos, state,
	                     (Py_ssize_t)t->to_skip);
}

static PyObject *text_get_newlines(PyObject *self, void *unused)
{
	(void)unused;
	static const char *const kinds[] = {"\r", "\n", "\r\n"};
	Text *t = (Text *)self;
	unsigned seen = t->seen;
	if (t->file != NULL) {
		seen |= t->file->seen;
		if (cursor_of(t) != NULL)
			seen |= agz_cursor_seen(cursor_of(t));
	}
	PyObject *list = PyList_New(0);
	for (int i = 0; list != NULL && i < 3; i++) {
		PyObject *kind = (seen >> i) & 1 ? PyUnicode_FromString(kinds[i]) : NULL;
		if (kind != NULL && PyList_Append(list, kind) < 0)
			Py_CLEAR(list);
		Py_XDECREF(kind);
	}
	if (list == NULL || PyErr_Occurred()) {
		Py_XDECREF(list);
		return NULL;
	}
	PyObject *newlines;
	if (PyList_GET_SIZE(list) == 0)
		newlines = Py_NewRef(Py_None);
	else if (PyList_GET_SIZE(list) == 1)
		newlines = Py_NewRef(PyList_GET_ITEM(list, 0));
	else
		newlines = PyList_AsTuple(list);
	Py_DECREF(list);
	return newlines;
}

static PyObject *text_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	(void)args;
	(void)kwargs;
	PyObject *module = PyType_GetModuleByDef(type, &agzpy_module);
	if (module == NULL)
		return NULL;
	Text *t = (Text *)type->tp_alloc(type, 0);
	if (t != NULL)
		t->state = PyModule_GetState(module);
	return (PyObject *)t;
}

#define TEXT_OBJECTS(X) X(file) X(decoder) X(spans) X(encoder) X(write_newline)

static int text_traverse(PyObject *self, visitproc visit, void *arg)
{
	Text *t = (Text *)self;
	Py_VISIT(Py_TYPE(self));
#define VISIT(field) Py_VISIT(t->field);
	TEXT_OBJECTS(VISIT)
#undef VISIT
	return 0;
}

static int text_clear(PyObject *self)
{
	Text *t = (Text *)self;
#define CLEAR(field) Py_CLEAR(t->field);
	TEXT_OBJECTS(CLEAR)
#undef CLEAR
	return 0;
}

static void text_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	Text *t = (Text *)self;
	PyObject_GC_UnTrack(self);
	if (t->file != NULL && t->cursor != NULL && t->file->undo == t->cursor)
		t->file->undo = NULL;
	agz_cursor_free(t->cursor);
	t->cursor = NULL;
	(void)text_clear(self);
	type->tp_free(self);
	Py_DECREF(type);
}

#define FAST(name, function, doc)                                                        \
	{                                                                                \
#name, (PyCFunction)(void (*)(void))function,                            \
		        METH_FASTCALL | METH_KEYWORDS, doc                               \
	}

static PyMethodDef text_methods[] = {
        FAST(read, agzpy_text_read,
             "read($self, size=-1)\n--\n\n"
             "Read up to size characters, all if size is negative or None.\n\n"
             "Fewer only at the end of the stream; \"\" there."),
        FAST(readline, agzpy_text_readline,
             "readline($self, limit=-1)\n--\n\n"
             "Read one line, its end included, or up to limit characters of it."),
        FAST(readlines, agzpy_text_readlines,
             "readlines($self, hint=-1)\n--\n\n"
             "Read lines into a list, until they pass hint characters; all by default."),
        FAST(write, text_write,
             "write($self, data)\n--\n\nWrite a str; return its number of characters."),
        FAST(writelines, text_writelines,
             "writelines($self, lines)\n--\n\nWrite each str of an iterable."),
        {"_bind", text_bind, METH_VARARGS, NULL},
        {"_forget", text_forget, METH_VARARGS, NULL},
        {"_pass", agzpy_text_pass, METH_NOARGS, NULL},
        {NULL, NULL, 0, NULL},
};

static PyMemberDef text_members[] = {
        {"_file", T_OBJECT, offsetof(Text, file), READONLY, NULL},
        {"_decoder", T_OBJECT, offsetof(Text, decoder), READONLY, NULL},
        {"_encoder", T_OBJECT, offsetof(Text, encoder), READONLY, NULL},
        {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef text_getset[] = {
        {"newlines", text_get_newlines, NULL,
         "The kinds of line ends read so far: None, a str, or a tuple of str.", NULL},
        {"_place", text_get_place, NULL, NULL, NULL},
        {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot text_slots[] = {
        {Py_tp_new, text_new},
        {Py_tp_dealloc, text_dealloc},
        {Py_tp_traverse, text_traverse},
        {Py_tp_clear, text_clear},
        {Py_am_aiter, PyObject_SelfIter},
        {Py_am_anext, agzpy_text_anext},
        {Py_tp_methods, text_methods},
        {Py_tp_members, text_members},
        {Py_tp_getset, text_getset},
        {0, NULL},
};

PyType_Spec agzpy_text_spec = {
        .name = "agz._agz.TextFile",
        .basicsize = sizeof(Text),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
        .slots = text_slots,
};
