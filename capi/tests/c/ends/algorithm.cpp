// An algorithm of C++ stores to the part of rank 1, while rank 0 puts there: for `rmacxx -race`.
#include <algorithm>
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, *part, value = 1;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win);
    MPI_Win_fence(0, win);
    if (rank == 0)
        MPI_Put(&value, 1, MPI_INT, 1, 2, 1, MPI_INT, win);
    else
        std::fill(part, part + 4, 7); // fills it
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Finalize();
}
