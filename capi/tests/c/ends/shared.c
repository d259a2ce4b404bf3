/* Loads and stores through pointers of a shared window, for `rmacc -race`. The argument names the case: those with "unordered"
   have one pair that conflicts, the others none. */
#include <mpi.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static int rank, *all;
static volatile int seen;
static MPI_Win win;
static const char *which;

static int is(const char *name)
{
    return !strcmp(which, name);
}

/* Rank 0 stores to the part of rank 1, which loads it. */
static void by_flag(memory_order release, memory_order acquire)
{
    atomic_int *flag = (atomic_int *)&all[6];
    if (rank == 0) {
        all[4] = 7; /* stores it */
        atomic_store_explicit(flag, 1, release);
    } else {
        while (!atomic_load_explicit(flag, acquire))
            usleep(100);
        seen = all[4]; /* loads it */
    }
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
    } else if (is("unordered flag")) {
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
    } else
        return 1;
    return 0;
}

int main(int argc, char **argv)
{
    int *base, unit, is_unknown;
    MPI_Aint bytes;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    which = argv[1];
    MPI_Win_allocate_shared(16, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_shared_query(win, 0, &bytes, &unit, &all);
    memset(base, 0, 16);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    is_unknown = run();
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return is_unknown;
}
