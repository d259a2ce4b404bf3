/* Initialisation for threads, and what is known after the end. */

#include "check.h"

int main(void)
{
    int provided = -1, flag = 0, version, subversion;

    OK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_here);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ours())
        EQUAL(provided, MPI_THREAD_MULTIPLE);
    OK(MPI_Query_thread(&flag));
    EQUAL(flag, provided);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Finalize());
    OK(MPI_Finalized(&flag));
    EQUAL(flag, 1);
    OK(MPI_Initialized(&flag));
    EQUAL(flag, 1);
    OK(MPI_Get_version(&version, &subversion));
    if (rank_here == 0)
        printf("%ld checks passed\n", checks_passed);
    return 0;
}
