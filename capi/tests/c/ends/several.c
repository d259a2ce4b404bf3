/* Every rank waits for one of several requests, or for a partitioned message, that nobody completes. */

#include "../check.h"

int main(int argc, char **argv)
{
    int index, count, indices[2], values[4] = {0};
    MPI_Request requests[2];
    begin(&argc, &argv);
    int next = (rank_here + 1) % ranks;
    switch (rank_here) {
    case 0:
        for (int k = 0; k < 2; k++) {
            OK(MPI_Irecv(&values[k], 1, MPI_INT, k + 1, 7, MPI_COMM_WORLD, &requests[k]));
        }
        OK(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
        break;
    case 1:
        OK(MPI_Irecv(values, 1, MPI_INT, next, 7, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Waitsome(1, requests, &count, indices, MPI_STATUSES_IGNORE));
        break;
    case 2:
        OK(MPI_Psend_init(values, 4, 1, MPI_INT, 3, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
        OK(MPI_Start(&requests[0]));
        OK(MPI_Pready(1, requests[0]));
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        break;
    default:
        OK(MPI_Precv_init(values, 4, 1, MPI_INT, 2, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
        OK(MPI_Start(&requests[0]));
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    }
    printf("nobody comes here\n");
    return end();
}
