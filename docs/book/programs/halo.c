#include <mpi.h>
#include <stdio.h>

/* Cells of a rank, without the two of its neighbours. */
enum { CELLS = 3 };

int main(void) {
    MPI_Init(NULL, NULL);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* [left neighbour's last cell | own cells | right neighbour's first cell] */
    int *all;
    MPI_Win window;
    MPI_Win_allocate((CELLS + 2) * sizeof *all, sizeof *all, MPI_INFO_NULL, MPI_COMM_WORLD, &all,
                     &window);
    for (int i = 0; i < CELLS; i++)
        all[1 + i] = 10 * rank + i;

    MPI_Win_fence(0, window);
    MPI_Put(&all[1], 1, MPI_INT, (rank + size - 1) % size, CELLS + 1, 1, MPI_INT, window);
    MPI_Put(&all[CELLS], 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);

    printf("rank %d: %d | %d %d %d | %d\n", rank, all[0], all[1], all[2], all[3], all[4]);
    MPI_Win_free(&window);
    MPI_Finalize();
}
