/* Ranks of a collective that disagree: about the call, the root, how many elements, of which datatype, and
   the operation. All of them get the same class of error, and the next collective is right. What MPI
   allows to differ is no error (MPI-4.1 §6.1, §6.12). */

#include "check.h"

#define MOST 8

static int given[16 * MOST], got[16 * MOST], counts[MOST], places[MOST];

/* What the last rank alone does otherwise. */
enum difference { NOTHING, ROOT, COUNT, TYPE, OPERATION, CALL, DIFFERENCES };

static const int CLASSES[DIFFERENCES] = {MPI_SUCCESS,  MPI_ERR_ROOT, MPI_ERR_TRUNCATE,
                                         MPI_ERR_TYPE, MPI_ERR_OP,   MPI_ERR_ARG};

/* The arguments of this rank. */
static int is_odd, root, count;
static MPI_Datatype type;
static MPI_Op op;

static void arguments(enum difference differs)
{
    is_odd = differs != NOTHING && rank_here == ranks - 1;
    root = is_odd && differs == ROOT ? ranks - 1 : 0;
    count = is_odd && differs == COUNT ? 3 : 2;
    type = MPI_INT;
    op = is_odd && differs == OPERATION ? MPI_MAX : MPI_SUM;
    if (is_odd && differs == TYPE)
        type = MPI_FLOAT;
    for (int r = 0; r < ranks; r++) {
        counts[r] = 2;
        places[r] = 4 * r;
    }
}

static void agrees(enum difference differs, int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    if (class != CLASSES[differs])
        FAILED("difference %d: class %d, not %d: %s", differs, class, CLASSES[differs],
               sentence(code));
    checks_passed++;
}

/* A rank that need not wait for the others learns it at a later collective. */
static int or_later(int code)
{
    int later = MPI_Barrier(MPI_COMM_WORLD);
    return code == MPI_SUCCESS ? later : code;
}

/* All forms of a collective whose ranks differ; of the persistent one the initialisation fails. */
#define FORMS_OF(name, init, ...)                                                                 \
    do {                                                                                          \
        MPI_Request request_;                                                                     \
        arguments(differs);                                                                       \
        int otherwise_ = is_odd && differs == CALL;                                               \
        int code_ = otherwise_ ? another_call() : MPI_##name(__VA_ARGS__);                        \
        agrees(differs, or_later(code_));                                                         \
        together();                                                                               \
        if (otherwise_)                                                                           \
            OK(MPI_Ibarrier(MPI_COMM_WORLD, &request_));                                          \
        else                                                                                      \
            OK(MPI_I##init(__VA_ARGS__, &request_));                                              \
        agrees(differs, MPI_Wait(&request_, MPI_STATUS_IGNORE));                                  \
        CHECK(request_ == MPI_REQUEST_NULL);                                                      \
        together();                                                                               \
        agrees(differs, otherwise_ ? another_init()                                               \
                                   : MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_));   \
        together();                                                                               \
    } while (0)

static int another_call(void)
{
    return MPI_Barrier(MPI_COMM_WORLD);
}

static int another_init(void)
{
    MPI_Request request;
    return MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
}

/* Nothing is out of step. */
static void together(void)
{
    int one = 1, sum = 0;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    EQUAL(sum, ranks);
}

static void of_all(enum difference differs)
{
    FORMS_OF(Allgather, allgather, given, count, type, got, count, type, MPI_COMM_WORLD);
    FORMS_OF(Alltoall, alltoall, given, count, type, got, count, type, MPI_COMM_WORLD);
    /* Of lists only the parts between two ranks have to match. */
    if (differs == COUNT) {
        arguments(differs);
        counts[0] = count;
        int send[MOST];
        memcpy(send, counts, sizeof send);
        MPI_Request request;
        int kept[MOST] = {2, 2, 2, 2, 2, 2, 2, 2};
        agrees(differs, MPI_Alltoallv(given, send, places, type, got, kept, places, type,
                                      MPI_COMM_WORLD));
        OK(MPI_Ialltoallv(given, send, places, type, got, kept, places, type, MPI_COMM_WORLD,
                          &request));
        agrees(differs, MPI_Wait(&request, MPI_STATUS_IGNORE));
        together();
        counts[0] = 2;
        counts[rank_here] = count;
        agrees(differs, MPI_Allgatherv(given, count, type, got, counts, places, type,
                                       MPI_COMM_WORLD));
        together();
    } else {
        FORMS_OF(Alltoallv, alltoallv, given, counts, places, type, got, counts, places, type,
             MPI_COMM_WORLD);
        FORMS_OF(Allgatherv, allgatherv, given, count, type, got, counts, places, type,
             MPI_COMM_WORLD);
    }
}

static void of_a_root(enum difference differs)
{
    FORMS_OF(Bcast, bcast, given, count, type, root, MPI_COMM_WORLD);
    FORMS_OF(Gather, gather, given, count, type, got, count, type, root, MPI_COMM_WORLD);
    FORMS_OF(Scatter, scatter, given, count, type, got, count, type, root, MPI_COMM_WORLD);
    FORMS_OF(Gatherv, gatherv, given, count, type, got, counts, places, type, root, MPI_COMM_WORLD);
    FORMS_OF(Scatterv, scatterv, given, counts, places, type, got, count, type, root,
         MPI_COMM_WORLD);
}

static void of_an_operation(enum difference differs)
{
    FORMS_OF(Allreduce, allreduce, given, got, count, type, op, MPI_COMM_WORLD);
    FORMS_OF(Scan, scan, given, got, count, type, op, MPI_COMM_WORLD);
    FORMS_OF(Exscan, exscan, given, got, count, type, op, MPI_COMM_WORLD);
    FORMS_OF(Reduce_scatter_block, reduce_scatter_block, given, got, count, type, op,
         MPI_COMM_WORLD);
    if (differs != COUNT)
        FORMS_OF(Reduce_scatter, reduce_scatter, given, got, counts, type, op, MPI_COMM_WORLD);
}

static void long_ones(void)
{
    enum difference differs;
    static int from[40000], to[40000];
    for (differs = ROOT; differs <= OPERATION; differs++) {
        arguments(differs);
        int n = 10000 * count;
        int code = differs == ROOT || differs == TYPE
                       ? MPI_Bcast(from, n, type, root, MPI_COMM_WORLD)
                       : MPI_Allreduce(from, to, n, type, op, MPI_COMM_WORLD);
        agrees(differs, code);
        together();
    }
}

/* What may differ: datatypes of one signature, bytes, and who has its contribution in place. */
static void allowed(void)
{
    MPI_Datatype two;
    OK(MPI_Type_contiguous(2, MPI_INT, &two));
    OK(MPI_Type_commit(&two));
    int odd = rank_here % 2, value[2] = {7, 8};
    OK(MPI_Bcast(value, odd ? 1 : 2, odd ? two : MPI_INT, 0, MPI_COMM_WORLD));
    OK(MPI_Bcast(value, odd ? 8 : 2, odd ? MPI_BYTE : MPI_INT, 0, MPI_COMM_WORLD));
    EQUAL(value[0] + value[1], 15);
    int all[2 * MOST];
    all[2 * rank_here] = rank_here;
    all[2 * rank_here + 1] = -rank_here;
    int mine[2] = {rank_here, -rank_here};
    OK(MPI_Allgather(odd ? (void *)mine : MPI_IN_PLACE, 1, two, all, 2, MPI_INT, MPI_COMM_WORLD));
    for (int r = 0; r < ranks; r++)
        EQUAL(all[2 * r] + 2 * all[2 * r + 1], -r);
    int sum[2] = {1, 2}, one[2] = {1, 2};
    if (odd)
        OK(MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    else
        OK(MPI_Allreduce(one, sum, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    EQUAL(sum[1], 2 * ranks);
    OK(MPI_Type_free(&two));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    RULE("MPI-4.1 §6.12");
    allowed();
    if (ranks > 1) {
        of_a_root(ROOT);
        for (int k = 0; k < 2; k++) {
            enum difference differs = k ? TYPE : CALL;
            of_a_root(differs);
            of_all(differs);
            of_an_operation(differs);
        }
        of_a_root(COUNT);
        of_all(COUNT);
        of_an_operation(COUNT);
        of_an_operation(OPERATION);
        {
            enum difference differs = OPERATION;
            FORMS_OF(Reduce, reduce, given, got, count, type, op, root, MPI_COMM_WORLD);
            differs = ROOT;
            FORMS_OF(Reduce, reduce, given, got, count, type, op, root, MPI_COMM_WORLD);
            differs = CALL;
            arguments(differs);
            agrees(differs, is_odd ? MPI_Scan(given, got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)
                                   : MPI_Barrier(MPI_COMM_WORLD));
            together();
        }
        long_ones();
    }
    return end();
}
