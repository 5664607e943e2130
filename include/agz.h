/*
 * agz.h - gzip for programs that must not stop.
 *
 * libagz comes in layers; each header is the manual of one, and uses only those
 * above it:
 *
 *   agz/error.h   codes, messages, faults; the allocator
 *   agz/codec.h   gzip decoder and encoder: spans in, spans out; no I/O, no threads
 *   agz/text.h    UTF-8 checks, newline modes, blocks, and a cursor over blocks
 *   agz/pool.h    the worker threads and the pollable wake-up descriptor
 *   agz/reader.h  asynchronous reading: a file becomes blocks
 *   agz/writer.h  asynchronous writing: bytes become a file
 *
 * Rules that hold everywhere:
 *
 *  1. Sizes and offsets are in bytes. `*_nbytes` is a count, `*_offset` a place.
 *  2. A function that can fail returns int: 0 or a positive status is success, a
 *     negative value is a code of agz/error.h. Nothing is printed, no signal
 *     handler is installed, the process is never ended.
 *  3. `_new` pairs with `_free`, `_open` with `_close`. `_free(NULL)` does nothing.
 *  4. An options struct starts with its own size and is begun with its `_INIT`
 *     macro, so that it can grow without breaking a program built before.
 *  5. An object belongs to one thread at a time, unless its header says more.
 *     Different objects may be used from different threads at once.
 */
#ifndef AGZ_H
#define AGZ_H

#include "agz/error.h"
#include "agz/codec.h"
#include "agz/text.h"
#include "agz/pool.h"
#include "agz/reader.h"
#include "agz/writer.h"

#endif
