/*
 * agz/error.h - codes, messages, faults; the version; the allocator.
 */
#ifndef AGZ_ERROR_H
#define AGZ_ERROR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define AGZ_API __attribute__((visibility("default")))
#else
#define AGZ_API
#endif

#define AGZ_VERSION "0.1.0"

/* The version of the library that is linked, a static string. */
AGZ_API const char *agz_version(void);

/*
 * The one table of errors: name, code, message. The messages of corrupt data name
 * the check that failed; where and in which member stands in the agz_fault.
 */
#define AGZ_ERROR_MAP(X)                                                                 \
	X(NOMEM, -1, "out of memory")                                                    \
	X(ARGUMENT, -2, "invalid argument")                                              \
	X(SYSTEM, -3, "system call failed") /* errno in agz_fault.sys */                 \
	X(STATE, -4, "call not allowed in this state")                                   \
	X(BUSY, -5, "another call is in progress")                                       \
	X(NOT_SEEKABLE, -6, "source cannot seek")                                        \
	X(ENGINE, -7, "no such engine, in the options or in AGZ_ENGINE")                 \
	X(FORKED, -8, "work in flight was lost in a fork")                               \
	X(MAGIC, -20, "Not a gzipped file")                                              \
	X(METHOD, -21, "Unknown compression method")                                     \
	X(FLAGS, -22, "Reserved flags are set in the gzip header")                       \
	X(HEADER_CRC, -23, "Header CRC check failed")                                    \
	X(HEADER_SIZE, -24, "gzip header exceeds 128 MiB")                               \
	X(DEFLATE, -25, "invalid deflate data")                                          \
	X(CRC, -26, "incorrect data check: CRC check failed")                            \
	X(ISIZE, -27, "incorrect length check: ISIZE check failed")                      \
	X(TRUNCATED, -28, "truncated: the stream ends before its end-of-stream marker")  \
	X(OUTPUT_LIMIT, -40, "decompressed output exceeded max_decompressed_size")       \
	X(MEMBER_SIZE, -41, "member exceeds the 4 GiB that ISIZE can hold")

enum agz_error {
	AGZ_OK = 0,
#define AGZ_ERROR_ENUM(name, code, message) AGZ_E_##name = (code),
	AGZ_ERROR_MAP(AGZ_ERROR_ENUM)
#undef AGZ_ERROR_ENUM
};

/* True for the codes that mean "these bytes are not valid gzip". */
#define AGZ_IS_CORRUPT(code) ((code) <= AGZ_E_MAGIC && (code) >= AGZ_E_TRUNCATED)

/* "CRC" for AGZ_E_CRC; "UNKNOWN" for no code of the table. Static strings. */
AGZ_API const char *agz_error_name(int code);
AGZ_API const char *agz_error_message(int code);

/*
 * What failed, and where. An object that fails keeps one; it lasts as long as the
 * object, or until the object is reset.
 */
typedef struct agz_fault {
	int code;               /* of agz_error; 0: no fault */
	int sys;                /* errno, for AGZ_E_SYSTEM; else 0 */
	uint64_t member;        /* number of the member, from 0 */
	uint64_t in_offset;     /* compressed offset: of the wrong byte, field or end */
	uint64_t limit_nbytes;  /* the bound, for AGZ_E_OUTPUT_LIMIT */
	unsigned char found[2]; /* for AGZ_E_MAGIC: the bytes that were there */
	unsigned char n_found;
} agz_fault;

/*
 * Writes a sentence such as "incorrect data check: CRC check failed, member 2, compressed
 * offset 4711" into buf, always NUL-terminated, cut if it does not fit. 160 bytes
 * are enough for every fault. Returns buf.
 */
AGZ_API char *agz_fault_format(const agz_fault *fault, char *buf, size_t buf_nbytes);

/*
 * Where all memory of the library comes from. `resize` and `release` are as per
 * realloc(3) and free(3); `allocate` as per malloc(3). The hooks must be callable
 * from any thread. Call before any other function of the library; NULL restores
 * the C library's. An engine that allocates on its own (ISA-L does not) is handed
 * the same hooks where it takes any.
 */
typedef struct agz_allocator {
	void *(*allocate)(size_t nbytes);
	void *(*resize)(void *ptr, size_t nbytes);
	void (*release)(void *ptr);
} agz_allocator;

AGZ_API void agz_set_allocator(const agz_allocator *allocator);

#ifdef __cplusplus
}
#endif

#endif
