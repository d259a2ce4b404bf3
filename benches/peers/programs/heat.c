/* The twin of programs/heat.rs. */
#include "programs.h"
#include <stdlib.h>
#include <string.h>

#define WHAT "heat, a step by fence"

struct plate {
    MPI_Win win;
    double *halo, *now, *next;
    size_t columns, rows;
    int half;
};

/* Computes all rows but the first and the last; the columns at the edges stay. */
__attribute__((noinline)) static void relax(size_t columns, size_t rows, const double *restrict now,
                                            double *restrict next) {
    for (size_t row = 1; row <= rows; row++) {
        const double *here = now + row * columns, *above = here - columns, *below = here + columns;
        double *to = next + row * columns;
        for (size_t c = 1; c < columns - 1; c++) {
            to[c] = here[c] +
                    0.2 * (above[c] + below[c] + here[c - 1] + here[c + 1] - 4.0 * here[c]);
        }
    }
}

static void step(struct plate *p) {
    size_t columns = p->columns, half = 2 * columns * p->half;
    int above = rank > 0, below = rank + 1 < ranks;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, p->win);
    if (above) {
        MPI_Put(p->now + columns, columns, MPI_DOUBLE, rank - 1, half + columns, columns,
                MPI_DOUBLE, p->win);
    }
    if (below) {
        MPI_Put(p->now + p->rows * columns, columns, MPI_DOUBLE, rank + 1, half, columns,
                MPI_DOUBLE, p->win);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, p->win);
    if (above) {
        memcpy(p->now, p->halo + half, 8 * columns);
    }
    if (below) {
        memcpy(p->now + (p->rows + 1) * columns, p->halo + half + columns, 8 * columns);
    }
    relax(columns, p->rows, p->now, p->next);
    double *swap = p->now;
    p->now = p->next;
    p->next = swap;
    p->half ^= 1;
}

static void run(void *context, uint32_t times) {
    for (uint32_t i = 0; i < times; i++) {
        step(context);
    }
}

void heat(int side) {
    struct plate p = {.columns = side, .rows = side / ranks};
    size_t cells = (p.rows + 2) * p.columns;
    uint64_t bytes = 8 * (uint64_t)side * side;
    p.win = window(8 * 4 * p.columns, 8, &p.halo);
    p.now = memory(8 * cells);
    p.next = memory(8 * cells);
    for (size_t i = 0; i < cells; i++) {
        p.now[i] = p.next[i] = (rank * p.rows * p.columns + i) % 101;
    }
    run(&p, 3);
    double sum = 0.0;
    for (size_t i = 0; i < p.rows * p.columns; i++) {
        sum += p.now[p.columns + i];
    }
    check(WHAT, bytes, sum);
    program(WHAT, bytes, run, &p);
    MPI_Win_free(&p.win);
    free(p.now);
    free(p.next);
}
