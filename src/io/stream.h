/*
 * stream.h - a source and a decoder in one: the half of a reader that works.
 *
 * It belongs to one thread at a time: the one that runs the reader's job, or the caller's
 * while no job is in flight. Nothing here locks or waits, but for a live source's bytes.
 */
#ifndef AGZ_IO_STREAM_H
#define AGZ_IO_STREAM_H

#include "agz/codec.h"
#include "agz/reader.h"
#include "io/source.h"

#define AGZ__SMALL_NBYTES     (64 * 1024) /* of a file that its open job reads to its end */
#define AGZ__TINY_NBYTES      (8 * 1024) /* of one that is opened and read by its caller */
#define AGZ__STEP_NBYTES      (256 * 1024) /* taken or made by one decoder step, at most */
#define AGZ__CHUNK_NBYTES     (256 * 1024) /* the default chunk */
#define AGZ__MAX_CHUNK_NBYTES (1024 * 1024 * 1024)

/* What has been seen of the stream. */
typedef struct agz__counts {
	uint64_t in_nbytes, out_nbytes, members;
	uint32_t mtime;
	bool has_mtime;
} agz__counts;

/* A member that is kept, and the one piece of memory its strings lie in. */
typedef struct agz__record {
	agz_member member;
	uint8_t *strings; /* NULL if it has none */
} agz__record;

typedef struct agz__stream {
	enum agz_source kind;
	agz__source source; /* for paths and descriptors */
	agz_input in;       /* not decoded yet: in `buffer`, or where the caller has it */
	bool ends;          /* nothing follows `in` */
	uint8_t *buffer;
	size_t buffer_nbytes;
	size_t chunk_nbytes;
	uint64_t hint;        /* see agz_reader_size_hint() */
	agz_decoder *decoder; /* made at first need, given back at the end */
	agz_decoder_options options;
	char engine[24];    /* where options.engine points, if it was given */
	agz__counts before; /* what decoders given back have seen */
	agz__record *members;
	size_t n_members, members_capacity;
	agz_fault fault;
	/* A member that failed is decoded once more, by zlib, if the engine is in doubt. */
	struct {
		bool asked;             /* and the member has not ended yet */
		uint64_t left;          /* bytes of it that were handed out already */
		uint32_t crc, left_crc; /* of those, and of what zlib makes of them */
		agz_fault fault;        /* the first verdict */
	} again;

	/* Asked before memory or a descriptor that is the caller's is touched, and told when
	 * that is over: false means that they are the caller's no more. */
	bool (*enter)(void *arg);
	void (*leave)(void *arg);
	void *arg;
} agz__stream;

/* The options must have been checked. Opens nothing yet. */
void agz__stream_init(agz__stream *stream, const agz_reader_options *opts);

/* For a path or a descriptor: AGZ_OK, or an error and stream->fault. */
int agz__stream_open(agz__stream *stream, const char *path, int fd, bool owned);

/*
 * Opens a path whose file is small and in the system's memory, and reads all of it, without
 * waiting for anything. False: it is to be opened as any other.
 */
bool agz__stream_open_now(agz__stream *stream, const char *path);

/* It is read into a buffer of ours, and may grow. */
static inline bool agz__stream_is_file(const agz__stream *stream)
{
	return stream->kind == AGZ_SOURCE_PATH || stream->kind == AGZ_SOURCE_FD;
}

/* Nothing has to be read to decode what comes next. */
static inline bool agz__stream_at_hand(const agz__stream *stream)
{
	return stream->ends && stream->in.pos < stream->in.nbytes;
}

/*
 * Fills `out`. Returns
 *
 *     AGZ_OUTPUT_FULL   there may be more
 *     AGZ_WAIT          not full, but what follows may take its time to come
 *     AGZ_HUNGRY        a pushed stream has used its input up
 *     AGZ_END           the stream's end; a file may be asked again, it may have grown
 *     < 0               see stream->fault; what was decoded before is in `out`
 */
int agz__stream_decode(agz__stream *stream, agz_output *out);

/* Back to the start; for a pushed stream, to wait for its first byte. An error changes
 * nothing. */
int agz__stream_rewind(agz__stream *stream);

bool agz__stream_seekable(const agz__stream *stream);

agz__counts agz__stream_counts(const agz__stream *stream);

/* Forgets all memory without freeing it: after a fork its state is not known. */
void agz__stream_forget(agz__stream *stream);

void agz__stream_close(agz__stream *stream);

#endif
