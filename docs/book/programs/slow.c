/* Three things make these ranks wait. What they compute is a sleep here, so that it takes the same time everywhere. */
#include <mpi.h>
#include <time.h>

static void work(long milliseconds) {
    nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000}, NULL);
}

static MPI_Win allocate(const char *name, int count) {
    MPI_Win window;
    long *part;
    MPI_Win_allocate(count * sizeof *part, sizeof *part, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &window);
    MPI_Win_set_name(window, name);
    return window;
}

int main(void) {
    MPI_Init(NULL, NULL);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Group world, first, others;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, (int[]){0}, &first);
    MPI_Group_excl(world, 1, (int[]){0}, &others);
    MPI_Win edges = allocate("edges", 4), total = allocate("total", 1);
    for (long step = 0, latest; step < 10; step++) {
        /* All write an edge to rank 0, and compute. */
        if (rank == 0) {
            work(6);
            MPI_Win_post(others, 0, edges);
            MPI_Win_wait(edges);
        } else {
            MPI_Win_start(first, 0, edges);
            MPI_Put(&step, 1, MPI_LONG, 0, rank, 1, MPI_LONG, edges);
            MPI_Win_complete(edges);
            work(6);
        }
        /* All add what they compute to the total of rank 0. */
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, total);
        work(3);
        MPI_Accumulate(&step, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, total);
        MPI_Win_unlock(0, total);
        /* Rank 3 has more rows. */
        work(rank == 3 ? 12 : 4);
        MPI_Allreduce(&step, &latest, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    }
    MPI_Win_free(&edges);
    MPI_Win_free(&total);
    MPI_Group_free(&world);
    MPI_Group_free(&first);
    MPI_Group_free(&others);
    MPI_Finalize();
}
