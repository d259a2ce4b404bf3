/* MPI-2.2 §11.3: put, get and accumulate, and what their arguments may be. */

#include "check.h"

enum { COUNT = 16 };

static void moves(void)
{
    int *part, mine[COUNT], theirs[COUNT];
    MPI_Win win = window(3 * COUNT, &part);
    for (int i = 0; i < COUNT; i++) {
        mine[i] = 1000 * rank_here + i;
        part[2 * COUNT + i] = 7 * rank_here + i;
    }
    RULE("11.3-1; 11.3-2; 11.4-11");
    OK(MPI_Win_fence(0, win));
    for (int target = 0; target < ranks; target++) {
        if (target == behind())
            OK(MPI_Put(mine, COUNT, MPI_INT, target, 0, COUNT, MPI_INT, win));
        RULE("11.3-6; 11.3.4-1");
        OK(MPI_Accumulate(mine, COUNT, MPI_INT, target, COUNT, COUNT, MPI_INT, MPI_SUM, win));
    }
    OK(MPI_Get(theirs, COUNT, MPI_INT, before(), 2 * COUNT, COUNT, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < COUNT; i++) {
        EQUAL(part[i], 1000 * before() + i);
        EQUAL(part[COUNT + i], 1000 * ranks * (ranks - 1) / 2 + ranks * i);
        EQUAL(theirs[i], 7 * before() + i);
    }
    OK(MPI_Win_free(&win));
}

/* Origins of two puts may overlap; a rank may be its own target; nobody may be the target. */
static void arguments(void)
{
    int *part, mine[3] = {5, 6, 7}, seen = -1;
    MPI_Win win = window(8, &part);
    RULE("11.3-4");
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(mine, 2, MPI_INT, behind(), 0, 2, MPI_INT, win));
    OK(MPI_Put(mine + 1, 2, MPI_INT, behind(), 2, 2, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK(part[0] == 5 && part[1] == 6 && part[2] == 6 && part[3] == 7);
    RULE("11.3-9");
    OK(MPI_Put(mine, 1, MPI_INT, rank_here, 4, 1, MPI_INT, win));
    RULE("11.3-10");
    OK(MPI_Put(mine, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, win));
    OK(MPI_Get(&seen, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win));
    OK(MPI_Accumulate(mine, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    EQUAL(part[4], 5);
    EQUAL(seen, -1);
    OK(MPI_Put(NULL, 0, MPI_INT, behind(), 0, 0, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_free(&win));
}

/* Every second element goes to every third place, and back into another order. */
static void datatypes(void)
{
    int *part, mine[8] = {0, 1, 2, 3, 4, 5, 6, 7}, back[4] = {-1, -1, -1, -1};
    int places[4] = {3, 1, 0, 2};
    MPI_Datatype second, third, shuffled;
    MPI_Win win = window(12, &part);
    OK(MPI_Type_vector(4, 1, 2, MPI_INT, &second));
    OK(MPI_Type_vector(4, 1, 3, MPI_INT, &third));
    OK(MPI_Type_create_indexed_block(4, 1, places, MPI_INT, &shuffled));
    OK(MPI_Type_commit(&second));
    OK(MPI_Type_commit(&third));
    OK(MPI_Type_commit(&shuffled));
    RULE("11.3-8; 11.3-15");
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(mine, 1, second, behind(), 0, 1, third, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < 12; i++)
        EQUAL(part[i], i % 3 ? 0 : 2 * (i / 3));
    OK(MPI_Get(back, 1, shuffled, before(), 0, 1, third, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < 4; i++)
        EQUAL(back[places[i]], 2 * i);
    RULE("11.3.4-4");
    OK(MPI_Accumulate(mine, 1, second, behind(), 0, 1, third, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < 12; i++)
        EQUAL(part[i], i % 3 ? 0 : 4 * (i / 3));
    OK(MPI_Type_free(&second));
    OK(MPI_Type_free(&third));
    OK(MPI_Type_free(&shuffled));
    OK(MPI_Win_free(&win));
}

/* What leaves the part of the target is refused at the origin, and nothing has been written. */
static void ranges(void)
{
    int *part, mine[4] = {1, 2, 3, 4}, overlaps[2] = {0, 0};
    MPI_Datatype twice;
    MPI_Win win = window(4, &part);
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Type_create_indexed_block(2, 1, overlaps, MPI_INT, &twice));
    OK(MPI_Type_commit(&twice));
    OK(MPI_Win_fence(0, win));
    if (ours()) {
        RULE("11.3-14; 11.3-16");
        FAILS(MPI_ERR_RMA_RANGE, MPI_Put(mine, 4, MPI_INT, behind(), 1, 4, MPI_INT, win));
        FAILS(MPI_ERR_RMA_RANGE, MPI_Put(mine, 1, MPI_INT, behind(), 4, 1, MPI_INT, win));
        FAILS(MPI_ERR_RMA_RANGE, MPI_Get(mine, 1, MPI_INT, behind(), (MPI_Aint)1 << 61, 1, MPI_INT,
                                         win));
        RULE("11.3.4-6");
        FAILS(MPI_ERR_RMA_RANGE,
              MPI_Accumulate(mine, 2, MPI_INT, behind(), 3, 2, MPI_INT, MPI_SUM, win));
        RULE("11.3-13");
        CHECK(MPI_Put(mine, 3, MPI_INT, behind(), 0, 2, MPI_INT, win) != MPI_SUCCESS);
        RULE("11.3-18");
        CHECK(MPI_Get(mine, 2, MPI_INT, behind(), 0, 3, MPI_INT, win) != MPI_SUCCESS);
        RULE("11.3-12");
        CHECK(MPI_Put(mine, 2, MPI_INT, behind(), 0, 1, twice, win) != MPI_SUCCESS);
        RULE("11.3-17");
        CHECK(MPI_Get(mine, 1, twice, behind(), 0, 2, MPI_INT, win) != MPI_SUCCESS);
        RULE("11.3.4-5");
        CHECK(MPI_Accumulate(mine, 2, MPI_INT, behind(), 0, 1, twice, MPI_SUM, win) != MPI_SUCCESS);
        RULE("11.3-5; 11.6-RMA_CONFLICT");
        FAILS(MPI_ERR_RMA_CONFLICT,
              MPI_Put(part, 2, MPI_INT, rank_here, 1, 2, MPI_INT, win));
    }
    OK(MPI_Win_fence(0, win));
    RULE("11.6-4");
    for (int i = 0; i < 4; i++)
        EQUAL(part[i], 0);
    OK(MPI_Type_free(&twice));
    OK(MPI_Win_free(&win));
}

enum { MAPPED = 24 };

/* A = B(map), where A and B are spread over the ranks. */
static int map_of(int i)
{
    return (i * 7 + 3) % (MAPPED * ranks);
}

static void by_a_map(void)
{
    int *b, a[MAPPED];
    MPI_Win win = window(MAPPED, &b);
    for (int i = 0; i < MAPPED; i++)
        b[i] = 10 * (rank_here * MAPPED + i);
    RULE("11.3-Ex. 11.2");
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < MAPPED; i++) {
        int from = map_of(rank_here * MAPPED + i);
        OK(MPI_Get(a + i, 1, MPI_INT, from / MAPPED, from % MAPPED, 1, MPI_INT, win));
    }
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < MAPPED; i++)
        EQUAL(a[i], 10 * map_of(rank_here * MAPPED + i));
    RULE("11.3-Ex. 11.1");
    memset(a, 0, sizeof a);
    for (int target = 0; target < ranks; target++) {
        int here[MAPPED], there[MAPPED], count = 0;
        for (int i = 0; i < MAPPED; i++) {
            int from = map_of(rank_here * MAPPED + i);
            if (from / MAPPED == target) {
                here[count] = i;
                there[count++] = from % MAPPED;
            }
        }
        MPI_Datatype into, out;
        OK(MPI_Type_create_indexed_block(count, 1, here, MPI_INT, &into));
        OK(MPI_Type_create_indexed_block(count, 1, there, MPI_INT, &out));
        OK(MPI_Type_commit(&into));
        OK(MPI_Type_commit(&out));
        OK(MPI_Get(a, 1, into, target, 0, 1, out, win));
        RULE("11.4.5-1; 11.4.5-2");
        OK(MPI_Type_free(&into));
        OK(MPI_Type_free(&out));
    }
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < MAPPED; i++)
        EQUAL(a[i], 10 * map_of(rank_here * MAPPED + i));
    RULE("11.3.4-Ex. 11.3");
    memset(b, 0, MAPPED * sizeof *b);
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < MAPPED; i++) {
        int to = map_of(rank_here * MAPPED + i), value = i;
        /* The buffer is free again only behind the fence, so each element has its own. */
        a[i] = value + 1;
        OK(MPI_Accumulate(a + i, 1, MPI_INT, to / MAPPED, to % MAPPED, 1, MPI_INT, MPI_SUM, win));
    }
    OK(MPI_Win_fence(0, win));
    for (int place = 0; place < MAPPED; place++) {
        int sum = 0;
        for (int i = 0; i < MAPPED * ranks; i++)
            if (map_of(i) == rank_here * MAPPED + place)
                sum += i % MAPPED + 1;
        EQUAL(b[place], sum);
    }
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    moves();
    arguments();
    datatypes();
    ranges();
    by_a_map();
    return end();
}
