/*
 * test_pool.c - attacks the pool: more jobs than threads, jobs that block while others wait,
 * jobs that never end, threads that cannot be started, signals, and forks at every state of a
 * job.
 */
#define _GNU_SOURCE 1

#include "io_support.h"

#include <pthread.h>
#include <sys/prctl.h>

#include "pool/waker.h"

/* A job that says that it runs, waits until it may end, and says that it did. */
typedef struct task {
	agz__job job; /* first */
	agz__sleeper sleeper;
	sem_t came, go, went;
	int n_runs, yields;
	bool moves;
} task;

static atomic_int running, most_running;

static void task_run(agz__job *job)
{
	task *t = (task *)job;
	int n = atomic_fetch_add(&running, 1) + 1, most = most_running;

	while (n > most && !atomic_compare_exchange_weak(&most_running, &most, n))
		;
	sem_post(&t->came);
	test_wait_for(&t->go);
	atomic_fetch_sub(&running, 1);
	agz__lock();
	t->n_runs++;
	if (t->yields > 0 && t->yields-- && agz__job_yield(job)) {
		agz__unlock();
		return;
	}
	if (t->moves && job->lane == AGZ__BUSY && agz__job_move(job, AGZ__BLOCKING)) {
		agz__unlock();
		return;
	}
	agz__job_done(job);
	agz__unlock();
	sem_post(&t->went);
}

static void task_init(task *t)
{
	memset(t, 0, sizeof(*t));
	t->job.run = task_run;
	t->job.pool = test_pool;
	t->job.sleeper = &t->sleeper;
	agz__sleeper_init(&t->sleeper, test_waker, t);
	sem_init(&t->came, 0, 0);
	sem_init(&t->go, 0, 0);
	sem_init(&t->went, 0, 0);
}

static void task_leave(task *t)
{
	agz__lock();
	agz__sleeper_leave(&t->sleeper);
	agz__unlock();
}

static int task_submit(task *t, enum agz__lane lane)
{
	agz__lock();
	int rc = agz__job_submit(&t->job, lane);
	agz__unlock();
	return rc;
}

static enum agz__job_state task_state(const task *t)
{
	agz__lock();
	enum agz__job_state state = t->job.state;
	agz__unlock();
	return state;
}

/* A hundred jobs on two threads: all run, never more than two at once. */
static void all_run(void **state)
{
	enum { N = 100 };
	static task tasks[N];

	(void)state;
	running = most_running = 0;
	assert_int_equal(agz_pool_threads(test_pool), 2);
	for (int i = 0; i < N; i++) {
		task_init(&tasks[i]);
		assert_int_equal(task_submit(&tasks[i], AGZ__BUSY), AGZ_OK);
	}
	/* Both threads get a job, and no third one is taken up. */
	test_wait_for(&tasks[0].came);
	test_wait_for(&tasks[1].came);
	assert_int_equal(task_state(&tasks[0]), AGZ__JOB_RUNNING);
	assert_int_equal(task_state(&tasks[2]), AGZ__JOB_QUEUED);
	for (int i = 0; i < N; i++)
		sem_post(&tasks[i].go);
	for (int i = 0; i < N; i++)
		test_wait_for(&tasks[i].went);
	for (int i = 0; i < N; i++) {
		assert_int_equal(tasks[i].n_runs, 1);
		assert_int_equal(task_state(&tasks[i]), AGZ__JOB_IDLE);
		task_leave(&tasks[i]);
	}
	assert_int_equal(most_running, 2);
}

/* Jobs that block, as many as their lane has threads, keep nobody from the busy lane; one
 * more of them waits its turn. */
static void blocked_starve_nobody(void **state)
{
	enum { N = AGZ_POOL_BLOCKING + 1 };
	static task tasks[N], busy;

	(void)state;
	for (int i = 0; i < N; i++) {
		task_init(&tasks[i]);
		assert_int_equal(task_submit(&tasks[i], AGZ__BLOCKING), AGZ_OK);
	}
	for (int i = 0; i < N - 1; i++)
		test_wait_for(&tasks[i].came);
	assert_int_equal(task_state(&tasks[N - 1]), AGZ__JOB_QUEUED);
	task_init(&busy);
	sem_post(&busy.go);
	assert_int_equal(task_submit(&busy, AGZ__BUSY), AGZ_OK);
	test_wait_for(&busy.went);
	for (int i = 0; i < N; i++)
		sem_post(&tasks[i].go);
	for (int i = 0; i < N; i++) {
		test_wait_for(&tasks[i].went);
		task_leave(&tasks[i]);
	}
	task_leave(&busy);
}

/* What is queued can be taken back, in any order; what runs cannot. */
static void withdraw(void **state)
{
	static task block[2], tasks[3];
	static const int take_back[] = {1, 0, 2};

	(void)state;
	for (int i = 0; i < 2; i++) {
		task_init(&block[i]);
		task_submit(&block[i], AGZ__BUSY);
		test_wait_for(&block[i].came);
	}
	for (int i = 0; i < 3; i++) {
		task_init(&tasks[i]);
		task_submit(&tasks[i], AGZ__BUSY);
	}
	agz__lock();
	assert_false(agz__job_withdraw(&block[0].job));
	for (int i = 0; i < 3; i++) {
		assert_true(agz__job_withdraw(&tasks[take_back[i]].job));
		assert_false(agz__job_withdraw(&tasks[take_back[i]].job));
	}
	agz__unlock();
	for (int i = 0; i < 2; i++) {
		sem_post(&block[i].go);
		test_wait_for(&block[i].went);
		task_leave(&block[i]);
	}
	for (int i = 0; i < 3; i++) {
		assert_int_equal(tasks[i].n_runs, 0);
		task_leave(&tasks[i]);
	}
}

/* A job that yields lets the other go first; alone, it goes on. */
static void yield(void **state)
{
	static task block, a, b;

	(void)state;
	task_init(&block);
	task_init(&a);
	task_init(&b);
	task_submit(&block, AGZ__BUSY); /* leaves one thread */
	test_wait_for(&block.came);
	a.yields = 2;
	task_submit(&a, AGZ__BUSY);
	test_wait_for(&a.came);
	task_submit(&b, AGZ__BUSY);
	sem_post(&a.go);
	test_wait_for(&b.came); /* a has yielded, and is queued again */
	assert_int_equal(task_state(&a), AGZ__JOB_QUEUED);
	assert_int_equal(a.n_runs, 1);
	sem_post(&b.go);
	test_wait_for(&a.came);
	sem_post(&a.go); /* nobody waits: it is not queued, but done */
	test_wait_for(&a.went);
	assert_int_equal(a.n_runs, 2);
	sem_post(&block.go);
	test_wait_for(&block.went);
	test_wait_for(&b.went);
	task_leave(&block);
	task_leave(&a);
	task_leave(&b);
}

static int no_thread(pthread_t *thread, const pthread_attr_t *attr, void *(*f)(void *),
                     void *arg)
{
	(void)thread;
	(void)attr;
	(void)f;
	(void)arg;
	return EAGAIN;
}

static void no_threads(void **state)
{
	static task a, b;

	(void)state;
	task_init(&a);
	task_init(&b);
	agz__thread_create = no_thread;
	assert_int_equal(task_submit(&a, AGZ__BUSY), AGZ_E_SYSTEM);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(task_state(&a), AGZ__JOB_IDLE);

	/* With one that runs, there is no error: the job waits for it. */
	agz__thread_create = pthread_create;
	assert_int_equal(task_submit(&a, AGZ__BUSY), AGZ_OK);
	test_wait_for(&a.came);
	agz__thread_create = no_thread;
	assert_int_equal(task_submit(&b, AGZ__BUSY), AGZ_OK);
	assert_int_equal(task_state(&b), AGZ__JOB_QUEUED);

	/* A job that cannot move stays where it is. */
	a.moves = true;
	sem_post(&a.go);
	test_wait_for(&a.went);
	sem_post(&b.go);
	test_wait_for(&b.went);
	agz__thread_create = pthread_create;
	task_leave(&a);
	task_leave(&b);
}

static void move(void **state)
{
	static task a, b, c;

	(void)state;
	task_init(&a);
	task_init(&b);
	task_init(&c);
	a.moves = true;
	task_submit(&a, AGZ__BUSY);
	task_submit(&b, AGZ__BUSY);
	task_submit(&c, AGZ__BUSY);
	sem_post(&a.go);
	/* Once more, in the other lane; so that the busy one has room for c. */
	test_wait_for(&a.came);
	test_wait_for(&a.came);
	test_wait_for(&b.came);
	test_wait_for(&c.came);
	sem_post(&a.go);
	sem_post(&b.go);
	sem_post(&c.go);
	test_wait_for(&a.went);
	test_wait_for(&b.went);
	test_wait_for(&c.went);
	assert_int_equal(a.n_runs, 2);
	task_leave(&a);
	task_leave(&b);
	task_leave(&c);
}

static sigset_t mask_of_worker;
static char name_of_worker[32];

static void look_around(agz__job *job)
{
	pthread_sigmask(SIG_BLOCK, NULL, &mask_of_worker);
	prctl(PR_GET_NAME, name_of_worker);
	task_run(job);
}

/* Signals go to the program's own threads. */
static void signals_are_blocked(void **state)
{
	static task a;
	sigset_t before, after;

	(void)state;
	task_init(&a);
	a.job.run = look_around;
	sem_post(&a.go);
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	task_submit(&a, AGZ__BUSY);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	test_wait_for(&a.went);
	assert_string_equal(name_of_worker, "agz");
	for (int sig = 1; sig < 32; sig++) {
		if (sig != SIGKILL && sig != SIGSTOP)
			assert_true(sigismember(&mask_of_worker, sig));
		assert_int_equal(sigismember(&before, sig), sigismember(&after, sig));
	}
	task_leave(&a);
}

static void sizes(void **state)
{
	static const struct {
		const char *text;
		unsigned n; /* 0: the default */
	} cases[] = {
	        {"1", 1},     {"3", 3},
	        {"256", 256}, {"257", 0},
	        {"0", 0},     {"-1", 0},
	        {"", 0},      {"x", 0},
	        {"3x", 0},    {"99999999999999999999", 0},
	};
	agz_pool *pool;

	(void)state;
	unsetenv("AGZ_THREADS");
	assert_int_equal(agz_pool_new(0, &pool), AGZ_OK);
	unsigned n = agz_pool_threads(pool);
	assert_in_range(n, 2, 8);
	agz_pool_free(pool);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setenv("AGZ_THREADS", cases[i].text, 1);
		assert_int_equal(agz_pool_new(0, &pool), AGZ_OK);
		assert_int_equal(agz_pool_threads(pool), cases[i].n ? cases[i].n : n);
		agz_pool_free(pool);
	}
	unsetenv("AGZ_THREADS");
	assert_int_equal(agz_pool_new(257, &pool), AGZ_E_ARGUMENT);
	assert_null(pool);
	agz_pool_free(NULL);
	test_fail_after(0);
	assert_int_equal(agz_pool_new(1, &pool), AGZ_E_NOMEM);
}

static sem_t in_free, freed;

static void *free_pool(void *arg)
{
	sem_post(&in_free);
	agz_pool_free(arg);
	sem_post(&freed);
	return NULL;
}

/* Freeing a pool waits for the job that runs. */
static void free_waits(void **state)
{
	static task a;
	pthread_t thread;

	(void)state;
	task_init(&a);
	assert_int_equal(agz_pool_new(1, &a.job.pool), AGZ_OK);
	sem_init(&in_free, 0, 0);
	sem_init(&freed, 0, 0);
	task_submit(&a, AGZ__BUSY);
	test_wait_for(&a.came);
	assert_int_equal(pthread_create(&thread, NULL, free_pool, a.job.pool), 0);
	test_wait_for(&in_free);
	assert_int_equal(sem_trywait(&freed), -1);
	sem_post(&a.go);
	test_wait_for(&a.went);
	test_wait_for(&freed);
	pthread_join(thread, NULL);
	task_leave(&a);
}

static atomic_int n_started, n_returned;

struct thread_main {
	void *(*run)(void *);
	void *arg;
};

/* A thread that takes its time between its last word and its end. */
static void *return_late(void *arg)
{
	struct thread_main m = *(struct thread_main *)arg;

	free(arg);
	m.run(m.arg);
	for (int i = 0; i < 1000; i++)
		sched_yield();
	atomic_fetch_add(&n_returned, 1);
	return NULL;
}

static int start_late(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                      void *arg)
{
	struct thread_main *m = malloc(sizeof(*m));

	*m = (struct thread_main){run, arg};
	atomic_fetch_add(&n_started, 1);
	return pthread_create(thread, attr, return_late, m);
}

/* Once a pool is freed no thread of it runs any code of ours. */
static void free_joins(void **state)
{
	enum { N = 8 };
	static task tasks[N];
	agz_pool *pool;

	(void)state;
	n_started = n_returned = 0;
	agz__thread_create = start_late;
	assert_int_equal(agz_pool_new(3, &pool), AGZ_OK);
	for (int i = 0; i < N; i++) {
		task_init(&tasks[i]);
		tasks[i].job.pool = pool;
		sem_post(&tasks[i].go);
		task_submit(&tasks[i], i % 2 ? AGZ__BLOCKING : AGZ__BUSY);
	}
	for (int i = 0; i < N; i++)
		test_wait_for(&tasks[i].went);
	agz_pool_free(pool);
	agz__thread_create = pthread_create;
	assert_true(n_started > 0);
	assert_int_equal(n_started, n_returned);
	for (int i = 0; i < N; i++)
		task_leave(&tasks[i]);
}

/* ---- fork -------------------------------------------------------------------------------- */

static int look_in_child(void *arg)
{
	task *tasks = arg;

	/* 0 and 1 ran, 2 was queued, 3 idle. The first three are named, once each. */
	if (task_state(&tasks[0]) != AGZ__JOB_LOST ||
	    task_state(&tasks[1]) != AGZ__JOB_LOST ||
	    task_state(&tasks[2]) != AGZ__JOB_IDLE ||
	    task_state(&tasks[3]) != AGZ__JOB_IDLE)
		return 1;
	struct pollfd p = {.fd = agz_waker_fd(test_waker), .events = POLLIN};
	if (poll(&p, 1, 0) != 1)
		return 2;
	agz_waker_clear(test_waker);
	for (int i = 0; i < 3; i++) {
		task *t = agz_waker_next(test_waker);
		if (t == NULL || t == &tasks[3])
			return 3;
	}
	if (agz_waker_next(test_waker) != NULL)
		return 4;
	/* Threads start anew. */
	for (int i = 2; i < 4; i++) {
		sem_post(&tasks[i].go);
		if (task_submit(&tasks[i], i == 2 ? AGZ__BUSY : AGZ__BLOCKING) != AGZ_OK)
			return 5;
		test_wait_for(&tasks[i].went);
	}
	agz_pool_free(test_pool);
	return 0;
}

static void forked(void **state)
{
	static task tasks[4];

	(void)state;
	test_needs_fork();
	for (int i = 0; i < 4; i++) {
		task_init(&tasks[i]);
		if (i < 3)
			task_submit(&tasks[i], AGZ__BUSY);
		if (i < 2)
			test_wait_for(&tasks[i].came);
	}
	test_in_child(look_in_child, tasks);

	/* The parent notices nothing. */
	assert_true(test_quiet(test_waker));
	assert_int_equal(task_state(&tasks[2]), AGZ__JOB_QUEUED);
	for (int i = 0; i < 3; i++)
		sem_post(&tasks[i].go);
	for (int i = 0; i < 3; i++)
		test_wait_for(&tasks[i].went);
	for (int i = 0; i < 4; i++)
		task_leave(&tasks[i]);
}

static int submit_in_child(void *arg)
{
	task *t = arg;

	sem_post(&t->go);
	if (task_submit(t, AGZ__BUSY) != AGZ_OK)
		return 1;
	test_wait_for(&t->went);
	return t->n_runs == 1 ? 0 : 2;
}

static atomic_bool stop_churning;

static void *churn(void *arg)
{
	task *t = arg;

	while (!stop_churning) {
		sem_post(&t->go);
		task_submit(t, AGZ__BUSY);
		test_wait_for(&t->went);
	}
	return NULL;
}

/* Forks while another thread's jobs come and go: the child's pool works each time. */
static void forked_at_any_time(void **state)
{
	static task busy, mine;
	pthread_t thread;

	(void)state;
	test_needs_fork();
	task_init(&busy);
	task_init(&mine);
	stop_churning = false;
	assert_int_equal(pthread_create(&thread, NULL, churn, &busy), 0);
	for (int i = 0; i < 50; i++)
		test_in_child(submit_in_child, &mine);
	stop_churning = true;
	pthread_join(thread, NULL);
	task_leave(&busy);
	task_leave(&mine);
}

/* Of threads that ask for it first at once, all get the same. Never freed. */
static void *get_shared(void *arg)
{
	(void)arg;
	return agz_pool_shared();
}

static void shared(void **state)
{
	pthread_t threads[8];
	void *pool, *first = NULL;

	(void)state;
	for (int i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, get_shared, NULL), 0);
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], &pool);
		assert_non_null(pool);
		assert_true(first == NULL || pool == first);
		first = pool;
	}
	assert_ptr_equal(agz_pool_shared(), first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        io_test(all_run),
	        io_test(blocked_starve_nobody),
	        io_test(withdraw),
	        io_test(yield),
	        io_test(no_threads),
	        io_test(move),
	        io_test(signals_are_blocked),
	        io_test(sizes),
	        io_test(free_waits),
	        io_test(free_joins),
	        io_test(forked),
	        io_test(forked_at_any_time),
	        cmocka_unit_test(shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
