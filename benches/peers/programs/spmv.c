/* The twin of programs/spmv.rs. */
#include "programs.h"
#include <stdlib.h>
#include <string.h>

#define WHAT "sparse matrix-vector product, a step under lock_all"
#define ROWS (64 << 10)
#define PER_ROW 16

struct product {
    MPI_Win wins[2];
    double *parts[2], *vector, *product, *values;
    uint32_t *columns;
    int part;
};

__attribute__((noinline)) static void times_vector(const struct product *p) {
    for (int row = 0; row < p->part; row++) {
        const double *values = p->values + (size_t)row * PER_ROW;
        const uint32_t *columns = p->columns + (size_t)row * PER_ROW;
        double sum = 0.0;
        for (int i = 0; i < PER_ROW; i++) {
            sum += values[i] * p->vector[columns[i]];
        }
        p->product[row] = sum;
    }
}

static void step(struct product *p, int now) {
    int next = 1 - now;
    for (int from = 0; from < ranks; from++) {
        MPI_Get(p->vector + from * p->part, p->part, MPI_DOUBLE, from, 0, p->part, MPI_DOUBLE,
                p->wins[now]);
    }
    MPI_Win_flush_all(p->wins[now]);
    times_vector(p);
    memcpy(p->parts[next], p->product, 8 * p->part);
    MPI_Win_sync(p->wins[next]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(p->wins[next]);
}

static void run(void *context, uint32_t times) {
    struct product *p = context;
    MPI_Win_lock_all(0, p->wins[0]);
    MPI_Win_lock_all(0, p->wins[1]);
    for (uint32_t i = 0; i < times; i++) {
        step(p, i % 2);
    }
    MPI_Win_unlock_all(p->wins[0]);
    MPI_Win_unlock_all(p->wins[1]);
    if (times % 2) {
        MPI_Win win = p->wins[0];
        double *part = p->parts[0];
        p->wins[0] = p->wins[1];
        p->parts[0] = p->parts[1];
        p->wins[1] = win;
        p->parts[1] = part;
    }
}

static void fill(struct product *p) {
    uint64_t first = (uint64_t)rank * p->part * PER_ROW;
    for (uint64_t i = 0; i < (uint64_t)p->part * PER_ROW; i++) {
        p->columns[i] = (first + i + 1) * 0x9e3779b97f4a7c15u >> 48;
        p->values[i] = (1 + (first + i) % 7) / (4.0 * PER_ROW);
    }
    for (int i = 0; i < p->part; i++) {
        p->parts[0][i] = 1.0;
    }
}

void spmv(void) {
    struct product p = {.part = ROWS / ranks};
    p.wins[0] = window(8 * (uint64_t)p.part, 8, &p.parts[0]);
    p.wins[1] = window(8 * (uint64_t)p.part, 8, &p.parts[1]);
    p.vector = memory(8 * ROWS);
    p.product = memory(8 * (uint64_t)p.part);
    p.values = memory(8 * (uint64_t)p.part * PER_ROW);
    p.columns = memory(4 * (uint64_t)p.part * PER_ROW);
    fill(&p);
    MPI_Barrier(MPI_COMM_WORLD);
    run(&p, 4);
    double sum = 0.0;
    for (int i = 0; i < p.part; i++) {
        sum += p.parts[0][i];
    }
    check(WHAT, 0, sum);
    program(WHAT, 0, run, &p);
    MPI_Win_free(&p.wins[0]);
    MPI_Win_free(&p.wins[1]);
    free(p.vector);
    free(p.product);
    free(p.values);
    free(p.columns);
}
