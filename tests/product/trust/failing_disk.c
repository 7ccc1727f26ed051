/* A disk that fails: preloaded into a process, the n-th call that writes below a folder fails.
 *
 * likewise_fail(folder, n, code, lasting) arms it: call n (counted from 1) sets errno to code and
 * writes nothing; with lasting every later call does too, as on a disk that stays full.  Calls on
 * other files pass, so that a test can report what happened.  likewise_seen() counts the calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[PATH_MAX];
static size_t length;
static atomic_long seen;
static long fail_at;
static int code, lasting;

void likewise_fail(const char *below, long n, int with, int stays)
{
    length = strlen(below) < PATH_MAX ? strlen(below) : 0;
    memcpy(folder, below, length);
    fail_at = n;
    code = with;
    lasting = stays;
    atomic_store(&seen, 0);
}

long likewise_seen(void) { return atomic_load(&seen); }

static int below(const char *path)
{
    return length && !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

static int fails(void)
{
    long n = atomic_fetch_add(&seen, 1) + 1;
    if (fail_at && (n == fail_at || (lasting && n > fail_at))) {
        errno = code;
        return 1;
    }
    return 0;
}

static int file_fails(int fd)
{
    char link[64], path[PATH_MAX];
    if (!length)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0)
        return 0;
    path[n] = 0;
    return below(path) && fails();
}

static int path_fails(const char *path) { return path && below(path) && fails(); }

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define ON_FILE(result, name, given, passed) \
    result name given { REAL(name); return file_fails(fd) ? -1 : real passed; }

ON_FILE(ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n))
ON_FILE(ssize_t, pwrite, (int fd, const void *b, size_t n, off_t at), (fd, b, n, at))
ON_FILE(ssize_t, pwrite64, (int fd, const void *b, size_t n, off64_t at), (fd, b, n, at))
ON_FILE(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
ON_FILE(int, fsync, (int fd), (fd))
ON_FILE(int, fdatasync, (int fd), (fd))
ON_FILE(int, ftruncate, (int fd, off_t n), (fd, n))
ON_FILE(int, ftruncate64, (int fd, off64_t n), (fd, n))
ON_FILE(ssize_t, sendfile, (int fd, int from, off_t *at, size_t n), (fd, from, at, n))
ON_FILE(ssize_t, sendfile64, (int fd, int from, off64_t *at, size_t n), (fd, from, at, n))

ssize_t copy_file_range(int from, off64_t *a, int fd, off64_t *b, size_t n, unsigned flags)
{
    REAL(copy_file_range);
    return file_fails(fd) ? -1 : real(from, a, fd, b, n, flags);
}

int rename(const char *from, const char *to)
{
    REAL(rename);
    return path_fails(to) ? -1 : real(from, to);
}

int mkdir(const char *path, mode_t mode)
{
    REAL(mkdir);
    return path_fails(path) ? -1 : real(path, mode);
}

/* Opening fails where it would write: reading needs no room. */
#define WRITES (O_CREAT | O_WRONLY | O_RDWR | O_TRUNC)
#define MODE \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }

#define OPENING(name) \
    int name(const char *path, int flags, ...) \
    { REAL(name); MODE return (flags & WRITES) && path_fails(path) ? -1 : real(path, flags, mode); }
#define OPENING_AT(name) \
    int name(int at, const char *path, int flags, ...) \
    { REAL(name); MODE return (flags & WRITES) && path_fails(path) ? -1 : real(at, path, flags, mode); }

OPENING(open)
OPENING(open64)
OPENING_AT(openat)
OPENING_AT(openat64)
