/* The twin of suites/programs: whole programs, one sample being a run or a step. */
#include "programs.h"
#include <stdio.h>

void check(const char *what, uint64_t bytes, double mine) {
    char name[128];
    double sum = 0.0;
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof(name), "check: %s", what);
    if (rank == 0) {
        print_size(name, bytes, sum);
    }
}

void program(const char *what, uint64_t bytes, void (*run)(void *, uint32_t), void *context) {
    struct bench cases[] = {{what, bytes, run, context, 0}};
    MEASURE(ALL_RANKS, cases);
}

void programs(void) {
    gups();
    table();
    heat(128);
    heat(1024);
    transpose(plan.quick ? 512 : 2048);
    spmv();
    stencil();
    wavefront();
}
