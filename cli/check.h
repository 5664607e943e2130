/*
 * check.h - what inspect and verify have in common: they go through whole files, and
 * report in words or, under --json, one object a line.
 */
#ifndef AGZ_CLI_CHECK_H
#define AGZ_CLI_CHECK_H

#include <jansson.h>

#include "cli.h"

/* RUNNING, or what the file is worth if it could not be read to its end. */
int check_open(struct work *work, unsigned flags);

/* As a verb's step, but RUNNING once the whole file was found valid. */
int check_step(struct work *work);

/* What both say of a valid file, in words. */
void check_words(const struct work *work, const char *before);

/* Prints the object on a line, and frees it. With more files than one it begins with
 * "file". NULL: there was no memory to make it. DONE or FAILED. */
int check_print(const struct work *work, json_t *object);

/* The report of a file that is not what it should be. */
void check_failed(const struct work *work, const char *text);

#endif
