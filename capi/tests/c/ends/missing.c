/* Calls of functions that the library does not have, and nobody looks at what they return. */

#include "../check.h"

int main(int argc, char **argv)
{
    MPI_Comm peer;
    char port[MPI_MAX_PORT_NAME];
    begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    for (int k = 0; k < 3; k++)
        FAILS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Open_port(MPI_INFO_NULL, port));
    FAILS(MPI_ERR_UNSUPPORTED_OPERATION,
          MPI_Comm_accept("", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &peer));
    return end();
}
