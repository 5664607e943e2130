/*
 * agz/pool.h - the worker threads, and the descriptor that wakes an event loop.
 */
#ifndef AGZ_POOL_H
#define AGZ_POOL_H

#include "agz/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pool -----------------------------------------------------------------------
 *
 * Threads that run the jobs of readers and writers: any number of files, each file's
 * jobs in order, one at a time. No thread ever waits on behalf of one file, with one
 * exception: a read or write of a descriptor that blocks (a FIFO, a terminal, a
 * slow disk) occupies its thread while it blocks. Such calls (for all but regular files
 * and block devices) run on threads of their own, up to AGZ_POOL_BLOCKING, so that
 * they cannot starve the others.
 *
 * Thread-safe. Threads start at first use, block all signals, and are named "agz".
 *
 * Fork: a child may go on using every pool, reader and writer. Its threads start anew.
 * A job that a thread was running in the parent at that moment is lost in the child:
 * its reader or writer fails there with AGZ_E_FORKED. The parent notices nothing. A file
 * that the child makes no call for is neither read nor written by it.
 */
typedef struct agz_pool agz_pool;

#define AGZ_POOL_BLOCKING 64

/*
 * n_threads 0: the default, the processors this process may use (sched_getaffinity),
 * at least 2, at most 8; or AGZ_THREADS (1 to 256) from the environment.
 */
AGZ_API int agz_pool_new(unsigned n_threads, agz_pool **pool);

/* Waits for running jobs. Every reader and writer of it must be closed before. */
AGZ_API void agz_pool_free(agz_pool *pool);

/* The pool of the process, made at first use with the defaults, never freed.
 * NULL if there is no memory for it. */
AGZ_API agz_pool *agz_pool_shared(void);

/* How many threads it may start. */
AGZ_API unsigned agz_pool_threads(const agz_pool *pool);

/* ---- waker ------------------------------------------------------------------------
 *
 * One for each event loop. A reader or writer whose call returned AGZ_WAIT is named
 * once, as soon as the same call may answer something else:
 *
 *     register agz_waker_fd(w) for reading with the loop; when it is readable:
 *             agz_waker_clear(w);
 *             while ((user = agz_waker_next(w)) != NULL)
 *                     resume(user);
 *
 * It is a hint: wake-ups coalesce and may be spurious. Descriptor: an eventfd, or a
 * pipe where there is none; close-on-exec, non-blocking. Clear and next are called
 * on the loop's thread alone.
 */
typedef struct agz_waker agz_waker;

/* The answer of a call that would have to wait. Positive: no error. */
#define AGZ_WAIT 16

/* The end of what a reader or writer has to give. */
#define AGZ_END 17

/* Nothing is under way and nothing comes unless the caller gives more. */
#define AGZ_HUNGRY 18

AGZ_API int agz_waker_new(agz_waker **waker);

/* Readers and writers that still name this waker keep working, but wake nobody. */
AGZ_API void agz_waker_free(agz_waker *waker);

AGZ_API int agz_waker_fd(const agz_waker *waker);
AGZ_API void agz_waker_clear(agz_waker *waker);

/* The `user` of the next reader or writer to look at, or NULL. Never one that was
 * closed. */
AGZ_API void *agz_waker_next(agz_waker *waker);

#ifdef __cplusplus
}
#endif

#endif
