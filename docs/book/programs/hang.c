/* Wrong: two ranks lock two targets in opposite orders. */
#include <mpi.h>
#include <stddef.h>

int main(void) {
    MPI_Init(NULL, NULL);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long *account;
    MPI_Win window;
    MPI_Win_allocate(sizeof *account, sizeof *account, MPI_INFO_NULL, MPI_COMM_WORLD, &account,
                     &window);
    MPI_Win_set_name(window, "accounts");
    int mine = rank == 0 ? 0 : 1, other = 1 - mine;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mine, 0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, window);
    MPI_Win_unlock(other, window);
    MPI_Win_unlock(mine, window);
    MPI_Win_free(&window);
    MPI_Finalize();
}
