#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int compare(const void *a, const void *b) {
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

int main(void) {
    MPI_Init(NULL, NULL);
    int rank, size, *part;
    MPI_Win window;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(size * sizeof *part, sizeof *part, MPI_INFO_NULL, MPI_COMM_WORLD, &part,
                     &window);

    int number = (7 * rank + 3) % 10;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Put(&number, 1, MPI_INT, 0, rank, 1, MPI_INT, window);
    MPI_Win_unlock(0, window);
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        qsort(part, size, sizeof *part, compare);
        printf("sorted: [%d", part[0]);
        for (int i = 1; i < size; i++)
            printf(", %d", part[i]);
        printf("]\n");
        MPI_Win_unlock(0, window);
    }
    MPI_Win_free(&window);
    MPI_Finalize();
}
