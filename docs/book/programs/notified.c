#include <mpi.h>
#include <stdio.h>

/* Of each rank's window: the number, and how many have arrived. */
enum { NUMBER, ARRIVED, LENGTH };

static MPI_Win window;

static void put_notify(int number, int target) {
    int one = 1;
    MPI_Put(&number, 1, MPI_INT, target, NUMBER, 1, MPI_INT, window);
    /* The number is there before it is counted. */
    MPI_Win_flush(target, window);
    MPI_Accumulate(&one, 1, MPI_INT, target, ARRIVED, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_flush(target, window);
}

static void wait_notify(int rank, int count) {
    int none = 0, arrived;
    do {
        MPI_Fetch_and_op(&none, &arrived, MPI_INT, rank, ARRIVED, MPI_NO_OP, window);
        MPI_Win_flush(rank, window);
    } while (arrived < count);
    MPI_Win_sync(window);
}

int main(void) {
    MPI_Init(NULL, NULL);
    int rank, size, *part;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(LENGTH * sizeof *part, sizeof *part, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &part, &window);
    part[ARRIVED] = 0;
    MPI_Barrier(MPI_COMM_WORLD);

    int right = (rank + 1) % size;
    MPI_Win_lock_all(0, window);
    if (rank == 0)
        put_notify(1, right);
    wait_notify(rank, 1);
    printf("rank %d finds %d\n", rank, part[NUMBER]);
    if (rank != 0)
        put_notify(2 * part[NUMBER], right);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
}
