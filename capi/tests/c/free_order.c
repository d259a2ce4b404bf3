/* MPI_Comm_free is local: ranks free communicators in different orders, and before others have begun. */

#include "check.h"

int main(int argc, char **argv)
{
    enum { MANY = 20 };
    MPI_Comm all[MANY], late;
    int token = 0;
    begin(&argc, &argv);
    RULE("MPI-4.1 7.4.3: freeing a communicator is expected to be local");
    for (int round = 0; round < 20; round++) {
        for (int k = 0; k < MANY; k++)
            OK(MPI_Comm_dup(MPI_COMM_WORLD, &all[k]));
        for (int k = 0; k < MANY; k++) {
            int which = (k * (rank_here % 2 ? 7 : 1) + 3 * rank_here) % MANY;
            if (rank_here % 3 == 2)
                OK(MPI_Comm_disconnect(&all[which]));
            else
                OK(MPI_Comm_free(&all[which]));
        }
    }
    /* Nobody waits for rank 0, which frees when it has heard of the last one. */
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &late));
    if (rank_here > 0)
        OK(MPI_Comm_free(&late));
    if (ranks > 1) {
        if (rank_here != 0)
            OK(MPI_Recv(&token, 1, MPI_INT, rank_here - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Send(&token, 1, MPI_INT, behind(), 0, MPI_COMM_WORLD));
        if (rank_here == 0)
            OK(MPI_Recv(&token, 1, MPI_INT, ranks - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    if (rank_here == 0)
        OK(MPI_Comm_free(&late));
    RULE("MPI-4.1 11.10.4: MPI_Comm_disconnect waits for what this rank has sent");
    {
        enum { LONG = 100000 };
        static int out[LONG], in[LONG];
        MPI_Request request;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &late));
        for (int k = 0; k < LONG; k++)
            out[k] = k;
        if (rank_here == 0 && ranks > 1) {
            OK(MPI_Isend(out, LONG, MPI_INT, 1, 0, late, &request));
            OK(MPI_Request_free(&request));
        }
        if (rank_here == 1) {
            OK(MPI_Recv(in, LONG, MPI_INT, 0, 0, late, MPI_STATUS_IGNORE));
            for (int k = 0; k < LONG; k++)
                EQUAL(in[k], k);
        }
        OK(MPI_Comm_disconnect(&late));
        /* The buffer is this rank's again. */
        memset(out, 0, sizeof out);
    }
    return end();
}
