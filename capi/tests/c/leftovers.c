/* A program may leave handles of every kind over: MPI_Finalize frees what belongs to them. */

#include "check.h"

enum { LONG = 100000 };

static int out[LONG], in[LONG];

static void times_two(void *from, void *to, int *count, MPI_Datatype *datatype)
{
    (void)datatype;
    for (int k = 0; k < *count; k++)
        ((int *)to)[k] += 2 * ((int *)from)[k];
}

static void report(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
}

/* Requests that have never been started, and some that have been, and are complete. */
static void persistent(MPI_Comm comm)
{
    static MPI_Request requests[32];
    MPI_Request *next = requests;
    OK(MPI_Send_init(out, 4, MPI_INT, behind(), 1, comm, next++));
    OK(MPI_Ssend_init(out, 4, MPI_INT, behind(), 1, comm, next++));
    OK(MPI_Rsend_init(out, 4, MPI_INT, behind(), 1, comm, next++));
    OK(MPI_Bsend_init(out, 4, MPI_INT, behind(), 1, comm, next++));
    OK(MPI_Recv_init(in, 4, MPI_INT, before(), 1, comm, next++));
    OK(MPI_Barrier_init(comm, MPI_INFO_NULL, next++));
    OK(MPI_Bcast_init(out, 4, MPI_INT, 0, comm, MPI_INFO_NULL, next++));
    OK(MPI_Allreduce_init(out, in, 4, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, next++));
    OK(MPI_Allgather_init(out, 4, MPI_INT, in, 4, MPI_INT, comm, MPI_INFO_NULL, next++));
    OK(MPI_Psend_init(out, 2, 4, MPI_INT, behind(), 2, comm, MPI_INFO_NULL, next++));
    OK(MPI_Precv_init(in, 2, 4, MPI_INT, before(), 2, comm, MPI_INFO_NULL, next++));
    /* Started, and complete. */
    OK(MPI_Send_init(out, LONG, MPI_INT, behind(), 3, comm, next++));
    OK(MPI_Recv_init(in, LONG, MPI_INT, before(), 3, comm, next++));
    OK(MPI_Startall(2, next - 2));
    OK(MPI_Waitall(2, next - 2, MPI_STATUSES_IGNORE));
    OK(MPI_Barrier_init(comm, MPI_INFO_NULL, next++));
    OK(MPI_Start(next - 1));
    OK(MPI_Wait(next - 1, MPI_STATUS_IGNORE));
}

static void objects(void)
{
    MPI_Comm dup, half, other, inter;
    MPI_Datatype row;
    MPI_Op op;
    MPI_Group group;
    MPI_Info info;
    MPI_Errhandler handler;
    MPI_Win win;
    int comm_key, win_key, type_key, *part, colour = rank_here % 2;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    OK(MPI_Comm_split(MPI_COMM_WORLD, colour, 0, &half));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &other));
    if (ranks > 1)
        OK(MPI_Intercomm_create(half, 0, dup, 1 - colour, 5, &inter));
    OK(MPI_Type_vector(3, 1, 2, MPI_INT, &row));
    OK(MPI_Type_commit(&row));
    OK(MPI_Op_create(times_two, 1, &op));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "no_locks", "false"));
    OK(MPI_Comm_create_errhandler(report, &handler));
    OK(MPI_Comm_set_errhandler(dup, handler));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL));
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win_key, NULL));
    OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL));
    OK(MPI_Comm_set_attr(dup, comm_key, out));
    OK(MPI_Type_set_attr(row, type_key, out));
    win = window(4, &part);
    OK(MPI_Win_set_attr(win, win_key, out));
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    persistent(dup);
    persistent(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    void *memory;
    begin(&argc, &argv);
    RULE("MPI-4.1 11.2.4: MPI_Finalize cleans up what is left of objects and inactive requests");
    OK(MPI_Alloc_mem(4096, MPI_INFO_NULL, &memory));
    objects();
    RULE("MPI-4.1 11.2.4: a request that has been freed is the library's to complete");
    for (int k = 0; k < LONG; k++)
        out[k] = k + rank_here;
    MPI_Request request;
    MPI_Comm freed;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &freed));
    if (ranks > 1 && rank_here == 0) {
        OK(MPI_Isend(out, LONG, MPI_INT, 1, 9, freed, &request));
        OK(MPI_Request_free(&request));
        OK(MPI_Comm_free(&freed));
        /* No barrier: the others receive when this rank is in MPI_Finalize. */
        puts("2 checks passed");
        fflush(stdout);
        return MPI_Finalize();
    }
    if (rank_here == 1) {
        OK(MPI_Recv(in, LONG, MPI_INT, 0, 9, freed, MPI_STATUS_IGNORE));
        for (int k = 0; k < LONG; k++)
            EQUAL(in[k], k);
    }
    if (ranks == 1)
        puts("1 checks passed");
    return MPI_Finalize();
}
