/* The twin of suites/waiting.rs, as far as locks go: a target that computes, and one that sleeps. */
#include "bench.h"
#include <stdlib.h>
#include <time.h>

#define LONG 1e9
#define MOST_SAMPLES 4000
/* Locks of one sample, so that the clock does not count. */
#define MANY 50

static void compute(void) {
    double end = now() + LONG;
    volatile uint64_t value = 1;
    while (now() < end) {
        for (int i = 0; i < 1000; i++) {
            value = value * 6364136223846793005u + 1;
        }
    }
}

static void sleeping(void) {
    struct timespec time = {(time_t)(LONG / 1e9), 0};
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

/* Rank 1 is busy for a second without any call; rank 0 locks its part meanwhile. */
static void lock_beside(void (*busy)(void), const char *first, const char *later) {
    int64_t *base;
    MPI_Win win = window(8, 8, &base);
    double *samples = memory(MOST_SAMPLES * sizeof(*samples));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        busy();
    } else {
        double started = now();
        samples[0] = lock(win, 1);
        print_row(first, 8, samples, 1);
        /* Where the first has waited for the target, so would the next: there is no other. */
        int count = 0;
        if (now() - started < LONG / 2) {
            samples[count++] = lock(win, 1);
        } else {
            count = 1;
        }
        while (now() - started < LONG / 2 && count < MOST_SAMPLES) {
            samples[count++] = lock(win, MANY);
        }
        print_row(later, 8, samples, count);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
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
