/* Mutual exclusion as the books build it: tickets by fetch_and_op, and the queue of Mellor-Crummey and
   Scott by compare_and_swap, where each waits at a place of its own. What they protect is a sum that is
   read, kept and written back. */

#include "check.h"

enum { ROUNDS = 25, NEXT_TICKET = 0, NOW_SERVED = 1, TAIL = 2, VALUE = 3, BLOCKED = 4, SUCCESSOR = 5 };
enum { NOBODY = -1, PLACES = 6 };

static MPI_Win win;

static int fetch(int target, int place, int operand, MPI_Op op)
{
    int was;
    OK(MPI_Fetch_and_op(&operand, &was, MPI_INT, target, place, op, win));
    OK(MPI_Win_flush(target, win));
    return was;
}

static int read_(int target, int place)
{
    return fetch(target, place, 0, MPI_NO_OP);
}

static void protected_work(void)
{
    int value = read_(0, VALUE);
    fetch(0, VALUE, value + 1, MPI_REPLACE);
}

static void by_tickets(void)
{
    int ticket = fetch(0, NEXT_TICKET, 1, MPI_SUM);
    while (read_(0, NOW_SERVED) != ticket)
        ;
    protected_work();
    fetch(0, NOW_SERVED, 1, MPI_SUM);
}

static void by_queue(void)
{
    int nobody = NOBODY, was;
    fetch(rank_here, BLOCKED, 1, MPI_REPLACE);
    fetch(rank_here, SUCCESSOR, NOBODY, MPI_REPLACE);
    int predecessor = fetch(0, TAIL, rank_here, MPI_REPLACE);
    if (predecessor != NOBODY) {
        fetch(predecessor, SUCCESSOR, rank_here, MPI_REPLACE);
        while (read_(rank_here, BLOCKED))
            ;
    }
    protected_work();
    if (read_(rank_here, SUCCESSOR) == NOBODY) {
        OK(MPI_Compare_and_swap(&nobody, &rank_here, &was, MPI_INT, 0, TAIL, win));
        OK(MPI_Win_flush(0, win));
        if (was == rank_here)
            return;
    }
    int successor;
    while ((successor = read_(rank_here, SUCCESSOR)) == NOBODY)
        ;
    fetch(successor, BLOCKED, 0, MPI_REPLACE);
}

int main(int argc, char **argv)
{
    int *part;
    begin(&argc, &argv);
    win = window(PLACES, &part);
    OK(MPI_Win_lock_all(0, win));
    if (rank_here == 0)
        fetch(0, TAIL, NOBODY, MPI_REPLACE);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < ROUNDS; round++)
        by_tickets();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    EQUAL(read_(0, VALUE), ROUNDS * ranks);
    EQUAL(read_(0, NOW_SERVED), ROUNDS * ranks);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < ROUNDS; round++)
        by_queue();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    EQUAL(read_(0, VALUE), 2 * ROUNDS * ranks);
    EQUAL(read_(0, TAIL), NOBODY);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return end();
}
