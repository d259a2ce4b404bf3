/* The twin of suites/startup.rs: one window, one fence. */
#include "bench.h"

void startup(void) {
    void *base;
    MPI_Win win;
    MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_fence(0, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}
