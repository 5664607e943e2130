/*
 * file.c - File, the base of AsyncGzipBinaryFile: opening, closing and the type. Calls are
 * answered in call.c; reading is in read.c and seek.c, writing in write.c.
 */
#include "module.h"

#include <structmember.h>

/* ---- errors ------------------------------------------------------------------------- */

/* Raises an exception that Python made, or failed to make. Returns -1. */
int agzpy_raise_made(PyObject *error)
{
	if (error != NULL) {
		PyErr_SetObject((PyObject *)Py_TYPE(error), error);
		Py_DECREF(error);
	}
	return -1;
}

int agzpy_raise(State *state, int code, const agz_fault *fault, PyObject *file)
{
	char text[192];
	agz_fault plain = {.code = code};
	if (code == AGZ_E_NOMEM) {
		PyErr_NoMemory();
		return -1;
	}
	if (fault == NULL || fault->code == 0)
		fault = &plain;
	return agzpy_raise_made(PyObject_CallFunction(
	        state->fault_error, "iisKO", fault->code, fault->sys,
	        agz_fault_format(fault, text, sizeof(text)),
	        (unsigned long long)fault->limit_nbytes, file == NULL ? Py_None : file));
}

int agzpy_raise_fault(File *file)
{
	const agz_fault *fault = agz_reader_fault(file->reader);
	if (file->fault_raised)
		return agzpy_raise_made(PyObject_CallOneArg(
		        file->state_of_module->broken_file, (PyObject *)file));
	file->fault_raised = fault->code == AGZ_E_OUTPUT_LIMIT ? FAULT_FINAL : FAULT_TOLD;
	return agzpy_raise(file->state_of_module, fault->code, fault, (PyObject *)file);
}

/* ---- opening and closing --------------------------------------------------------------- */

static int take_waker(File *file, PyObject *waker)
{
	if (!Py_IS_TYPE(waker, (PyTypeObject *)file->state_of_module->waker_type)) {
		PyErr_SetString(PyExc_TypeError, "waker must be a Waker");
		return -1;
	}
	Py_XSETREF(file->waker, (Waker *)Py_NewRef(waker));
	Py_CLEAR(file->ready);
	return 0;
}

static int is_new(File *file)
{
	if (file->reader == NULL && file->writer == NULL)
		return 1;
	PyErr_SetString(PyExc_RuntimeError, "the file is open already");
	return 0;
}

/* Raises why nothing was opened: there is no fault to ask. Returns NULL. */
static PyObject *not_opened(File *file, int code, int sys)
{
	agz_fault fault = {.code = code, .sys = code == AGZ_E_SYSTEM ? sys : 0};
	agzpy_raise(file->state_of_module, code, &fault, (PyObject *)file);
	return NULL;
}

/* For PyArg_Parse: the bytes of a path, or NULL for None. */
static int path_or_none(PyObject *arg, void *bytes)
{
	if (arg != Py_None)
		return PyUnicode_FSConverter(arg, bytes);
	*(PyObject **)bytes = NULL;
	return 1;
}

static PyObject *file_open_reader(PyObject *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"waker",   "path",  "chunk_nbytes", "max_out_nbytes",
	                        "newline", "lines", "members",      NULL};
	File *file = (File *)self;
	agz_reader_options opts = AGZ_READER_OPTIONS_INIT;
	PyObject *waker, *path = NULL;
	Py_ssize_t chunk_nbytes;
	unsigned long long max_out;
	int newline = AGZ_NEWLINE_LF, lines = 0, members = 0;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO&nK|ipp:_open_reader", names,
	                                 &waker, path_or_none, &path, &chunk_nbytes,
	                                 &max_out, &newline, &lines, &members))
		return NULL;
	if (!is_new(file) || take_waker(file, waker) < 0) {
		Py_XDECREF(path);
		return NULL;
	}
	opts.waker = file->waker->waker;
	opts.user = file;
	opts.source = path == NULL ? AGZ_SOURCE_PUSH : AGZ_SOURCE_PATH;
	if (path != NULL)
		opts.path = PyBytes_AS_STRING(path);
	opts.engine = file->state_of_module->engine;
	opts.chunk_nbytes = (size_t)chunk_nbytes;
	opts.max_out_nbytes = max_out;
	opts.newline = (enum agz_newline)newline;
	opts.flags = (lines ? AGZ_READER_LINES : 0) | (members ? AGZ_READER_MEMBERS : 0);
	int rc = AGZ_OK;
	if (file->cursor == NULL)
		rc = agz_cursor_new(opts.newline, &file->cursor);
	if (rc == AGZ_OK)
		rc = agz_reader_open(&opts, &file->reader);
	int sys = errno;
	Py_XDECREF(path);
	if (rc < 0)
		return not_opened(file, rc, sys);
	file->waker->files++;
	file->pushes = opts.path == NULL;
	file->fault_raised = FAULT_NONE;
	file->state = FILE_READING;
	Py_RETURN_NONE;
}

static PyObject *file_open_writer(PyObject *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"waker", "path",  "create", "chunk_nbytes", "level",
	                        "fast",  "mtime", "name",   "strict_size",  NULL};
	File *file = (File *)self;
	agz_writer_options opts = AGZ_WRITER_OPTIONS_INIT;
	agz_encoder_options encoder = AGZ_ENCODER_OPTIONS_INIT;
	PyObject *waker, *path = NULL;
	Py_ssize_t chunk_nbytes, name_nbytes;
	const char *name;
	int create;
	if (!PyArg_ParseTupleAndKeywords(
	            args, kwargs, "OO&inipIz#p:_open_writer", names, &waker, path_or_none,
	            &path, &create, &chunk_nbytes, &encoder.level, &encoder.fast,
	            &encoder.mtime, &name, &name_nbytes, &encoder.strict_size))
		return NULL;
	if (!is_new(file) || take_waker(file, waker) < 0) {
		Py_XDECREF(path);
		return NULL;
	}
	encoder.engine = file->state_of_module->engine;
	encoder.name = (const uint8_t *)name;
	encoder.name_nbytes = (size_t)name_nbytes;
	opts.encoder = &encoder;
	opts.waker = file->waker->waker;
	opts.user = file;
	opts.sink = path == NULL ? AGZ_SINK_TAKE : AGZ_SINK_PATH;
	if (path != NULL)
		opts.path = PyBytes_AS_STRING(path);
	opts.create = (enum agz_create)create;
	opts.chunk_nbytes = (size_t)chunk_nbytes;
	int rc = agz_writer_open(&opts, &file->writer);
	int sys = errno;
	Py_XDECREF(path);
	if (rc < 0)
		return not_opened(file, rc, sys);
	file->waker->files++;
	file->pushes = opts.path == NULL;
	file->state = FILE_WRITING;
	Py_RETURN_NONE;
}

static int opened_step(File *file, Call *call, PyObject **result)
{
	(void)call;
	int rc;
	const agz_fault *fault;
	if (file->reader != NULL) {
		rc = agz_reader_opened(file->reader);
		fault = agz_reader_fault(file->reader);
	} else {
		rc = agz_writer_opened(file->writer);
		fault = agz_writer_fault(file->writer);
	}
	if (rc == AGZ_WAIT)
		return NEED_WAKE;
	if (rc < 0)
		return agzpy_raise(file->state_of_module, rc, fault, (PyObject *)file);
	if (file->writer != NULL && (rc = agzpy_pass_output(file)) != NEED_NOTHING)
		return rc; /* the header */
	*result = Py_NewRef(Py_None);
	return NEED_NOTHING;
}

static PyObject *file_opened(PyObject *self, PyObject *unused)
{
	(void)unused;
	File *file = (File *)self;
	Call call = {.step = opened_step, .wants = file->state, .verb = "open"};
	if (file->reader == NULL && file->writer == NULL) {
		PyErr_SetString(PyExc_RuntimeError, "the file is not being opened");
		return NULL;
	}
	return agzpy_answer(file, &call);
}

/* Lets go of reader and writer at once: what is unread or unwritten is dropped. */
static void dispose(File *file)
{
	/* Releasing what the worker held runs Python code: the file must be consistent. */
	agz_reader *reader = file->reader;
	agz_writer *writer = file->writer;
	agz_cursor *cursor = file->cursor;
	if (reader != NULL || writer != NULL)
		file->waker->files--;
	if (cursor != NULL)
		file->seen |= agz_cursor_seen(cursor);
	if (reader != NULL && file->asked)
		file->has_mtime = agz_reader_mtime(reader, &file->mtime);
	file->reader = NULL;
	file->writer = NULL;
	file->cursor = NULL;
	file->seeking = file->returning = 0;
	file->undo = NULL;
	agz_reader_close(reader);
	agz_writer_close(writer);
	agz_cursor_free(cursor);
	Py_CLEAR(file->large);
	Py_CLEAR(file->rest);
	Py_CLEAR(file->block);
}

/* _dispose(state): state "new" after a failed open, else "closed". */
static PyObject *file_dispose(PyObject *self, PyObject *reopen)
{
	File *file = (File *)self;
	int again = PyObject_IsTrue(reopen);
	if (again < 0)
		return NULL;
	dispose(file);
	file->state = again ? FILE_NEW : FILE_CLOSED;
	Py_RETURN_NONE;
}

/* _fail(): the user's source failed, and nobody knows what it gave: only seek(0) helps. */
static PyObject *file_fail(PyObject *self, PyObject *unused)
{
	(void)unused;
	File *file = (File *)self;
	if (file->fault_raised == FAULT_NONE) /* what came before a fault is here still */
		file->fault_raised = FAULT_FINAL;
	Py_RETURN_NONE;
}

/* _break(): the user's sink failed, and nobody knows what it has. */
static PyObject *file_break(PyObject *self, PyObject *unused)
{
	(void)unused;
	File *file = (File *)self;
	if (file->state == FILE_WRITING)
		file->state = FILE_BROKEN;
	Py_RETURN_NONE;
}

/* ---- the user's own source and sink ------------------------------------------------------ */

static void release_bytes(void *bytes)
{
	Py_DECREF((PyObject *)bytes);
}

static PyObject *file_push(PyObject *self, PyObject *args)
{
	File *file = (File *)self;
	PyObject *bytes;
	int ends;
	if (!PyArg_ParseTuple(args, "Sp:_push", &bytes, &ends))
		return NULL;
	if (file->reader == NULL) {
		PyErr_SetString(PyExc_OSError, "the file was closed meanwhile");
		return NULL;
	}
	Py_INCREF(bytes);
	int rc = agz_reader_push(file->reader, PyBytes_AS_STRING(bytes),
	                         (size_t)PyBytes_GET_SIZE(bytes), ends, release_bytes,
	                         bytes);
	if (rc < 0) {
		Py_DECREF(bytes);
		agzpy_raise(file->state_of_module, rc, NULL, self);
		return NULL;
	}
	Py_RETURN_NONE;
}

/* After the source went back to its start. True: done; False: wait and call again. */
static PyObject *file_restart(PyObject *self, PyObject *unused)
{
	(void)unused;
	File *file = (File *)self;
	if (file->reader == NULL) {
		PyErr_SetString(PyExc_OSError, "the file was closed meanwhile");
		return NULL;
	}
	int rc = agz_reader_restart(file->reader);
	if (rc < 0) {
		agzpy_raise(file->state_of_module, rc, NULL, self);
		return NULL;
	}
	if (rc == AGZ_OK) {
		agzpy_drop_ahead(file);
		Py_CLEAR(file->large); /* of a read that failed with the source */
		if (!file->returning)
			file->pos = 0;
		file->fault_raised = FAULT_NONE;
	}
	return PyBool_FromLong(rc == AGZ_OK);
}

/* ---- the type --------------------------------------------------------------------------- */

static PyObject *file_begin(PyObject *self, PyObject *operation)
{
	File *file = (File *)self;
	if (!Py_IS_TYPE(operation,
	                (PyTypeObject *)file->state_of_module->operation_type)) {
		PyErr_SetString(PyExc_TypeError, "an Operation is needed");
		return NULL;
	}
	Call *call = agzpy_call_of(operation);
	if (agzpy_guard(file, call->wants, call->verb) < 0)
		return NULL;
	uint64_t start = call->start;
	agzpy_begin(file, call);
	if (call->wants == FILE_WRITING) /* what was accepted so far is this call's */
		call->start = start;
	file->undo = NULL;
	file->running = Py_NewRef(operation);
	Py_RETURN_NONE;
}

static PyObject *file_end(PyObject *self, PyObject *operation)
{
	File *file = (File *)self;
	if (file->running == operation) {
		Call *call = agzpy_call_of(operation);
		if (call->cursor != NULL && file->state == call->wants)
			agz_cursor_unmark(call->cursor);
		Py_CLEAR(file->running);
	}
	if (file->waker != NULL)
		agzpy_turn_taken(file->waker);
	Py_RETURN_NONE;
}

static PyObject *file_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	(void)args;
	(void)kwargs;
	PyObject *module = PyType_GetModuleByDef(type, &agzpy_module);
	if (module == NULL)
		return NULL;
	File *file = (File *)type->tp_alloc(type, 0);
	if (file != NULL)
		file->state_of_module = PyModule_GetState(module);
	return (PyObject *)file;
}

#define FILE_OBJECTS(X)                                                                  \
	X(waker) X(ready) X(waiter) X(running) X(large) X(rest) X(block) X(name)

static int file_traverse(PyObject *self, visitproc visit, void *arg)
{
	File *file = (File *)self;
	Py_VISIT(Py_TYPE(self));
#define VISIT(field) Py_VISIT(file->field);
	FILE_OBJECTS(VISIT)
#undef VISIT
	return 0;
}

static int file_clear(PyObject *self)
{
	File *file = (File *)self;
	dispose(file);
	file->state = FILE_CLOSED;
	if (file->ready != NULL)
		file->ready->file = NULL; /* it may outlive the file */
#define CLEAR(field) Py_CLEAR(file->field);
	FILE_OBJECTS(CLEAR)
#undef CLEAR
	return 0;
}

static void file_finalize(PyObject *self)
{
	File *file = (File *)self;
	if (file->reader == NULL && file->writer == NULL)
		return;
	PyObject *type, *value, *traceback;
	PyErr_Fetch(&type, &value, &traceback);
	if (PyErr_ResourceWarning(self, 1, "unclosed file %R", self) < 0 &&
	    PyErr_ExceptionMatches(PyExc_Warning))
		PyErr_WriteUnraisable(self);
	PyErr_Restore(type, value, traceback);
}

static void file_dealloc(PyObject *self)
{
	if (PyObject_CallFinalizerFromDealloc(self) < 0)
		return;
	PyTypeObject *type = Py_TYPE(self);
	PyObject_GC_UnTrack(self);
	(void)file_clear(self);
	type->tp_free(self);
	Py_DECREF(type);
}

static PyObject *file_get_state(PyObject *self, void *unused)
{
	static const char *const names[] = {"new", "reading", "writing", "broken",
	                                    "closed"};
	(void)unused;
	return PyUnicode_FromString(names[((File *)self)->state]);
}

static PyObject *file_get_mtime(PyObject *self, void *unused)
{
	(void)unused;
	File *file = (File *)self;
	if (file->reader != NULL && file->asked)
		file->has_mtime = agz_reader_mtime(file->reader, &file->mtime);
	if (!file->has_mtime)
		Py_RETURN_NONE;
	return PyLong_FromUnsignedLong(file->mtime);
}

static PyObject *file_get_fd(PyObject *self, void *unused)
{
	(void)unused;
	File *file = (File *)self;
	if (file->reader != NULL)
		return PyLong_FromLong(agz_reader_fd(file->reader));
	if (file->writer != NULL)
		return PyLong_FromLong(agz_writer_fd(file->writer));
	return PyLong_FromLong(-1);
}

static PyObject *file_get_counts(PyObject *self, void *unused)
{
	(void)unused;
	File *file = (File *)self;
	if (file->reader == NULL)
		Py_RETURN_NONE;
	return Py_BuildValue("KKK",
	                     (unsigned long long)agz_reader_member_count(file->reader),
	                     (unsigned long long)agz_reader_in_nbytes(file->reader),
	                     (unsigned long long)agz_reader_out_nbytes(file->reader));
}

static PyObject *text_or_none(const uint8_t *ptr, size_t nbytes)
{
	if (ptr == NULL)
		Py_RETURN_NONE;
	return PyUnicode_DecodeLatin1((const char *)ptr, (Py_ssize_t)nbytes, NULL);
}

/* A record as the tuple that GzipMemberInfo(*record) takes. */
PyObject *agzpy_member_record(const agz_member *m)
{
	PyObject *name = text_or_none(m->name, m->name_nbytes);
	PyObject *comment = text_or_none(m->comment, m->comment_nbytes);
	PyObject *extra =
	        m->extra == NULL ? Py_NewRef(Py_None)
	                         : PyBytes_FromStringAndSize((const char *)m->extra,
	                                                     (Py_ssize_t)m->extra_nbytes);
	if (name == NULL || comment == NULL || extra == NULL) {
		Py_XDECREF(name);
		Py_XDECREF(comment);
		Py_XDECREF(extra);
		return NULL;
	}
	return Py_BuildValue(
	        "KKKKINNNBII", (unsigned long long)m->index,
	        (unsigned long long)m->in_offset, (unsigned long long)m->in_nbytes,
	        (unsigned long long)m->out_nbytes, (unsigned)m->mtime, name, comment,
	        extra, m->flags, (unsigned)m->crc32, (unsigned)m->isize);
}

static PyObject *file_members(PyObject *self, PyObject *unused)
{
	(void)unused;
	File *file = (File *)self;
	PyObject *list = PyList_New(0);
	if (list == NULL || file->reader == NULL)
		return list;
	const agz_member *m;
	for (uint64_t i = 0; (m = agz_reader_member(file->reader, i)) != NULL; i++) {
		PyObject *record = agzpy_member_record(m);
		if (record == NULL || PyList_Append(list, record) < 0) {
			Py_XDECREF(record);
			Py_DECREF(list);
			return NULL;
		}
		Py_DECREF(record);
	}
	return list;
}

#define FAST(name, doc)                                                                  \
	{                                                                                \
#name, (PyCFunction)(void (*)(void))agzpy_file_##name,                   \
		        METH_FASTCALL | METH_KEYWORDS, doc                               \
	}

static PyMethodDef file_methods[] = {
        FAST(read, "read($self, size=-1)\n--\n\n"
                   "Read up to size bytes, all if size is negative or None.\n\n"
                   "Fewer only at the end of the stream; b\"\" there."),
        FAST(read1,
             "read1($self, size=-1)\n--\n\n"
             "Read up to size bytes of what is decoded already, waiting only if that is\n"
             "nothing. b\"\" at the end of the stream."),
        FAST(readinto, "readinto($self, b)\n--\n\n"
                       "Read into a writable buffer; return the number of bytes."),
        FAST(readinto1, "readinto1($self, b)\n--\n\n"
                        "Like readinto(), of what is decoded already."),
        FAST(peek,
             "peek($self, size=-1)\n--\n\n"
             "Return size bytes from the current position without moving it, fewer only\n"
             "at the end of the stream; without a size what is at hand, at least one."),
        FAST(readline, "readline($self, limit=-1)\n--\n\n"
                       "Read one line, its end included, or up to limit bytes of it."),
        FAST(readlines,
             "readlines($self, hint=-1)\n--\n\n"
             "Read lines into a list, until they pass hint bytes; all by default."),
        FAST(seek,
             "seek($self, offset, whence=0)\n--\n\n"
             "Move to a decompressed offset; return it. Writers go forward, over zeros."),
        FAST(tell, "tell($self)\n--\n\nReturn the current decompressed offset."),
        FAST(write, "write($self, data)\n--\n\n"
                    "Write a bytes-like object; return its number of bytes."),
        FAST(writelines, "writelines($self, lines)\n--\n\n"
                         "Write each bytes-like object of an iterable."),
        FAST(flush,
             "flush($self)\n--\n\n"
             "Write all that was accepted to the file, so that it can be decoded."),
        {"_open_reader", (PyCFunction)(void (*)(void))file_open_reader,
         METH_VARARGS | METH_KEYWORDS, NULL},
        {"_open_writer", (PyCFunction)(void (*)(void))file_open_writer,
         METH_VARARGS | METH_KEYWORDS, NULL},
        {"_opened", file_opened, METH_NOARGS, NULL},
        {"_dispose", file_dispose, METH_O, NULL},
        {"_fail", file_fail, METH_NOARGS, NULL},
        {"_break", file_break, METH_NOARGS, NULL},
        {"_push", file_push, METH_VARARGS, NULL},
        {"_restart", file_restart, METH_NOARGS, NULL},
        {"_begin", file_begin, METH_O, NULL},
        {"_end", file_end, METH_O, NULL},
        {"_members", file_members, METH_NOARGS, NULL},
        {"_finish", agzpy_file_finish, METH_NOARGS, NULL},
        {"_stop", agzpy_file_stop, METH_NOARGS, NULL},
        {"_seek", (PyCFunction)(void (*)(void))agzpy_file_seek_mending, METH_FASTCALL,
         NULL},
        {"_scan", agzpy_file_scan, METH_NOARGS, NULL},
        {NULL, NULL, 0, NULL},
};

static PyMemberDef file_members_table[] = {
        {"_waiter", T_OBJECT, offsetof(File, waiter), 0, NULL},
        {"_running", T_OBJECT, offsetof(File, running), READONLY, NULL},
        {"_in_use", T_INT, offsetof(File, in_use), 0, NULL},
        {"_block", T_OBJECT, offsetof(File, block), 0, NULL},
        {"_position", T_ULONGLONG, offsetof(File, pos), READONLY, NULL},
        {"_name", T_OBJECT, offsetof(File, name), 0, NULL},
        {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef file_getset[] = {
        {"_state", file_get_state, NULL, NULL, NULL},
        {"_fd", file_get_fd, NULL, NULL, NULL},
        {"_counts", file_get_counts, NULL, NULL, NULL},
        {"mtime", file_get_mtime, NULL,
         "The mtime of the newest member header that was read, or None.", NULL},
        {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot file_slots[] = {
        {Py_tp_new, file_new},
        {Py_tp_dealloc, file_dealloc},
        {Py_tp_finalize, file_finalize},
        {Py_tp_traverse, file_traverse},
        {Py_tp_clear, file_clear},
        {Py_am_aiter, PyObject_SelfIter},
        {Py_am_anext, agzpy_file_anext},
        {Py_tp_methods, file_methods},
        {Py_tp_members, file_members_table},
        {Py_tp_getset, file_getset},
        {0, NULL},
};

PyType_Spec agzpy_file_spec = {
        .name = "agz._agz.File",
        .basicsize = sizeof(File),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
        .slots = file_slots,
};
