/* Threads make intercommunicators at the same time, each from communicators of its own, with one tag. */

#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 20 };

static MPI_Comm locals[THREADS], peers[THREADS];

static void *make(void *argument)
{
    int which = (int)(long)argument, colour = rank_here % 2;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm inter, merged;
        int remote, own = 10 * which + colour, got = -1, size;
        if (MPI_Intercomm_create(locals[which], 0, peers[which], 1 - colour, 7, &inter))
            return "no intercommunicator";
        /* Each thread has met its like on the other side. */
        MPI_Comm_remote_size(inter, &remote);
        int partner = rank_here / 2 < remote ? rank_here / 2 : MPI_PROC_NULL;
        if (MPI_Sendrecv(&own, 1, MPI_INT, partner, 0, &got, 1, MPI_INT, partner, 0, inter,
                         MPI_STATUS_IGNORE))
            return "no message";
        if (partner != MPI_PROC_NULL && got != 10 * which + 1 - colour)
            return "another thread's message";
        if (MPI_Intercomm_merge(inter, colour, &merged))
            return "no merged communicator";
        MPI_Comm_size(merged, &size);
        if (size != ranks)
            return "a wrong size";
        MPI_Comm_free(&merged);
        MPI_Comm_free(&inter);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_here);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    RULE("MPI-4.1 7.6.2: the tag tells calls apart that use the same peer communicator");
    EQUAL(provided, MPI_THREAD_MULTIPLE);
    for (int k = 0; ranks > 1 && k < THREADS; k++) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &peers[k]));
        OK(MPI_Comm_split(peers[k], rank_here % 2, 0, &locals[k]));
    }
    for (int k = 0; ranks > 1 && k < THREADS; k++)
        EQUAL(pthread_create(&threads[k], NULL, make, (void *)(long)k), 0);
    for (int k = 0; ranks > 1 && k < THREADS; k++) {
        void *problem;
        EQUAL(pthread_join(threads[k], &problem), 0);
        if (problem)
            FAILED("%s", (const char *)problem);
        OK(MPI_Comm_free(&locals[k]));
        OK(MPI_Comm_free(&peers[k]));
    }
    return end();
}
