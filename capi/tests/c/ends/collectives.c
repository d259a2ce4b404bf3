/* Rank 0 is in another collective than rank 1. */

#include "../check.h"

int main(int argc, char **argv)
{
    int value = 0;
    MPI_Request request;
    begin(&argc, &argv);
    if (rank_here == 0) {
        OK(MPI_Ibcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    printf("nobody comes here\n");
    return end();
}
