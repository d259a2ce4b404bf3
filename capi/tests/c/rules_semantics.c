/* MPI-2.2 §11.7: what is visible to whom and when; and progress. */

#include "check.h"

enum { LENGTH = 256 };

/* Two windows over the same memory: fences of one, then of the other, make updates visible. */
static void overlapping_windows(void)
{
    int memory[2] = {0, 0}, seen = -1, value;
    MPI_Win one, two;
    OK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &one));
    OK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &two));
    RULE("11.7-7; 11.7-9");
    for (int round = 0; round < 10; round++) {
        value = 10 * round + rank_here;
        OK(MPI_Win_fence(0, one));
        OK(MPI_Put(&value, 1, MPI_INT, behind(), 1, 1, MPI_INT, one));
        OK(MPI_Win_fence(0, one));
        OK(MPI_Win_fence(0, two));
        OK(MPI_Get(&seen, 1, MPI_INT, before(), 1, 1, MPI_INT, two));
        OK(MPI_Win_fence(0, two));
        EQUAL(seen, 10 * round + (before() + ranks - 1) % ranks);
    }
    OK(MPI_Win_free(&one));
    OK(MPI_Win_free(&two));
}

/* A put under a lock is in the target's own copy behind the owner's lock, a store is public behind its
   unlock. */
static void public_and_private(void)
{
    int *part, value = 300 + rank_here, seen = -1;
    MPI_Win win = window(2, &part);
    RULE("11.7-5; 11.7-6; 11.7-C1; 11.7-C2");
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_here, 0, win));
    part[1] = 600 + rank_here;
    OK(MPI_Win_unlock(rank_here, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, behind(), 0, win));
    OK(MPI_Put(&value, 1, MPI_INT, behind(), 0, 1, MPI_INT, win));
    OK(MPI_Get(&seen, 1, MPI_INT, behind(), 1, 1, MPI_INT, win));
    OK(MPI_Win_unlock(behind(), win));
    EQUAL(seen, 600 + behind());
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank_here, 0, win));
    EQUAL(part[0], 300 + before());
    OK(MPI_Win_unlock(rank_here, win));
    OK(MPI_Win_free(&win));
}

/* All at once at the same elements: sums add up, replaced elements are whole, and what the calls that
   return something see is each value of one order. */
static void atomicity(void)
{
    enum { CALLS = 40 };
    long long *part, ones[LENGTH], mine[LENGTH], was;
    MPI_Win win;
    OK(MPI_Win_allocate((2 * LENGTH + 2) * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win));
    memset(part, 0, (2 * LENGTH + 2) * 8);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < LENGTH; i++) {
        ones[i] = i % 7 + 1;
        mine[i] = 0x0101010101010101LL * (rank_here + 1);
    }
    RULE("11.7.1-1; 11.7.1-2; 11.3-6");
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    for (int call = 0; call < CALLS; call++) {
        OK(MPI_Accumulate(ones, LENGTH, MPI_LONG_LONG, 0, 0, LENGTH, MPI_LONG_LONG, MPI_SUM, win));
        OK(MPI_Accumulate(mine, LENGTH, MPI_LONG_LONG, 0, LENGTH, LENGTH, MPI_LONG_LONG,
                          MPI_REPLACE, win));
    }
    RULE("11.7.1-4");
    for (int call = 0; call < CALLS; call++) {
        long long one = 1, next, expected;
        OK(MPI_Fetch_and_op(&one, &was, MPI_LONG_LONG, 0, 2 * LENGTH, MPI_SUM, win));
        OK(MPI_Win_flush(0, win));
        /* An increment by compare_and_swap, until it is this rank's turn. */
        OK(MPI_Fetch_and_op(NULL, &expected, MPI_LONG_LONG, 0, 2 * LENGTH + 1, MPI_NO_OP, win));
        OK(MPI_Win_flush(0, win));
        for (;;) {
            next = expected + 1;
            OK(MPI_Compare_and_swap(&next, &expected, &was, MPI_LONG_LONG, 0, 2 * LENGTH + 1, win));
            OK(MPI_Win_flush(0, win));
            if (was == expected)
                break;
            expected = was;
        }
    }
    OK(MPI_Win_unlock(0, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank_here == 0) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        for (int i = 0; i < LENGTH; i++) {
            EQUAL(part[i], (long long)CALLS * ranks * (i % 7 + 1));
            CHECK(part[LENGTH + i] % 0x0101010101010101LL == 0);
            CHECK(part[LENGTH + i] >= 0x0101010101010101LL);
        }
        EQUAL(part[2 * LENGTH], CALLS * ranks);
        EQUAL(part[2 * LENGTH + 1], CALLS * ranks);
        OK(MPI_Win_unlock(0, win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_free(&win));
}

/* One origin's accumulates to one place are in the order of its calls. */
static void order(void)
{
    int *part, values[100], seen[100];
    MPI_Win win = window(ranks, &part);
    RULE("12.2.1-6");
    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < 100; i++) {
        values[i] = i + 1;
        OK(MPI_Get_accumulate(&values[i], 1, MPI_INT, &seen[i], 1, MPI_INT, behind(), rank_here, 1,
                              MPI_INT, MPI_REPLACE, win));
    }
    OK(MPI_Win_unlock_all(win));
    for (int i = 0; i < 100; i++)
        EQUAL(seen[i], i);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    EQUAL(value_of(win, rank_here, before()), 100);
    OK(MPI_Win_free(&win));
}

/* Figure 11.6: each gives much to the other at once, by post, start, complete, wait. */
static void symmetric(void)
{
    enum { MUCH = 1 << 18 };
    int *part, *mine = malloc(MUCH * sizeof *mine);
    MPI_Group to = group_of_one(behind()), from = group_of_one(before());
    MPI_Win win = window(MUCH, &part);
    RULE("11.7.2-Fig. 11.6");
    for (int i = 0; i < MUCH; i++)
        mine[i] = i ^ rank_here;
    OK(MPI_Win_post(from, 0, win));
    OK(MPI_Win_start(to, 0, win));
    OK(MPI_Put(mine, MUCH, MPI_INT, behind(), 0, MUCH, MPI_INT, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    for (int i = 0; i < MUCH; i++)
        if (part[i] != (i ^ before()))
            FAILED("place %d: %d", i, part[i]);
    OK(MPI_Group_free(&to));
    OK(MPI_Group_free(&from));
    OK(MPI_Win_free(&win));
    free(mine);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    overlapping_windows();
    public_and_private();
    atomicity();
    order();
    symmetric();
    return end();
}
