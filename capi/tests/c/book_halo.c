/* Heat in a rod that is spread over the ranks: the cells at the borders of each part are put into the
   neighbours' halos between two fences. Every rank also computes the whole rod alone, and compares. */

#include "check.h"

enum { CELLS = 32, STEPS = 100 };

static double initial(int cell)
{
    return cell % 11 * 3.0;
}

int main(int argc, char **argv)
{
    double *old, *new, *memory;
    MPI_Win win;
    begin(&argc, &argv);
    int up = rank_here == 0 ? MPI_PROC_NULL : rank_here - 1;
    int down = rank_here == ranks - 1 ? MPI_PROC_NULL : rank_here + 1;

    OK(MPI_Win_allocate(2 * (CELLS + 2) * sizeof(double), sizeof(double), MPI_INFO_NULL,
                        MPI_COMM_WORLD, &memory, &win));
    for (int i = 0; i < 2 * (CELLS + 2); i++)
        memory[i] = 0;
    for (int i = 0; i < CELLS; i++)
        memory[i + 1] = initial(rank_here * CELLS + i);
    OK(MPI_Win_fence(0, win));
    for (int step = 0; step < STEPS; step++) {
        MPI_Aint here = step % 2 ? CELLS + 2 : 0;
        old = memory + here;
        new = memory + (CELLS + 2 - here);
        OK(MPI_Put(old + 1, 1, MPI_DOUBLE, up, here + CELLS + 1, 1, MPI_DOUBLE, win));
        OK(MPI_Put(old + CELLS, 1, MPI_DOUBLE, down, here, 1, MPI_DOUBLE, win));
        OK(MPI_Win_fence(0, win));
        for (int i = 1; i <= CELLS; i++)
            new[i] = 0.25 * old[i - 1] + 0.5 * old[i] + 0.25 * old[i + 1];
    }
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));

    int all = CELLS * ranks;
    double *whole = calloc((size_t)all + 2, sizeof *whole), *next = calloc((size_t)all + 2, sizeof *next);
    for (int i = 0; i < all; i++)
        whole[i + 1] = initial(i);
    for (int step = 0; step < STEPS; step++) {
        for (int i = 1; i <= all; i++)
            next[i] = 0.25 * whole[i - 1] + 0.5 * whole[i] + 0.25 * whole[i + 1];
        double *swap = whole;
        whole = next;
        next = swap;
    }
    for (int i = 0; i < CELLS; i++)
        REAL(memory[i + 1], whole[rank_here * CELLS + i + 1]);
    free(whole);
    free(next);
    OK(MPI_Win_free(&win));
    return end();
}
