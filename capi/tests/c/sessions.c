/* Sessions before and without MPI_Init: with an argument, the program goes on to MPI_Init. */

#include "check.h"

static void once(const char *tag)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int flag;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    OK(MPI_Initialized(&flag));
    EQUAL(flag, 0);
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Group_size(group, &ranks));
    OK(MPI_Group_rank(group, &rank_here));
    OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    OK(MPI_Group_free(&group));
    OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
    RULE("MPI-4.1 11.3: sessions come and go");
    once("first");
    once("second");
    if (argc > 1) {
        begin(&argc, &argv);
        return end();
    }
    if (rank_here == 0)
        printf("%ld checks passed\n", checks_passed);
    return 0;
}
