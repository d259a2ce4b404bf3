/* Loads and stores through pointers of a shared window, for `rmacc -race`. The argument names the case: those with "unordered"
   have one pair that conflicts, the others none. */
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static int rank, *all;
static volatile int seen;
static MPI_Win win;
/* By which both ranks synchronise, in the part of rank 0 of another window. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    pthread_rwlock_t rwlock;
    pthread_barrier_t barrier;
    sem_t semaphore;
    int is_there;
} *objects;
static const char *which;

static int is(const char *name)
{
    return !strcmp(which, name);
}

/* Rank 0 stores to the part of rank 1, which loads it. With relaxed orders the fences alone order that, if there are any. */
static void by_flag(memory_order release, memory_order acquire)
{
    atomic_int *flag = (atomic_int *)&all[6];
    if (rank == 0) {
        all[4] = 7; /* stores it */
        if (strstr(which, "release fence") || strstr(which, "fences"))
            atomic_thread_fence(memory_order_release);
        if (is("sync of the window"))
            MPI_Win_sync(win);
        if (is("unordered behind the release fence"))
            all[4] = 8;
        atomic_store_explicit(flag, 1, release);
    } else {
        while (!atomic_load_explicit(flag, acquire))
            usleep(100);
        if (strstr(which, "acquire fence") || strstr(which, "fences"))
            atomic_thread_fence(memory_order_acquire);
        if (is("sync of the window"))
            MPI_Win_sync(win);
        seen = all[4]; /* loads it */
    }
}

static void create_objects(void)
{
    pthread_mutexattr_t of_mutex;
    pthread_condattr_t of_condition;
    pthread_rwlockattr_t of_rwlock;
    pthread_barrierattr_t of_barrier;
    pthread_mutexattr_init(&of_mutex);
    pthread_mutexattr_setpshared(&of_mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&objects->mutex, &of_mutex);
    pthread_condattr_init(&of_condition);
    pthread_condattr_setpshared(&of_condition, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&objects->condition, &of_condition);
    pthread_rwlockattr_init(&of_rwlock);
    pthread_rwlockattr_setpshared(&of_rwlock, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&objects->rwlock, &of_rwlock);
    pthread_barrierattr_init(&of_barrier);
    pthread_barrierattr_setpshared(&of_barrier, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&objects->barrier, &of_barrier, 2);
    sem_init(&objects->semaphore, 1, 0);
    objects->is_there = 0;
}

/* Both ranks count in the part of rank 1. */
static void by_locks(void)
{
    for (int i = 0; i < 20; i++) {
        if (is("mutex")) {
            pthread_mutex_lock(&objects->mutex);
            all[4]++;
            pthread_mutex_unlock(&objects->mutex);
        } else {
            pthread_rwlock_wrlock(&objects->rwlock);
            all[4]++;
            pthread_rwlock_unlock(&objects->rwlock);
        }
    }
}

static void pass_condition(void)
{
    pthread_mutex_lock(&objects->mutex);
    if (rank == 0) {
        objects->is_there = 1;
        pthread_cond_signal(&objects->condition);
    }
    while (!objects->is_there)
        pthread_cond_wait(&objects->condition, &objects->mutex);
    pthread_mutex_unlock(&objects->mutex);
}

/* Rank 0 stores to the part of rank 1, which loads it. */
static void by_objects(void)
{
    if (rank == 0)
        all[4] = 7;
    if (is("barrier of processes"))
        pthread_barrier_wait(&objects->barrier);
    else if (is("condition"))
        pass_condition();
    else if (rank == 0)
        sem_post(&objects->semaphore);
    else
        sem_wait(&objects->semaphore);
    if (rank == 0 && is("unordered behind a semaphore"))
        all[4] = 8;
    if (rank == 1)
        seen = all[4];
}

static int run(void)
{
    if (is("barrier") || is("unordered")) {
        if (rank == 0)
            all[4] = 7;
        if (is("barrier"))
            MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1)
            seen = all[4];
    } else if (is("flag")) {
        by_flag(memory_order_release, memory_order_acquire);
    } else if (is("release fence") || is("unordered behind the release fence")) {
        by_flag(memory_order_relaxed, memory_order_acquire);
    } else if (is("acquire fence")) {
        by_flag(memory_order_release, memory_order_relaxed);
    } else if (is("unordered flag") || is("fences") || is("sync of the window") || is("unordered: release fence") || is("unordered: acquire fence")) {
        by_flag(memory_order_relaxed, memory_order_relaxed);
    } else if (is("unordered put")) {
        int value = 3;
        if (rank == 1)
            all[0] = 1;
        else
            MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    } else if (is("unordered buffer")) {
        /* The result is stored where rank 1 loads. */
        if (rank == 0)
            MPI_Get(&all[4], 1, MPI_INT, 0, 2, 1, MPI_INT, win);
        else
            seen = all[4];
    } else if (is("lock")) {
        MPI_Win_unlock_all(win);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        all[4] += 1;
        MPI_Win_unlock(1, win);
        MPI_Win_lock_all(0, win);
    } else if (is("mutex") || is("read-write lock")) {
        by_locks();
    } else if (is("condition") || is("barrier of processes") || is("semaphore") || is("unordered behind a semaphore")) {
        by_objects();
    } else
        return 1;
    return 0;
}

int main(int argc, char **argv)
{
    int *base, unit, is_unknown;
    MPI_Win other;
    MPI_Aint bytes;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    which = argv[1];
    MPI_Win_allocate_shared(16, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_shared_query(win, 0, &bytes, &unit, &all);
    MPI_Win_allocate_shared(rank == 0 ? sizeof *objects : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &objects, &other);
    MPI_Win_shared_query(other, 0, &bytes, &unit, &objects);
    memset(base, 0, 16);
    if (rank == 0)
        create_objects();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    is_unknown = run();
    MPI_Win_unlock_all(win);
    MPI_Win_free(&other);
    MPI_Win_free(&win);
    MPI_Finalize();
    return is_unknown;
}
