/* The smallest program: who am I, how many are we, is everybody there? */

#include "check.h"

int main(int argc, char **argv)
{
    int flag = 1, version, subversion, length, provided;
    char name[MPI_MAX_PROCESSOR_NAME], library[MPI_MAX_LIBRARY_VERSION_STRING];

    OK(MPI_Initialized(&flag));
    EQUAL(flag, 0);
    OK(MPI_Get_version(&version, &subversion));
    CHECK(version >= 4);
    OK(MPI_Get_library_version(library, &length));
    EQUAL(strlen(library), length);

    begin(&argc, &argv);
    CHECK(rank_here >= 0 && rank_here < ranks);
    OK(MPI_Initialized(&flag));
    EQUAL(flag, 1);
    OK(MPI_Finalized(&flag));
    EQUAL(flag, 0);
    OK(MPI_Get_processor_name(name, &length));
    CHECK(length > 0 && length < MPI_MAX_PROCESSOR_NAME);
    EQUAL(strlen(name), length);
    OK(MPI_Query_thread(&provided));
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE);
    OK(MPI_Is_thread_main(&flag));
    EQUAL(flag, 1);
    OK(MPI_Abi_get_version(&version, &subversion));
#ifdef MPI_ABI_VERSION
    EQUAL(version, MPI_ABI_VERSION);
    EQUAL(subversion, MPI_ABI_SUBVERSION);
#else
    EQUAL(version, -1); /* not the standard ABI */
    EQUAL(subversion, -1);
#endif

    double then = MPI_Wtime();
    CHECK(MPI_Wtick() > 0 && MPI_Wtick() < 1);
    while (MPI_Wtime() - then < 0.001)
        ;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Barrier(MPI_COMM_SELF));
    return end();
}
