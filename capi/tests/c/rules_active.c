/* MPI-2.2 §11.4.1 and §11.4.2: fence, and post, start, complete, wait. */

#include "check.h"

static void fences(void)
{
    int *part, one = rank_here + 1, seen = -1;
    MPI_Win win = window(ranks + 2, &part);
    RULE("11.4.1-1; 11.4.1-2; 11.4.1-3; 11.4.1-5; 11.4.1-8; 11.4.1-9; 11.7-1; 11.7-2");
    OK(MPI_Win_fence(0, win));
    for (int target = 0; target < ranks; target++)
        OK(MPI_Put(&one, 1, MPI_INT, target, rank_here, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    /* The origin's buffer is its own again, and the target has all. */
    one = -1;
    RULE("11.7.2-8; 11.7-6");
    for (int origin = 0; origin < ranks; origin++)
        EQUAL(part[origin], origin + 1);
    RULE("11.4.1-4");
    part[ranks] = 5000 + rank_here;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(&seen, 1, MPI_INT, behind(), ranks, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    RULE("11.7-5");
    EQUAL(seen, 5000 + behind());
    RULE("11.4.1-6");
    for (int round = 1; round <= 20; round++) {
        OK(MPI_Put(&round, 1, MPI_INT, behind(), ranks + 1, 1, MPI_INT, win));
        OK(MPI_Win_fence(0, win));
        EQUAL(part[ranks + 1], round);
        OK(MPI_Win_fence(0, win));
    }
    RULE("11.4.1-7; 11.4.4-1; 11.4.4-8; 11.4.4-9; 11.4.4-10; 11.4.4-11");
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSTORE | MPI_MODE_NOPUT, win));
    OK(MPI_Get(&seen, 1, MPI_INT, behind(), ranks, 1, MPI_INT, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOSTORE, win));
    EQUAL(seen, 5000 + behind());
    OK(MPI_Win_free(&win));
}

/* Each rank gives to the rank behind it and takes from the rank before. */
static void ring(void)
{
    int *part, one;
    MPI_Win win = window(2, &part);
    MPI_Group to = group_of_one(behind()), from = group_of_one(before());
    RULE("11.4.2-1; 11.4.2-2; 11.4.2-5; 11.4.2-8; 11.4.2-9; 11.4.2-15; 11.4.2-18; 11.4-8; 11.4-9");
    for (int round = 0; round < 50; round++) {
        OK(MPI_Win_post(from, 0, win));
        OK(MPI_Win_start(to, 0, win));
        one = 100 * round + rank_here;
        OK(MPI_Put(&one, 1, MPI_INT, behind(), 0, 1, MPI_INT, win));
        OK(MPI_Win_complete(win));
        RULE("11.4.2-6; 11.7-1");
        one = -1;
        OK(MPI_Win_wait(win));
        RULE("11.4.2-10; 11.4.2-11; 11.7-3; 11.4-Fig. 11.1b");
        EQUAL(part[0], 100 * round + before());
        part[0] = -2;
    }
    OK(MPI_Group_free(&to));
    OK(MPI_Group_free(&from));
    OK(MPI_Win_free(&win));
}

/* Figures 11.1, 11.2 and 11.4: every rank gives to all that it names, in any directed graph. */
static int is_edge(int from, int to, int graph)
{
    return (from * 3 + to * 5 + graph) % 4 < 2;
}

static MPI_Group neighbours(int graph, int out, int *count)
{
    int members[64];
    *count = 0;
    for (int other = 0; other < ranks; other++)
        if (out ? is_edge(rank_here, other, graph) : is_edge(other, rank_here, graph))
            members[(*count)++] = other;
    return group_of(*count, members);
}

static void graphs(void)
{
    int *part;
    MPI_Win win = window(ranks, &part);
    for (int graph = 0; graph < 12; graph++) {
        int out, in;
        MPI_Group targets = neighbours(graph, 1, &out), origins = neighbours(graph, 0, &in);
        RULE("11.4-Fig. 11.1a; 11.4-Fig. 11.2; 11.4.2-3; 11.4.2-4; 11.7.2-3");
        for (int i = 0; i < ranks; i++)
            part[i] = -1;
        RULE("11.4.2-16; 11.4.2-17; 11.4.2-Fig. 11.4");
        OK(MPI_Win_post(origins, 0, win));
        OK(MPI_Group_free(&origins));
        OK(MPI_Win_start(targets, 0, win));
        RULE("11.4.5-1");
        OK(MPI_Group_free(&targets));
        int value = 10 * graph + rank_here;
        for (int target = 0; target < ranks; target++)
            if (is_edge(rank_here, target, graph))
                OK(MPI_Put(&value, 1, MPI_INT, target, rank_here, 1, MPI_INT, win));
        OK(MPI_Win_complete(win));
        OK(MPI_Win_wait(win));
        for (int origin = 0; origin < ranks; origin++)
            EQUAL(part[origin], is_edge(origin, rank_here, graph) ? 10 * graph + origin : -1);
        /* MPICH 5.0.2 counts posts without asking whose they are, so an early one counts for another. */
        if (!ours())
            OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Win_free(&win));
}

/* Example 11.4, by two ranks: once the target has posted, the origin needs nothing more of it. */
static void posted_is_enough(void)
{
    int *part, *flag_part, value = 77, flag = 0, done;
    MPI_Win win = window(1, &part), flags = window(1, &flag_part);
    RULE("11.4.2-Ex. 11.4; 11.4.2-7; 11.7.2-1; 11.7.2-4; 11.7.2-Fig. 11.8; 11.7.2-6");
    if (ranks > 1 && rank_here == 0) {
        MPI_Group origin = group_of_one(1);
        OK(MPI_Win_post(origin, 0, win));
        /* The origin completes while this rank does not call wait. */
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, flags));
        while (!flag) {
            OK(MPI_Fetch_and_op(NULL, &flag, MPI_INT, 0, 0, MPI_NO_OP, flags));
            OK(MPI_Win_flush(0, flags));
        }
        OK(MPI_Win_unlock(0, flags));
        RULE("11.4.2-12; 11.4.2-13; 11.4.2-14");
        do
            OK(MPI_Win_test(win, &done));
        while (!done);
        EQUAL(part[0], 77);
        OK(MPI_Win_post(origin, 0, win));
        OK(MPI_Win_wait(win));
        OK(MPI_Group_free(&origin));
    } else if (rank_here == 1) {
        MPI_Group target = group_of_one(0);
        int one = 1;
        OK(MPI_Win_start(target, 0, win));
        OK(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
        OK(MPI_Win_complete(win));
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, flags));
        OK(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, flags));
        OK(MPI_Win_unlock(0, flags));
        OK(MPI_Win_start(target, 0, win));
        OK(MPI_Win_complete(win));
        OK(MPI_Group_free(&target));
    }
    RULE("11.4.2-13");
    if (ranks > 1 && rank_here < 2) {
        MPI_Group other = group_of_one(1 - rank_here);
        OK(MPI_Win_post(other, 0, win));
        OK(MPI_Win_test(win, &done));
        /* The other rank may be quick, but not before it has seen this post. */
        OK(MPI_Win_start(other, 0, win));
        OK(MPI_Win_complete(win));
        if (!done)
            OK(MPI_Win_wait(win));
        OK(MPI_Group_free(&other));
    }
    OK(MPI_Win_free(&win));
    OK(MPI_Win_free(&flags));
}

/* A rank that holds out of a group takes no part; and the empty group is nobody. */
static void nobody(void)
{
    int *part;
    MPI_Win win = window(1, &part);
    RULE("11.4.2-17");
    OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
    OK(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    fences();
    ring();
    graphs();
    posted_is_enough();
    nobody();
    return end();
}
