/* Makes a window, a datatype and a communicator, and a message, and leaves all of them. */

#include "../check.h"

int main(int argc, char **argv)
{
    MPI_Datatype pair;
    MPI_Comm comm;
    MPI_Win win;
    int *part, one = 1;
    begin(&argc, &argv);
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &part, &win));
    OK(MPI_Send(&one, 1, MPI_INT, rank_here, 5, comm));
    printf("%ld checks passed\n", checks_passed);
    fflush(stdout);
    return MPI_Finalize();
}
