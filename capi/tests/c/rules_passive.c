/* MPI-2.2 §11.4.3, MPI-4.1 §12.5.3 and §12.5.4: locks, flushes and sync. */

#include "check.h"

enum { ROUNDS = 50 };

/* Two places of a target move together under an exclusive lock, so whoever holds a lock sees them
   equal. */
static void exclusion(void)
{
    int *part;
    MPI_Win win = window(2, &part);
    RULE("11.4.3-1; 11.4.3-3; 11.4.3-5; 11.4-Fig. 11.3a; 11.4-Fig. 11.3b; 11.4.3-Ex. 11.5; 11.7.2-5");
    for (int round = 0; round < ROUNDS; round++) {
        int pair[2];
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        OK(MPI_Get(pair, 2, MPI_INT, 0, 0, 2, MPI_INT, win));
        OK(MPI_Win_flush(0, win));
        EQUAL(pair[0], pair[1]);
        pair[0] = pair[1] = pair[0] + 1;
        OK(MPI_Put(&pair[0], 1, MPI_INT, 0, 0, 1, MPI_INT, win));
        OK(MPI_Put(&pair[1], 1, MPI_INT, 0, 1, 1, MPI_INT, win));
        OK(MPI_Win_unlock(0, win));
        RULE("11.4.3-6; 11.4.3-2; 11.7-4");
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        OK(MPI_Get(pair, 2, MPI_INT, 0, 0, 2, MPI_INT, win));
        OK(MPI_Win_unlock(0, win));
        EQUAL(pair[0], pair[1]);
        CHECK(pair[0] > round);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    EQUAL(value_of(win, 0, 0), ROUNDS * ranks);
    OK(MPI_Win_free(&win));
}

/* Loads and stores of the own part under a lock of it. */
static void local_accesses(void)
{
    int *part, seen;
    MPI_Win win = window(2, &part);
    RULE("11.4.3-4; 11.4.3-10; 11.7-Ex. 11.11; 11.7-Ex. 11.12; 11.7-Ex. 11.13; 12.5.3-7");
    for (int round = 0; round < ROUNDS; round++) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_here, 0, win));
        EQUAL(part[0], part[1]);
        part[0]++;
        part[1]++;
        OK(MPI_Win_unlock(rank_here, win));
        int pair[2];
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, behind(), 0, win));
        OK(MPI_Get(pair, 2, MPI_INT, behind(), 0, 2, MPI_INT, win));
        OK(MPI_Win_flush(behind(), win));
        EQUAL(pair[0], pair[1]);
        pair[0]++;
        pair[1]++;
        OK(MPI_Put(pair, 2, MPI_INT, behind(), 0, 2, MPI_INT, win));
        OK(MPI_Win_unlock(behind(), win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank_here, 0, win));
    seen = part[0];
    OK(MPI_Win_unlock(rank_here, win));
    EQUAL(seen, 2 * ROUNDS);
    OK(MPI_Win_free(&win));
}

/* A counter that nobody serves: its owner sleeps in a barrier all the while. */
static void lock_all(void)
{
    int *part, one = 1, was, seen[64];
    MPI_Win win = window(ranks, &part);
    RULE("12.5.3-1; 12.5.3-2; 12.5.3-3; 11.4-10; 11.7.2-2; 11.7.2-7");
    if (rank_here != 0 || ranks == 1) {
        OK(MPI_Win_lock_all(0, win));
        for (int round = 0; round < ROUNDS; round++) {
            OK(MPI_Fetch_and_op(&one, &was, MPI_INT, 0, 0, MPI_SUM, win));
            OK(MPI_Win_flush(0, win));
            CHECK(was >= round && was < ROUNDS * ranks);
        }
        RULE("12.5.3-4");
        for (int target = 1; target < ranks; target++)
            OK(MPI_Put(&rank_here, 1, MPI_INT, target, rank_here, 1, MPI_INT, win));
        OK(MPI_Win_unlock_all(win));
        OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
        for (int target = 1; target < ranks; target++)
            OK(MPI_Get(seen + target, 1, MPI_INT, target, rank_here, 1, MPI_INT, win));
        OK(MPI_Win_flush_all(win));
        for (int target = 1; target < ranks; target++)
            EQUAL(seen[target], rank_here);
        OK(MPI_Win_unlock_all(win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    EQUAL(value_of(win, 0, 0), ranks == 1 ? ROUNDS : ROUNDS * (ranks - 1));
    OK(MPI_Win_free(&win));
}

/* All targets locked one by one and at once. */
static void several_targets(void)
{
    int *part;
    MPI_Win win = window(ranks, &part);
    RULE("12.5.3-5; 11.4-12");
    for (int target = 0; target < ranks; target++)
        OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    for (int target = ranks - 1; target >= 0; target--) {
        OK(MPI_Put(&target, 1, MPI_INT, target, rank_here, 1, MPI_INT, win));
        OK(MPI_Win_unlock(target, win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int origin = 0; origin < ranks; origin++)
        EQUAL(value_of(win, rank_here, origin), rank_here);
    OK(MPI_Win_free(&win));
}

/* What is flushed is at the target: the origin tells by another window, in the same epoch. */
static void flushes(void)
{
    int *part, *flag_part, value, flag = 0;
    MPI_Win win = window(2, &part), flags = window(1, &flag_part);
    RULE("12.5.4-1; 12.5.4-2; 12.5.4-3; 12.5.4-4; 12.5.4-6; 11.4-4; 11.4-5");
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_lock_all(0, flags));
    value = 900 + rank_here;
    OK(MPI_Put(&value, 1, MPI_INT, behind(), 0, 1, MPI_INT, win));
    OK(MPI_Win_flush_local(behind(), win));
    value = 1800 + rank_here;
    OK(MPI_Put(&value, 1, MPI_INT, behind(), 1, 1, MPI_INT, win));
    OK(MPI_Win_flush_local_all(win));
    value = 1;
    OK(MPI_Win_flush_all(win));
    OK(MPI_Accumulate(&value, 1, MPI_INT, behind(), 0, 1, MPI_INT, MPI_REPLACE, flags));
    OK(MPI_Win_flush(behind(), flags));
    while (!flag) {
        OK(MPI_Fetch_and_op(NULL, &flag, MPI_INT, rank_here, 0, MPI_NO_OP, flags));
        OK(MPI_Win_flush(rank_here, flags));
    }
    OK(MPI_Win_sync(win));
    EQUAL(((volatile int *)part)[0], 900 + before());
    EQUAL(((volatile int *)part)[1], 1800 + before());
    OK(MPI_Win_unlock_all(flags));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    OK(MPI_Win_free(&flags));
}

/* Which calls are refused in which state. */
static void refused(void)
{
    int *part, value = 0;
    MPI_Group self = group_of_one(rank_here);
    MPI_Win win = window(1, &part);
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    if (ours()) {
        RULE("11.4-1; 11.6-RMA_SYNC");
        FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
        FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(0, win));
        FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
        FAILS(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
        FAILS(MPI_ERR_RMA_SYNC, MPI_Win_wait(win));
        RULE("12.5.4-5");
        FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush(0, win));
        RULE("11.4-2; 11.4-3");
        OK(MPI_Win_lock(MPI_LOCK_SHARED, rank_here, 0, win));
        FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, rank_here, 0, win));
        FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
        FAILS(MPI_ERR_RMA_SYNC, MPI_Win_start(self, 0, win));
        if (ranks > 1)
            FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_INT, behind(), 0, 1, MPI_INT, win));
        RULE("11.4.3-8");
        FAILS(MPI_ERR_RMA_SYNC, MPI_Win_post(self, 0, win));
        OK(MPI_Win_unlock(rank_here, win));
        RULE("11.4-7; 11.4-6");
        OK(MPI_Win_post(self, 0, win));
        FAILS(MPI_ERR_RMA_SYNC, MPI_Win_post(self, 0, win));
        RULE("11.4.3-7");
        FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, rank_here, 0, win));
        OK(MPI_Win_start(self, 0, win));
        FAILS(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
        OK(MPI_Win_complete(win));
        OK(MPI_Win_wait(win));
    }
    OK(MPI_Group_free(&self));
    OK(MPI_Win_free(&win));
}

/* After the end of an epoch of one kind comes one of another. */
static void modes_change(void)
{
    int *part, value;
    MPI_Group to = group_of_one(behind()), from = group_of_one(before());
    MPI_Win win = window(1, &part);
    RULE("11.7-8; 11.7-Ex. 11.14; 11.7-Ex. 11.15");
    for (int round = 0; round < 5; round++) {
        value = 10 * round + rank_here;
        OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
        OK(MPI_Put(&value, 1, MPI_INT, behind(), 0, 1, MPI_INT, win));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        EQUAL(part[0], 10 * round + before());
        OK(MPI_Win_post(from, 0, win));
        OK(MPI_Win_start(to, 0, win));
        value++;
        OK(MPI_Put(&value, 1, MPI_INT, behind(), 0, 1, MPI_INT, win));
        OK(MPI_Win_complete(win));
        OK(MPI_Win_wait(win));
        EQUAL(part[0], 10 * round + before() + 1);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, behind(), MPI_MODE_NOCHECK, win));
        value++;
        OK(MPI_Put(&value, 1, MPI_INT, behind(), 0, 1, MPI_INT, win));
        OK(MPI_Win_unlock(behind(), win));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        EQUAL(value_of(win, rank_here, 0), 10 * round + before() + 2);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Group_free(&to));
    OK(MPI_Group_free(&from));
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    exclusion();
    local_accesses();
    lock_all();
    several_targets();
    flushes();
    refused();
    modes_change();
    return end();
}
