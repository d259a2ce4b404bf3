/* What is pending on a communicator goes on when that is freed, and so does what uses a datatype, an
   operation or a group. */

#include "check.h"

enum { LONG = 50000 };

static int out[LONG], in[LONG];
static int handled;

static void note(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    handled++;
}

static MPI_Comm dup(void)
{
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    return comm;
}

static void fill(int round)
{
    for (int k = 0; k < LONG; k++) {
        out[k] = 1000 * round + 10 * rank_here + k;
        in[k] = -1;
    }
}

static void check(int round, int count)
{
    for (int k = 0; k < LONG; k++)
        EQUAL(in[k], k < count ? 1000 * round + 10 * before() + k : -1);
}

/* Another communicator takes the place of one that has been freed, with messages of the same tags. */
static void disturb(void)
{
    MPI_Comm comm = dup();
    int there = -1, mine = -7;
    OK(MPI_Sendrecv(&mine, 1, MPI_INT, behind(), 1, &there, 1, MPI_INT, before(), 1, comm,
                    MPI_STATUS_IGNORE));
    EQUAL(there, -7);
    OK(MPI_Comm_free(&comm));
}

static void messages(int count)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    for (int sync = 0; sync < 2; sync++) {
        MPI_Comm comm = dup();
        fill(1);
        OK(MPI_Irecv(in, count, MPI_INT, before(), 1, comm, &requests[0]));
        if (sync)
            OK(MPI_Issend(out, count, MPI_INT, behind(), 1, comm, &requests[1]));
        else
            OK(MPI_Isend(out, count, MPI_INT, behind(), 1, comm, &requests[1]));
        OK(MPI_Comm_free(&comm));
        CHECK(comm == MPI_COMM_NULL);
        disturb();
        OK(MPI_Waitall(2, requests, statuses));
        EQUAL(statuses[0].MPI_SOURCE, before());
        EQUAL(statuses[0].MPI_TAG, 1);
        check(1, count);
    }
}

static void persistent(int count)
{
    MPI_Comm comm = dup();
    MPI_Request requests[2];
    OK(MPI_Recv_init(in, count, MPI_INT, MPI_ANY_SOURCE, 1, comm, &requests[0]));
    OK(MPI_Send_init(out, count, MPI_INT, behind(), 1, comm, &requests[1]));
    OK(MPI_Comm_free(&comm));
    for (int round = 0; round < 3; round++) {
        fill(round);
        OK(MPI_Startall(2, requests));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        check(round, count);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}

static void matched(int count)
{
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        MPI_Comm comm = dup();
        MPI_Request send, receive;
        MPI_Message message;
        MPI_Status status;
        fill(2);
        OK(MPI_Isend(out, count, MPI_INT, behind(), 1, comm, &send));
        OK(MPI_Mprobe(MPI_ANY_SOURCE, 1, comm, &message, &status));
        OK(MPI_Comm_free(&comm));
        disturb();
        if (nonblocking) {
            OK(MPI_Imrecv(in, count, MPI_INT, &message, &receive));
            OK(MPI_Wait(&receive, &status));
        } else {
            OK(MPI_Mrecv(in, count, MPI_INT, &message, &status));
        }
        EQUAL(status.MPI_SOURCE, before());
        OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
        check(2, count);
    }
}

static void partitioned(void)
{
    MPI_Comm comm = dup();
    MPI_Request requests[2];
    OK(MPI_Psend_init(out, 4, LONG / 4, MPI_INT, behind(), 1, comm, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Precv_init(in, 2, LONG / 2, MPI_INT, before(), 1, comm, MPI_INFO_NULL, &requests[1]));
    OK(MPI_Comm_free(&comm));
    for (int round = 0; round < 3; round++) {
        int arrived;
        fill(round);
        OK(MPI_Startall(2, requests));
        OK(MPI_Pready_range(0, 3, requests[0]));
        OK(MPI_Parrived(requests[1], 0, &arrived));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        check(round, LONG);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}

static void twice(void *from, void *to, int *count, MPI_Datatype *datatype)
{
    (void)datatype;
    for (int k = 0; k < *count; k++)
        ((int *)to)[k] += ((int *)from)[k];
}

static void collectives(void)
{
    MPI_Comm comm = dup(), made;
    MPI_Request requests[4], again;
    MPI_Op op;
    int sum = 0, mine = rank_here + 1, scanned = 0;
    fill(3);
    OK(MPI_Op_create(twice, 1, &op));
    OK(MPI_Ibarrier(comm, &requests[0]));
    OK(MPI_Ibcast(rank_here ? in : out, LONG, MPI_INT, 0, comm, &requests[1]));
    OK(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, op, comm, &requests[2]));
    OK(MPI_Comm_idup(comm, &made, &requests[3]));
    OK(MPI_Scan_init(&mine, &scanned, 1, MPI_INT, op, comm, MPI_INFO_NULL, &again));
    OK(MPI_Op_free(&op));
    OK(MPI_Comm_free(&comm));
    disturb();
    OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    EQUAL(sum, ranks * (ranks + 1) / 2);
    for (int k = 0; rank_here && k < LONG; k++)
        EQUAL(in[k], 3000 + k);
    for (int round = 0; round < 3; round++) {
        OK(MPI_Start(&again));
        OK(MPI_Wait(&again, MPI_STATUS_IGNORE));
        EQUAL(scanned, (rank_here + 1) * (rank_here + 2) / 2);
    }
    OK(MPI_Request_free(&again));
    OK(MPI_Barrier(made));
    OK(MPI_Comm_free(&made));
}

/* Of an intercommunicator the sources are those of the other group, also afterwards. */
static void between_groups(void)
{
    MPI_Comm half, inter;
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    int colour = rank_here % 2, got = -1, own = rank_here, peers;
    if (ranks < 2)
        return;
    OK(MPI_Comm_split(MPI_COMM_WORLD, colour, 0, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - colour, 4, &inter));
    OK(MPI_Comm_free(&half));
    OK(MPI_Comm_remote_size(inter, &peers));
    int number = rank_here / 2, partner = number < peers ? number : MPI_PROC_NULL;
    OK(MPI_Irecv(&got, 1, MPI_INT, partner == MPI_PROC_NULL ? MPI_PROC_NULL : MPI_ANY_SOURCE, 1,
                 inter, &request));
    OK(MPI_Send(&own, 1, MPI_INT, partner, 1, inter));
    OK(MPI_Send(&own, 1, MPI_INT, partner, 2, inter));
    OK(MPI_Mprobe(partner == MPI_PROC_NULL ? MPI_PROC_NULL : MPI_ANY_SOURCE, 2, inter, &message,
                  &status));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Wait(&request, &status));
    EQUAL(status.MPI_SOURCE, partner);
    OK(MPI_Mrecv(&got, 1, MPI_INT, &message, &status));
    EQUAL(status.MPI_SOURCE, partner);
    if (partner != MPI_PROC_NULL)
        EQUAL(got / 2, number);
}

/* An error of what was pending is the error handler's of the communicator. */
static void errors(void)
{
    MPI_Comm comm = dup();
    MPI_Errhandler handler;
    MPI_Request request;
    int small;
    fill(0);
    OK(MPI_Comm_create_errhandler(note, &handler));
    OK(MPI_Comm_set_errhandler(comm, handler));
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Irecv(&small, 1, MPI_INT, before(), 1, comm, &request));
    OK(MPI_Send(out, 2, MPI_INT, behind(), 1, comm));
    OK(MPI_Comm_free(&comm));
    FAILS(MPI_ERR_TRUNCATE, MPI_Wait(&request, MPI_STATUS_IGNORE));
    EQUAL(handled, 1);
}

static void other_objects(void)
{
    MPI_Datatype every_other;
    MPI_Group world, group;
    MPI_Comm comm, made;
    MPI_Request requests[2];
    MPI_Win win;
    int *part;
    OK(MPI_Type_vector(3, 1, 2, MPI_INT, &every_other));
    OK(MPI_Type_commit(&every_other));
    fill(5);
    comm = dup();
    OK(MPI_Irecv(in, 1, every_other, before(), 1, comm, &requests[0]));
    OK(MPI_Isend(out, 1, every_other, behind(), 1, comm, &requests[1]));
    OK(MPI_Win_allocate(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &part, &win));
    OK(MPI_Comm_group(comm, &world));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int k = 0; k < 6; k++)
        EQUAL(in[k], k % 2 ? -1 : 5000 + 10 * before() + k);
    /* A window outlives its communicator, an operation its datatype, an epoch its group. */
    memset(part, 0, 8 * sizeof(int));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(out, 1, every_other, behind(), 0, 1, every_other, win));
    OK(MPI_Type_free(&every_other));
    OK(MPI_Win_fence(0, win));
    for (int k = 0; k < 6; k++)
        EQUAL(part[k], k % 2 ? 0 : 5000 + 10 * before() + k);
    OK(MPI_Group_incl(world, 1, (int[]){before()}, &group));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    OK(MPI_Win_post(group, 0, win));
    OK(MPI_Group_free(&group));
    OK(MPI_Group_incl(world, 1, (int[]){behind()}, &group));
    OK(MPI_Win_start(group, 0, win));
    OK(MPI_Group_free(&group));
    OK(MPI_Put(out, 1, MPI_INT, behind(), 7, 1, MPI_INT, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    EQUAL(part[7], 5000 + 10 * before());
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_create(MPI_COMM_WORLD, world, &made));
    OK(MPI_Group_free(&world));
    OK(MPI_Barrier(made));
    OK(MPI_Comm_free(&made));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    RULE("MPI-4.1 7.4.3: pending operations of a communicator that is freed complete normally");
    messages(4);
    messages(LONG);
    persistent(4);
    persistent(LONG);
    matched(4);
    matched(LONG);
    partitioned();
    collectives();
    between_groups();
    /* MPICH 5.0.2 says nothing of a message to oneself, and forgets the handler. */
    if (ours())
        errors();
    RULE("MPI-4.1 2.5.1: objects that are freed while they are used live on for that use");
    other_objects();
    return end();
}
