/* Every rank waits for a message that none sends. */

#include "../check.h"

int main(int argc, char **argv)
{
    int value;
    begin(&argc, &argv);
    OK(MPI_Recv(&value, 1, MPI_INT, (rank_here + 1) % ranks, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    printf("nobody comes here\n");
    return end();
}
