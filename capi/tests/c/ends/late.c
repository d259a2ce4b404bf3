/* Rank 0 relies on operations that take effect at once: the case is the argument. Ends with code 3 if they have not.
   With a second argument the memory is the program's own.
   "flushed" and "exposed" are legal. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static MPI_Win win;
static int rank, *base;

static int is(const char *name, char **argv)
{
    return strcmp(argv[1], name) == 0;
}

static int expect(const char *what, int found, int expected)
{
    if (found == expected)
        return 0;
    printf("%s: %#x\n", what, (unsigned)found);
    return 3;
}

/* The result of a get before its flush, and behind it. */
static int result(void)
{
    int found = 1, early = 0;
    if (rank == 0) {
        MPI_Get(&found, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        early = expect("result", found, 7);
        MPI_Win_flush_local(1, win);
        if (expect("flushed", found, 7))
            return 4;
    }
    return early;
}

/* What rank 1 finds in its part behind a barrier, with a flush before that or without. */
static int visible(int flushes)
{
    int value = 5, code = 0;
    if (rank == 0) {
        MPI_Put(&value, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
        MPI_Accumulate(&value, 1, MPI_INT, 1, 2, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_flush_local(1, win);
        value = 6;
        if (flushes)
            MPI_Win_flush(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Win_sync(win);
        code = expect("put", base[1], 5) | expect("sum", base[2], 12);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return code;
}

/* A put delivers what its buffer has when it is complete here. */
static int changed(void)
{
    int value = 5, found = 0;
    if (rank != 0)
        return 0;
    MPI_Put(&value, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
    value = 6;
    MPI_Win_flush(1, win);
    MPI_Get(&found, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
    MPI_Win_flush(1, win);
    return expect("delivered", found, 5);
}

/* The result of an accumulate before its request is complete: MPI_Wait completes also those before it. */
static int fetched(void)
{
    int one = 1, before = 0, swapped = 0, nine = 9, code = 0;
    MPI_Request request;
    if (rank != 0)
        return 0;
    MPI_Accumulate(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Rget_accumulate(&one, 1, MPI_INT, &before, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win, &request);
    code = expect("fetched", before, 8);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (expect("waited", before, 8))
        return 4;
    MPI_Compare_and_swap(&one, &nine, &swapped, MPI_INT, 1, 0, win);
    MPI_Win_flush_local_all(win);
    if (expect("swapped", swapped, 9))
        return 4;
    MPI_Fetch_and_op(&one, &before, MPI_INT, 1, 0, MPI_NO_OP, win);
    MPI_Win_flush(1, win);
    return expect("no_op", before, 1) ? 4 : code;
}

/* A get into the part of this rank: rank 1 sees the result behind a fence. */
static int exposed(void)
{
    int code = 0, found = 0;
    MPI_Win_unlock_all(win);
    MPI_Win_fence(0, win);
    if (rank == 0)
        MPI_Get(base + 3, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    if (rank == 1)
        MPI_Get(&found, 1, MPI_INT, 0, 3, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    if (rank == 1)
        code = expect("exposed", found, 7);
    MPI_Win_lock_all(0, win);
    return code;
}

int main(int argc, char **argv)
{
    static int memory[4];
    int code = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 2) {
        base = memory;
        MPI_Win_create(base, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    } else {
        MPI_Win_allocate(sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    }
    for (int i = 0; i < 4; i++)
        base[i] = 7;
    MPI_Win_fence(0, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_lock_all(0, win);
    if (is("result", argv))
        code = result();
    else if (is("visible", argv) || is("flushed", argv))
        code = visible(is("flushed", argv));
    else if (is("changed", argv))
        code = changed();
    else if (is("fetched", argv))
        code = fetched();
    else if (is("exposed", argv))
        code = exposed();
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return code;
}
