#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

int main(void) {
    MPI_Init(NULL, NULL);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    uint64_t *part;
    MPI_Win window;
    MPI_Win_allocate(sizeof *part, sizeof *part, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &window);
    *part = 0;

    uint64_t mine = rank + 1;
    MPI_Win_fence(0, window);
    MPI_Accumulate(&mine, 1, MPI_UINT64_T, 0, 0, 1, MPI_UINT64_T, MPI_SUM, window);
    MPI_Win_fence(0, window);

    if (rank == 0)
        printf("%d ranks add up to %d\n", size, (int)*part);
    MPI_Win_free(&window);
    MPI_Finalize();
}
