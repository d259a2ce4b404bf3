/* Collectives of lengths around those at which another way of moving the data begins, with buffers that lie
   differently on each rank, in place and not, before and after the first long one of a communicator
   (MPI-4.1 §6.4 to §6.9). */

#include "check.h"

#define LENGTHS 5

static const int lengths[LENGTHS] = {1024, 1026, 16384, 16386, 100000};

/* Buffers of several ranks' parts, the odd elements of which the gaps of a datatype leave out. */
static int *given, *got;

static int of(int r, int k)
{
    return 1000003 * (r + 1) + 7 * k;
}

/* Where element k lies: every second rank has two elements in four. */
static size_t place(int k)
{
    return rank_here % 2 ? (size_t)(k / 2) * 4 + (size_t)(k % 2) * 2 : (size_t)k;
}

static MPI_Datatype type;

static int instances(int length)
{
    return rank_here % 2 ? length / 2 : length;
}

static void clear(int length)
{
    memset(got, -1, 2 * (size_t)length * (size_t)ranks * sizeof(int));
}

static void cast(int length, int root, MPI_Comm comm)
{
    RULE("MPI-4.1 §6.4");
    clear(length);
    for (int k = 0; rank_here == root && k < length; k++)
        got[place(k)] = of(root, k);
    OK(MPI_Bcast(got, instances(length), type, root, comm));
    for (int k = 0; k < length; k++)
        EQUAL(got[place(k)], of(root, k));
    for (int k = 0; rank_here % 2 && k < length; k++)
        EQUAL(got[place(k) + 1], -1);
}

static void gathered(int length, MPI_Comm comm, int in_place)
{
    RULE("MPI-4.1 §6.7");
    clear(length);
    int *own = in_place ? got : given;
    for (int k = 0; k < length; k++)
        own[place(k + (in_place ? rank_here * length : 0))] = of(rank_here, k);
    OK(MPI_Allgather(in_place ? MPI_IN_PLACE : given, instances(length), type, got, instances(length), type,
                     comm));
    for (int r = 0; r < ranks; r++)
        for (int k = 0; k < length; k++)
            EQUAL(got[place(r * length + k)], of(r, k));
}

static void exchanged(int length, MPI_Comm comm, int in_place)
{
    RULE("MPI-4.1 §6.8");
    clear(length);
    int *own = in_place ? got : given;
    for (int r = 0; r < ranks; r++)
        for (int k = 0; k < length; k++)
            own[place(r * length + k)] = of(rank_here, k + r);
    OK(MPI_Alltoall(in_place ? MPI_IN_PLACE : given, instances(length), type, got, instances(length), type,
                    comm));
    for (int r = 0; r < ranks; r++)
        for (int k = 0; k < length; k++)
            EQUAL(got[place(r * length + k)], of(r, k + rank_here));
}

/* Of elements without gaps: operations of the standard have no others. */
static void reduced(int length, int root, MPI_Comm comm, int in_place)
{
    RULE("MPI-4.1 §6.9");
    for (int all = 0; all < 2; all++) {
        int gets = all || rank_here == root;
        clear(length);
        int *own = in_place && gets ? got : given;
        for (int k = 0; k < length; k++)
            own[k] = of(rank_here, k) % 1000;
        const void *mine = in_place && gets ? MPI_IN_PLACE : (void *)given;
        if (all)
            OK(MPI_Allreduce(mine, got, length, MPI_INT, MPI_SUM, comm));
        else
            OK(MPI_Reduce(mine, gets ? got : NULL, length, MPI_INT, MPI_SUM, root, comm));
        for (int k = 0; gets && k < length; k++) {
            int sum = 0;
            for (int r = 0; r < ranks; r++)
                sum += of(r, k) % 1000;
            EQUAL(got[k], sum);
        }
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Datatype vector, gaps;
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &vector));
    OK(MPI_Type_create_resized(vector, 0, 4 * sizeof(int), &gaps));
    OK(MPI_Type_free(&vector));
    OK(MPI_Type_commit(&gaps));
    type = rank_here % 2 ? gaps : MPI_INT;
    size_t bytes = 2 * (size_t)lengths[LENGTHS - 1] * (size_t)ranks * sizeof(int);
    given = malloc(bytes), got = malloc(bytes);
    CHECK(given && got);
    for (int time = 0; time < 2; time++) {
        MPI_Comm comm;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        /* The first long one: with another call each time. */
        if (time)
            reduced(lengths[2], 0, comm, 0);
        for (int k = 0; k < LENGTHS; k++) {
            for (int root = 0; root < ranks; root += ranks > 1 ? ranks - 1 : 1) {
                cast(lengths[k], root, comm);
                reduced(lengths[k], root, comm, 0);
                reduced(lengths[k], root, comm, 1);
            }
            for (int in_place = 0; in_place < 2; in_place++) {
                gathered(lengths[k], comm, in_place);
                exchanged(lengths[k], comm, in_place);
            }
        }
        OK(MPI_Comm_free(&comm));
    }
    free(given), free(got);
    OK(MPI_Type_free(&gaps));
    return end();
}
