/*
 * lines.c - the line splitter, in each mode, with each kind of vector instructions and any
 * room for its results, against one that looks at a byte at a time.
 */
#define _GNU_SOURCE
#include "fuzz.h"
#include "text/cpu.h"
#include "text/lines.h"

/* Does a line end behind p[i], as far as p[0..nbytes) shows? */
static bool ends_at(enum agz_newline newline, const uint8_t *p, size_t nbytes, size_t i)
{
	switch (newline) {
	case AGZ_NEWLINE_LF:
		return p[i] == '\n';
	case AGZ_NEWLINE_CR:
		return p[i] == '\r';
	case AGZ_NEWLINE_CRLF:
		return p[i] == '\n' && i > 0 && p[i - 1] == '\r';
	case AGZ_NEWLINE_ANY:
	default:
		return p[i] == '\n' ||
		       (p[i] == '\r' && i + 1 < nbytes && p[i + 1] != '\n');
	}
}

static void check(enum agz_newline newline, const uint8_t *p, size_t nbytes, fuzz f)
{
	do {
		size_t max = fuzz_cut(&f, nbytes + 1), n = 0, used;
		uint32_t *ends = malloc(max * sizeof(*ends));
		size_t found = agz__find_ends(newline, p, nbytes, ends, max, &used);
		bool more = false;

		for (size_t i = 0; i < nbytes && !more; i++) {
			if (!ends_at(newline, p, nbytes, i))
				continue;
			more = n == max;
			CHECK(more || (n < found && ends[n] == i + 1));
			n += !more;
		}
		CHECK(n == found && used == (more ? ends[n - 1] : nbytes));
		free(ends);
		p += used;
		nbytes -= used;
	} while (nbytes > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *ptr, size_t nbytes)
{
	static const char *const cpus[] = {"scalar", "sse2", "avx2", "neon"};
	fuzz f = fuzz_start(ptr, nbytes);
	uint8_t *copy = fuzz_copy(f.ptr, f.nbytes);

	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		setenv("AGZ_CPU", cpus[i], 1);
		agz__cpu_forget();
		for (int newline = 0; newline <= AGZ_NEWLINE_ANY; newline++)
			check((enum agz_newline)newline, copy, f.nbytes, f);
	}
	free(copy);
	return 0;
}
