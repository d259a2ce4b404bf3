/* A tool puts itself before the library by defining MPI_ functions and calling PMPI_ ones. */

#include "check.h"

static int barriers, puts_, frees;

int MPI_Barrier(MPI_Comm comm)
{
    barriers++;
    return PMPI_Barrier(comm);
}

int MPI_Put(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
            int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
            MPI_Win win)
{
    puts_++;
    return PMPI_Put(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                    target_count, target_datatype, win);
}

int MPI_Win_free(MPI_Win *win)
{
    frees++;
    return PMPI_Win_free(win);
}

int main(int argc, char **argv)
{
    int *part;
    begin(&argc, &argv);
    MPI_Win win = window(1, &part);
    int number = 40 + rank_here;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&number, 1, MPI_INT, behind(), 0, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    EQUAL(part[0], 40 + before());
    OK(MPI_Win_free(&win));
    EQUAL(puts_, 1);
    EQUAL(frees, 1);
    /* That of `window`; the library's own do not pass here. */
    EQUAL(barriers, 1);
    return end();
}
