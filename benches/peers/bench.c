/* Samples: each is the mean of as many repetitions as fill 0.3 ms; all cases of a group take turns. Each case is
 * measured once more after rank 0 has slept, because waiting ranks may have gone to sleep meanwhile. Samples that a
 * neighbour on the host has disturbed are printed only where there are no others. */
#define _GNU_SOURCE
#include "bench.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define SAMPLE 300e3
#define MOST_REPETITIONS (1u << 22)
#define MOST_ROUNDS 128
/* How many times as long as a sample should take. */
#define FAR_TOO_LONG 8.0
/* What takes longer once, in nanoseconds, is not repeated. */
#define SLOW 500e6
/* How long rank 0 sleeps, and how long is measured after that, in nanoseconds. */
#define ASLEEP 50000000
#define AFTER 10e6
/* Steps of the fixed work, and how much longer than at best it takes beside a neighbour. */
#define STEPS 1000
#define CHAINS 6
#define DISTURBED 1.12
/* How long to look for the shortest one before the first sample, in nanoseconds. */
#define CALM 100e6

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

static void print_count(const char *kind, const char *what, uint64_t bytes, double value) {
    char name[128];
    snprintf(name, sizeof(name), "%s%s", kind, what);
    print_line("@count", name, bytes, &value, 1);
}

void print_size(const char *what, uint64_t bytes, double size) {
    print_line("@size", what, bytes, &size, 1);
}

/* How long something took, and the fixed work before or after it on the slowest rank, in nanoseconds. */
struct sample {
    double took, work;
};

/* What rank 0 has, if the ranks measure together. */
static double agree(enum who who, double value) {
    if (who == ALL_RANKS) {
        MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    return value;
}

/* A fixed number of instructions that do not wait for each other: the shortest of three times, in nanoseconds. */
static double fixed_work(void) {
    static volatile uint64_t seed = 1;
    double shortest = INFINITY;
    for (int time = 0; time < 3; time++) {
        double started = now();
        uint64_t x[CHAINS], sum = 0;
        for (int i = 0; i < CHAINS; i++) {
            x[i] = seed + i;
        }
        for (int step = 0; step < STEPS; step++) {
            for (int i = 0; i < CHAINS; i++) {
                x[i] ^= x[i] << 13;
                x[i] ^= x[i] >> 7;
                x[i] ^= x[i] << 17;
            }
        }
        for (int i = 0; i < CHAINS; i++) {
            sum += x[i];
        }
        seed = sum;
        shortest = fmin(shortest, now() - started);
    }
    return shortest;
}

/* How long the fixed work takes now. The longer, the more does the host compute something else on the same core. Zero where
 * ranks share processors and disturb each other anyway. */
static double work_now(void) {
    return ranks > sysconf(_SC_NPROCESSORS_ONLN) ? 0.0 : fixed_work();
}

/* The shortest one of all. */
static double least_work = INFINITY;

/* Finds out how fast the processor is where no neighbour disturbs it. */
static void look_for_calm(void) {
    double started = now();
    while (least_work > 0.0 && now() - started < CALM) {
        least_work = fmin(least_work, work_now());
    }
}

/* From the first rank that begins to the last that ends: with more ranks than cores, rank 0 alone may begin when others
 * have done their part. */
static struct sample sample(enum who who, const struct bench *one, uint32_t times) {
    double before = work_now();
    if (who == ALL_RANKS) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    double started = now();
    one->run(one->context, times);
    double all[] = {-started, now(), 0.0};
    all[2] = fmax(before, work_now());
    if (who == ALL_RANKS) {
        MPI_Allreduce(MPI_IN_PLACE, all, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    least_work = fmin(least_work, all[2]);
    return (struct sample){all[0] + all[1], all[2]};
}

static int is_calm(struct sample one) {
    return one.work <= DISTURBED * least_work;
}

/* The times of the calm samples; where there are none, of all. Returns how many. */
static int times_of(const struct sample *samples, int count, double *times) {
    int calm = 0;
    for (int i = 0; i < count; i++) {
        if (is_calm(samples[i])) {
            times[calm++] = samples[i].took;
        }
    }
    for (int i = 0; !calm && i < count; i++) {
        times[i] = samples[i].took;
    }
    return calm ? calm : count;
}

static void print_samples(const char *what, uint64_t bytes, const struct sample *samples, int count) {
    double times[MOST_ROUNDS];
    print_row(what, bytes, times, times_of(samples, count, times));
}

/* How long a sample should take, in nanoseconds. */
static double sample_time(const struct bench *one) {
    return SAMPLE * (one->longer ? one->longer : 1);
}

/* Finds how many repetitions fill the time of a sample; the same number on all ranks. `*slow` is the time of one
 * repetition that is not repeated, or zero. */
static uint32_t calibrate(enum who who, const struct bench *one, double *slow) {
    uint32_t times = 1;
    double target = sample_time(one);
    for (;;) {
        double took = INFINITY;
        /* A disturbance does not make a sample long enough: only what is long each time is. */
        for (int i = 0; i < 3 && took * 2.0 >= target; i++) {
            double again = agree(who, sample(who, one, times).took);
            took = again < took ? again : took;
            i += took >= FAR_TOO_LONG * target;
            *slow = times == 1 && took >= SLOW ? took : 0.0;
            if (*slow > 0.0) {
                return 1;
            }
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
    return longer < FAR_TOO_LONG ? times : fewer < 1.0 ? 1 : fewer;
}

/* Context switches, all or of one operation: where the rank has slept; where it has yielded or another has taken its
 * processor. */
struct switches {
    double voluntary, involuntary;
};

static void count_switches(struct switches *count, int sign) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    count->voluntary += sign * (double)usage.ru_nvcsw;
    count->involuntary += sign * (double)usage.ru_nivcsw;
}

/* Those of an operation, of all ranks that measure. */
static void print_switches(enum who who, const struct bench *one, struct switches mine,
                           double operations) {
    struct switches all = mine;
    if (who == ALL_RANKS) {
        MPI_Reduce(&mine, &all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    }
    if (who == ONE_RANK || rank == 0) {
        print_count("sleeps: ", one->what, one->bytes, all.voluntary / operations);
        print_count("preemptions: ", one->what, one->bytes, all.involuntary / operations);
    }
}

/* Measures what follows a sleep of rank 0. */
static void measure_after_sleep(enum who who, const struct bench *one, uint32_t times) {
    static const struct timespec asleep = {0, ASLEEP};
    struct sample samples[MOST_ROUNDS];
    int count = 0;
    if (rank == 0) {
        nanosleep(&asleep, NULL);
    }
    double started = now();
    do {
        samples[count] = sample(who, one, times);
        samples[count++].took /= times;
    } while (agree(who, now() - started < AFTER && count < MOST_ROUNDS) != 0.0);
    if (who == ONE_RANK || rank == 0) {
        char name[128];
        snprintf(name, sizeof(name), "%s, after a sleep", one->what);
        print_samples(name, one->bytes, samples, count);
    }
}

/* Whether each case has as many calm samples as are asked for. */
static int is_enough(int cases, struct sample (*samples)[MOST_ROUNDS], int rounds) {
    for (int i = 0; i < cases; i++) {
        int calm = 0;
        for (int round = 0; round < rounds; round++) {
            calm += is_calm(samples[i][round]);
        }
        if (calm < plan.rounds) {
            return 0;
        }
    }
    return 1;
}

void measure(enum who who, struct bench *cases, int count) {
    int kept = 0;
    if (least_work == INFINITY) {
        look_for_calm();
    }
    for (int i = 0; i < count; i++) {
        if (wanted(cases[i].what)) {
            cases[kept++] = cases[i];
        }
    }
    uint32_t times[kept ? kept : 1];
    struct sample(*samples)[MOST_ROUNDS] = memory((kept + 1) * sizeof(*samples));
    struct switches switches[kept + 1];
    double operations[kept + 1], slow[kept + 1];
    for (int i = 0; i < kept; i++) {
        times[i] = calibrate(who, &cases[i], &slow[i]);
        switches[i] = (struct switches){0, 0};
        operations[i] = 0;
    }
    double started = now();
    int round = 0, is_over = !kept;
    while (!is_over) {
        for (int i = 0; i < kept; i++) {
            if (slow[i] > 0.0) {
                samples[i][round] = (struct sample){slow[i], 0.0};
                continue;
            }
            count_switches(&switches[i], -1);
            struct sample one = sample(who, &cases[i], times[i]);
            count_switches(&switches[i], 1);
            operations[i] += times[i];
            samples[i][round] = (struct sample){one.took / times[i], one.work};
            times[i] = shorten(who, &cases[i], one.took, times[i]);
        }
        round++;
        is_over = round == MOST_ROUNDS || now() - started > plan.budget ||
                  is_enough(kept, samples, round);
        is_over = agree(who, is_over) != 0.0;
    }
    for (int i = 0; i < kept; i++) {
        if (who == ONE_RANK || rank == 0) {
            print_samples(cases[i].what, cases[i].bytes, samples[i], round);
        }
        if (operations[i] > 0.0) {
            print_switches(who, &cases[i], switches[i], operations[i]);
        }
        measure_after_sleep(who, &cases[i], times[i]);
    }
    free(samples);
}
