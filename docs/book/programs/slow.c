/* Each rank sums up the rows of its share, and the higher ranks have more of them. */
#include <mpi.h>
#include <stddef.h>

static long work(long rows) {
    volatile long sum = 1;
    for (long k = 0; k < rows * 2000; k++)
        sum = sum * 3 ^ k;
    return sum;
}

int main(void) {
    MPI_Init(NULL, NULL);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long *sums;
    MPI_Win window;
    MPI_Win_allocate(sizeof *sums, sizeof *sums, MPI_INFO_NULL, MPI_COMM_WORLD, &sums, &window);
    MPI_Win_set_name(window, "sums");
    for (int step = 0; step < 20; step++) {
        long sum = work(1000 * (rank + 1));
        MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
        MPI_Accumulate(&sum, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_BXOR, window);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    }
    MPI_Win_free(&window);
    MPI_Finalize();
}
