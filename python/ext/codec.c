/*
 * codec.c - agz_decoder and agz_encoder as objects, for agz.codec and the chunk streams.
 *
 * They have one way to be driven: feed(data), then next(...) until it gives None. The rules of
 * the public classes (operations, reservations) are in Python, in agz/codec.py.
 */
#include "module.h"

#include <string.h>

enum {
	MIN_BATCH = 64 << 10,
	MAX_BATCH = 256 << 10,
	UNLOCKED_NBYTES =
	        8 << 10 /* below this a step is over before the lock is dropped */
};

typedef struct Codec {
	PyObject_HEAD State *state;
	agz_decoder *decoder; /* of a Decoder */
	agz_encoder *encoder; /* of an Encoder */
	PyObject *data;       /* bytes being consumed, or NULL */
	size_t pos;
	PyObject *batch; /* output made and not yet handed out, if chunks are small */
	size_t batch_pos;
	PyObject *members;   /* list of records, or NULL */
	size_t batch_nbytes; /* adapts between MIN_BATCH and MAX_BATCH */
	int busy;            /* a thread is in a step without the interpreter lock */
	int stopped;         /* the last step's outcome, if nothing more comes of it */
} Codec;

/* One step into `out`. Returns its outcome, or a negative code. */
static int run_step(Codec *c, agz_output *out, int how)
{
	agz_input in = {"", 0, 0};
	int rc;
	if (c->data != NULL) {
		in.ptr = PyBytes_AS_STRING(c->data);
		in.nbytes = (size_t)PyBytes_GET_SIZE(c->data);
		in.pos = c->pos;
	}
	PyThreadState *released = NULL;
	PyObject *data = c->data;
	Py_XINCREF(data);
	c->busy = 1;
	if (in.nbytes - in.pos > UNLOCKED_NBYTES || out->nbytes - out->pos > MIN_BATCH)
		released = PyEval_SaveThread();
	if (c->decoder != NULL)
		rc = agz_decoder_step(c->decoder, &in, out, how ? AGZ_INPUT_ENDS : 0);
	else
		rc = agz_encoder_step(c->encoder, &in, out, (enum agz_flush)how);
	if (released != NULL)
		PyEval_RestoreThread(released);
	c->busy = 0;
	Py_XDECREF(data);
	c->pos = in.pos;
	if (in.pos == in.nbytes)
		Py_CLEAR(c->data);
	return rc;
}

static int keep_member(Codec *c)
{
	if (c->members == NULL)
		return 0;
	PyObject *record = agzpy_member_record(agz_decoder_member(c->decoder));
	int rc = record == NULL ? -1 : PyList_Append(c->members, record);
	Py_XDECREF(record);
	return rc;
}

/*
 * Fills a new bytes with up to `room` bytes. *result is NULL if nothing came out. What was
 * made before a fault is handed out first: the fault comes again with the next step.
 */
static int fill(Codec *c, size_t room, int how, PyObject **result)
{
	*result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)room);
	if (*result == NULL)
		return -1;
	agz_output out = {PyBytes_AS_STRING(*result), room, 0};
	for (;;) {
		int rc = run_step(c, &out, how);
		if (rc == AGZ_MEMBER_DONE) {
			if (keep_member(c) < 0)
				break;
			continue;
		}
		if (rc < 0 && out.pos == 0) {
			const agz_fault *fault = c->decoder != NULL
			                                 ? agz_decoder_fault(c->decoder)
			                                 : agz_encoder_fault(c->encoder);
			agzpy_raise(c->state, rc, fault, NULL);
			break;
		}
		c->stopped = rc == AGZ_NEEDS_INPUT || rc == AGZ_STREAM_DONE;
		if (out.pos == 0) {
			Py_CLEAR(*result);
			return 0;
		}
		return out.pos == room ? 0 : _PyBytes_Resize(result, (Py_ssize_t)out.pos);
	}
	Py_CLEAR(*result);
	return -1;
}

/* The next up to `size` bytes of the batch. */
static PyObject *slice(Codec *c, size_t size)
{
	size_t left = (size_t)PyBytes_GET_SIZE(c->batch) - c->batch_pos;
	if (c->batch_pos == 0 && left <= size) {
		PyObject *all = c->batch;
		c->batch = NULL;
		return all;
	}
	size_t n = left < size ? left : size;
	PyObject *part = PyBytes_FromStringAndSize(
	        PyBytes_AS_STRING(c->batch) + c->batch_pos, (Py_ssize_t)n);
	c->batch_pos += n;
	if (n == left)
		Py_CLEAR(c->batch);
	return part;
}

/* next(size, how): up to `size` bytes, or None when the input is used up (or all is done). */
static PyObject *codec_next(PyObject *self, PyObject *args)
{
	Codec *c = (Codec *)self;
	Py_ssize_t size;
	int how;
	if (!PyArg_ParseTuple(args, "ni:next", &size, &how))
		return NULL;
	if (size < 1 || how < 0 || how > 2) {
		PyErr_SetString(PyExc_ValueError, "size or mode out of range");
		return NULL;
	}
	if (c->busy) {
		PyErr_SetString(PyExc_RuntimeError,
		                "the codec is in use on another thread");
		return NULL;
	}
	if (c->batch != NULL)
		return slice(c, (size_t)size);
	if (c->stopped)
		Py_RETURN_NONE;
	/* The work of a step does not depend on how small the caller's chunks are. */
	size_t left = c->data == NULL ? 0 : (size_t)PyBytes_GET_SIZE(c->data) - c->pos;
	size_t room = c->batch_nbytes;
	if (c->decoder == NULL && left < room)
		room = left + 1024;
	PyObject *made;
	if (fill(c, room, how, &made) < 0)
		return NULL;
	if (made == NULL)
		Py_RETURN_NONE;
	if ((size_t)PyBytes_GET_SIZE(made) == c->batch_nbytes &&
	    c->batch_nbytes < MAX_BATCH)
		c->batch_nbytes *= 2;
	c->batch = made;
	c->batch_pos = 0;
	return slice(c, (size_t)size);
}

static PyObject *codec_feed(PyObject *self, PyObject *data)
{
	Codec *c = (Codec *)self;
	if (!PyBytes_CheckExact(data)) {
		PyErr_SetString(PyExc_TypeError, "data must be bytes");
		return NULL;
	}
	if (c->busy || c->data != NULL) {
		PyErr_SetString(PyExc_RuntimeError, "the input before is not used up");
		return NULL;
	}
	c->stopped = 0;
	if (PyBytes_GET_SIZE(data) > 0) {
		c->data = Py_NewRef(data);
		c->pos = 0;
	}
	Py_RETURN_NONE;
}

/* go_on(): the next step may find something again (the end of input, a flush). */
static PyObject *codec_go_on(PyObject *self, PyObject *unused)
{
	(void)unused;
	((Codec *)self)->stopped = 0;
	Py_RETURN_NONE;
}

static PyObject *codec_get_members(PyObject *self, void *unused)
{
	(void)unused;
	Codec *c = (Codec *)self;
	return c->members == NULL ? PyList_New(0) : Py_NewRef(c->members);
}

static PyObject *decoder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"max_out_nbytes", "collect", NULL};
	agz_decoder_options opts = AGZ_DECODER_OPTIONS_INIT;
	unsigned long long max_out;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Kp:Decoder", names, &max_out,
	                                 &opts.collect))
		return NULL;
	opts.max_out_nbytes = max_out;
	PyObject *module = PyType_GetModuleByDef(type, &agzpy_module);
	Codec *c = module == NULL ? NULL : (Codec *)type->tp_alloc(type, 0);
	if (c == NULL)
		return NULL;
	c->state = PyModule_GetState(module);
	c->batch_nbytes = MIN_BATCH;
	opts.engine = c->state->engine;
	int rc = agz_decoder_new(&opts, &c->decoder);
	if (rc < 0) {
		agzpy_raise(c->state, rc, NULL, NULL);
		Py_DECREF(c);
		return NULL;
	}
	if (opts.collect && (c->members = PyList_New(0)) == NULL)
		Py_CLEAR(c);
	return (PyObject *)c;
}

static PyObject *encoder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"level", "fast", "mtime", "name", "strict_size", NULL};
	agz_encoder_options opts = AGZ_ENCODER_OPTIONS_INIT;
	const char *name;
	Py_ssize_t name_nbytes;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ipIz#p:Encoder", names,
	                                 &opts.level, &opts.fast, &opts.mtime, &name,
	                                 &name_nbytes, &opts.strict_size))
		return NULL;
	opts.name = (const uint8_t *)name;
	opts.name_nbytes = (size_t)name_nbytes;
	PyObject *module = PyType_GetModuleByDef(type, &agzpy_module);
	Codec *c = module == NULL ? NULL : (Codec *)type->tp_alloc(type, 0);
	if (c == NULL)
		return NULL;
	c->state = PyModule_GetState(module);
	c->batch_nbytes = MIN_BATCH;
	opts.engine = c->state->engine;
	int rc = agz_encoder_new(&opts, &c->encoder);
	if (rc < 0) {
		agzpy_raise(c->state, rc, NULL, NULL);
		Py_DECREF(c);
		return NULL;
	}
	return (PyObject *)c;
}

static void codec_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	Codec *c = (Codec *)self;
	agz_decoder_free(c->decoder);
	agz_encoder_free(c->encoder);
	Py_XDECREF(c->data);
	Py_XDECREF(c->batch);
	Py_XDECREF(c->members);
	type->tp_free(self);
	Py_DECREF(type);
}

#define COUNT(name, expression)                                                          \
	static PyObject *codec_get_##name(PyObject *self, void *unused)                  \
	{                                                                                \
		(void)unused;                                                            \
		const Codec *c = (const Codec *)self;                                    \
		return PyLong_FromUnsignedLongLong(expression);                          \
	}
COUNT(in_nbytes, c->decoder != NULL ? agz_decoder_in_nbytes(c->decoder)
                                    : agz_encoder_in_nbytes(c->encoder))
COUNT(out_nbytes, agz_decoder_out_nbytes(c->decoder))
COUNT(member_count, agz_decoder_member_count(c->decoder))
COUNT(crc32, agz_encoder_crc32(c->encoder))

static PyMethodDef codec_methods[] = {
        {"feed", codec_feed, METH_O, NULL},
        {"next", codec_next, METH_VARARGS, NULL},
        {"go_on", codec_go_on, METH_NOARGS, NULL},
        {NULL, NULL, 0, NULL},
};

static PyGetSetDef decoder_getset[] = {
        {"in_nbytes", codec_get_in_nbytes, NULL, NULL, NULL},
        {"out_nbytes", codec_get_out_nbytes, NULL, NULL, NULL},
        {"member_count", codec_get_member_count, NULL, NULL, NULL},
        {"members", codec_get_members, NULL, NULL, NULL},
        {NULL, NULL, NULL, NULL, NULL},
};

static PyGetSetDef encoder_getset[] = {
        {"in_nbytes", codec_get_in_nbytes, NULL, NULL, NULL},
        {"crc32", codec_get_crc32, NULL, NULL, NULL},
        {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot decoder_slots[] = {
        {Py_tp_new, decoder_new},
        {Py_tp_dealloc, codec_dealloc},
        {Py_tp_methods, codec_methods},
        {Py_tp_getset, decoder_getset},
        {0, NULL},
};

static PyType_Slot encoder_slots[] = {
        {Py_tp_new, encoder_new},
        {Py_tp_dealloc, codec_dealloc},
        {Py_tp_methods, codec_methods},
        {Py_tp_getset, encoder_getset},
        {0, NULL},
};

PyType_Spec agzpy_decoder_spec = {
        .name = "agz._agz.Decoder",
        .basicsize = sizeof(Codec),
        .flags = Py_TPFLAGS_DEFAULT,
        .slots = decoder_slots,
};

PyType_Spec agzpy_encoder_spec = {
        .name = "agz._agz.Encoder",
        .basicsize = sizeof(Codec),
        .flags = Py_TPFLAGS_DEFAULT,
        .slots = encoder_slots,
};
