/* The target buffer of an operation on a dynamic window has to lie in attached memory (MPI-4.1 §12.2.4), in
   one region or in several side by side. */

#include "check.h"

enum { EACH = 4, PARTS = 3 };

/* Regions of EACH integers side by side, the last apart from them by one integer. */
static void adjacent(int *memory)
{
    MPI_Win win;
    MPI_Aint mine, theirs;
    int out[EACH * PARTS], in[EACH * PARTS];
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    /* Not in the order of the addresses. */
    for (int k = PARTS - 1; k >= 0; k--)
        OK(MPI_Win_attach(win, memory + k * EACH, EACH * sizeof(int)));
    OK(MPI_Win_attach(win, memory + PARTS * EACH + 1, EACH * sizeof(int)));
    for (int i = 0; i < EACH * (PARTS + 1) + 1; i++)
        memory[i] = 0;
    OK(MPI_Get_address(memory, &mine));
    OK(MPI_Sendrecv(&mine, 1, MPI_AINT, before(), 0, &theirs, 1, MPI_AINT, behind(), 0,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < EACH * PARTS; i++)
        out[i] = 100 * rank_here + i;
    RULE("12.2-8");
    OK(MPI_Put(out, EACH * PARTS, MPI_INT, behind(), theirs, EACH * PARTS, MPI_INT, win));
    OK(MPI_Win_flush(behind(), win));
    OK(MPI_Get(in, EACH, MPI_INT, behind(), theirs + (MPI_Aint)(2 * sizeof(int)), EACH, MPI_INT, win));
    OK(MPI_Win_flush(behind(), win));
    for (int i = 0; i < EACH; i++)
        EQUAL(in[i], 100 * rank_here + i + 2);
    OK(MPI_Accumulate(out, EACH * PARTS, MPI_INT, behind(), theirs, EACH * PARTS, MPI_INT, MPI_SUM,
                      win));
    OK(MPI_Win_flush(behind(), win));
    OK(MPI_Get(in, EACH * PARTS, MPI_INT, behind(), theirs, EACH * PARTS, MPI_INT, win));
    OK(MPI_Win_flush(behind(), win));
    for (int i = 0; i < EACH * PARTS; i++)
        EQUAL(in[i], 2 * out[i]);
    /* There is a gap behind them. */
    if (ours())
        FAILS(MPI_ERR_RMA_RANGE, MPI_Put(out, EACH + 1, MPI_INT, behind(),
                                         theirs + (MPI_Aint)((PARTS - 1) * EACH * sizeof(int)),
                                         EACH + 1, MPI_INT, win));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    /* The middle one is taken out. */
    OK(MPI_Win_detach(win, memory + EACH));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    if (ours())
        FAILS(MPI_ERR_RMA_RANGE,
              MPI_Put(out, EACH * PARTS, MPI_INT, behind(), theirs, EACH * PARTS, MPI_INT, win));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    static int private_memory[EACH * (PARTS + 1) + 1];
    int *shared;
    OK(MPI_Alloc_mem(sizeof private_memory, MPI_INFO_NULL, &shared));
    adjacent(private_memory);
    adjacent(shared);
    OK(MPI_Free_mem(shared));
    return end();
}
