#include <mpi.h>
#include <stdio.h>

/* Of the window of rank 0: the next places to write and to read; a place for each task. */
enum { PUT, GOT, PLACES, TASKS = 8, LENGTH = 100 };
/* What a place has before its task, and the task that ends a worker. */
enum { EMPTY = 0, STOP = -1 };

static MPI_Win queue;

static int update(int place, int operand, MPI_Op op) {
    int before;
    MPI_Fetch_and_op(&operand, &before, MPI_INT, 0, place, op, queue);
    MPI_Win_flush(0, queue);
    return before;
}

static void put(int task) {
    update(PLACES + update(PUT, 1, MPI_SUM), task, MPI_REPLACE);
}

static int get(void) {
    int task, place = PLACES + update(GOT, 1, MPI_SUM);
    while ((task = update(place, 0, MPI_NO_OP)) == EMPTY)
        ;
    return task;
}

int main(void) {
    MPI_Init(NULL, NULL);
    int rank, size, *part;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(LENGTH * sizeof *part, sizeof *part, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &part, &queue);
    for (int i = 0; i < LENGTH; i++)
        part[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Win_lock_all(0, queue);
    if (rank == 0) {
        for (int task = 1; task <= TASKS; task++)
            put(task);
        for (int worker = 1; worker < size; worker++)
            put(STOP);
    } else {
        for (int task; (task = get()) != STOP;)
            printf("%d x %d = %d\n", task, task, task * task);
    }
    MPI_Win_unlock_all(queue);
    MPI_Win_free(&queue);
    MPI_Finalize();
}
