/*
 * source.c - reading descriptors, and the table of system calls.
 *
 *     start          offset                 nbytes
 *       ├── read ──────┼── left ──────────────┤┈┈ grown since
 */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* pread, O_CLOEXEC */
#endif
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#endif

#include "io/source.h"

static int real_open(const char *path, int flags, mode_t mode)
{
	return open(path, flags, mode);
}

#if defined(SYS_openat2) && defined(RESOLVE_CACHED) && defined(RWF_NOWAIT)
#define OPENS_NOW 1

static int open_cached(const char *path, int flags)
{
	struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC),
	                       .resolve = RESOLVE_CACHED};
	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* Those whose open() itself asks nobody, neither another machine nor a process. */
static bool local(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return false;
	switch (fs.f_type) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
		return true;
	}
	return false;
}

/* What it is has to be known first: to open a FIFO, a tape or a terminal does something. */
static int real_open_now(const char *path, struct stat *st)
{
	int peek = open_cached(path, O_PATH), fd = -1;

	if (peek < 0)
		return -1;
	if (fstat(peek, st) == 0 && S_ISREG(st->st_mode) && local(peek))
		fd = open_cached(path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	close(peek);
	if (fd >= 0 && (fstat(fd, st) != 0 || !S_ISREG(st->st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static ssize_t real_pread_now(int fd, void *ptr, size_t nbytes, off_t offset)
{
	struct iovec to = {ptr, nbytes};

	return preadv2(fd, &to, 1, offset, RWF_NOWAIT);
}
#endif

const agz__system agz__real_system = {
        .open = real_open,
        .fstat = fstat,
        .read = read,
        .pread = pread,
        .write = write,
        .lseek = lseek,
        .poll = poll,
        .close = close,
#ifdef OPENS_NOW
        .open_now = real_open_now,
        .pread_now = real_pread_now,
#endif
};

const agz__system *agz__system_table = &agz__real_system;

#define sys (*agz__system_table)

int agz__wait_for(int fd, short events, const agz__bell *bell)
{
	struct pollfd fds[2] = {
	        {.fd = fd, .events = events},
	        {.fd = bell->fd, .events = POLLIN},
	};

	while (sys.poll(fds, 2, -1) < 0) {
		if (errno != EINTR && errno != EAGAIN)
			return AGZ_E_SYSTEM;
	}
	if (fds[1].revents == 0)
		return AGZ_OK;
	agz__bell_clear(bell);
	return AGZ_END;
}

/* Learns what fd is. */
static int look(agz__source *source)
{
	struct stat st;

	if (sys.fstat(source->fd, &st) != 0)
		return AGZ_E_SYSTEM;
	if (S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return AGZ_E_SYSTEM;
	}
	source->regular = S_ISREG(st.st_mode);
	source->live = !source->regular && !S_ISBLK(st.st_mode);
	if (source->regular)
		source->nbytes = (uint64_t)st.st_size;
	return source->live ? agz__bell_open(&source->bell) : AGZ_OK;
}

/*
 * O_NONBLOCK is for FIFOs: opening one must not wait for its writer; the first read does,
 * where it can be called off. It means nothing to a regular file, but for one under a
 * lease (fcntl(2), F_SETLEASE), which is then opened again in the patient way.
 */
int agz__source_open(agz__source *source, const char *path)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

	*source = (agz__source){.fd = -1, .owned = true, .bell = {-1, -1}};
	do {
		source->fd = sys.open(path, flags, 0);
		if (source->fd < 0 && errno == EWOULDBLOCK)
			flags &= ~O_NONBLOCK;
		else if (source->fd >= 0 || errno != EINTR)
			break;
	} while (source->fd < 0);
	if (source->fd < 0)
		return AGZ_E_SYSTEM;

	int rc = look(source);
	if (rc != AGZ_OK) {
		int saved = errno;
		agz__source_close(source);
		errno = saved;
		return rc;
	}
	source->positional = source->regular;
	source->seekable = !source->live;
	return AGZ_OK;
}

bool agz__source_open_now(agz__source *source, const char *path, void *ptr, size_t most)
{
	struct stat st;

	if (sys.open_now == NULL)
		return false;
	int fd = sys.open_now(path, &st);
	if (fd < 0)
		return false;
	*source = (agz__source){.fd = fd,
	                        .owned = true,
	                        .positional = true,
	                        .regular = true,
	                        .seekable = true,
	                        .nbytes = (uint64_t)st.st_size,
	                        .bell = {-1, -1}};
	if (source->nbytes <= most &&
	    sys.pread_now(fd, ptr, (size_t)st.st_size + 1, 0) == st.st_size) {
		source->offset = source->nbytes;
		return true;
	}
	agz__source_close(source);
	return false;
}

int agz__source_adopt(agz__source *source, int fd, bool owned)
{
	*source = (agz__source){.fd = fd, .owned = owned, .bell = {-1, -1}};
	int rc = look(source);
	if (rc != AGZ_OK)
		return rc;
	off_t at = sys.lseek(fd, 0, SEEK_CUR);
	if (at >= 0) {
		source->seekable = true;
		source->start = source->offset = (uint64_t)at;
	}
	return AGZ_OK;
}

int agz__source_wait(const agz__source *source)
{
	return source->live ? agz__wait_for(source->fd, POLLIN, &source->bell) : AGZ_OK;
}

int agz__source_read(agz__source *source, void *ptr, size_t nbytes, size_t *got)
{
	ssize_t n;

	*got = 0;
	do {
		if (source->positional)
			n = sys.pread(source->fd, ptr, nbytes, (off_t)source->offset);
		else
			n = sys.read(source->fd, ptr, nbytes);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && source->live && (errno == EAGAIN || errno == EWOULDBLOCK))
		return AGZ_WAIT;
	if (n < 0)
		return AGZ_E_SYSTEM;
	source->offset += (uint64_t)n;
	*got = (size_t)n;
	return AGZ_OK;
}

int agz__source_seek(agz__source *source, uint64_t offset)
{
	uint64_t target = source->start + offset;

	if (!source->seekable)
		return AGZ_E_NOT_SEEKABLE;
	if (!source->positional && sys.lseek(source->fd, (off_t)target, SEEK_SET) < 0)
		return AGZ_E_SYSTEM;
	source->offset = target;
	return AGZ_OK;
}

bool agz__source_tail(const agz__source *source, void *tail, size_t nbytes)
{
	if (!source->regular || source->nbytes < source->start + nbytes)
		return false;
	return sys.pread(source->fd, tail, nbytes, (off_t)(source->nbytes - nbytes)) ==
	       (ssize_t)nbytes;
}

uint64_t agz__source_left(const agz__source *source)
{
	return source->nbytes > source->offset ? source->nbytes - source->offset : 0;
}

void agz__source_close(agz__source *source)
{
	agz__bell_close(&source->bell);
	/* A descriptor that was only read has nothing to lose when close(2) fails. */
	if (source->owned && source->fd >= 0)
		sys.close(source->fd);
	source->fd = -1;
}
