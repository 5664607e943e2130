/*
 * preload.c - makes the calls of a program fail: LD_PRELOAD, and the plan in AGZ_FAULT, as
 * "write:3:28", the third write(2) with errno 28, or "memory:2:0+", all allocations from the
 * second on. Only what the program itself calls counts, not its libraries. At its end it
 * writes to the descriptor AGZ_FAULT_FD how many have failed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "plan.h"

struct stat;
struct pollfd;

static uintptr_t program_from, program_to;

static int first_object(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && (p->p_flags & PF_X)) {
			program_from = info->dlpi_addr + p->p_vaddr;
			program_to = program_from + p->p_memsz;
		}
	}
	return 1;
}

__attribute__((constructor)) static void read_plan(void)
{
	const char *text = getenv("AGZ_FAULT");
	char name[32];
	long at;
	int error;

	dl_iterate_phdr(first_object, NULL);
	if (text != NULL && sscanf(text, "%31[^:]:%ld:%d", name, &at, &error) == 3)
		make_plan(name, at, error, text[strlen(text) - 1] == '+');
}

__attribute__((destructor)) static void report(void)
{
	const char *fd = getenv("AGZ_FAULT_FD");

	plan.at = 0;
	if (fd != NULL)
		dprintf(atoi(fd), "%ld\n", (long)plan.hits);
}

/* Of the program's own code, and by plan? */
#define STRUCK(name)                                                                     \
	((uintptr_t)__builtin_return_address(0) - program_from <                         \
	         program_to - program_from &&                                            \
	 hit(name))

#define REAL(type, name, params) ((type(*) params)dlsym(RTLD_NEXT, #name))

#define EXPORT(type, name, params, args, failure)                                        \
	type name params;                                                                \
	type name params                                                                 \
	{                                                                                \
		return STRUCK(#name) ? (failure) : REAL(type, name, params) args;        \
	}
CALLS(EXPORT)
EXPORT(int, close, (int fd), (fd), (REAL(int, close, (int))(fd), -1))
EXPORT(int, dup, (int fd), (fd), -1)
EXPORT(int, link, (const char *a, const char *b), (a, b), -1)
EXPORT(int, rename, (const char *a, const char *b), (a, b), -1)
EXPORT(int, unlink, (const char *a), (a), -1)
EXPORT(int, mkostemp, (char *a, int flags), (a, flags), -1)

/* The same, on systems of 64 bits. */
#define ALSO(alias_name, name)                                                           \
	extern __typeof__(name) alias_name __attribute__((alias(#name)));
ALSO(open64, open)
ALSO(fstat64, fstat)
ALSO(lseek64, lseek)
ALSO(mkostemp64, mkostemp)

#define EXPORT_TRANSFER(name, params, args, one)                                         \
	ssize_t name params;                                                             \
	ssize_t name params                                                              \
	{                                                                                \
		if (n == sizeof(uint64_t) || !STRUCK(#name))                             \
			return REAL(ssize_t, name, params) args;                         \
		return plan.error == -1 && n > 0 ? REAL(ssize_t, name, params) one : -1; \
	}
TRANSFERS(EXPORT_TRANSFER)
ALSO(pread64, pread)

/* dlsym() allocates. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t nbytes);
void *__libc_realloc(void *ptr, size_t n);

void *malloc(size_t n)
{
	return STRUCK("memory") ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t nbytes)
{
	return STRUCK("memory") ? NULL : __libc_calloc(n, nbytes);
}

void *realloc(void *ptr, size_t n)
{
	return STRUCK("memory") ? NULL : __libc_realloc(ptr, n);
}
