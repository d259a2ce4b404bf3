/* One rank ends the job, while the others wait for it. */

#include "../check.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (rank_here == ranks - 1)
        MPI_Abort(MPI_COMM_WORLD, 42);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    printf("nobody comes here\n");
    return end();
}
