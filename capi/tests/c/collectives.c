/* Every collective, blocking, nonblocking and persistent, against what it is defined to do
   (MPI-4.1 chapter 6), with derived datatypes, in place, at every root. */

#include "forms.h"

#define MOST 8

static int mine[2 * MOST], all[2 * MOST * MOST];

/* What rank r has as its element k. */
static int of(int r, int k)
{
    return 100 * r + k + 1;
}

static void fill(void)
{
    for (int k = 0; k < 2 * MOST; k++)
        mine[k] = of(rank_here, k);
    memset(all, -1, sizeof all);
}

static void cast(int root)
{
    RULE("MPI-4.1 §6.4");
    MPI_Datatype type = gap();
    FORMS(Bcast, bcast, fill(), { EQUAL(mine[0], of(root, 0)); EQUAL(mine[1], of(root, 1)); }, mine, 2,
          MPI_INT, root, MPI_COMM_WORLD);
    /* Only what the datatype has is received. */
    FORMS(Bcast, bcast, fill(),
          { EQUAL(mine[0], of(root, 0));
            EQUAL(mine[1], of(rank_here, 1));
            EQUAL(mine[2], of(root, 2));
            EQUAL(mine[6], of(root, 6)); },
          mine, 2, type, root, MPI_COMM_WORLD);
    OK(MPI_Type_free(&type));
}

static void all_are_there(int at)
{
    for (int r = 0; at && r < ranks; r++) {
        EQUAL(all[2 * r], of(r, 0));
        EQUAL(all[2 * r + 1], of(r, 1));
    }
}

/* Parts of r + 1 elements, the last rank's first, with one element between them. */
static int counts[MOST], places[MOST];

static void uneven(void)
{
    for (int r = ranks - 1, place = 0; r >= 0; r--) {
        counts[r] = r + 1;
        places[r] = place;
        place += r + 2;
    }
}

static void uneven_are_there(int at)
{
    for (int r = 0; at && r < ranks; r++) {
        for (int k = 0; k <= r; k++)
            EQUAL(all[places[r] + k], of(r, k));
        EQUAL(all[places[r] + counts[r]], -1);
    }
}

static void gathered(int root)
{
    RULE("MPI-4.1 §6.5 and §6.6");
    int here = rank_here == root;
    MPI_Comm world = MPI_COMM_WORLD;
    FORMS(Gather, gather, fill(), all_are_there(here), mine, 2, MPI_INT, all, 2, MPI_INT, root, world);
    FORMS(Gather, gather, (fill(), memcpy(all + 2 * rank_here, mine, 2 * sizeof(int))),
          all_are_there(here), here ? MPI_IN_PLACE : mine, 2, MPI_INT, all, 2, MPI_INT, root, world);
    FORMS(Gatherv, gatherv, fill(), uneven_are_there(here), mine, rank_here + 1, MPI_INT,
          here ? all : NULL, here ? counts : NULL, here ? places : NULL, MPI_INT, root, world);
    FORMS(Scatter, scatter, fill(), EQUAL(all[0], of(root, rank_here)), mine, 1, MPI_INT, all, 1,
          MPI_INT, root, world);
    FORMS(Scatter, scatter, fill(), EQUAL(mine[here ? rank_here : 0], of(root, rank_here)), mine, 1,
          MPI_INT, here ? MPI_IN_PLACE : mine, 1, MPI_INT, root, world);
    int some[MOST], first[MOST];
    for (int r = 0; r < ranks; r++) {
        some[r] = r % 2 + 1;
        first[r] = ranks - r;
    }
    FORMS(Scatterv, scatterv, fill(),
          { EQUAL(all[0], of(root, ranks - rank_here));
            EQUAL(all[1], rank_here % 2 ? of(root, ranks - rank_here + 1) : -1); },
          mine, some, first, MPI_INT, all, rank_here % 2 + 1, MPI_INT, root, world);
}

static void everywhere(void)
{
    RULE("MPI-4.1 §6.7 and §6.8");
    MPI_Comm world = MPI_COMM_WORLD;
    FORMS(Allgather, allgather, fill(), all_are_there(1), mine, 2, MPI_INT, all, 2, MPI_INT, world);
    FORMS(Allgatherv, allgatherv, fill(), uneven_are_there(1), mine, rank_here + 1, MPI_INT, all,
          counts, places, MPI_INT, world);
    FORMS(Allgatherv, allgatherv,
          (fill(), memcpy(all + places[rank_here], mine, (size_t)counts[rank_here] * sizeof(int))),
          uneven_are_there(1), MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, places, MPI_INT, world);
    int ones[MOST], to[MOST], from[MOST], bytes_to[MOST], bytes_from[MOST];
    MPI_Datatype types[MOST];
    for (int r = 0; r < ranks; r++) {
        ones[r] = 1;
        to[r] = r;
        from[r] = 2 * (ranks - 1 - r);
        bytes_to[r] = r * (int)sizeof(int);
        bytes_from[r] = from[r] * (int)sizeof(int);
        types[r] = MPI_INT;
    }
#define SENT(place)                                                                               \
    do {                                                                                          \
        for (int r_ = 0; r_ < ranks; r_++)                                                        \
            EQUAL(all[place], of(r_, rank_here));                                                 \
    } while (0)
    FORMS(Alltoall, alltoall, fill(), SENT(r_), mine, 1, MPI_INT, all, 1, MPI_INT, world);
    FORMS(Alltoall, alltoall, (fill(), memcpy(all, mine, sizeof mine)), SENT(r_), MPI_IN_PLACE, 0,
          MPI_DATATYPE_NULL, all, 1, MPI_INT, world);
    FORMS(Alltoallv, alltoallv, fill(), SENT(from[r_]), mine, ones, to, MPI_INT, all, ones, from,
          MPI_INT, world);
    FORMS(Alltoallw, alltoallw, fill(), SENT(bytes_from[r_] / (int)sizeof(int)), mine, ones, bytes_to,
          types, all, ones, bytes_from, types, world);
}

/* The product of two by two matrices: associative, and not commutative. */
static void product(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    (void)datatype;
    for (int k = 0; k < *length; k++) {
        unsigned *a = (unsigned *)in + 4 * k, *b = (unsigned *)inout + 4 * k, c[4];
        for (int i = 0; i < 4; i++)
            c[i] = a[i & 2] * b[i & 1] + a[(i & 2) + 1] * b[2 + (i & 1)];
        memcpy(b, c, sizeof c);
    }
}

static unsigned matrix[4 * MOST], result[4 * MOST], expected[4 * MOST];

/* Matrix k of rank r. */
static void make(int r, int k, unsigned *into)
{
    for (unsigned i = 0; i < 4; i++)
        into[i] = (unsigned)(r * 7 + k * 3 + 1) * (i + 1) + i * i;
}

static void put_back(void)
{
    for (int k = 0; k < MOST; k++)
        make(rank_here, k, matrix + 4 * k);
    memcpy(result, matrix, sizeof result);
}

/* That `count` matrices from number `first` on are the products of ranks 0 to `upto`. */
static void are_products(int first, int count, int upto)
{
    for (int k = 0; k < count; k++) {
        unsigned next[4];
        make(upto, first + k, expected);
        for (int r = upto - 1; r >= 0; r--) {
            int one = 1;
            make(r, first + k, next);
            product(next, expected, &one, NULL);
        }
        for (int i = 0; i < 4; i++)
            EQUAL(result[4 * k + i], expected[i]);
    }
}

static void combined(int root, MPI_Op op, MPI_Datatype type)
{
    RULE("MPI-4.1 §6.9");
    MPI_Comm world = MPI_COMM_WORLD;
    int here = rank_here == root, sizes[MOST], first = 0;
    FORMS(Reduce, reduce, put_back(), if (here) are_products(0, 3, ranks - 1), matrix, result, 3, type,
          op, root, world);
    FORMS(Reduce, reduce, put_back(), if (here) are_products(0, 3, ranks - 1),
          here ? (void *)MPI_IN_PLACE : matrix, here ? result : NULL, 3, type, op, root, world);
    FORMS(Allreduce, allreduce, put_back(), are_products(0, 3, ranks - 1), matrix, result, 3, type, op,
          world);
    FORMS(Allreduce, allreduce, put_back(), are_products(0, 3, ranks - 1), MPI_IN_PLACE, result, 3,
          type, op, world);
    FORMS(Scan, scan, put_back(), are_products(0, 3, rank_here), matrix, result, 3, type, op, world);
    FORMS(Exscan, exscan, put_back(), if (rank_here) are_products(0, 3, rank_here - 1), MPI_IN_PLACE,
          result, 3, type, op, world);
    FORMS(Reduce_scatter_block, reduce_scatter_block, put_back(), are_products(rank_here, 1, ranks - 1),
          matrix, result, 1, type, op, world);
    for (int r = 0; r < ranks; r++)
        sizes[r] = r == ranks - 1 ? MOST - ranks + 1 : 1;
    for (int r = 0; r < rank_here; r++)
        first += sizes[r];
    FORMS(Reduce_scatter, reduce_scatter, put_back(), are_products(first, sizes[rank_here], ranks - 1),
          matrix, result, sizes, type, op, world);
    FORMS(Reduce_scatter, reduce_scatter, put_back(), are_products(first, sizes[rank_here], ranks - 1),
          MPI_IN_PLACE, result, sizes, type, op, world);
}

/* On a ring, where with two ranks one neighbour is on both sides, and with one the rank itself. */
static void neighbours(void)
{
    RULE("MPI-4.1 §8.6");
    MPI_Comm ring;
    int periodic = 1, pair[] = {0, 1}, ones[] = {1, 1}, upside[] = {1, 0};
    MPI_Aint bytes[] = {0, sizeof(int)};
    MPI_Datatype types[] = {MPI_INT, MPI_INT};
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring));
    FORMS(Neighbor_allgather, neighbor_allgather, fill(),
          { EQUAL(all[0], of(before(), 0)); EQUAL(all[1], of(behind(), 0)); }, mine, 1, MPI_INT, all, 1,
          MPI_INT, ring);
    FORMS(Neighbor_allgatherv, neighbor_allgatherv, fill(),
          { EQUAL(all[1], of(before(), 0));
            EQUAL(all[0], of(behind(), 0)); }, mine, 1, MPI_INT, all, ones,
          upside, MPI_INT, ring);
    /* What a rank gives the one before it is element 0, and comes there from behind. */
    FORMS(Neighbor_alltoall, neighbor_alltoall, fill(),
          { EQUAL(all[0], of(before(), 1)); EQUAL(all[1], of(behind(), 0)); }, mine, 1, MPI_INT, all, 1,
          MPI_INT, ring);
    FORMS(Neighbor_alltoallv, neighbor_alltoallv, fill(),
          { EQUAL(all[1], of(before(), 1));
            EQUAL(all[0], of(behind(), 0)); }, mine, ones, pair, MPI_INT,
          all, ones, upside, MPI_INT, ring);
    FORMS(Neighbor_alltoallw, neighbor_alltoallw, fill(),
          { EQUAL(all[0], of(before(), 1)); EQUAL(all[1], of(behind(), 0)); }, mine, ones, bytes, types,
          all, ones, bytes, types, ring);
    OK(MPI_Comm_free(&ring));
}

/* Several under way, and completed in another order. */
static void several(void)
{
    RULE("MPI-4.1 §6.12");
    enum { MANY = 12 };
    MPI_Request requests[MANY];
    int sums[MANY], gives[MANY], done;
    for (int k = 0; k < MANY; k++) {
        gives[k] = rank_here + k;
        OK(MPI_Iallreduce(&gives[k], &sums[k], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[k]));
    }
    for (int k = 0; k < MANY; k++) {
        int which = (k * 5 + rank_here) % MANY;
        OK(MPI_Wait(&requests[which], MPI_STATUS_IGNORE));
        EQUAL(sums[which], ranks * (ranks - 1) / 2 + ranks * which);
    }
    MPI_Request met;
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &met));
    do
        OK(MPI_Test(&met, &done, MPI_STATUS_IGNORE));
    while (!done);
}

static void refused(void)
{
    RULE("MPI-4.1 §6.2.1");
    if (!ours())
        return;
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_ROOT, MPI_Bcast(mine, 1, MPI_INT, ranks, comm));
    FAILS(MPI_ERR_ROOT, MPI_Bcast(mine, 1, MPI_INT, MPI_PROC_NULL, comm));
    FAILS(MPI_ERR_COUNT, MPI_Bcast(mine, -1, MPI_INT, 0, comm));
    FAILS(MPI_ERR_TYPE, MPI_Bcast(mine, 1, MPI_DATATYPE_NULL, 0, comm));
    FAILS(MPI_ERR_OP, MPI_Allreduce(matrix, result, 1, MPI_DOUBLE, MPI_BXOR, comm));
    FAILS(MPI_ERR_BUFFER, MPI_Allreduce(matrix, matrix, 1, MPI_INT, MPI_SUM, comm));
    FAILS(MPI_ERR_BUFFER, MPI_Allgather(mine, 1, MPI_INT, NULL, 1, MPI_INT, comm));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Neighbor_allgather(mine, 1, MPI_INT, all, 1, MPI_INT, comm));
    OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Datatype type;
    MPI_Op op;
    OK(MPI_Type_contiguous(4, MPI_UNSIGNED, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Op_create(product, 0, &op));
    uneven();
    for (int root = 0; root < ranks; root++) {
        cast(root);
        gathered(root);
        combined(root, op, type);
    }
    everywhere();
    neighbours();
    several();
    refused();
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&type));
    return end();
}
