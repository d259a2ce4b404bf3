/* An error of a call in which the program's own function has made another call. */
#include <mpi.h>

static int refuse(MPI_Comm comm, int keyval, void *extra, void *value, void *copied, int *flag)
{
    int done;
    (void)comm, (void)keyval, (void)extra, (void)value, (void)copied, (void)flag;
    MPI_Initialized(&done);
    return MPI_ERR_OTHER;
}

int main(int argc, char **argv)
{
    int keyval;
    MPI_Comm copy;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &keyval, 0);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 0);
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    return 0;
}
