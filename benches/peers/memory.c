/* The twin of suites/memory.rs: memory of a rank that has joined, and of a window. */
#define _GNU_SOURCE
#include "bench.h"
#include <stdio.h>
#include <string.h>

#define WINDOWS 64

/* This process's share of the memory that it has mapped, in bytes. */
static double share(void) {
    char line[256];
    double kib = 0.0;
    FILE *smaps = fopen("/proc/self/smaps_rollup", "r");
    while (smaps && fgets(line, sizeof(line), smaps)) {
        if (sscanf(line, "Pss: %lf kB", &kib) == 1) {
            break;
        }
    }
    if (smaps) {
        fclose(smaps);
    }
    return kib * 1024.0;
}

/* The mean over all ranks, which rank 0 prints. */
static void print_mean(const char *what, double mine) {
    double sum = 0.0;
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        print_size(what, 0, sum / ranks);
    }
}

void memory_use(void) {
    MPI_Win windows[WINDOWS];
    MPI_Barrier(MPI_COMM_WORLD);
    double joined = share();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < WINDOWS; i++) {
        void *base;
        MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &windows[i]);
        MPI_Win_fence(0, windows[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double with_windows = share();
    MPI_Barrier(MPI_COMM_WORLD);
    print_mean("memory of a rank", joined);
    print_mean("memory of a window of 8 bytes per rank", (with_windows - joined) / WINDOWS);
    for (int i = 0; i < WINDOWS; i++) {
        MPI_Win_fence(0, windows[i]);
        MPI_Win_free(&windows[i]);
    }
}
