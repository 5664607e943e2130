/*
 * pool.c - the worker threads.
 *
 * A pool has two lanes. The busy lane's few threads do what keeps a processor busy; the
 * blocking lane has a thread for each job that may have to wait for somebody else.
 *
 *     submit ─▶ [job]─[job]─[job] ─▶ thread, thread      (busy: as many as processors)
 *     submit ─▶ [job]             ─▶ thread, thread, ... (blocking: as many as jobs)
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getaffinity, pthread_setname_np */
#endif
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

#include "base/memory.h"
#include "pool/waker.h"

#define MAX_THREADS   256
#define IDLE_BLOCKING 2            /* threads of the blocking lane kept for later */
#define STACK_NBYTES  (512 * 1024) /* no engine needs a tenth of it */

typedef struct lane {
	agz__job *first, *last;
	unsigned n_queued;
	unsigned n_idle; /* threads that wait, those signalled already included */
	unsigned n_threads;
	unsigned max_threads;
	unsigned max_idle;
	pthread_cond_t work;
} lane;

struct agz_pool {
	lane lanes[AGZ__N_LANES];
	agz__job *running;
	bool stopping;
	bool has_ended; /* a thread that nobody joined yet */
	pthread_t ended;
	pthread_cond_t settled;
	agz_pool *next, *prev; /* among all pools, for fork */
};

int (*agz__thread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                          void *) = pthread_create;

static pthread_mutex_t the_lock = PTHREAD_MUTEX_INITIALIZER;
static agz_pool *all_pools;
static agz_pool *shared_pool;
static pthread_once_t atfork_once = PTHREAD_ONCE_INIT;

void agz__lock(void)
{
	pthread_mutex_lock(&the_lock);
}

void agz__unlock(void)
{
	pthread_mutex_unlock(&the_lock);
}

/* ---- fork ------------------------------------------------------------------------ */

static void forked_job(agz__job *job, enum agz__job_state state)
{
	job->state = state;
	agz__sleeper_wake(job->sleeper);
}

/* Only the forking thread lives on in the child, and what the others ran is lost. */
static void forked_child(void)
{
	agz__wakers_forked();
	for (agz_pool *pool = all_pools; pool != NULL; pool = pool->next) {
		for (int i = 0; i < AGZ__N_LANES; i++) {
			lane *ln = &pool->lanes[i];
			for (agz__job *job = ln->first; job != NULL; job = job->next)
				forked_job(job, AGZ__JOB_IDLE);
			ln->first = ln->last = NULL;
			ln->n_queued = ln->n_idle = ln->n_threads = 0;
			pthread_cond_init(&ln->work, NULL);
		}
		for (agz__job *job = pool->running; job != NULL; job = job->next)
			forked_job(job, AGZ__JOB_LOST);
		pool->running = NULL;
		pool->has_ended = false;
		pthread_cond_init(&pool->settled, NULL);
	}
	agz__unlock();
}

static void register_atfork(void)
{
	pthread_atfork(agz__lock, agz__unlock, forked_child);
}

/* ---- threads ----------------------------------------------------------------------- */

static void name_thread(void)
{
#if defined(__linux__)
	pthread_setname_np(pthread_self(), "agz");
#elif defined(__APPLE__)
	pthread_setname_np("agz");
#endif
}

static agz__job *unqueue(lane *ln, agz__job *job)
{
	*(job->prev ? &job->prev->next : &ln->first) = job->next;
	*(job->next ? &job->next->prev : &ln->last) = job->prev;
	ln->n_queued--;
	return job;
}

static void queue(lane *ln, agz__job *job)
{
	job->state = AGZ__JOB_QUEUED;
	job->next = NULL;
	job->prev = ln->last;
	*(ln->last ? &ln->last->next : &ln->first) = job;
	ln->last = job;
	ln->n_queued++;
}

static void set_running(agz__job *job)
{
	job->state = AGZ__JOB_RUNNING;
	job->prev = NULL;
	job->next = job->pool->running;
	if (job->next != NULL)
		job->next->prev = job;
	job->pool->running = job;
}

static void run(agz__job *job)
{
	set_running(job);
	agz__unlock();
	job->run(job);
	agz__lock();
}

/* A thread that ends joins the one that ended before it, so that whoever joins the last one
 * knows that none is left. Called with the lock, returns without. */
static void end_thread(agz_pool *pool, lane *ln)
{
	bool follows = pool->has_ended;
	pthread_t before = pool->ended;

	pool->ended = pthread_self();
	pool->has_ended = true;
	ln->n_threads--;
	pthread_cond_broadcast(&pool->settled);
	agz__unlock();
	if (follows)
		pthread_join(before, NULL);
}

static void work(agz_pool *pool, lane *ln)
{
	name_thread();
	agz__lock();
	for (;;) {
		if (ln->first != NULL) {
			run(unqueue(ln, ln->first));
			continue;
		}
		if (pool->stopping || ln->n_idle >= ln->max_idle)
			break;
		ln->n_idle++;
		pthread_cond_wait(&ln->work, &the_lock);
		ln->n_idle--;
	}
	end_thread(pool, ln);
}

static void *work_busy(void *arg)
{
	agz_pool *pool = arg;

	work(pool, &pool->lanes[AGZ__BUSY]);
	return NULL;
}

static void *work_blocking(void *arg)
{
	agz_pool *pool = arg;

	work(pool, &pool->lanes[AGZ__BLOCKING]);
	return NULL;
}

/* Returns 0 or an errno. The new thread inherits a mask that blocks every signal: they
 * are for the program's own threads. */
static int start_thread(agz_pool *pool, enum agz__lane which)
{
	void *(*const mains[AGZ__N_LANES])(void *) = {work_busy, work_blocking};
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;

	int err = pthread_attr_init(&attr);
	if (err != 0)
		return err;
	pthread_attr_setstacksize(&attr, STACK_NBYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = agz__thread_create(&thread, &attr, mains[which], pool);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (err == 0)
		pool->lanes[which].n_threads++;
	return err;
}

/* Sees that somebody will run what is queued. Returns 0 or an errno. */
static int staff(agz_pool *pool, enum agz__lane which)
{
	lane *ln = &pool->lanes[which];

	if (ln->n_queued > ln->n_idle && ln->n_threads < ln->max_threads) {
		int err = start_thread(pool, which);
		if (err != 0 && ln->n_threads == 0)
			return err;
	}
	if (ln->n_idle > 0)
		pthread_cond_signal(&ln->work);
	return 0;
}

/* ---- jobs -------------------------------------------------------------------------- */

int agz__job_submit(agz__job *job, enum agz__lane which)
{
	lane *ln = &job->pool->lanes[which];

	job->lane = which;
	queue(ln, job);
	int err = staff(job->pool, which);
	if (err == 0)
		return AGZ_OK;
	agz__job_withdraw(job);
	errno = err;
	return AGZ_E_SYSTEM;
}

bool agz__job_withdraw(agz__job *job)
{
	if (job->state != AGZ__JOB_QUEUED)
		return false;
	unqueue(&job->pool->lanes[job->lane], job)->state = AGZ__JOB_IDLE;
	return true;
}

void agz__job_done(agz__job *job)
{
	*(job->prev ? &job->prev->next : &job->pool->running) = job->next;
	if (job->next != NULL)
		job->next->prev = job->prev;
	job->state = AGZ__JOB_IDLE;
}

bool agz__job_yield(agz__job *job)
{
	lane *ln = &job->pool->lanes[job->lane];

	if (ln->n_queued <= ln->n_idle)
		return false;
	agz__job_done(job);
	queue(ln, job);
	return true;
}

bool agz__job_move(agz__job *job, enum agz__lane which)
{
	agz__job_done(job);
	if (agz__job_submit(job, which) == AGZ_OK)
		return true;
	set_running(job);
	return false;
}

void agz__job_outwait(agz__job *job, const bool *borrowed)
{
	job->kept = true;
	while (job->state != AGZ__JOB_IDLE && *borrowed)
		agz__pool_wait(job->pool);
	job->kept = false;
}

void agz__pool_wait(agz_pool *pool)
{
	pthread_cond_wait(&pool->settled, &the_lock);
}

void agz__pool_settle(agz_pool *pool)
{
	pthread_cond_broadcast(&pool->settled);
}

/* ---- the pool ---------------------------------------------------------------------- */

static unsigned default_threads(void)
{
	const char *text = getenv("AGZ_THREADS");
	char *end;

	if (text != NULL && *text != '\0') {
		long n = strtol(text, &end, 10);
		if (*end == '\0' && n >= 1 && n <= MAX_THREADS)
			return (unsigned)n;
	}

	long n = 0;
#ifdef __linux__
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
#endif
	if (n <= 0)
		n = sysconf(_SC_NPROCESSORS_ONLN);
	return n < 2 ? 2 : n > 8 ? 8 : (unsigned)n;
}

static void init_lane(lane *ln, unsigned max_threads, unsigned max_idle)
{
	ln->max_threads = max_threads;
	ln->max_idle = max_idle;
	pthread_cond_init(&ln->work, NULL);
}

static agz_pool *make_pool(unsigned n_threads)
{
	agz_pool *pool = agz__calloc(1, sizeof(*pool));

	if (pool == NULL)
		return NULL;
	if (n_threads == 0)
		n_threads = default_threads();
	init_lane(&pool->lanes[AGZ__BUSY], n_threads, n_threads);
	init_lane(&pool->lanes[AGZ__BLOCKING], AGZ_POOL_BLOCKING, IDLE_BLOCKING);
	pthread_cond_init(&pool->settled, NULL);
	pthread_once(&atfork_once, register_atfork);
	return pool;
}

static void enlist_pool(agz_pool *pool)
{
	pool->next = all_pools;
	if (pool->next != NULL)
		pool->next->prev = pool;
	all_pools = pool;
}

int agz_pool_new(unsigned n_threads, agz_pool **pool)
{
	*pool = NULL;
	if (n_threads > MAX_THREADS)
		return AGZ_E_ARGUMENT;
	agz_pool *made = make_pool(n_threads);
	if (made == NULL)
		return AGZ_E_NOMEM;
	agz__lock();
	enlist_pool(made);
	agz__unlock();
	*pool = made;
	return AGZ_OK;
}

void agz_pool_free(agz_pool *pool)
{
	if (pool == NULL)
		return;
	agz__lock();
	pool->stopping = true;
	for (int i = 0; i < AGZ__N_LANES; i++)
		pthread_cond_broadcast(&pool->lanes[i].work);
	while (pool->lanes[AGZ__BUSY].n_threads + pool->lanes[AGZ__BLOCKING].n_threads >
	       0)
		agz__pool_wait(pool);
	*(pool->prev ? &pool->prev->next : &all_pools) = pool->next;
	if (pool->next != NULL)
		pool->next->prev = pool->prev;
	agz__unlock();
	if (pool->has_ended)
		pthread_join(pool->ended, NULL);
	for (int i = 0; i < AGZ__N_LANES; i++)
		pthread_cond_destroy(&pool->lanes[i].work);
	pthread_cond_destroy(&pool->settled);
	agz__free(pool);
}

agz_pool *agz_pool_shared(void)
{
	agz__lock();
	agz_pool *pool = shared_pool;
	agz__unlock();
	if (pool != NULL)
		return pool;

	/* Made without the lock; of two threads that do so at once, one gives way. */
	pool = make_pool(0);
	agz__lock();
	if (shared_pool == NULL && pool != NULL) {
		enlist_pool(pool);
		shared_pool = pool;
		pool = NULL;
	}
	agz_pool *winner = shared_pool;
	agz__unlock();
	agz__free(pool);
	return winner;
}

unsigned agz_pool_threads(const agz_pool *pool)
{
	return pool->lanes[AGZ__BUSY].max_threads;
}
