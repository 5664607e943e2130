/*
 * extension.c - makes the calls of the extension fail, and nobody else's: its slots for
 * functions of the C library and of Python are pointed here.
 *
 *     _agz.so ─ relocation "write" ─▶ f_write() ─ the plan ─▶ write()
 *
 * Loaded with ctypes.PyDLL; install(), then plan() before each attempt.
 */
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan.h"

/* ---- the system -------------------------------------------------------------------------- */

#define DEFINE_CALL(type, name, params, args, failure)                                   \
	static type f_##name params                                                      \
	{                                                                                \
		return hit(#name) ? (failure) : name args;                               \
	}
CALLS(DEFINE_CALL)

#define DEFINE_TRANSFER(name, params, args, one)                                         \
	static ssize_t f_##name params                                                   \
	{                                                                                \
		if (n == sizeof(uint64_t) || !hit(#name))                                \
			return name args;                                                \
		return plan.error == -1 && n > 0 ? name one : -1;                        \
	}
TRANSFERS(DEFINE_TRANSFER)

/* One that fails has closed the descriptor. */
static int f_close(int fd)
{
	int rc = close(fd);

	return hit("close") ? -1 : rc;
}

/* ---- memory ------------------------------------------------------------------------------- */

static void *f_malloc(size_t n)
{
	return hit("memory") ? NULL : malloc(n);
}

static void *f_realloc(void *ptr, size_t n)
{
	return hit("memory") ? NULL : realloc(ptr, n);
}

/* Not the calls of Python's own code: whether asyncio can wake a task without memory is its
 * affair. */
#define OBJECTS(X)                                                                       \
	X(PyBytes_FromObject, (PyObject * a), (a))                                       \
	X(PyBytes_FromStringAndSize, (const char *a, Py_ssize_t n), (a, n))              \
	X(PyList_AsTuple, (PyObject * a), (a))                                           \
	X(PyList_New, (Py_ssize_t n), (n))                                               \
	X(PyLong_FromSize_t, (size_t a), (a))                                            \
	X(PyLong_FromSsize_t, (Py_ssize_t a), (a))                                       \
	X(PyLong_FromUnsignedLong, (unsigned long a), (a))                               \
	X(PyLong_FromUnsignedLongLong, (unsigned long long a), (a))                      \
	X(PyObject_GetIter, (PyObject * a), (a))                                         \
	X(PyUnicode_AsASCIIString, (PyObject * a), (a))                                  \
	X(PyUnicode_AsEncodedString, (PyObject * a, const char *b, const char *c),       \
	  (a, b, c))                                                                     \
	X(PyUnicode_AsLatin1String, (PyObject * a), (a))                                 \
	X(PyUnicode_AsUTF8String, (PyObject * a), (a))                                   \
	X(PyUnicode_DecodeASCII, (const char *a, Py_ssize_t n, const char *b),           \
	  (a, n, b))                                                                     \
	X(PyUnicode_DecodeLatin1, (const char *a, Py_ssize_t n, const char *b),          \
	  (a, n, b))                                                                     \
	X(PyUnicode_DecodeUTF8, (const char *a, Py_ssize_t n, const char *b), (a, n, b)) \
	X(PyUnicode_FromString, (const char *a), (a))                                    \
	X(PyUnicode_New, (Py_ssize_t n, Py_UCS4 most), (n, most))

#define DEFINE_OBJECT(name, params, args)                                                \
	static PyObject *f_##name params                                                 \
	{                                                                                \
		return hit("memory") ? PyErr_NoMemory() : name args;                     \
	}
OBJECTS(DEFINE_OBJECT)

static int f_PyList_Append(PyObject *list, PyObject *item)
{
	if (!hit("memory"))
		return PyList_Append(list, item);
	PyErr_NoMemory();
	return -1;
}

static int f__PyBytes_Resize(PyObject **bytes, Py_ssize_t n)
{
	if (!hit("memory"))
		return _PyBytes_Resize(bytes, n);
	Py_CLEAR(*bytes);
	PyErr_NoMemory();
	return -1;
}

static void *f_PyMem_Malloc(size_t n)
{
	return hit("memory") ? NULL : PyMem_Malloc(n);
}

/* Objects of the extension's own types come by a slot of theirs. */
static PyObject *f_alloc(PyTypeObject *type, Py_ssize_t n)
{
	return hit("memory") ? PyErr_NoMemory() : PyType_GenericAlloc(type, n);
}

void watch_type(PyTypeObject *type);
void watch_type(PyTypeObject *type)
{
	type->tp_alloc = f_alloc;
}

/* ---- the slots ---------------------------------------------------------------------------- */

static const struct fake {
	const char *name;
	void *f;
} fakes[] = {
#define LIST_CALL(type, name, params, args, failure) {#name, (void *)f_##name},
        CALLS(LIST_CALL)
#define LIST_TRANSFER(name, params, args, one) {#name, (void *)f_##name},
                TRANSFERS(LIST_TRANSFER)
#define LIST_OBJECT(name, params, args) {#name, (void *)f_##name},
                        OBJECTS(LIST_OBJECT){"close", (void *)f_close},
        {"malloc", (void *)f_malloc},
        {"realloc", (void *)f_realloc},
        {"PyList_Append", (void *)f_PyList_Append},
        {"_PyBytes_Resize", (void *)f__PyBytes_Resize},
        {"PyMem_Malloc", (void *)f_PyMem_Malloc},
};

static void point(ElfW(Addr) where, void *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = where & ~(page - 1);

	/* It may be read-only since it was linked. */
	if (mprotect((void *)from, page, PROT_READ | PROT_WRITE) == 0)
		*(void **)where = to;
}

static int replace(ElfW(Addr) base, const ElfW(Rela) * r, size_t nbytes,
                   const ElfW(Sym) * symbols, const char *strings)
{
	int n = 0;

	for (const ElfW(Rela) *end = r + nbytes / sizeof(*r); r < end; r++) {
		const char *name = strings + symbols[ELF64_R_SYM(r->r_info)].st_name;
		size_t length = strlen(name);
		if (length > 2 && strcmp(name + length - 2, "64") == 0)
			length -= 2; /* open64 */
		for (size_t i = 0; i < sizeof(fakes) / sizeof(fakes[0]); i++) {
			if (strlen(fakes[i].name) == length &&
			    memcmp(name, fakes[i].name, length) == 0) {
				point(base + r->r_offset, fakes[i].f);
				n++;
			}
		}
	}
	return n;
}

static int look(struct dl_phdr_info *info, size_t size, void *path)
{
	const ElfW(Rela) *rela = NULL, *jumps = NULL;
	const ElfW(Sym) *symbols = NULL;
	const char *strings = NULL;
	size_t n_rela = 0, n_jumps = 0;

	(void)size;
	if (strcmp(info->dlpi_name, path) != 0)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		const ElfW(Dyn) *d =
		        (void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		for (; d->d_tag != DT_NULL; d++) {
			void *at = (void *)d->d_un.d_ptr;
			switch (d->d_tag) {
			case DT_RELA:
				rela = at;
				break;
			case DT_JMPREL:
				jumps = at;
				break;
			case DT_SYMTAB:
				symbols = at;
				break;
			case DT_STRTAB:
				strings = at;
				break;
			case DT_RELASZ:
				n_rela = d->d_un.d_val;
				break;
			case DT_PLTRELSZ:
				n_jumps = d->d_un.d_val;
				break;
			}
		}
	}
	return replace(info->dlpi_addr, rela, n_rela, symbols, strings) +
	       replace(info->dlpi_addr, jumps, n_jumps, symbols, strings);
}

/* Returns how many slots of the object at `path` are ours now. */
int install(const char *path);
int install(const char *path)
{
	return dl_iterate_phdr(look, (void *)(uintptr_t)path);
}

void plan_calls(const char *name, long at, int error, int good);
void plan_calls(const char *name, long at, int error, int good)
{
	make_plan(name, at, error, good != 0);
}

/* How many have failed, and how many there were; the plan is over. */
long plan_over(long *seen);
long plan_over(long *seen)
{
	plan.at = 0;
	*seen = plan.seen;
	return plan.hits;
}
