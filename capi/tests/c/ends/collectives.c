/* Rank 0 is in a collective of another communicator than rank 1. */

#include "../check.h"

int main(int argc, char **argv)
{
    int value = 0;
    MPI_Request request;
    MPI_Comm other;
    begin(&argc, &argv);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    if (rank_here == 0) {
        OK(MPI_Ibcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_Barrier(other));
    }
    printf("nobody comes here\n");
    return end();
}
