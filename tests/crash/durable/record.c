/* Records what a program does to files: one line for each call that writes, makes durable, or changes a name.
 * The test that preloads this into the program says what the lines mean.
 *
 * Calls are made one at a time, so the lines are in the order in which the calls took effect. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(call) ((__typeof__(&call))dlsym(RTLD_NEXT, #call))

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static int lines = -1;
/* Changes of names and fsyncs that are made before the program is killed; -1 for all. */
static long calls_left = -1;

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("RECORD_TO");
    const char *calls = getenv("RECORD_CALLS");
    if (path != NULL)
        lines = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (calls != NULL)
        calls_left = strtol(calls, NULL, 10);
}

/* The next call but a write: perhaps the program does not live to make it. */
static void begin(void) {
    pthread_mutex_lock(&one_at_a_time);
    if (calls_left == 0)
        kill(getpid(), SIGKILL);
    if (calls_left > 0)
        calls_left--;
}

/* Records the call if it succeeded, and lets others make theirs. */
static long end(long result, const char *call, const char *path, const char *other) {
    char line[8300];
    int length = snprintf(line, sizeof line, "%s\t%s\t%s\n", call, path, other);
    if (result >= 0 && lines >= 0 && length < (int)sizeof line
        && REAL(write)(lines, line, (size_t)length) != length)
        abort();
    pthread_mutex_unlock(&one_at_a_time);
    return result;
}

static void path_of(int file, char path[4096]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, 4095);
    path[length < 0 ? 0 : length] = 0;
}

static int is_regular(int file) {
    struct stat found;
    return fstat(file, &found) == 0 && S_ISREG(found.st_mode);
}

#define WRITES(call, parameters, arguments)                         \
    ssize_t call parameters {                                       \
        char path[4096];                                            \
        if (!is_regular(file))                                      \
            return REAL(call) arguments;                            \
        path_of(file, path);                                        \
        pthread_mutex_lock(&one_at_a_time);                         \
        return end(REAL(call) arguments, "write", path, "");        \
    }

WRITES(write, (int file, const void *bytes, size_t length), (file, bytes, length))
WRITES(pwrite64, (int file, const void *bytes, size_t length, off64_t at), (file, bytes, length, at))
WRITES(writev, (int file, const struct iovec *pieces, int count), (file, pieces, count))

#define SYNCS(call)                                                 \
    int call(int file) {                                            \
        char path[4096];                                            \
        path_of(file, path);                                        \
        begin();                                                    \
        return (int)end(REAL(call)(file), "sync", path, "");        \
    }

SYNCS(fsync)
SYNCS(fdatasync)

int rename(const char *from, const char *to) {
    begin();
    return (int)end(REAL(rename)(from, to), "rename", from, to);
}

int linkat(int from_at, const char *from, int to_at, const char *to, int flags) {
    begin();
    return (int)end(REAL(linkat)(from_at, from, to_at, to, flags), "link", from, to);
}

int mkdir(const char *path, mode_t mode) {
    begin();
    return (int)end(REAL(mkdir)(path, mode), "mkdir", path, "");
}

int unlink(const char *path) {
    begin();
    return (int)end(REAL(unlink)(path), "remove", path, "");
}

int rmdir(const char *path) {
    begin();
    return (int)end(REAL(rmdir)(path), "remove", path, "");
}
