/*
 * read_uv.c - reads many gzip files at once from a libuv loop.
 *
 *     read_uv FILE...
 *
 * As read_poll; and a timer that ticks meanwhile shows that the loop is free.
 */
#define _GNU_SOURCE /* what uv.h needs, where the compiler is told -std=c11 */
#include <stdlib.h>

#include <uv.h>

#include "tally.h"

typedef struct program {
	uv_loop_t loop;
	uv_poll_t ready;
	uv_timer_t ticker;
	agz_waker *waker;
	tally *files;
	int n_left;
} program;

static void end_if_over(program *p)
{
	if (p->n_left > 0)
		return;
	uv_close((uv_handle_t *)&p->ready, NULL);
	uv_close((uv_handle_t *)&p->ticker, NULL);
}

static void on_ready(uv_poll_t *handle, int status, int events)
{
	program *p = handle->data;
	tally *t;

	(void)status;
	(void)events;
	agz_waker_clear(p->waker);
	while ((t = agz_waker_next(p->waker)) != NULL)
		p->n_left -= tally_go_on(t);
	end_if_over(p);
}

static void on_tick(uv_timer_t *handle)
{
	(void)handle; /* the loop's other work */
}

int main(int argc, char **argv)
{
	int n = argc - 1, all_well = 1;
	program p = {.n_left = n, .files = calloc((size_t)n + 1, sizeof(tally))};

	if (p.files == NULL || agz_waker_new(&p.waker) != AGZ_OK ||
	    uv_loop_init(&p.loop) != 0) {
		perror(argv[0]);
		return 1;
	}
	uv_poll_init(&p.loop, &p.ready, agz_waker_fd(p.waker));
	uv_timer_init(&p.loop, &p.ticker);
	p.ready.data = &p;
	uv_poll_start(&p.ready, UV_READABLE, on_ready);
	uv_timer_start(&p.ticker, on_tick, 1, 1);
	for (int i = 0; i < n; i++)
		tally_start(&p.files[i], argv[i + 1], p.waker);
	/* A file is named only if it was asked once, and had nothing yet. */
	for (int i = 0; i < n; i++)
		p.n_left -= tally_go_on(&p.files[i]);
	end_if_over(&p);
	uv_run(&p.loop, UV_RUN_DEFAULT);
	uv_loop_close(&p.loop);
	for (int i = 0; i < n; i++)
		all_well &= tally_report(&p.files[i]);
	agz_waker_free(p.waker);
	free(p.files);
	return !all_well;
}
