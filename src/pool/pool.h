/*
 * pool.h - jobs, and the one lock.
 *
 * One lock of the process guards the queues, the wakers' lists and what a reader or
 * writer shares with its job. It is held for a few pointer moves at a time, once or
 * twice a block; so it costs nothing that can be measured, and holding it over fork()
 * makes every one of those structures whole in the child.
 *
 *     idle ──submit──▶ queued ──a thread──▶ running ──done──▶ idle
 *       ▲                │  ▲                 │  └──fork──▶ lost (in the child)
 *       └withdraw, fork──┘  └──────yield──────┘
 *
 * In a child of fork() no job is queued any more, until its file is used there: a child
 * that never touches a file must not read or write a byte of it behind its parent's back.
 * Every file that had a job in flight is named to its waker, so that it is looked at.
 */
#ifndef AGZ_POOL_POOL_H
#define AGZ_POOL_POOL_H

#include <pthread.h>
#include <stdbool.h>

#include "agz/pool.h"

void agz__lock(void);
void agz__unlock(void);

enum agz__job_state {
	AGZ__JOB_IDLE = 0,
	AGZ__JOB_QUEUED,
	AGZ__JOB_RUNNING,
	AGZ__JOB_LOST /* it was running in the parent when this process was forked */
};

/* Which threads run it: AGZ__BLOCKING for a job that may wait for somebody else. */
enum agz__lane { AGZ__BUSY = 0, AGZ__BLOCKING = 1, AGZ__N_LANES };

/* One file's work, embedded in the file; so that to hand it over allocates nothing.
 * Its fields are the pool's; `state` may be read under the lock. */
typedef struct agz__job agz__job;
struct agz__job {
	void (*run)(agz__job *job); /* without the lock */
	agz_pool *pool;
	struct agz__sleeper *sleeper; /* the file's */
	agz__job *next, *prev;        /* in its lane's queue, or among the running */
	enum agz__job_state state;
	enum agz__lane lane;
	bool kept; /* its file is waited for by the call that closes it, which frees it */
};

/* All of these under the lock. */

/* Queues an idle job. AGZ_E_SYSTEM, with errno, if no thread runs and none can be
 * started; the job is then idle still. */
int agz__job_submit(agz__job *job, enum agz__lane lane);

/* Takes a queued job back: true, and it is idle. False: it was not queued. */
bool agz__job_withdraw(agz__job *job);

/* By run(): the job is idle, and may be freed by whoever has the lock next. */
void agz__job_done(agz__job *job);

/* By run(): true if other jobs wait for a thread; then the job is queued behind them,
 * and run() must return. */
bool agz__job_yield(agz__job *job);

/* By run(): to another lane; then run() must return. False: that has no thread. */
bool agz__job_move(agz__job *job, enum agz__lane lane);

/* By the call that closes a file: waits until the job has left the caller's memory
 * (*borrowed is false). A job that ends meanwhile must leave its file alone: `kept`. */
void agz__job_outwait(agz__job *job, const bool *borrowed);

/* Waits, the lock given up meanwhile, until some thread calls agz__pool_settle(). */
void agz__pool_wait(agz_pool *pool);
void agz__pool_settle(agz_pool *pool);

/* pthread_create, for tests to replace. */
extern int (*agz__thread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                                 void *);

/* Called by pool.c in the child of a fork, the lock held: gives it bells of its own. */
void agz__wakers_forked(void);

#endif
