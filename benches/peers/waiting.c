/* The twin of suites/waiting.rs, as far as locks go: a target that computes, and one that sleeps. */
#include "bench.h"
#include <stdlib.h>
#include <time.h>

#define WINDOWS 5
#define BUSY 2e8
#define MOST_SAMPLES 4000
/* Locks of one sample, so that the clock does not count. */
#define MANY 50

static void compute(void) {
    double end = now() + BUSY;
    volatile uint64_t value = 1;
    while (now() < end) {
        for (int i = 0; i < 1000; i++) {
            value = value * 6364136223846793005u + 1;
        }
    }
}

static void sleeping(void) {
    struct timespec time = {0, (long)BUSY};
    nanosleep(&time, NULL);
}

/* The mean time of a lock, a put and an unlock, in nanoseconds. */
static double lock(MPI_Win win, int times) {
    int64_t value = 1;
    double before = now();
    for (int i = 0; i < times; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Put(&value, 1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T, win);
        MPI_Win_unlock(1, win);
    }
    return (now() - before) / times;
}

/* Rank 1 is busy for a fifth of a second without any call; rank 0 locks its part of a new window
   meanwhile. The first lock of a process also fetches code and pages, so there are five windows. */
static void lock_beside(void (*busy)(void), const char *first, const char *later) {
    double firsts[WINDOWS], *samples = memory(2 * MOST_SAMPLES * sizeof(*samples));
    int count = 0;
    for (int k = 0; k < WINDOWS; k++) {
        int64_t *base;
        MPI_Win win = window(8, 8, &base);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            busy();
        } else {
            double started = now();
            firsts[k] = lock(win, 1);
            /* Where the first has waited for the target, so would the next: there is no other. */
            samples[count++] = now() - started < BUSY / 2 ? lock(win, 1) : firsts[k];
            int most = count + MOST_SAMPLES / WINDOWS;
            while (now() - started < BUSY / 2 && count < most) {
                samples[count++] = lock(win, MANY);
            }
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_free(&win);
    }
    if (rank == 0) {
        print_row(first, 8, firsts, WINDOWS);
        print_row(later, 8, samples, count);
    }
    free(samples);
}

void waiting(void) {
    if (ranks == 2 && wanted("lock")) {
        lock_beside(compute, "first lock + put + unlock, target computes",
                    "lock + put + unlock, target computes");
        lock_beside(sleeping, "first lock + put + unlock, target sleeps",
                    "lock + put + unlock, target sleeps");
    }
}
