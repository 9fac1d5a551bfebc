/* A wall clock that can be stepped while processes run, for those that have this preloaded.
 *
 * The file that LAKE_ASSETS_FAULTS_CLOCK names holds how many nanoseconds the clock is ahead; it is
 * mapped, so that a step is seen by all threads of all processes at once. Only the wall clock is
 * stepped. Deadlines by the wall clock are given to the system in its own time, so a wait that has
 * begun keeps its length. Times of files stay the machine's.
 *
 * Compiled and preloaded by clock.py.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

/* Deadlines do not say by which clock they are; the monotonic one counts from the machine's start,
 * and has not come to 2001. */
#define FIRST_OF_WALL 1000000000LL

static const volatile int64_t nothing_ahead;
static const volatile int64_t *ahead = &nothing_ahead;

static int (*real_gettime)(clockid_t, struct timespec *);
static int (*real_nanosleep)(clockid_t, int, const struct timespec *, struct timespec *);
static int (*real_cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static int (*real_cond_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t,
                                  const struct timespec *);
static int (*real_cnd_timedwait)(cnd_t *, mtx_t *, const struct timespec *);
static int (*real_mtx_timedlock)(mtx_t *, const struct timespec *);
static int (*real_timedlock)(pthread_mutex_t *, const struct timespec *);
static int (*real_sem_timedwait)(sem_t *, const struct timespec *);
static int (*real_sem_clockwait)(sem_t *, clockid_t, const struct timespec *);

static void *find(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void begin(void) {
    real_gettime = find("clock_gettime");
    real_nanosleep = find("clock_nanosleep");
    /* By name alone it may be the one of before 2003, whose conditions are others. */
    real_cond_timedwait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!real_cond_timedwait)
        real_cond_timedwait = find("pthread_cond_timedwait");
    real_cond_clockwait = find("pthread_cond_clockwait");
    real_cnd_timedwait = find("cnd_timedwait");
    real_mtx_timedlock = find("mtx_timedlock");
    real_timedlock = find("pthread_mutex_timedlock");
    real_sem_timedwait = find("sem_timedwait");
    real_sem_clockwait = find("sem_clockwait");

    const char *path = getenv("LAKE_ASSETS_FAULTS_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = file < 0 ? MAP_FAILED : mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) {
        fprintf(stderr, "stepped_clock: LAKE_ASSETS_FAULTS_CLOCK names no file that can be read\n");
        _exit(127);
    }
    close(file);
    ahead = mapped;
}

static struct timespec plus(struct timespec at, int64_t ns) {
    int64_t sum = at.tv_nsec + ns % SECOND;
    at.tv_sec += ns / SECOND + (sum >= SECOND) - (sum < 0);
    at.tv_nsec = sum + (sum < 0) * SECOND - (sum >= SECOND) * SECOND;
    return at;
}

static int is_wall(clockid_t clock) {
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}

/* The machine's time of a deadline by our wall clock. */
static struct timespec due(const struct timespec *at, int by_wall) {
    return by_wall ? plus(*at, -*ahead) : *at;
}

static int looks_wall(const struct timespec *at) {
    return at->tv_sec >= FIRST_OF_WALL;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!real_gettime) /* who has a constructor before ours */
        real_gettime = find("clock_gettime");
    int failed = real_gettime(clock, now);
    if (!failed && is_wall(clock))
        *now = plus(*now, *ahead);
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec at;
    (void)zone;
    int failed = clock_gettime(CLOCK_REALTIME, &at);
    if (!failed) {
        now->tv_sec = at.tv_sec;
        now->tv_usec = at.tv_nsec / 1000;
    }
    return failed;
}

time_t time(time_t *also) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    if (also)
        *also = at.tv_sec;
    return at.tv_sec;
}

int timespec_get(struct timespec *now, int base) {
    return base == TIME_UTC && !clock_gettime(CLOCK_REALTIME, now) ? base : 0;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *at, struct timespec *left) {
    struct timespec until = due(at, is_wall(clock) && (flags & TIMER_ABSTIME));
    return real_nanosleep(clock, flags, &until, left);
}

int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict at) {
    struct timespec until = due(at, looks_wall(at));
    return real_cond_timedwait(cond, mutex, &until);
}

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *at) {
    struct timespec until = due(at, is_wall(clock));
    return real_cond_clockwait(cond, mutex, clock, &until);
}

/* Threads of C11, such as those of librdkafka; glibc does not come by the function above. */
int cnd_timedwait(cnd_t *restrict cond, mtx_t *restrict mutex,
                  const struct timespec *restrict at) {
    struct timespec until = due(at, looks_wall(at));
    return real_cnd_timedwait(cond, mutex, &until);
}

int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict at) {
    struct timespec until = due(at, looks_wall(at));
    return real_mtx_timedlock(mutex, &until);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict at) {
    struct timespec until = due(at, looks_wall(at));
    return real_timedlock(mutex, &until);
}

int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict at) {
    struct timespec until = due(at, looks_wall(at));
    return real_sem_timedwait(sem, &until);
}

int sem_clockwait(sem_t *restrict sem, clockid_t clock, const struct timespec *restrict at) {
    struct timespec until = due(at, is_wall(clock));
    return real_sem_clockwait(sem, clock, &until);
}
