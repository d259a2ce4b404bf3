/* A persistent request outlives the datatype that it was made with. */

#include "check.h"

int main(int argc, char **argv)
{
    int out[6], in[6];
    MPI_Request requests[2];
    MPI_Datatype every_other, later[32];
    begin(&argc, &argv);
    RULE("MPI-4.1 3.9, 5.1.9: a datatype may be freed while a request still uses it");
    OK(MPI_Type_vector(3, 1, 2, MPI_INT, &every_other));
    OK(MPI_Type_commit(&every_other));
    OK(MPI_Send_init(out, 1, every_other, behind(), 3, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Recv_init(in, 1, every_other, before(), 3, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Type_free(&every_other));
    /* Whatever takes its place is another type. */
    for (int k = 0; k < 32; k++)
        OK(MPI_Type_contiguous(k + 1, MPI_BYTE, &later[k]));
    for (int round = 0; round < 3; round++) {
        for (int k = 0; k < 6; k++) {
            out[k] = 100 * round + 10 * rank_here + k;
            in[k] = -1;
        }
        OK(MPI_Startall(2, requests));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        for (int k = 0; k < 6; k++)
            EQUAL(in[k], k % 2 ? -1 : 100 * round + 10 * before() + k);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    for (int k = 0; k < 32; k++)
        OK(MPI_Type_free(&later[k]));
    return end();
}
