/* Every collective between two groups, blocking, nonblocking and persistent, with groups of all sizes
   and every root (MPI-4.1 §6.2.2, §6.2.3). */

#include "forms.h"

#define MOST 8
#define LONG 6000

static MPI_Comm inter;
static int side, me, here, there;
static int mine[2 * MOST * MOST], all[4 * MOST * MOST];

/* What rank r of a side has as its element k. */
static int of(int s, int r, int k)
{
    return 10000 * s + 100 * r + k + 1;
}

static void fill(void)
{
    for (int k = 0; k < 2 * MOST * MOST; k++)
        mine[k] = of(side, me, k);
    memset(all, -1, sizeof all);
}

/* Two groups, the first of so many ranks. */
static void meet(int first)
{
    MPI_Comm local;
    side = rank_here >= first;
    OK(MPI_Comm_split(MPI_COMM_WORLD, side, side ? -rank_here : rank_here, &local));
    OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, side ? 0 : ranks - 1, 7, &inter));
    OK(MPI_Comm_free(&local));
    OK(MPI_Comm_rank(inter, &me));
    OK(MPI_Comm_size(inter, &here));
    OK(MPI_Comm_remote_size(inter, &there));
}

/* The root argument where rank r of a side is the root. */
static int root_of(int s, int r)
{
    if (side != s)
        return r;
    return me == r ? MPI_ROOT : MPI_PROC_NULL;
}

static void cast(int root, int s, int r)
{
    RULE("MPI-4.1 §6.4");
    MPI_Datatype type = gap();
    /* Only what the datatype has is received, and only by the other group. */
    FORMS(Bcast, bcast, fill(),
          { EQUAL(mine[0], root >= 0 ? of(s, r, 0) : of(side, me, 0));
            EQUAL(mine[1], of(side, me, 1));
            EQUAL(mine[2], root >= 0 ? of(s, r, 2) : of(side, me, 2));
            EQUAL(mine[6], root >= 0 ? of(s, r, 6) : of(side, me, 6)); },
          mine, 2, type, root, inter);
    OK(MPI_Type_free(&type));
    /* What a rank gives that has no part in it means nothing; MPICH 5.0.2 looks at it. */
    OK(MPI_Bcast(ours() && root == MPI_PROC_NULL ? NULL : mine, 4, MPI_INT, root, inter));
}

/* Parts of r + 1 elements, the last rank's first, with one element between them. */
static int counts[MOST], places[MOST];

static void uneven(int of_ranks)
{
    int place = 0;
    for (int r = of_ranks - 1; r >= 0; r--) {
        counts[r] = r + 1;
        places[r] = place;
        place += r + 2;
    }
}

/* Two elements of each rank of the other side, in both layouts. */
static void two_of_each(int is_there, int step)
{
    for (int r = 0; is_there && r < there; r++) {
        EQUAL(all[2 * step * r], of(!side, r, 0));
        EQUAL(all[2 * step * r + step], of(!side, r, 1));
    }
    EQUAL(all[is_there ? 2 * step * there : 0], -1);
}

static void some_of_each(int is_there)
{
    for (int r = 0; is_there && r < there; r++) {
        for (int k = 0; k < counts[r]; k++)
            EQUAL(all[places[r] + k], of(!side, r, k));
        EQUAL(all[places[r] + counts[r]], -1);
    }
}

static void gathers(int root)
{
    RULE("MPI-4.1 §6.5");
    MPI_Datatype type = gap();
    FORMS(Gather, gather, fill(), two_of_each(root == MPI_ROOT, 1), mine, 2, MPI_INT, all, 2, MPI_INT,
          root, inter);
    FORMS(Gather, gather, fill(), two_of_each(root == MPI_ROOT, 2), mine, 2, MPI_INT, all, 1, type, root,
          inter);
    uneven(there);
    FORMS(Gatherv, gatherv, fill(), some_of_each(root == MPI_ROOT), mine, me + 1, MPI_INT, all, counts,
          places, MPI_INT, root, inter);
    OK(MPI_Type_free(&type));
}

static void scatters(int root, int s, int r)
{
    RULE("MPI-4.1 §6.6");
    MPI_Datatype type = gap();
    FORMS(Scatter, scatter, fill(),
          { EQUAL(all[0], root >= 0 ? of(s, r, 2 * me) : -1);
            EQUAL(all[1], -1);
            EQUAL(all[2], root >= 0 ? of(s, r, 2 * me + 1) : -1); },
          mine, 2, MPI_INT, all, 1, type, root, inter);
    uneven(root == MPI_ROOT ? there : here);
    FORMS(Scatterv, scatterv, fill(),
          { for (int k = 0; k <= me; k++)
                EQUAL(all[k], root >= 0 ? of(s, r, places[me] + k) : -1);
            EQUAL(all[me + 1], -1); },
          mine, counts, places, MPI_INT, all, me + 1, MPI_INT, root, inter);
    OK(MPI_Type_free(&type));
}

static void allgathers(void)
{
    RULE("MPI-4.1 §6.7");
    MPI_Datatype type = gap();
    FORMS(Allgather, allgather, fill(), two_of_each(1, 2), mine, 2, MPI_INT, all, 1, type, inter);
    uneven(there);
    FORMS(Allgatherv, allgatherv, fill(), some_of_each(1), mine, me + 1, MPI_INT, all, counts, places,
          MPI_INT, inter);
    /* One side gives, the other gets. */
    FORMS(Allgather, allgather, fill(), two_of_each(side, 1), mine, side ? 0 : 2, MPI_INT, all,
          side ? 2 : 0, MPI_INT, inter);
    OK(MPI_Type_free(&type));
}

/* One element goes one way, two the other. */
static void exchanged(int step)
{
    int come = side ? 1 : 2;
    for (int r = 0; r < there; r++)
        for (int k = 0; k < come; k++)
            EQUAL(all[step * (come * r + k)], of(!side, r, come * me + k));
    EQUAL(all[step * come * there], -1);
}

static void alltoalls(void)
{
    RULE("MPI-4.1 §6.8");
    int go = side ? 2 : 1, come = side ? 1 : 2;
    FORMS(Alltoall, alltoall, fill(), exchanged(1), mine, go, MPI_INT, all, come, MPI_INT, inter);
    int gone[MOST], from[MOST], got[MOST], to[MOST], bytes_from[MOST], bytes_to[MOST];
    MPI_Datatype one, sent[MOST], received[MOST];
    OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &one));
    OK(MPI_Type_commit(&one));
    for (int r = 0; r < there; r++) {
        gone[r] = go, from[r] = go * r, got[r] = come, to[r] = come * r;
        bytes_from[r] = from[r] * (int)sizeof(int), bytes_to[r] = 2 * to[r] * (int)sizeof(int);
        sent[r] = MPI_INT, received[r] = one;
    }
    FORMS(Alltoallv, alltoallv, fill(), exchanged(2), mine, gone, from, MPI_INT, all, got, to, one,
          inter);
    FORMS(Alltoallw, alltoallw, fill(), exchanged(2), mine, gone, bytes_from, sent, all, got, bytes_to,
          received, inter);
    OK(MPI_Type_free(&one));
}

/* The sum of element k of all ranks of a side. */
static int sum(int s, int of_ranks, int k)
{
    int total = 0;
    for (int r = 0; r < of_ranks; r++)
        total += of(s, r, k);
    return total;
}

/* x -> a x + b, one behind the other: not commutative. */
struct map {
    unsigned a, b;
};

static void chain(void *lower, void *upper, int *length, MPI_Datatype *type)
{
    struct map *first = lower, *second = upper;
    (void)type;
    for (int k = 0; k < *length; k++) {
        second[k].b = second[k].a * first[k].b + second[k].b;
        second[k].a *= first[k].a;
    }
}

static struct map map_of(int s, int r)
{
    return (struct map){2u * (unsigned)r + 3u + (unsigned)s, (unsigned)r + 7u};
}

static void chained(struct map found, int s, int of_ranks)
{
    struct map all_of_them = map_of(s, 0);
    for (int r = 1; r < of_ranks; r++) {
        struct map next = map_of(s, r);
        int one = 1;
        chain(&all_of_them, &next, &one, NULL);
        all_of_them = next;
    }
    EQUAL(found.a, all_of_them.a);
    EQUAL(found.b, all_of_them.b);
}

static void reduces(int root)
{
    RULE("MPI-4.1 §6.9.1");
    FORMS(Reduce, reduce, fill(),
          { for (int k = 0; k < 3; k++)
                EQUAL(all[k], root == MPI_ROOT ? sum(!side, there, k) : -1);
            EQUAL(all[3], -1); },
          mine, all, 3, MPI_INT, MPI_SUM, root, inter);
    struct map given = map_of(side, me), got = {0, 0};
    MPI_Datatype type;
    MPI_Op op;
    OK(MPI_Type_contiguous(2, MPI_UNSIGNED, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Op_create(chain, 0, &op));
    FORMS(Reduce, reduce, got = given, { if (root == MPI_ROOT) chained(got, !side, there); }, &given,
          &got, 1, type, op, root, inter);
    FORMS(Allreduce, allreduce, got = given, chained(got, !side, there), &given, &got, 1, type, op,
          inter);
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&type));
}

static void allreduces(void)
{
    RULE("MPI-4.1 §6.9.6");
    FORMS(Allreduce, allreduce, fill(),
          { for (int k = 0; k < 3; k++)
                EQUAL(all[k], sum(!side, there, k));
            EQUAL(all[3], -1); },
          mine, all, 3, MPI_INT, MPI_SUM, inter);
    static int much[LONG], result[LONG];
    for (int k = 0; k < LONG; k++)
        much[k] = of(side, me, k);
    FORMS(Allreduce, allreduce, memset(result, 0, sizeof result),
          { for (int k = 0; k < LONG; k += 7)
                EQUAL(result[k], sum(!side, there, k)); },
          much, result, LONG, MPI_INT, MPI_SUM, inter);
}

static void reduce_scatters(void)
{
    RULE("MPI-4.1 §6.10");
    int start = there * me;
    FORMS(Reduce_scatter_block, reduce_scatter_block, fill(),
          { for (int k = 0; k < there; k++)
                EQUAL(all[k], sum(!side, there, start + k));
            EQUAL(all[there], -1); },
          mine, all, there, MPI_INT, MPI_SUM, inter);
    /* The first gets one more, the last one less. */
    for (int r = 0; r < here; r++)
        counts[r] = there + (r == 0) - (r == here - 1);
    start += me > 0;
    FORMS(Reduce_scatter, reduce_scatter, fill(),
          { for (int k = 0; k < counts[me]; k++)
                EQUAL(all[k], sum(!side, there, start + k));
            EQUAL(all[counts[me]], -1); },
          mine, all, counts, MPI_INT, MPI_SUM, inter);
}

/* Several under way, and the messages of the program beside them. */
static void together(void)
{
    RULE("MPI-4.1 §6.12");
    MPI_Request requests[4];
    int got = 0, sent = of(side, me, 0), total = 0, message = -1, partner = me % there;
    fill();
    OK(MPI_Iallreduce(&sent, &total, 1, MPI_INT, MPI_SUM, inter, &requests[0]));
    OK(MPI_Iallgather(mine, 2, MPI_INT, all, 2, MPI_INT, inter, &requests[1]));
    OK(MPI_Ibarrier(inter, &requests[2]));
    got = sent;
    if (ours())
        OK(MPI_Ibcast(&got, 1, MPI_INT, root_of(1, 0), inter, &requests[3]));
    else
        requests[3] = MPI_REQUEST_NULL, got = side ? sent : of(1, 0, 0);
    if (me < there && me < here)
        OK(MPI_Sendrecv(&sent, 1, MPI_INT, partner, 5, &message, 1, MPI_INT, partner, 5, inter,
                        MPI_STATUS_IGNORE));
    for (int k = 3; k >= 0; k--)
        OK(MPI_Wait(&requests[k], MPI_STATUS_IGNORE));
    EQUAL(total, sum(!side, there, 0));
    two_of_each(1, 1);
    EQUAL(got, side ? sent : of(1, 0, 0));
    EQUAL(message, me < there && me < here ? of(!side, partner, 0) : -1);
}

static void sums_up(MPI_Comm comm, int expected)
{
    int value = of(side, me, 0), total = 0;
    OK(MPI_Allreduce(&value, &total, 1, MPI_INT, MPI_SUM, comm));
    EQUAL(total, expected);
    OK(MPI_Barrier(comm));
}

/* Intercommunicators that are made from another one. */
static void descendants(void)
{
    RULE("MPI-4.1 §7.6");
    MPI_Comm other, local;
    MPI_Request request;
    MPI_Group group, first;
    OK(MPI_Comm_dup(inter, &other));
    sums_up(other, sum(!side, there, 0));
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_idup(inter, &other, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    sums_up(other, sum(!side, there, 0));
    OK(MPI_Comm_free(&other));
    /* The first of each side. */
    OK(MPI_Comm_group(inter, &group));
    OK(MPI_Group_incl(group, 1, (int[]){0}, &first));
    OK(MPI_Comm_create(inter, first, &other));
    CHECK((other != MPI_COMM_NULL) == (me == 0));
    if (me == 0) {
        sums_up(other, of(!side, 0, 0));
        OK(MPI_Comm_free(&other));
    }
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&first));
    /* The peers are those of an intercommunicator. */
    OK(MPI_Comm_split(MPI_COMM_WORLD, side, me, &local));
    OK(MPI_Intercomm_create(local, here - 1, inter, there - 1, 9, &other));
    OK(MPI_Comm_free(&local));
    sums_up(other, sum(!side, there, 0));
    OK(MPI_Comm_free(&other));
}

static void refusals(void)
{
    RULE("MPI-4.1 §6.2.3");
    int one = 1, two = 2;
    OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_COMM, MPI_Scan(&one, &two, 1, MPI_INT, MPI_SUM, inter));
    FAILS(MPI_ERR_COMM, MPI_Exscan(&one, &two, 1, MPI_INT, MPI_SUM, inter));
    FAILS(MPI_ERR_ROOT, MPI_Bcast(&one, 1, MPI_INT, there, inter));
    FAILS(MPI_ERR_ROOT, MPI_Reduce(&one, &two, 1, MPI_INT, MPI_SUM, -5, inter));
    FAILS(MPI_ERR_ROOT, MPI_Bcast(&one, 1, MPI_INT, MPI_ROOT, MPI_COMM_WORLD));
    FAILS(MPI_ERR_ROOT, MPI_Bcast(&one, 1, MPI_INT, MPI_PROC_NULL, MPI_COMM_WORLD));
    if (ours()) {
        MPI_Request request;
        int in_place[MOST];
        FAILS(MPI_ERR_COMM, MPI_Iscan(&one, &two, 1, MPI_INT, MPI_SUM, inter, &request));
        FAILS(MPI_ERR_COMM,
              MPI_Exscan_init(&one, &two, 1, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL, &request));
        FAILS(MPI_ERR_BUFFER, MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, in_place, 1, MPI_INT, 0, inter));
        FAILS(MPI_ERR_BUFFER, MPI_Scatter(in_place, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, inter));
        FAILS(MPI_ERR_BUFFER, MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, in_place, 1, MPI_INT, inter));
        FAILS(MPI_ERR_BUFFER, MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, in_place, 1, MPI_INT, inter));
        FAILS(MPI_ERR_BUFFER, MPI_Reduce(MPI_IN_PLACE, &two, 1, MPI_INT, MPI_SUM, 0, inter));
        FAILS(MPI_ERR_BUFFER, MPI_Allreduce(MPI_IN_PLACE, &two, 1, MPI_INT, MPI_SUM, inter));
        FAILS(MPI_ERR_BUFFER, MPI_Allreduce_init(MPI_IN_PLACE, &two, 1, MPI_INT, MPI_SUM, inter,
                                                 MPI_INFO_NULL, &request));
        FAILS(MPI_ERR_BUFFER, MPI_Reduce(&one, NULL, 1, MPI_INT, MPI_SUM, MPI_ROOT, inter));
        FAILS(MPI_ERR_OP, MPI_Allreduce(&one, &two, 1, MPI_INT, MPI_NO_OP, inter));
    }
    /* The two sides are still in step. */
    sums_up(inter, sum(!side, there, 0));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    CHECK(ranks <= MOST);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int first = 1; first < ranks; first++) {
        meet(first);
        /* In MPICH 5.0.2 ranks that give MPI_PROC_NULL do not count it among the nonblocking ones, and
           what follows meets what it should not. */
        blocking_alone = !ours();
        for (int s = 0; s < 2; s++)
            for (int r = 0; r < (s == side ? here : there); r++) {
                cast(root_of(s, r), s, r);
                gathers(root_of(s, r));
                scatters(root_of(s, r), s, r);
                reduces(root_of(s, r));
            }
        blocking_alone = 0;
        allgathers();
        alltoalls();
        allreduces();
        reduce_scatters();
        together();
        descendants();
        refusals();
        OK(MPI_Comm_free(&inter));
    }
    return end();
}
