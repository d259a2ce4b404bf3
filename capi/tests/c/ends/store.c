/* Rank 0 stores to its own part of the window, in the epoch in which rank 1 puts there. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int *memory = calloc(4, sizeof(int));
    int value = 7;
    MPI_Win win;
    MPI_Win_create(memory, 4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win); /* opens */
    if (rank == 0)
        memory[1] = 3;
    else
        MPI_Put(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
    MPI_Win_fence(0, win); /* ends */
    MPI_Win_free(&win);
    free(memory);
    MPI_Finalize();
    return 0;
}
