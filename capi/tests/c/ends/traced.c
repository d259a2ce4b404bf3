/* Puts on two windows, of which one is used while the trace is off. The name of the other is no UTF-8, and has quotes. */
#include <mpi.h>

static void put(const char *name, int level)
{
    int *base, value = 1;
    MPI_Win win;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_name(win, name);
    MPI_Pcontrol(level);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Pcontrol(1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    put("<shown> \"\xff\"", 2);
    put("hidden", 0);
    MPI_Pcontrol(3, "outer \xff");
    MPI_Pcontrol(3, "inner");
    MPI_Pcontrol(7);
    MPI_Barrier(MPI_COMM_WORLD);
    /* There is no region of level 9; both of level 7 and 3 end. */
    MPI_Pcontrol(-9);
    MPI_Pcontrol(-3);
    MPI_Pcontrol(-3);
    MPI_Pcontrol(-3);
    MPI_Finalize();
    return 0;
}
