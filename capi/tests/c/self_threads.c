/* MPI-4.1 §3.4, §11.6: a thread sends to its own rank, and another thread of the rank receives. Each of
   the two may be asleep when the other one makes its request complete. */

#include "check.h"
#include <pthread.h>

enum { ROUNDS = 50, LONG = 5000, PARTS = 4 };

static const char *failure;
static int out[LONG], in[LONG];

#define SUCCEEDS(call)                                                                            \
    do {                                                                                          \
        if ((call) != MPI_SUCCESS)                                                                \
            failure = #call;                                                                      \
    } while (0)

static void ssend(int count, int tag)
{
    SUCCEEDS(MPI_Ssend(out, count, MPI_INT, rank_here, tag, MPI_COMM_WORLD));
}

static void issend(int count, int tag)
{
    MPI_Request request;
    SUCCEEDS(MPI_Issend(out, count, MPI_INT, rank_here, tag, MPI_COMM_WORLD, &request));
    SUCCEEDS(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void issend_some(int count, int tag)
{
    MPI_Request requests[2];
    int done = 0, now, indices[2];
    for (int k = 0; k < 2; k++)
        SUCCEEDS(MPI_Issend(out, count, MPI_INT, rank_here, tag + k, MPI_COMM_WORLD, &requests[k]));
    for (; done < 2 && !failure; done += now)
        SUCCEEDS(MPI_Waitsome(2, requests, &now, indices, MPI_STATUSES_IGNORE));
}

static void send_parts(int count, int tag)
{
    MPI_Request request;
    SUCCEEDS(MPI_Psend_init(out, PARTS, count / PARTS, MPI_INT, rank_here, tag, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &request));
    SUCCEEDS(MPI_Start(&request));
    for (int k = 0; k < PARTS; k++)
        SUCCEEDS(MPI_Pready(k, request));
    SUCCEEDS(MPI_Wait(&request, MPI_STATUS_IGNORE));
    SUCCEEDS(MPI_Request_free(&request));
}

static void receive(int count, int tag)
{
    SUCCEEDS(MPI_Recv(in, count, MPI_INT, rank_here, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void receive_two(int count, int tag)
{
    receive(count, tag);
    receive(count, tag + 1);
}

static void receive_matched(int count, int tag)
{
    MPI_Message message;
    SUCCEEDS(MPI_Mprobe(rank_here, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    SUCCEEDS(MPI_Mrecv(in, count, MPI_INT, &message, MPI_STATUS_IGNORE));
}

static void receive_matched_later(int count, int tag)
{
    MPI_Message message;
    MPI_Request request;
    SUCCEEDS(MPI_Mprobe(rank_here, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    SUCCEEDS(MPI_Imrecv(in, count, MPI_INT, &message, &request));
    SUCCEEDS(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void receive_parts(int count, int tag)
{
    MPI_Request request;
    SUCCEEDS(MPI_Precv_init(in, PARTS, count / PARTS, MPI_INT, rank_here, tag, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &request));
    SUCCEEDS(MPI_Start(&request));
    SUCCEEDS(MPI_Wait(&request, MPI_STATUS_IGNORE));
    SUCCEEDS(MPI_Request_free(&request));
}

struct way {
    void (*send)(int count, int tag), (*receive)(int count, int tag);
    int count;
};

static const struct way ways[] = {
    {ssend, receive, 1},
    {ssend, receive, LONG},
    {issend, receive, 1},
    {issend, receive, LONG},
    {issend_some, receive_two, 1},
    {ssend, receive_matched, 1},
    {ssend, receive_matched_later, LONG},
    {send_parts, receive_parts, PARTS},
};

enum { WAYS = sizeof ways / sizeof ways[0] };

static void *receive_all(void *argument)
{
    const struct way *way = argument;
    for (int round = 0; round < ROUNDS && !failure; round++)
        way->receive(way->count, 2 * (int)(way - ways));
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    EQUAL(provided, MPI_THREAD_MULTIPLE);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank_here));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    for (int k = 0; k < WAYS; k++) {
        const struct way *way = &ways[k];
        pthread_t receiver;
        CHECK(pthread_create(&receiver, NULL, receive_all, (void *)way) == 0);
        for (int round = 0; round < ROUNDS && !failure; round++)
            way->send(way->count, 2 * k);
        CHECK(pthread_join(receiver, NULL) == 0);
        if (failure)
            FAILED("way %d: %s", k, failure);
    }
    return end();
}
