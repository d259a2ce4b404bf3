#include <mpi.h>
#include <stdio.h>

int main(void) {
    MPI_Init(NULL, NULL);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* [number of entries, their sum | a square of each rank] */
    int *part, record[2];
    MPI_Win window;
    MPI_Win_allocate((2 + size) * sizeof *part, sizeof *part, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &part, &window);
    part[0] = part[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Get(record, 2, MPI_INT, 0, 0, 2, MPI_INT, window);
    MPI_Win_flush(0, window);
    record[0] += 1;
    record[1] += rank;
    MPI_Put(record, 2, MPI_INT, 0, 0, 2, MPI_INT, window);
    MPI_Win_unlock(0, window);
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Get(record, 2, MPI_INT, 0, 0, 2, MPI_INT, window);
    MPI_Win_unlock(0, window);

    int square = rank * rank;
    MPI_Win_lock_all(0, window);
    for (int target = 0; target < size; target++)
        MPI_Put(&square, 1, MPI_INT, target, 2 + rank, 1, MPI_INT, window);
    MPI_Win_flush_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(window);
    printf("rank %d: %d entries, sum %d, ", rank, record[0], record[1]);
    printf("squares [%d", part[2]);
    for (int i = 1; i < size; i++)
        printf(", %d", part[2 + i]);
    printf("]\n");
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
}
