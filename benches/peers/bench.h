/* What the twins of the suites share: how samples are taken and printed, as benches/rma/measure.rs
 * does it, so that the driver reads the rows of all alike. */
#ifndef BENCH_H
#define BENCH_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* How long to measure; the same on all ranks. */
struct plan {
    int quick;
    /* Samples of each case. */
    int rounds;
    /* No further round of a group begins after this time, in nanoseconds. */
    double budget;
    /* Only rows whose name contains this text; empty for all. */
    const char *filter;
};

extern struct plan plan;
/* Of MPI_COMM_WORLD. */
extern int rank, ranks;

/* Something to measure: `run` does it `times` times. */
struct bench {
    const char *what;
    uint64_t bytes;
    void (*run)(void *context, uint32_t times);
    void *context;
    /* How many sample times a sample lasts; 0 stands for 1. */
    int longer;
};

/* Who measures a group: all ranks do every case at once, or the calling rank is alone. */
enum who { ALL_RANKS, ONE_RANK };

/* Measures the cases that are wanted, taking turns, and prints a row for each. */
void measure(enum who who, struct bench *cases, int count);
#define MEASURE(who, cases) measure(who, cases, sizeof(cases) / sizeof(*(cases)))

int wanted(const char *what);
/* Prints one row, in nanoseconds. */
void print_row(const char *what, uint64_t bytes, const double *samples, int count);
/* Prints one row of sizes, in bytes. */
void print_size(const char *what, uint64_t bytes, double size);
/* Nanoseconds since some time. */
double now(void);

/* Memory for `bytes` bytes; the program ends if there is none. */
void *memory(uint64_t bytes);
/* A window of `bytes` bytes on each rank, whose memory is at `*base`. */
MPI_Win window(uint64_t bytes, int disp_unit, void *base);

/* The suites (main.c). */
void moves(void);
void layouts(void);
void epochs(void);
void contended(void);
void waiting(void);
void startup(void);
void memory_use(void);
void messages(void);
void collectives(void);
void programs(void);
void foreign(void);
void foreign_far(void);
void foreign_node(void);

#endif
