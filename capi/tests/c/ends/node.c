/* Windows under another MPI with libonesided_node.so: those of one node are onesided's, others that MPI's. The first argument
   is how many ranks a node has, 0 if no window is to be onesided's; the second one, how many MiB are too many for it, or
   `sessions`, if there are sessions before and behind the job of MPI_Init. */

#include "../check.h"

static void ignore(MPI_Win *win, int *code, ...)
{
    (void)win;
    (void)code;
}

/* Whether a window is onesided's, whose errors have its sentences. (Intel MPI 2021.19 has no handler that returns; MPICH 5.0.2
   forgets its errors behind a handler of the program.) */
static int is_native(MPI_Win win)
{
    MPI_Errhandler handler;
    OK(MPI_Win_create_errhandler(ignore, &handler));
    OK(MPI_Win_set_errhandler(win, handler));
    int code = MPI_Win_lock(-1, 0, 0, win);
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Errhandler_free(&handler));
    if (code != MPI_SUCCESS)
        FAILS(MPI_ERR_LOCKTYPE, code);
    return strstr(sentence(code), "MPI_Win_lock(lock_type=-1, ") != NULL;
}

/* A ring of puts between fences. */
static void use_fences(MPI_Win win, MPI_Comm comm, long *part)
{
    int rank, size;
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    long given = 100 + rank;
    part[0] = 0;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&given, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    EQUAL(part[0], 100 + (rank + size - 1) % size);
}

/* A ring of operations, by each kind of synchronisation. */
static void use(MPI_Win win, MPI_Comm comm, long *part)
{
    int rank, size;
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    long given = 100 + rank, before = -1;
    part[1] = 0;
    use_fences(win, comm, part);
    MPI_Group all, to_group, from_group;
    OK(MPI_Comm_group(comm, &all));
    OK(MPI_Group_incl(all, 1, &to, &to_group));
    OK(MPI_Group_incl(all, 1, &from, &from_group));
    OK(MPI_Win_post(from_group, 0, win));
    OK(MPI_Win_start(to_group, 0, win));
    OK(MPI_Accumulate(&given, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    EQUAL(part[0], 2 * (100 + from));
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&to_group));
    OK(MPI_Group_free(&from_group));
    OK(MPI_Barrier(comm));
    OK(MPI_Win_lock_all(0, win));
    long one = 1;
    OK(MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 1, MPI_SUM, win));
    OK(MPI_Win_flush(0, win));
    CHECK(before >= 0 && before < size);
    MPI_Request request;
    OK(MPI_Rget(&before, 1, MPI_LONG, to, 0, 1, MPI_LONG, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    EQUAL(before, 2 * (100 + rank));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(comm));
    if (rank == 0)
        EQUAL(part[1], size);
}

/* A window over a communicator, used twice, the second time without the communicator. */
static void over(MPI_Comm comm, int expected)
{
    long *part;
    MPI_Win win;
    MPI_Comm copy;
    OK(MPI_Comm_dup(comm, &copy));
    OK(MPI_Win_allocate(4 * sizeof(long), sizeof(long), MPI_INFO_NULL, copy, &part, &win));
    EQUAL(is_native(win), expected);
    use(win, copy, part);
    OK(MPI_Comm_free(&copy));
    use(win, comm, part);
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
}

/* A rank that waits in a window receives a long message meanwhile, and so the other one gets there. */
static void waits(MPI_Comm node)
{
    int rank, size, bytes = 8 << 20;
    OK(MPI_Comm_rank(node, &rank));
    OK(MPI_Comm_size(node, &size));
    long *part;
    MPI_Win win;
    MPI_Request request;
    char *data = calloc(bytes, 1);
    OK(MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, node, &part, &win));
    for (int how = 0; how < 2 && size > 1; how++) {
        if (rank == 0)
            OK(MPI_Irecv(data, bytes, MPI_BYTE, 1, how, node, &request));
        if (rank == 1 && how == 1)
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        OK(MPI_Barrier(node));
        if (rank == 1)
            OK(MPI_Ssend(data, bytes, MPI_BYTE, 0, how, node));
        if (rank == 1 && how == 1)
            OK(MPI_Win_unlock(0, win));
        if (rank != 1 && how == 1) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            OK(MPI_Win_unlock(0, win));
        }
        if (how == 0)
            OK(MPI_Win_fence(0, win));
        if (rank == 0)
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    OK(MPI_Win_free(&win));
    free(data);
}

/* The value of a hint that is in force; empty if there is none. */
static const char *hint(MPI_Win win, const char *key)
{
    static char value[MPI_MAX_INFO_VAL];
    MPI_Info info;
    int flag = 0, room = sizeof value;
    value[0] = 0;
    OK(MPI_Win_get_info(win, &info));
    OK(MPI_Info_get_string(info, key, &room, value, &flag));
    OK(MPI_Info_free(&info));
    return value;
}

/* Hints of a window reach it, and are those that it has. */
static void hints(MPI_Comm node, int expected)
{
    long *part;
    MPI_Win win;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "no_locks", "true"));
    OK(MPI_Info_set(info, "accumulate_ordering", "none"));
    OK(MPI_Win_allocate(sizeof(long), sizeof(long), info, node, &part, &win));
    if (expected)
        CHECK(strcmp(hint(win, "no_locks"), "true") == 0);
    OK(MPI_Info_set(info, "no_locks", "false"));
    OK(MPI_Info_set(info, "accumulate_ordering", "rar,waw"));
    OK(MPI_Win_set_info(win, info));
    if (expected) {
        CHECK(strcmp(hint(win, "no_locks"), "false") == 0);
        CHECK(strcmp(hint(win, "accumulate_ordering"), "rar,waw") == 0);
        CHECK(strcmp(hint(win, "onesided_reserve"), "false") == 0);
    }
    OK(MPI_Info_free(&info));
    use_fences(win, node, part);
    OK(MPI_Win_free(&win));
}

/* Datatypes that the program has made, and makes again under the same handle. */
static void layouts(MPI_Comm node)
{
    int rank, size;
    OK(MPI_Comm_rank(node, &rank));
    OK(MPI_Comm_size(node, &size));
    int *part, data[12];
    MPI_Win win;
    OK(MPI_Win_allocate(24 * sizeof(int), sizeof(int), MPI_INFO_NULL, node, &part, &win));
    for (int stride = 2; stride < 6; stride++) {
        MPI_Datatype pairs, resized, whole;
        OK(MPI_Type_vector(3, 1, stride, MPI_INT, &pairs));
        OK(MPI_Type_create_resized(pairs, 0, 12 * sizeof(int), &resized));
        OK(MPI_Type_dup(resized, &whole));
        OK(MPI_Type_commit(&whole));
        for (int i = 0; i < 12; i++)
            data[i] = 10 * stride + i;
        memset(part, 0, 24 * sizeof(int));
        OK(MPI_Win_fence(0, win));
        OK(MPI_Put(data, 6, MPI_INT, (rank + 1) % size, 0, 2, whole, win));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        for (int i = 0; i < 6; i++)
            EQUAL(part[i / 3 * 12 + i % 3 * stride], 10 * stride + i);
        OK(MPI_Type_free(&pairs));
        OK(MPI_Type_free(&resized));
        OK(MPI_Type_free(&whole));
    }
    OK(MPI_Win_free(&win));
}

/* A part of each rank that has no place. */
static void large(MPI_Aint bytes)
{
    long *part;
    MPI_Win win;
    OK(MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win));
    EQUAL(is_native(win), 0);
    use(win, MPI_COMM_WORLD, part);
    OK(MPI_Win_free(&win));
}

/* A window over a communicator of a session. */
static void in_session(const char *tag, int expected)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    OK(MPI_Group_free(&group));
    over(comm, expected || ours());
    OK(MPI_Comm_free(&comm));
    OK(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
    int expected = argc > 1 ? atoi(argv[1]) : 0, size;
    int sessions_alone = argc > 2 && strcmp(argv[2], "sessions") == 0;
    MPI_Session session;
    RULE("a session without MPI_Init");
    if (sessions_alone) {
        in_session("before", 0);
        OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    }
    begin(&argc, &argv);
    MPI_Comm node, reversed;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_size(node, &size));
    OK(MPI_Comm_split(node, 0, -rank_here, &reversed));
    RULE("a node");
    over(node, expected == size);
    over(reversed, expected == size);
    RULE("the world");
    over(MPI_COMM_WORLD, expected == ranks);
    RULE("a session beside MPI_Init");
    in_session("beside", expected == ranks);
    RULE("one rank");
    over(MPI_COMM_SELF, expected != 0);
    RULE("progress");
    waits(node);
    RULE("datatypes");
    layouts(node);
    RULE("hints");
    hints(node, expected == size);
    if (argc > 2 && !sessions_alone)
        large((MPI_Aint)atoi(argv[2]) << 20);
    OK(MPI_Comm_free(&reversed));
    OK(MPI_Comm_free(&node));
    int ended = end();
    if (sessions_alone) {
        RULE("a session behind MPI_Finalize");
        in_session("behind", 0);
        OK(MPI_Session_finalize(&session));
    }
    return ended;
}
