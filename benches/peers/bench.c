/* Samples: each is the mean of as many repetitions as fill 0.3 ms; all cases of a group take turns. */
#define _GNU_SOURCE
#include "bench.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAMPLE 300e3
#define MOST_REPETITIONS (1u << 22)
#define MOST_ROUNDS 128
/* So many times as long as a sample should take. */
#define FAR_TOO_LONG 8.0

double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

int wanted(const char *what) {
    return strstr(what, plan.filter) != NULL;
}

void *memory(uint64_t bytes) {
    void *all = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!all) {
        fprintf(stderr, "no memory for %llu bytes\n", (unsigned long long)bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(all, 0, bytes);
    return all;
}

MPI_Win window(uint64_t bytes, int disp_unit, void *base) {
    MPI_Win win;
    MPI_Win_allocate(bytes, disp_unit, MPI_INFO_NULL, MPI_COMM_WORLD, base, &win);
    memset(*(void **)base, 0, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    return win;
}

/* What rank 0 says, if the ranks measure together. */
static double agree(enum who who, double value) {
    if (who == ALL_RANKS) {
        MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    return value;
}

static double sample(enum who who, const struct bench *one, uint32_t times) {
    if (who == ALL_RANKS) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    double started = now();
    one->run(one->context, times);
    return now() - started;
}

/* How long a sample should take, in nanoseconds. */
static double sample_time(const struct bench *one) {
    return SAMPLE * (one->longer ? one->longer : 1);
}

/* Finds how many repetitions fill the time of a sample; the same number on all ranks. */
static uint32_t calibrate(enum who who, const struct bench *one) {
    uint32_t times = 2;
    double target = sample_time(one);
    for (;;) {
        double took = INFINITY;
        /* A disturbance does not make a sample long enough: only what is long each time is. */
        for (int i = 0; i < 3 && took * 2.0 >= target; i++) {
            double again = agree(who, sample(who, one, times));
            took = again < took ? again : took;
        }
        if (took * 2.0 >= target || times >= MOST_REPETITIONS) {
            return times;
        }
        double factor = target / (took < 1.0 ? 1.0 : took);
        times *= factor < 2.0 ? 2.0 : factor > 10.0 ? 10.0 : factor;
    }
}

/* How often to repeat from now on: less, if the sample has taken far too long. */
static uint32_t shorten(enum who who, const struct bench *one, double took, uint32_t times) {
    double longer = agree(who, took / sample_time(one));
    double fewer = times / longer;
    return longer < FAR_TOO_LONG ? times : fewer < 2.0 ? 2 : fewer;
}

void measure(enum who who, struct bench *cases, int count) {
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (wanted(cases[i].what)) {
            cases[kept++] = cases[i];
        }
    }
    uint32_t times[kept ? kept : 1];
    double(*samples)[MOST_ROUNDS] = memory((kept + 1) * sizeof(*samples));
    for (int i = 0; i < kept; i++) {
        times[i] = calibrate(who, &cases[i]);
    }
    double started = now();
    int round = 0;
    while (kept && round < plan.rounds && round < MOST_ROUNDS) {
        for (int i = 0; i < kept; i++) {
            double took = sample(who, &cases[i], times[i]);
            samples[i][round] = took / times[i];
            times[i] = shorten(who, &cases[i], took, times[i]);
        }
        round++;
        if (agree(who, now() - started > plan.budget) != 0.0) {
            break;
        }
    }
    for (int i = 0; i < kept && (who == ONE_RANK || rank == 0); i++) {
        print_row(cases[i].what, cases[i].bytes, samples[i], round);
    }
    free(samples);
}

static void print_line(const char *mark, const char *what, uint64_t bytes, const double *samples,
                       int count) {
    printf("%s;%s;;%d;%llu;", mark, what, ranks, (unsigned long long)bytes);
    for (int i = 0; i < count; i++) {
        printf("%s%.3f", i ? " " : "", samples[i]);
    }
    printf("\n");
    fflush(stdout);
}

void print_row(const char *what, uint64_t bytes, const double *samples, int count) {
    print_line("@rma", what, bytes, samples, count);
}

void print_size(const char *what, uint64_t bytes, double size) {
    print_line("@size", what, bytes, &size, 1);
}
