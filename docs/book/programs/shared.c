#include <mpi.h>
#include <stdio.h>

/* Numbers in the part of each rank. */
enum { LENGTH = 3 };

int main(void) {
    MPI_Init(NULL, NULL);
    int rank, size, unit, sum = 0, *part, *first;
    MPI_Aint bytes;
    MPI_Win window;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate_shared(LENGTH * sizeof *part, sizeof *part, MPI_INFO_NULL, MPI_COMM_WORLD,
                            &part, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &first);

    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    part[0] = rank;
    part[1] = 10 * rank;
    part[2] = 100 * rank;
    MPI_Win_sync(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(window);

    /* The parts are one array, in the order of the ranks. */
    for (int i = 0; i < size * LENGTH; i++)
        sum += first[i];
    MPI_Win_unlock_all(window);
    printf("rank %d finds the sum %d\n", rank, sum);
    MPI_Win_free(&window);
    MPI_Finalize();
}
