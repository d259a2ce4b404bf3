/* Where the parts of windows are said to begin (MPI-4.1 §12.2.7, §12.2.3), of those of no bytes too. */

#include "check.h"

static void *base_of(MPI_Win win)
{
    void *base;
    int found;
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &found));
    EQUAL(found, 1);
    return base;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Win win;
    MPI_Aint size;
    int unit, memory[4], *part, *other;
    RULE("MPI-4.1 12.2.7: the base is the program's own");
    OK(MPI_Win_create(memory, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    EQUAL(base_of(win) == memory || base_of(win) == NULL, 1);
    if (ours())
        EQUAL(base_of(win) == memory, 1);
    OK(MPI_Win_free(&win));
    OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    EQUAL(base_of(win) == NULL, 1);
    OK(MPI_Win_free(&win));
    OK(MPI_Win_create(memory, rank_here == 0 ? sizeof memory : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                      &win));
    if (rank_here == 0)
        EQUAL(base_of(win) == memory, 1);
    else
        EQUAL(base_of(win) == memory || base_of(win) == NULL, 1);
    OK(MPI_Win_free(&win));
    RULE("12.2-3; 12.2-4");
    /* Only the last rank has memory. */
    OK(MPI_Win_allocate_shared(rank_here == ranks - 1 ? 16 : 0, 4, MPI_INFO_NULL, MPI_COMM_WORLD,
                               &part, &win));
    OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &other));
    EQUAL(size, 16);
    if (rank_here == ranks - 1) {
        EQUAL(other == part, 1);
        EQUAL(base_of(win) == part, 1);
    }
    if (ranks > 1) {
        OK(MPI_Win_shared_query(win, 0, &size, &unit, &other));
        EQUAL(size, 0);
        if (ours())
            EQUAL(other == NULL, 1);
    }
    if (rank_here != ranks - 1 && ours()) {
        EQUAL(part == NULL, 1);
        EQUAL(base_of(win) == NULL, 1);
    }
    OK(MPI_Win_free(&win));
    /* None has any. */
    OK(MPI_Win_allocate_shared(0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win));
    OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &other));
    EQUAL(size, 0);
    if (ours())
        EQUAL(other == NULL, 1);
    OK(MPI_Win_free(&win));
    return end();
}
