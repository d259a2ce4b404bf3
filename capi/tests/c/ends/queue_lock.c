/* A queue lock: a rank that releases it learns by a fetch which rank waits for it, and later stores to that word by itself. */
#include <mpi.h>
#include <stdio.h>

enum { NEXT, TAIL, COUNT, WORDS, ROUNDS = 200 };

static MPI_Win win;
static int *own, rank, none = -1;

static void acquire(void) {
    int before;
    /* No other rank writes it: the latest one that did so has been fetched. */
    own[NEXT] = none;
    MPI_Win_sync(win);
    MPI_Fetch_and_op(&rank, &before, MPI_INT, 0, TAIL, MPI_REPLACE, win);
    MPI_Win_flush(0, win);
    if (before != none) {
        MPI_Accumulate(&rank, 1, MPI_INT, before, NEXT, 1, MPI_INT, MPI_REPLACE, win);
        MPI_Win_flush(before, win);
        MPI_Recv(NULL, 0, MPI_BYTE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static int fetch_next(void) {
    int next;
    MPI_Fetch_and_op(NULL, &next, MPI_INT, rank, NEXT, MPI_NO_OP, win);
    MPI_Win_flush(rank, win);
    return next;
}

static void release(void) {
    MPI_Win_sync(win);
    int next = fetch_next(), last;
    if (next == none) {
        MPI_Compare_and_swap(&none, &rank, &last, MPI_INT, 0, TAIL, win);
        MPI_Win_flush(0, win);
        if (last == rank) {
            return;
        }
        while ((next = fetch_next()) == none) {
        }
    }
    MPI_Send(NULL, 0, MPI_BYTE, next, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    int ranks, count;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Win_allocate(WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win);
    own[NEXT] = own[TAIL] = none;
    own[COUNT] = 0;
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ROUNDS; i++) {
        acquire();
        MPI_Get(&count, 1, MPI_INT, 0, COUNT, 1, MPI_INT, win);
        MPI_Win_flush(0, win);
        count++;
        MPI_Put(&count, 1, MPI_INT, 0, COUNT, 1, MPI_INT, win);
        MPI_Win_flush(0, win);
        release();
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    int is_whole = rank != 0 || own[COUNT] == ROUNDS * ranks;
    MPI_Win_free(&win);
    MPI_Finalize();
    return !is_whole;
}
