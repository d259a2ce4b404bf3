/* Rank 1 ends by a signal, after calls whose lines the table of its last calls has. */
#include <mpi.h>
#include <signal.h>

int main(int argc, char **argv)
{
    double *part, value = 1;
    int rank;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win);
    MPI_Win_lock_all(0, win);
    if (rank == 1) {
        for (int k = 0; k < 3; k++)
            MPI_Put(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win);
        MPI_Win_flush(0, win);
        raise(SIGKILL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return 1;
}
