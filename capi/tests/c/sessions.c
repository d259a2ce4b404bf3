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

/* How many ranks the job has, as it is told before this process has joined it. */
static int ranks_told(void)
{
    MPI_Info info;
    char value[16] = "";
    int room = sizeof value, flag = 0;
    RULE("MPI-4.1 10.2.1: MPI_Info_create_env, also before everything");
    OK(MPI_Info_create_env(0, NULL, &info));
    OK(MPI_Info_get_string(info, "maxprocs", &room, value, &flag));
    /* MPICH does not tell. */
    CHECK(flag || !ours());
    OK(MPI_Info_free(&info));
    return atoi(value);
}

static int handled;

static void on_comm(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm == MPI_COMM_NULL && *code == MPI_ERR_GROUP);
    handled++;
}

static void names_and_errors(void)
{
    static const char *const names[] = {"mpi://world", "MPI://World", "mpi://Self"};
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Errhandler handler;
    int size;
    RULE("MPI-4.1 11.3.2: the names of process sets in any case");
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    for (int k = 0; k < 3; k++) {
        OK(MPI_Group_from_session_pset(session, names[k], &group));
        OK(MPI_Group_size(group, &size));
        EQUAL(size, k < 2 ? ranks : 1);
        OK(MPI_Group_free(&group));
    }
    FAILS(MPI_ERR_ARG, MPI_Group_from_session_pset(session, "mpi://worlds", &group));
    if (ours()) {
        RULE("MPI-4.1 7.4.2: errors of a call go to the handler that it is given");
        FAILS(MPI_ERR_GROUP, MPI_Comm_create_from_group(MPI_GROUP_NULL, "x", MPI_INFO_NULL,
                                                        MPI_ERRORS_RETURN, &comm));
        OK(MPI_Comm_create_errhandler(on_comm, &handler));
        FAILS(MPI_ERR_GROUP, MPI_Comm_create_from_group(MPI_GROUP_NULL, "x", MPI_INFO_NULL,
                                                        handler, &comm));
        FAILS(MPI_ERR_GROUP,
              MPI_Intercomm_create_from_groups(MPI_GROUP_NULL, 0, MPI_GROUP_NULL, 0, "x",
                                               MPI_INFO_NULL, handler, &comm));
        EQUAL(handled, 2);
        OK(MPI_Errhandler_free(&handler));
        MPI_Session none;
        FAILS(MPI_ERR_INFO, MPI_Session_init((MPI_Info)0x7777, MPI_ERRORS_RETURN, &none));
    }
    OK(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
    int told = ranks_told();
    RULE("MPI-4.1 11.3: sessions come and go");
    once("first");
    once("second");
    names_and_errors();
    if (ours())
        EQUAL(told, ranks);
    if (argc > 1) {
        begin(&argc, &argv);
        return end();
    }
    if (rank_here == 0)
        printf("%ld checks passed\n", checks_passed);
    return 0;
}
