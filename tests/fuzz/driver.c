/*
 * driver.c - main() for a target that libFuzzer does not run: each file named, and each in
 * the folders named, once.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <sys/stat.h>

#include "fuzz.h"

static unsigned n_files;

static void run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t part[4096];
	fuzz_bytes input = {0};
	size_t n;

	CHECK(file != NULL);
	while ((n = fread(part, 1, sizeof(part), file)) > 0)
		fuzz_add(&input, part, n);
	CHECK(!ferror(file));
	fclose(file);
	fprintf(stderr, "%s\n", path); /* the last one is the one that failed */
	/* In memory that ends where the input does. */
	uint8_t *exact = fuzz_copy(input.ptr, input.nbytes);
	LLVMFuzzerTestOneInput(exact, input.nbytes);
	free(exact);
	free(input.ptr);
	n_files++;
}

static void run_path(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	char *name;

	if (folder == NULL) {
		run_file(path);
		return;
	}
	while ((entry = readdir(folder)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		CHECK(asprintf(&name, "%s/%s", path, entry->d_name) > 0);
		run_path(name);
		free(name);
	}
	closedir(folder);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run_path(argv[i]);
	fprintf(stderr, "%u inputs\n", n_files);
	return n_files == 0;
}
