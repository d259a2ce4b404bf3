/* New RMA Design, "RMA + Threads": which calls threads may make of one window at once. */

#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 200 };

static MPI_Win win;
static long *part;
static const char *failure;

/* Each thread has an element of its own at the target, and one that all share. */
static void *operate(void *argument)
{
    int thread = (int)(intptr_t)argument;
    long one = 1, was;
    for (int round = 0; round < ROUNDS; round++) {
        long mine = 1000 * (long)thread + round, back = -1;
        int place = 1 + rank_here * THREADS + thread;
        if (MPI_Put(&mine, 1, MPI_LONG, behind(), place, 1, MPI_LONG, win) != MPI_SUCCESS ||
            MPI_Fetch_and_op(&one, &was, MPI_LONG, behind(), 0, MPI_SUM, win) != MPI_SUCCESS ||
            MPI_Win_flush(behind(), win) != MPI_SUCCESS ||
            MPI_Get(&back, 1, MPI_LONG, behind(), place, 1, MPI_LONG, win) != MPI_SUCCESS ||
            MPI_Win_flush_all(win) != MPI_SUCCESS)
            failure = "a call failed";
        if (back != mine)
            failure = "a thread did not get what it had put";
    }
    return NULL;
}

static void together(void)
{
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, operate, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    if (failure)
        FAILED("%s", failure);
}

/* Any thread may end what another has begun. */
static void *unlock(void *argument)
{
    (void)argument;
    if (MPI_Win_unlock_all(win) != MPI_SUCCESS)
        failure = "unlock_all failed";
    return NULL;
}

/* Puts in whatever fence epoch is open. */
static void *put(void *argument)
{
    for (long round = 1; round <= ROUNDS; round++)
        if (MPI_Put(&round, 1, MPI_LONG, behind(), 1, 1, MPI_LONG, win) != MPI_SUCCESS)
            failure = "a put beside a fence failed";
    return argument;
}

/* One thread operates while another fences: a promise of this library. */
static void beside_fences(void)
{
    pthread_t thread;
    OK(MPI_Win_fence(0, win));
    CHECK(pthread_create(&thread, NULL, put, NULL) == 0);
    for (int round = 0; round < 20; round++)
        OK(MPI_Win_fence(0, win));
    CHECK(pthread_join(thread, NULL) == 0);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    if (failure)
        FAILED("%s", failure);
    EQUAL(part[1], ROUNDS);
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_here);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    EQUAL(provided, MPI_THREAD_MULTIPLE);
    OK(MPI_Win_allocate((1 + ranks * THREADS) * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win));
    memset(part, 0, (size_t)(1 + ranks * THREADS) * 8);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    RULE("threads-1; threads-3; threads-4");
    OK(MPI_Win_lock_all(0, win));
    together();
    RULE("threads-6");
    CHECK(pthread_create(&thread, NULL, unlock, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    if (failure)
        FAILED("%s", failure);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank_here, 0, win));
    EQUAL(part[0], THREADS * ROUNDS);
    for (int i = 0; i < THREADS; i++)
        EQUAL(part[1 + before() * THREADS + i], 1000 * i + ROUNDS - 1);
    OK(MPI_Win_unlock(rank_here, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    RULE("threads-2");
    if (ours())
        beside_fences();
    OK(MPI_Win_free(&win));
    return end();
}
