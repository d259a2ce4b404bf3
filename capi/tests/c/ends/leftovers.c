/* Rank 0 leaves with requests that it should have completed, and more. The others are right. */

#include "../check.h"

enum { LONG = 100000 };

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int release(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

/* `barrier` is a persistent one that all ranks have initialised. */
static void leave_open(MPI_Comm comm, MPI_Request barrier)
{
    static int out[LONG], in[LONG];
    static MPI_Request requests[16];
    MPI_Request *next = requests;
    MPI_Comm made;
    MPI_Win win;
    MPI_Message message;
    MPI_Session session;
    MPI_File file;
    int *part;
    OK(MPI_Isend(out, 1, MPI_INT, behind(), 1, comm, next++));
    OK(MPI_Isend(out, LONG, MPI_INT, behind(), 1, comm, next++));
    OK(MPI_Issend(out, 1, MPI_INT, behind(), 1, comm, next++));
    OK(MPI_Irecv(in, 1, MPI_INT, before(), 2, comm, next++));
    OK(MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, next++));
    OK(MPI_Recv_init(in, 1, MPI_INT, before(), 3, comm, next++));
    OK(MPI_Start(next - 1));
    OK(MPI_Ibarrier(comm, next++));
    OK(MPI_Iallreduce(out, in, LONG, MPI_INT, MPI_SUM, comm, next++));
    *next++ = barrier;
    OK(MPI_Start(next - 1));
    OK(MPI_Psend_init(out, 2, 4, MPI_INT, behind(), 4, comm, MPI_INFO_NULL, next++));
    OK(MPI_Start(next - 1));
    OK(MPI_Precv_init(in, 2, 4, MPI_INT, before(), 4, comm, MPI_INFO_NULL, next++));
    OK(MPI_Start(next - 1));
    OK(MPI_Comm_idup(comm, &made, next++));
    OK(MPI_Grequest_start(query, release, cancel, NULL, next++));
    OK(MPI_Send_init(out, 1, MPI_INT, behind(), 1, comm, next++));
    OK(MPI_Send(out, 1, MPI_INT, 0, 5, MPI_COMM_SELF));
    /* The receive above has it; this one is for the probe. */
    OK(MPI_Send(out, 1, MPI_INT, 0, 6, MPI_COMM_SELF));
    OK(MPI_Mprobe(0, 6, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE));
    OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_SELF, &part, &win));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    OK(MPI_Rput(out, 1, MPI_INT, 0, 0, 1, MPI_INT, win, next++));
    OK(MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    if (ranks == 3)
        OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Request barrier;
    int stop = 0;
    begin(&argc, &argv);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Barrier_init(comm, MPI_INFO_NULL, &barrier));
    if (rank_here == 0) {
        leave_open(comm, barrier);
        printf("%ld checks passed\n", checks_passed);
        fflush(stdout);
        return MPI_Finalize();
    }
    /* The others work on without it. */
    for (int round = 0; round < 2000 && ranks > 2; round++) {
        int next = rank_here + 1 < ranks ? rank_here + 1 : 1;
        int last = rank_here > 1 ? rank_here - 1 : ranks - 1;
        OK(MPI_Sendrecv(&round, 1, MPI_INT, next, 9, &stop, 1, MPI_INT, last, 9, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
        EQUAL(stop, round);
    }
    printf("rank %d is done\n", rank_here);
    fflush(stdout);
    return MPI_Finalize();
}
