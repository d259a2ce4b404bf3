/* A wrong call of the last rank, with the error handler that every window has at first. */

#include "../check.h"

int main(int argc, char **argv)
{
    int *part, value = 1;
    begin(&argc, &argv);
    MPI_Win win = window(4, &part);
    OK(MPI_Win_fence(0, win));
    if (rank_here == ranks - 1)
        MPI_Put(&value, 1, MPI_INT, 0, 1000, 1, MPI_INT, win);
    OK(MPI_Win_fence(0, win));
    printf("nobody comes here\n");
    return end();
}
