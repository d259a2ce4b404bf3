/* Waits for a copy of a handle whose request the program has completed. */

#include "../check.h"

int main(int argc, char **argv)
{
    int *part, out = 7;
    MPI_Request one, copy;
    begin(&argc, &argv);
    MPI_Win win = window(1, &part);
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Rput(&out, 1, MPI_INT, behind(), 0, 1, MPI_INT, win, &one));
    copy = one;
    OK(MPI_Wait(&one, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_REQUEST, MPI_Wait(&copy, MPI_STATUS_IGNORE));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return end();
}
