/*
 * module.c - agz._agz: multi-phase initialisation, heap types, all objects in the module's
 * state (PEP 489, PEP 573).
 */
#include "module.h"

#include <stdlib.h>
#include <string.h>

static PyObject *module_engines(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	PyObject *list = PyList_New(0);
	const agz_engine_info *e;
	for (size_t i = 0; list != NULL && (e = agz_engine_at(i)) != NULL; i++) {
		PyObject *item = Py_BuildValue("ssii", e->name, e->version, e->inflates,
		                               e->deflates);
		if (item == NULL || PyList_Append(list, item) < 0)
			Py_CLEAR(list);
		Py_XDECREF(item);
	}
	return list;
}

/* engines_in_use(level, fast): the names for inflate, deflate and CRC-32. */
static PyObject *module_engines_in_use(PyObject *module, PyObject *args)
{
	int level, fast;
	const char *engine = ((State *)PyModule_GetState(module))->engine;
	if (!PyArg_ParseTuple(args, "ip", &level, &fast))
		return NULL;
	return Py_BuildValue("zzz", agz_engine_for_inflate(engine),
	                     agz_engine_for_deflate(engine, level, fast),
	                     agz_engine_for_crc32());
}

static PyObject *module_threads(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	agz_pool *pool = agz_pool_shared();
	if (pool == NULL)
		return PyErr_NoMemory();
	return PyLong_FromUnsignedLong(agz_pool_threads(pool));
}

static PyMethodDef module_methods[] = {
        {"engines", module_engines, METH_NOARGS, NULL},
        {"engines_in_use", module_engines_in_use, METH_VARARGS, NULL},
        {"threads", module_threads, METH_NOARGS, NULL},
        {NULL, NULL, 0, NULL},
};

static int add_type(PyObject *module, PyType_Spec *spec, PyObject **place)
{
	*place = PyType_FromModuleAndSpec(module, spec, NULL);
	return *place == NULL ? -1 : PyModule_AddType(module, (PyTypeObject *)*place);
}

static int import_into(const char *from, const char *name, PyObject **place)
{
	PyObject *module = PyImport_ImportModule(from);
	*place = module == NULL ? NULL : PyObject_GetAttrString(module, name);
	Py_XDECREF(module);
	return *place == NULL ? -1 : 0;
}

/* AGZ_ENGINE is read by libagz; the peer's variable counts where that is not set. */
static const char *engine_of_environment(void)
{
	const char *own = getenv("AGZ_ENGINE"), *peer = getenv("AIOGZIP_ENGINE");
	return own == NULL && peer != NULL && strcmp(peer, "stdlib") == 0 ? "zlib" : NULL;
}

static int module_exec(PyObject *module)
{
	State *s = PyModule_GetState(module);
	s->engine = engine_of_environment();
	if (add_type(module, &agzpy_ready_spec, &s->ready_type) < 0 ||
	    add_type(module, &agzpy_operation_spec, &s->operation_type) < 0 ||
	    add_type(module, &agzpy_waker_spec, &s->waker_type) < 0 ||
	    add_type(module, &agzpy_file_spec, &s->file_type) < 0 ||
	    add_type(module, &agzpy_text_spec, &s->text_type) < 0 ||
	    add_type(module, &agzpy_decoder_spec, &s->decoder_type) < 0 ||
	    add_type(module, &agzpy_encoder_spec, &s->encoder_type) < 0 ||
	    import_into("agz._errors", "fault_error", &s->fault_error) < 0 ||
	    import_into("agz._errors", "refusal", &s->refusal) < 0 ||
	    import_into("agz._errors", "broken_file", &s->broken_file) < 0 ||
	    import_into("asyncio", "get_running_loop", &s->get_running_loop) < 0)
		return -1;
	s->str_mark = PyUnicode_InternFromString("mark");
	s->str_call_soon = PyUnicode_InternFromString("call_soon");
	s->str_run = PyUnicode_InternFromString("_run");
	s->str_done = PyUnicode_InternFromString("done");
	s->str_set_result = PyUnicode_InternFromString("set_result");
	s->str_decode = PyUnicode_InternFromString("decode");
	s->str_encode = PyUnicode_InternFromString("encode");
	s->empty_str = PyUnicode_New(0, 0);
	s->empty_bytes = PyBytes_FromStringAndSize(NULL, 0);
#define MISSING(name) || s->name == NULL
	if (0 AGZPY_STATE(MISSING))
		return -1;
#undef MISSING
	return PyModule_AddStringConstant(module, "version", agz_version());
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	State *s = PyModule_GetState(module);
#define VISIT(name) Py_VISIT(s->name);
	AGZPY_STATE(VISIT)
#undef VISIT
	return 0;
}

static int module_clear(PyObject *module)
{
	State *s = PyModule_GetState(module);
#define CLEAR(name) Py_CLEAR(s->name);
	AGZPY_STATE(CLEAR)
#undef CLEAR
	return 0;
}

static void module_free(void *module)
{
	(void)module_clear(module);
}

static PyModuleDef_Slot module_slots[] = {
        {Py_mod_exec, module_exec},
#ifdef Py_mod_multiple_interpreters
        {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
        {0, NULL},
};

struct PyModuleDef agzpy_module = {
        PyModuleDef_HEAD_INIT,
        .m_name = "agz._agz",
        .m_doc = "The C half of agz: files, codecs and the waker of an event loop.",
        .m_size = sizeof(State),
        .m_methods = module_methods,
        .m_slots = module_slots,
        .m_traverse = module_traverse,
        .m_clear = module_clear,
        .m_free = module_free,
};

PyMODINIT_FUNC PyInit__agz(void);

PyMODINIT_FUNC PyInit__agz(void)
{
	return PyModuleDef_Init(&agzpy_module);
}
