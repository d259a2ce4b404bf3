/* A function that the library does not have, with the error handler that MPI_COMM_SELF has at first. */

#include "../check.h"

int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME];
    begin(&argc, &argv);
    MPI_Open_port(MPI_INFO_NULL, port);
    printf("nobody comes here\n");
    return end();
}
