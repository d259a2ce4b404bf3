/* Shared memory as the standard's examples have it: loads and stores between win_sync and barrier; and
   a flag by which one rank wakes the next, by atomic operations and win_sync. */

#include "check.h"

int main(int argc, char **argv)
{
    enum { LENGTH = 100 };
    int unit, *part, *theirs, *base;
    MPI_Aint size;
    MPI_Win win;
    begin(&argc, &argv);
    OK(MPI_Win_allocate_shared(LENGTH * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                               &part, &win));
    OK(MPI_Win_shared_query(win, 0, &size, &unit, &base));
    OK(MPI_Win_shared_query(win, behind(), &size, &unit, &theirs));
    EQUAL(size, LENGTH * sizeof(int));
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < LENGTH; i++)
            part[i] = round * 1000 + rank_here * LENGTH + i;
        OK(MPI_Win_sync(win));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_sync(win));
        for (int i = 0; i < LENGTH; i++)
            EQUAL(theirs[i], round * 1000 + behind() * LENGTH + i);
        /* All parts are one array, of which rank 0's begins first. */
        EQUAL(base[ranks * LENGTH - 1], round * 1000 + ranks * LENGTH - 1);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    /* A token goes round, and each adds its number to what lies beside it. */
    int zero = 0, token = 0, sum;
    OK(MPI_Accumulate(&zero, 1, MPI_INT, rank_here, 0, 1, MPI_INT, MPI_REPLACE, win));
    OK(MPI_Win_flush(rank_here, win));
    part[1] = 0;
    OK(MPI_Win_sync(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank_here != 0) {
        do {
            OK(MPI_Fetch_and_op(NULL, &token, MPI_INT, rank_here, 0, MPI_NO_OP, win));
            OK(MPI_Win_flush(rank_here, win));
        } while (!token);
        OK(MPI_Win_sync(win));
    }
    sum = part[1] + rank_here;
    if (behind() != 0) {
        int one = 1;
        theirs[1] = sum;
        OK(MPI_Win_sync(win));
        OK(MPI_Accumulate(&one, 1, MPI_INT, behind(), 0, 1, MPI_INT, MPI_REPLACE, win));
        OK(MPI_Win_flush(behind(), win));
    } else {
        EQUAL(sum, ranks * (ranks - 1) / 2);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return end();
}
