/* MPI-2.2 §11.4.4 and Examples 11.6 to 11.10: assertions change nothing where they are true. */

#include "check.h"

enum { STEPS = 20, WIDTH = 4 };

/* A field in a ring: own values, and room for those of the neighbours, before and behind. */
static int *field;

static int update(int step, int place)
{
    return 100000 * step + 100 * rank_here + place;
}

static int edge_of(int step, int rank, int place)
{
    return 100000 * step + 100 * rank + place;
}

static void store(int step)
{
    for (int i = 1; i <= WIDTH; i++)
        field[i] = update(step, i);
}

/* Example 11.6 with puts, 11.7 with gets: loosely synchronous, all by fences. */
static void by_fences(int gets)
{
    MPI_Win win = window(WIDTH + 2, &field);
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    for (int step = 0; step < STEPS; step++) {
        store(step);
        OK(MPI_Win_fence(gets ? MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE : MPI_MODE_NOPRECEDE, win));
        if (gets) {
            RULE("11.4.4-Ex. 11.7");
            OK(MPI_Get(&field[0], 1, MPI_INT, before(), WIDTH, 1, MPI_INT, win));
            OK(MPI_Get(&field[WIDTH + 1], 1, MPI_INT, behind(), 1, 1, MPI_INT, win));
        } else {
            RULE("11.4.4-Ex. 11.6");
            OK(MPI_Put(&field[WIDTH], 1, MPI_INT, behind(), 0, 1, MPI_INT, win));
            OK(MPI_Put(&field[1], 1, MPI_INT, before(), WIDTH + 1, 1, MPI_INT, win));
        }
        OK(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOSUCCEED, win));
        EQUAL(field[0], edge_of(step, before(), WIDTH));
        EQUAL(field[WIDTH + 1], edge_of(step, behind(), 1));
        /* Nobody changes its field while a neighbour still reads it. */
        OK(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOPUT, win));
    }
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    OK(MPI_Win_free(&win));
}

static MPI_Group neighbours(void)
{
    int members[2] = {before(), behind()};
    return group_of(before() == behind() ? 1 : 2, members);
}

/* Examples 11.8 and 11.9: the same by start and complete. */
static void by_posts(int gets)
{
    MPI_Group group = neighbours();
    MPI_Win win = window(WIDTH + 2, &field);
    for (int step = 0; step < STEPS; step++) {
        store(step);
        OK(MPI_Win_post(group, gets ? MPI_MODE_NOPUT : 0, win));
        OK(MPI_Win_start(group, 0, win));
        if (gets) {
            RULE("11.4.4-Ex. 11.9");
            OK(MPI_Get(&field[0], 1, MPI_INT, before(), WIDTH, 1, MPI_INT, win));
            OK(MPI_Get(&field[WIDTH + 1], 1, MPI_INT, behind(), 1, 1, MPI_INT, win));
        } else {
            RULE("11.4.4-Ex. 11.8");
            OK(MPI_Put(&field[WIDTH], 1, MPI_INT, behind(), 0, 1, MPI_INT, win));
            OK(MPI_Put(&field[1], 1, MPI_INT, before(), WIDTH + 1, 1, MPI_INT, win));
        }
        OK(MPI_Win_complete(win));
        OK(MPI_Win_wait(win));
        EQUAL(field[0], edge_of(step, before(), WIDTH));
        EQUAL(field[WIDTH + 1], edge_of(step, behind(), 1));
    }
    OK(MPI_Group_free(&group));
    OK(MPI_Win_free(&win));
}

/* Example 11.10: two windows by turns; a barrier makes sure that all have posted. */
static void double_buffer(void)
{
    int *parts[2], value[2];
    MPI_Group group = neighbours();
    MPI_Win win[2] = {window(2, &parts[0]), window(2, &parts[1])};
    RULE("11.4.4-Ex. 11.10; 11.4.4-5; 11.4.4-6; 11.4-8");
    OK(MPI_Win_post(group, MPI_MODE_NOCHECK, win[0]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int step = 0; step < STEPS; step++) {
        int now = step % 2, then = !now;
        value[now] = 1000 * step + rank_here;
        OK(MPI_Win_start(group, MPI_MODE_NOCHECK, win[now]));
        OK(MPI_Put(&value[now], 1, MPI_INT, behind(), 0, 1, MPI_INT, win[now]));
        OK(MPI_Put(&value[now], 1, MPI_INT, before(), 1, 1, MPI_INT, win[now]));
        OK(MPI_Win_post(group, MPI_MODE_NOCHECK, win[then]));
        OK(MPI_Win_complete(win[now]));
        OK(MPI_Win_wait(win[now]));
        EQUAL(parts[now][0], 1000 * step + before());
        EQUAL(parts[now][1], 1000 * step + behind());
        /* Who starts next with NOCHECK knows that the posts are there. */
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Win_start(group, MPI_MODE_NOCHECK, win[STEPS % 2]));
    OK(MPI_Win_complete(win[STEPS % 2]));
    OK(MPI_Win_wait(win[STEPS % 2]));
    OK(MPI_Group_free(&group));
    OK(MPI_Win_free(&win[0]));
    OK(MPI_Win_free(&win[1]));
}

static void of_locks(void)
{
    int *part;
    MPI_Win win = window(1, &part);
    RULE("11.4.4-13");
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, behind(), MPI_MODE_NOCHECK, win));
    OK(MPI_Put(&rank_here, 1, MPI_INT, behind(), 0, 1, MPI_INT, win));
    OK(MPI_Win_unlock(behind(), win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    EQUAL(value_of(win, rank_here, 0), before());
    OK(MPI_Win_free(&win));
}

static void refused(void)
{
    int *part;
    MPI_Group self = group_of_one(rank_here);
    MPI_Win win = window(1, &part);
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    if (ours()) {
        RULE("11.4.4-4; 11.6-ASSERT");
        FAILS(MPI_ERR_ASSERT, MPI_Win_fence(MPI_MODE_NOCHECK, win));
        FAILS(MPI_ERR_ASSERT, MPI_Win_fence(1 << 20, win));
        FAILS(MPI_ERR_ASSERT, MPI_Win_start(self, MPI_MODE_NOPUT, win));
        FAILS(MPI_ERR_ASSERT, MPI_Win_post(self, MPI_MODE_NOSUCCEED, win));
        FAILS(MPI_ERR_ASSERT, MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOSTORE, win));
        FAILS(MPI_ERR_ASSERT, MPI_Win_lock_all(MPI_MODE_NOPRECEDE, win));
        RULE("11.4.4-2");
        OK(MPI_Win_fence(0, win));
        OK(MPI_Put(&rank_here, 1, MPI_INT, rank_here, 0, 1, MPI_INT, win));
        FAILS(MPI_ERR_ASSERT, MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    }
    OK(MPI_Group_free(&self));
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    by_fences(0);
    by_fences(1);
    by_posts(0);
    by_posts(1);
    double_buffer();
    of_locks();
    refused();
    return end();
}
