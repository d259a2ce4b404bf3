/* The program's own loads and stores, for `rmacc -race`: the case is the argument. Rank 0 accesses rank 1. */
#include <mpi.h>
#include <string.h>

static MPI_Win win, first;
static int buffer[64], other[64], *base, rank;
static volatile int seen;
static char *which;

static int is(const char *name)
{
    return strcmp(which, name) == 0;
}

static void put(int completes)
{
    if (rank == 0) {
        MPI_Put(buffer, 1, MPI_INT, 1, 0, 1, MPI_INT, win); /* the put */
        if (completes)
            MPI_Win_flush(1, win);
    }
}

static void in_the_window(void)
{
    if (strstr(which, "load"))
        put(is("complete load"));
    if (is("get"))
        if (rank == 0)
            MPI_Get(buffer, 1, MPI_INT, 1, 0, 1, MPI_INT, win); /* the get */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && strstr(which, "load"))
        seen = base[0]; /* loads it */
    if (rank == 1 && is("get"))
        base[0] = 1; /* stores it */
    if (rank == 1 && is("beside"))
        base[1] = seen = base[2];
    if (is("beside"))
        put(0);
}

/* Rank 1 stores every fourth element. */
static void at_strides(void)
{
    if (rank == 0)
        MPI_Put(buffer, 1, MPI_INT, 1, is("between strides") ? 9 : 8, 1, MPI_INT, win); /* puts among them */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        for (volatile int i = 0; i < 64; i += 4)
            base[i] = seen; /* stores at strides */
}

static void in_the_buffer(void)
{
    if (rank == 1)
        return;
    MPI_Get(buffer, 8, MPI_INT, 1, 0, 8, MPI_INT, win); /* gets it */
    if (is("complete result"))
        MPI_Win_flush_local(1, win);
    if (is("result") || is("complete result"))
        seen = buffer[7]; /* reads it */
    if (is("copied"))
        memcpy(other, buffer, sizeof(int) * (size_t)(seen + 16)); /* copies it */
    seen = buffer[9] + other[5];
}

/* A buffer on the stack, of which elements are read. */
static void in_the_stack(void)
{
    int local[8], sum = 0;
    if (rank == 1)
        return;
    MPI_Get(local, 8, MPI_INT, 1, 0, 8, MPI_INT, win); /* gets it there */
    if (is("complete local result"))
        MPI_Win_flush_local(1, win);
    for (int i = 1; i < 8; i++)
        sum += local[i]; /* reads the elements */
    seen = sum;
}

/* A buffer in the part of rank 0, to which rank 1 also puts. */
static void in_the_own_part(void)
{
    if (rank == 0) {
        if (strstr(which, "source"))
            MPI_Put(base, 2, MPI_INT, 1, 8, 2, MPI_INT, win); /* sends it */
        else
            MPI_Get(base, 2, MPI_INT, 1, 8, 2, MPI_INT, win); /* receives it */
        if (strstr(which, "complete"))
            MPI_Win_flush_local(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Put(buffer, 1, MPI_INT, 0, 1, 1, MPI_INT, win); /* puts there */
}

/* Rank 0 asserts MPI_MODE_NOSTORE. */
static void assert_it(void)
{
    MPI_Group world, other;
    int to = 1 - rank;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &to, &other);
    MPI_Win_fence(0, win);
    if (rank == 0)
        for (int i = 3; i < 5; i++)
            base[i] = i; /* stores before that */
    if (is("asserted later"))
        MPI_Win_fence(0, win);
    if (!is("asserted post"))
        MPI_Win_fence(rank == 0 ? MPI_MODE_NOSTORE : 0, win); /* asserts by fence */
    else if (rank == 0) {
        MPI_Win_post(other, MPI_MODE_NOSTORE, win); /* asserts by post */
        MPI_Win_wait(win);
    } else {
        MPI_Win_start(other, 0, win);
        MPI_Win_complete(win);
    }
    MPI_Win_fence(0, win);
    MPI_Group_free(&other);
    MPI_Group_free(&world);
}

static int atomics(void)
{
    static int word;
    int before = __atomic_fetch_add(&word, 3, __ATOMIC_RELAXED), expected = 3;
    int swapped = __atomic_compare_exchange_n(&word, &expected, 5, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
    int refused = !__atomic_compare_exchange_n(&word, &expected, 7, 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return before == 0 && swapped && refused && expected == 5 && __atomic_load_n(&word, __ATOMIC_ACQUIRE) == 5;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    which = argv[1];
    MPI_Win_allocate(64 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    if (is("second load")) {
        first = win; /* The put is by another window over the same bytes. */
        MPI_Win_create(base, 64 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    memset(base, 0, 64 * sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);
    if (strstr(which, "asserted"))
        assert_it();
    MPI_Win_lock_all(0, win);
    if (strstr(which, "load") || is("get") || is("beside"))
        in_the_window();
    else if (strstr(which, "strides"))
        at_strides();
    else if (strstr(which, "own"))
        in_the_own_part();
    else if (strstr(which, "local"))
        in_the_stack();
    else if (!strstr(which, "asserted"))
        in_the_buffer();
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    if (is("second load"))
        MPI_Win_free(&first);
    MPI_Finalize();
    return atomics() ? 0 : 1;
}
