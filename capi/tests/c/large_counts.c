/* The twelve large-count forms of the one-sided calls. */

#include "check.h"

enum { COUNT = 5 };

static MPI_Aint unit_of(MPI_Win win)
{
    int flag, *unit;
    OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag));
    CHECK(flag);
    return *unit;
}

static void creation(void)
{
    int memory[COUNT], *part, *its;
    MPI_Aint size, unit, four = 4;
    MPI_Win win;
    OK(MPI_Win_create_c(memory, sizeof memory, four, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    EQUAL(unit_of(win), 4);
    OK(MPI_Win_free(&win));
    OK(MPI_Win_allocate_c(sizeof memory, four, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win));
    EQUAL(unit_of(win), 4);
    OK(MPI_Win_free(&win));
    OK(MPI_Win_allocate_shared_c(sizeof memory, four, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win));
    OK(MPI_Win_shared_query_c(win, rank_here, &size, &unit, &its));
    EQUAL(size, sizeof memory);
    EQUAL(unit, 4);
    CHECK(its == part);
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    int *part, mine[COUNT], back[COUNT], was[COUNT];
    const MPI_Count count = COUNT;
    MPI_Request requests[4];
    begin(&argc, &argv);
    creation();
    for (int i = 0; i < COUNT; i++) {
        mine[i] = 10 * rank_here + i;
        back[i] = was[i] = -1;
    }
    MPI_Win win = window(2 * COUNT, &part);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, behind(), 0, win));
    OK(MPI_Put_c(mine, count, MPI_INT, behind(), 0, count, MPI_INT, win));
    OK(MPI_Win_flush(behind(), win));
    OK(MPI_Accumulate_c(mine, count, MPI_INT, behind(), 0, count, MPI_INT, MPI_SUM, win));
    OK(MPI_Get_accumulate_c(mine, count, MPI_INT, was, count, MPI_INT, behind(), 0, count, MPI_INT,
                            MPI_SUM, win));
    OK(MPI_Win_flush(behind(), win));
    OK(MPI_Get_c(back, count, MPI_INT, behind(), 0, count, MPI_INT, win));
    OK(MPI_Win_unlock(behind(), win));
    for (int i = 0; i < COUNT; i++) {
        EQUAL(was[i], 2 * mine[i]);
        EQUAL(back[i], 3 * mine[i]);
    }
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, behind(), 0, win));
    OK(MPI_Rput_c(mine, count, MPI_INT, behind(), COUNT, count, MPI_INT, win, &requests[0]));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    OK(MPI_Win_flush(behind(), win));
    OK(MPI_Raccumulate_c(mine, count, MPI_INT, behind(), COUNT, count, MPI_INT, MPI_SUM, win,
                         &requests[1]));
    OK(MPI_Rget_accumulate_c(mine, count, MPI_INT, was, count, MPI_INT, behind(), COUNT, count,
                             MPI_INT, MPI_SUM, win, &requests[2]));
    OK(MPI_Waitall(2, requests + 1, MPI_STATUSES_IGNORE));
    OK(MPI_Win_flush(behind(), win));
    OK(MPI_Rget_c(back, count, MPI_INT, behind(), COUNT, count, MPI_INT, win, &requests[3]));
    OK(MPI_Wait(&requests[3], MPI_STATUS_IGNORE));
    OK(MPI_Win_unlock(behind(), win));
    for (int i = 0; i < COUNT; i++) {
        EQUAL(was[i], 2 * mine[i]);
        EQUAL(back[i], 3 * mine[i]);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_free(&win));
    return end();
}
