/* Wrong: a barrier does not complete a put. */
#include <mpi.h>
#include <stddef.h>

int main(void) {
    MPI_Init(NULL, NULL);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long *result, value = 7, found;
    MPI_Win window;
    MPI_Win_allocate(sizeof *result, sizeof *result, MPI_INFO_NULL, MPI_COMM_WORLD, &result,
                     &window);
    MPI_Win_set_name(window, "results");

    MPI_Win_lock_all(0, window);
    if (rank == 0)
        MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Get(&found, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
}
