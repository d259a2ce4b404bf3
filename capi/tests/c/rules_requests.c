/* MPI-4.1 §12.3.5: operations that give a request. */

#include "check.h"

int main(int argc, char **argv)
{
    enum { COUNT = 8 };
    int *part, mine[COUNT], back[COUNT], sums[COUNT], flag, index;
    MPI_Request requests[4];
    MPI_Status statuses[4];
    begin(&argc, &argv);
    MPI_Win win = window(2 * COUNT, &part);
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    for (int i = 0; i < COUNT; i++) {
        mine[i] = 100 * rank_here + i;
        back[i] = sums[i] = -1;
    }
    if (ours()) {
        RULE("12.3.5-2");
        OK(MPI_Win_fence(0, win));
        /* Not allowed, and accepted as elsewhere; ends/lenient.c has what is told of it. */
        OK(MPI_Rput(mine, COUNT, MPI_INT, behind(), 0, COUNT, MPI_INT, win, requests));
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        EQUAL(part[1], 100 * before() + 1);
    }
    OK(MPI_Win_lock_all(0, win));
    RULE("12.3.5-1");
    OK(MPI_Rput(mine, COUNT, MPI_INT, behind(), 0, COUNT, MPI_INT, win, &requests[0]));
    OK(MPI_Wait(&requests[0], &statuses[0]));
    CHECK(requests[0] == MPI_REQUEST_NULL);
    memset(mine, 0, sizeof mine);
    RULE("12.3.5-5");
    OK(MPI_Win_flush(behind(), win));
    RULE("12.3.5-4");
    OK(MPI_Rget(back, COUNT, MPI_INT, behind(), 0, COUNT, MPI_INT, win, &requests[0]));
    do
        OK(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
    while (!flag);
    for (int i = 0; i < COUNT; i++)
        EQUAL(back[i], 100 * rank_here + i);
    RULE("12.3.5-3");
    for (int i = 0; i < COUNT; i++)
        mine[i] = i + 1;
    OK(MPI_Raccumulate(mine, COUNT, MPI_INT, behind(), COUNT, COUNT, MPI_INT, MPI_SUM, win,
                       &requests[0]));
    OK(MPI_Rget_accumulate(mine, COUNT, MPI_INT, sums, COUNT, MPI_INT, behind(), COUNT, COUNT,
                           MPI_INT, MPI_SUM, win, &requests[1]));
    requests[2] = MPI_REQUEST_NULL;
    OK(MPI_Rget(back, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &requests[3]));
    OK(MPI_Waitall(4, requests, statuses));
    for (int i = 0; i < 4; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL);
    /* Those of one origin to one place keep their order. */
    for (int i = 0; i < COUNT; i++)
        EQUAL(sums[i], i + 1);
    OK(MPI_Rput(mine, 1, MPI_INT, behind(), 0, 1, MPI_INT, win, &requests[0]));
    OK(MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE));
    EQUAL(index, 0);
    OK(MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE));
    EQUAL(index, MPI_UNDEFINED);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    EQUAL(value_of(win, rank_here, COUNT), 2);
    EQUAL(value_of(win, rank_here, 0), 1);
    OK(MPI_Win_free(&win));
    return end();
}
