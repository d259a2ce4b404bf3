/* Partitioned communication (MPI-4.1 §4.2): partitions of both sides alike and not, by several threads,
   of all lengths and layouts. */

#include "check.h"
#include <pthread.h>

#define PARTS 12
#define MOST 20000

static int out[PARTS * MOST], in[PARTS * MOST];

static int of(int rank, int time, int k)
{
    return 1000 * rank + 100 * time + 7 * k + 1;
}

/* One ring: each rank sends to the next one, so many partitions of so many elements to so many others. */
static void ring(int parts, int count, int parts_there, int by_list)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int length = parts * count, list[PARTS], bytes;
    OK(MPI_Precv_init(in, parts_there, length / parts_there, MPI_INT, before(), 4, MPI_COMM_WORLD,
                      MPI_INFO_NULL, &requests[0]));
    OK(MPI_Psend_init(out, parts, count, MPI_INT, behind(), 4, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &requests[1]));
    for (int time = 0; time < 4; time++) {
        memset(in, 0, sizeof(int) * (size_t)length);
        OK(MPI_Startall(2, requests));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        /* A partition is written after the start, and before it is ready. */
        for (int k = 0; k < length; k++)
            out[k] = of(rank_here, time, k);
        for (int p = 0; p < parts; p++)
            list[p] = parts - 1 - p;
        if (by_list == 0) {
            for (int p = 0; p < parts; p++)
                OK(MPI_Pready(list[p], requests[1]));
        } else if (by_list == 1) {
            OK(MPI_Pready_list(parts / 2, list, requests[1]));
            OK(MPI_Pready_list(parts - parts / 2, list + parts / 2, requests[1]));
        } else {
            OK(MPI_Pready_range(parts / 2, parts - 1, requests[1]));
            if (parts / 2 > 0)
                OK(MPI_Pready_range(0, parts / 2 - 1, requests[1]));
        }
        for (int p = 0; p < parts_there; p++) {
            int there = 0, each = length / parts_there;
            while (!there)
                OK(MPI_Parrived(requests[0], p, &there));
            for (int k = p * each; k < (p + 1) * each; k++)
                EQUAL(in[k], of(before(), time, k));
        }
        OK(MPI_Waitall(2, requests, statuses));
        EQUAL(statuses[0].MPI_SOURCE, before());
        EQUAL(statuses[0].MPI_TAG, 4);
        OK(MPI_Get_count(&statuses[0], MPI_INT, &bytes));
        EQUAL(bytes, length);
        CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    CHECK(requests[0] == MPI_REQUEST_NULL);
}

static void rings(void)
{
    RULE("MPI-4.1 §4.2.1");
    int counts[] = {0, 1, 7 * 12, MOST / 12 * 12};
    for (int c = 0; c < 4; c++)
        for (int by_list = 0; by_list < 3; by_list++) {
            ring(1, counts[c], 1, by_list);
            ring(4, counts[c], 4, by_list);
            if (counts[c] != 1) {
                ring(1, counts[c], 6, by_list);
                ring(6, counts[c], 4, by_list);
                ring(3, counts[c], 12, by_list);
                ring(12, counts[c], 5 - 2, by_list);
            }
        }
}

/* What has arrived is seen before the rest is ready. */
static void one_by_one(void)
{
    RULE("MPI-4.1 §4.2.2");
    MPI_Request send, receive;
    int flag, got;
    OK(MPI_Psend_init(out, 4, 2, MPI_INT, behind(), 1, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    OK(MPI_Precv_init(in, 2, 4, MPI_INT, before(), 1, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    for (int k = 0; k < 8; k++)
        in[k] = -1;
    OK(MPI_Start(&receive));
    OK(MPI_Parrived(receive, 0, &flag));
    CHECK(!flag);
    /* No partition is ready before every rank has looked. */
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Start(&send));
    for (int k = 0; k < 8; k++)
        out[k] = of(rank_here, 0, k);
    OK(MPI_Pready(3, send));
    if (ours()) {
        /* Half of a partition is none. */
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Parrived(receive, 1, &flag));
        CHECK(!flag);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Pready(2, send));
    if (ours()) {
        for (flag = 0; !flag;)
            OK(MPI_Parrived(receive, 1, &flag));
        EQUAL(in[4], of(before(), 0, 4));
        EQUAL(in[7], of(before(), 0, 7));
        OK(MPI_Parrived(receive, 0, &flag));
        CHECK(!flag);
        OK(MPI_Test(&receive, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
        OK(MPI_Test(&send, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Pready_range(0, 1, send));
    OK(MPI_Waitany(1, &receive, &got, MPI_STATUS_IGNORE));
    EQUAL(got, 0);
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    for (int k = 0; k < 8; k++)
        EQUAL(in[k], of(before(), 0, k));
    /* Inactive: nothing is awaited. */
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    if (ours()) {
        OK(MPI_Parrived(receive, 0, &flag));
        CHECK(flag);
    }
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
}

/* Several of the same envelope meet in the order in which they are made, whatever is started first. */
static void in_order(void)
{
    RULE("MPI-4.1 §4.2.1, matching");
    MPI_Request send[3], receive[3];
    for (int k = 0; k < 3; k++) {
        out[k] = of(rank_here, 0, k), in[k] = -1;
        OK(MPI_Psend_init(&out[k], 1, 1, MPI_INT, behind(), 2, MPI_COMM_WORLD, MPI_INFO_NULL, &send[k]));
    }
    for (int k = 0; k < 3; k++)
        OK(MPI_Precv_init(&in[k], 1, 1, MPI_INT, before(), 2, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &receive[k]));
    for (int k = 2; k >= 0; k--) {
        OK(MPI_Start(&send[k]));
        OK(MPI_Pready(0, send[k]));
        OK(MPI_Start(&receive[2 - k]));
    }
    OK(MPI_Waitall(3, receive, MPI_STATUSES_IGNORE));
    OK(MPI_Waitall(3, send, MPI_STATUSES_IGNORE));
    for (int k = 0; k < 3; k++) {
        EQUAL(in[k], of(before(), 0, k));
        OK(MPI_Request_free(&send[k]));
        OK(MPI_Request_free(&receive[k]));
    }
}

/* Layouts that differ, of the same bytes; messages of the program beside them. */
static void layouts(void)
{
    RULE("MPI-4.1 §4.2.1, layouts");
    MPI_Datatype every_other;
    MPI_Request send, receive;
    int sent = rank_here, got = -1;
    OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every_other));
    OK(MPI_Type_commit(&every_other));
    OK(MPI_Psend_init(out, 3, 4, every_other, behind(), 3, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    OK(MPI_Precv_init(in, 2, 6, MPI_INT, before(), 3, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    OK(MPI_Type_free(&every_other));
    for (int k = 0; k < 24; k++)
        out[k] = of(rank_here, 5, k), in[k] = -1;
    OK(MPI_Start(&send));
    OK(MPI_Start(&receive));
    OK(MPI_Pready_range(0, 2, send));
    OK(MPI_Sendrecv(&sent, 1, MPI_INT, behind(), 3, &got, 1, MPI_INT, before(), 3, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    EQUAL(got, before());
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    for (int k = 0; k < 12; k++)
        EQUAL(in[k], of(before(), 5, 2 * k));
    EQUAL(in[12], -1);
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
    /* With nobody; MPICH 5.0.2 crashes. */
    if (!ours())
        return;
    OK(MPI_Psend_init(out, 2, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    OK(MPI_Precv_init(in, 2, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    MPI_Status status;
    OK(MPI_Start(&send));
    OK(MPI_Start(&receive));
    OK(MPI_Pready_range(0, 1, send));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&receive, &status));
    EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
}

#define THREADS 4

static MPI_Request by_threads;
static int round_now;

/* Fills and hands over the partitions of one thread. */
static void *work(void *number)
{
    int first = *(int *)number;
    for (int p = first; p < PARTS; p += THREADS) {
        for (int k = 0; k < 500; k++)
            out[500 * p + k] = of(rank_here, round_now, 500 * p + k);
        if (MPI_Pready(p, by_threads) != MPI_SUCCESS)
            return number;
    }
    return NULL;
}

static void *look(void *request)
{
    static char wrong;
    for (int p = 0; p < PARTS; p++) {
        int flag = 0;
        while (!flag)
            if (MPI_Parrived(*(MPI_Request *)request, p, &flag) != MPI_SUCCESS)
                return &wrong;
        for (int k = 500 * p; k < 500 * (p + 1); k++)
            if (in[k] != of(before(), round_now, k))
                return &wrong;
    }
    return NULL;
}

static void threads(void)
{
    RULE("MPI-4.1 §4.2.2, threads");
    MPI_Request receive;
    OK(MPI_Precv_init(in, PARTS, 500, MPI_INT, before(), 8, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    OK(MPI_Psend_init(out, PARTS, 500, MPI_INT, behind(), 8, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &by_threads));
    for (round_now = 0; round_now < 20; round_now++) {
        pthread_t all[THREADS], looker;
        int numbers[THREADS];
        void *failed;
        OK(MPI_Start(&receive));
        OK(MPI_Start(&by_threads));
        CHECK(pthread_create(&looker, NULL, look, &receive) == 0);
        for (int t = 0; t < THREADS; t++) {
            numbers[t] = t;
            CHECK(pthread_create(&all[t], NULL, work, &numbers[t]) == 0);
        }
        /* While the others are at work. */
        if (ours() && round_now % 2)
            OK(MPI_Wait(&by_threads, MPI_STATUS_IGNORE));
        for (int t = 0; t < THREADS; t++) {
            CHECK(pthread_join(all[t], &failed) == 0);
            CHECK(!failed);
        }
        CHECK(pthread_join(looker, &failed) == 0);
        CHECK(!failed);
        OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&by_threads, MPI_STATUS_IGNORE));
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Request_free(&receive));
    OK(MPI_Request_free(&by_threads));
}

/* The other side of an intercommunicator is the peer. */
static void between_groups(void)
{
    RULE("MPI-4.1 §4.2.1, intercommunicators");
    if (ranks < 2)
        return;
    MPI_Comm local, inter;
    MPI_Request send, receive;
    MPI_Status status;
    int side = rank_here > 0, sent = 40 + rank_here, got = -1;
    OK(MPI_Comm_split(MPI_COMM_WORLD, side, 0, &local));
    OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, !side, 3, &inter));
    if (rank_here < 2) {
        OK(MPI_Psend_init(&sent, 1, 1, MPI_INT, 0, 6, inter, MPI_INFO_NULL, &send));
        OK(MPI_Precv_init(&got, 1, 1, MPI_INT, 0, 6, inter, MPI_INFO_NULL, &receive));
        OK(MPI_Start(&send));
        OK(MPI_Start(&receive));
        OK(MPI_Pready(0, send));
        OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&receive, &status));
        EQUAL(got, 40 + !side);
        EQUAL(status.MPI_SOURCE, 0);
        OK(MPI_Request_free(&send));
        OK(MPI_Request_free(&receive));
    }
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&local));
}

static void refusals(void)
{
    RULE("MPI-4.1 §4.2, errors");
    MPI_Request send, receive, plain;
    int flag, one = 1, list[] = {1, 0, 1};
    FAILS(MPI_ERR_RANK,
          MPI_Psend_init(out, 1, 1, MPI_INT, ranks, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    if (!ours())
        return;
    FAILS(MPI_ERR_RANK,
          MPI_Precv_init(in, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    FAILS(MPI_ERR_TAG,
          MPI_Precv_init(in, 1, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    FAILS(MPI_ERR_ARG,
          MPI_Psend_init(out, -1, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    FAILS(MPI_ERR_COUNT,
          MPI_Psend_init(out, 1, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    FAILS(MPI_ERR_BUFFER,
          MPI_Psend_init(NULL, 1, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    OK(MPI_Psend_init(out, 3, 1, MPI_INT, behind(), 9, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    OK(MPI_Precv_init(in, 3, 1, MPI_INT, before(), 9, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    FAILS(MPI_ERR_REQUEST, MPI_Pready(0, send));
    FAILS(MPI_ERR_REQUEST, MPI_Pready(0, MPI_REQUEST_NULL));
    FAILS(MPI_ERR_REQUEST, MPI_Parrived(MPI_REQUEST_NULL, 0, &flag));
    OK(MPI_Start(&send));
    OK(MPI_Start(&receive));
    FAILS(MPI_ERR_REQUEST, MPI_Start(&send));
    FAILS(MPI_ERR_REQUEST, MPI_Pready(0, receive));
    FAILS(MPI_ERR_REQUEST, MPI_Parrived(send, 0, &flag));
    FAILS(MPI_ERR_REQUEST, MPI_Cancel(&send));
    FAILS(MPI_ERR_ARG, MPI_Parrived(receive, 3, &flag));
    FAILS(MPI_ERR_ARG, MPI_Parrived(receive, -1, &flag));
    FAILS(MPI_ERR_ARG, MPI_Pready(3, send));
    FAILS(MPI_ERR_ARG, MPI_Pready(-1, send));
    FAILS(MPI_ERR_ARG, MPI_Pready_range(1, 0, send));
    /* What is refused changes nothing. */
    FAILS(MPI_ERR_ARG, MPI_Pready_list(3, list, send));
    FAILS(MPI_ERR_ARG, MPI_Pready_range(1, 3, send));
    OK(MPI_Pready_list(2, list, send));
    FAILS(MPI_ERR_ARG, MPI_Pready(0, send));
    OK(MPI_Pready(2, send));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_REQUEST, MPI_Pready(0, send));
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
    OK(MPI_Send_init(&one, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &plain));
    FAILS(MPI_ERR_REQUEST, MPI_Pready(0, plain));
    FAILS(MPI_ERR_REQUEST, MPI_Parrived(plain, 0, &flag));
    OK(MPI_Request_free(&plain));
    /* Both sides are told that they have not the same bytes. */
    OK(MPI_Psend_init(out, 2, 3, MPI_INT, behind(), 9, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    OK(MPI_Precv_init(in, 2, 2, MPI_INT, before(), 9, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    OK(MPI_Start(&send));
    OK(MPI_Start(&receive));
    OK(MPI_Pready_range(0, 1, send));
    CHECK(MPI_Wait(&receive, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
    /* The other side of this one never comes; the job ends all the same. */
    OK(MPI_Psend_init(out, 2, 3, MPI_INT, behind(), 11, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    OK(MPI_Precv_init(in, 2, 2, MPI_INT, before(), 12, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    OK(MPI_Start(&send));
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_here);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    EQUAL(provided, MPI_THREAD_MULTIPLE);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    rings();
    one_by_one();
    in_order();
    layouts();
    threads();
    between_groups();
    refusals();
    return end();
}
