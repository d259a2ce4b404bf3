/* Error codes, error handlers of communicators, windows and sessions, and info objects. */

#include "check.h"
#include <sys/mman.h>
#include <unistd.h>

static int handled, handled_code;
static MPI_Comm handled_comm;
static MPI_Win handled_win;

/* A call that fails while a function handles errors: what it then returns differs between libraries. */
#define RAISES(class, call)                                                                       \
    do {                                                                                          \
        int code_ = (call), class_ = -1;                                                          \
        MPI_Error_class(handled_code, &class_);                                                   \
        EQUAL(class_, class);                                                                     \
        if (ours())                                                                               \
            EQUAL(code_, handled_code);                                                           \
    } while (0)

static void on_comm(MPI_Comm *comm, int *code, ...)
{
    handled++;
    handled_code = *code;
    handled_comm = *comm;
}

static void on_win(MPI_Win *win, int *code, ...)
{
    handled++;
    handled_code = *code;
    handled_win = *win;
}

static void codes(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int length, class, added, code;
    RULE("MPI-4.1 9.4: every class has a text");
    for (int k = MPI_SUCCESS; k <= MPI_ERR_ERRHANDLER; k++) {
#ifdef MPICH_NAME
        if (k == 54)
            continue; /* MPICH's ABI has no such class */
#endif
        OK(MPI_Error_class(k, &class));
        EQUAL(class, k);
        OK(MPI_Error_string(k, text, &length));
        CHECK(length > 0 && (size_t)length == strlen(text));
    }
    RULE("MPI-4.1 9.5: a program adds classes and codes");
    OK(MPI_Add_error_class(&added));
    CHECK(added > MPI_ERR_LASTCODE);
    OK(MPI_Add_error_code(added, &code));
    CHECK(code != added);
    OK(MPI_Error_class(code, &class));
    EQUAL(class, added);
    OK(MPI_Error_string(code, text, &length));
    EQUAL(length, 0);
    OK(MPI_Add_error_string(code, "the reactor is too hot"));
    OK(MPI_Error_string(code, text, &length));
    CHECK(strcmp(text, "the reactor is too hot") == 0);
    if (ours()) {
        OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
        FAILS(MPI_ERR_OTHER, MPI_Remove_error_class(added));
        FAILS(MPI_ERR_OTHER, MPI_Remove_error_code(code));
        FAILS(MPI_ERR_ARG, MPI_Remove_error_code(MPI_ERR_ARG));
        FAILS(MPI_ERR_ARG, MPI_Error_class(-5, &class));
        FAILS(MPI_ERR_ARG, MPI_Add_error_string(MPI_ERR_TYPE, "x"));
        OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    }
    OK(MPI_Remove_error_string(code));
    OK(MPI_Remove_error_code(code));
    OK(MPI_Remove_error_class(added));
}

/* Before anything sets a handler of MPI_COMM_SELF. */
static void of_nothing(void)
{
    MPI_Errhandler handler;
    int size;
    RULE("MPI-4.1 9.3: without a handler of MPI_COMM_SELF, as before MPI-4");
    OK(MPI_Comm_create_errhandler(on_comm, &handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    handled = 0;
    RAISES(MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &size));
    RAISES(MPI_ERR_COMM, MPI_Comm_size(MPI_COMM_NULL, &size));
    CHECK(handled == 2 && handled_comm == MPI_COMM_WORLD);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &size));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
    RAISES(MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &size));
    CHECK(handled == 3 && handled_comm == MPI_COMM_SELF);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Errhandler_free(&handler));
}

static void says(int code, const char *const *words, const char *never)
{
    const char *text = sentence(code);
    CHECK(code != MPI_SUCCESS);
    for (; *words; words++)
        if (!strstr(text, *words))
            FAILED("no '%s' in: %s", *words, text);
    if (never && strstr(text, never))
        FAILED("'%s' in: %s", never, text);
    checks_passed++;
}

#define SAYS(never, call, ...) says(call, (const char *const[]){__VA_ARGS__, NULL}, never)

/* Values by the names that the program knows them by. */
static void texts(void)
{
    int *part;
    int numbers[6] = {0};
    double value = 1;
    MPI_Comm comm;
    MPI_Datatype rows;
    MPI_Win win = window(1, &part), none;
    RULE("MPI-4.1 9.4: what an error's text says");
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    /* Without names, what they are. */
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Type_vector(2, 1, 3, MPI_INT, &rows));
    OK(MPI_Type_commit(&rows));
    SAYS("win=0x", MPI_Win_lock(MPI_LOCK_SHARED, ranks, 0, win), "win=#");
    SAYS("datatype=0x", MPI_Send(numbers, 1, rows, ranks, 0, comm), "Vector", "MPI_INT");
    SAYS("comm=0x", MPI_Send(numbers, 1, rows, ranks, 0, comm), "comm=a communicator of ");
    OK(MPI_Type_free(&rows));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Win_set_name(win, "halo"));
    SAYS("4294967295", MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, win), "no rank MPI_PROC_NULL",
         "win=\"halo\"", "lock_type=MPI_LOCK_SHARED", "rank=MPI_PROC_NULL");
    SAYS("combination", MPI_Win_lock(MPI_LOCK_SHARED, 0, 1 << 30, win), "0x40000000",
         "only MPI_MODE_NOCHECK");
    SAYS(NULL, MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOPUT, win), "not take MPI_MODE_NOPUT",
         "only MPI_MODE_NOCHECK", "assert=MPI_MODE_NOPUT");
    SAYS(NULL, MPI_Win_fence(MPI_MODE_NOCHECK | MPI_MODE_NOPUT, win),
         "assert=MPI_MODE_NOCHECK | MPI_MODE_NOPUT");
    SAYS("rank -1", MPI_Send(&value, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD),
         "dest=MPI_ANY_SOURCE", "tag=MPI_ANY_TAG", "no rank MPI_ANY_SOURCE");
    SAYS(NULL, MPI_Put(&value, 1, MPI_DOUBLE, 0, 9, 1, MPI_DOUBLE, win), "origin_datatype=MPI_DOUBLE");
    SAYS("unit 0", MPI_Win_allocate(8, -4, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &none),
         "displacement unit -4", "comm=MPI_COMM_WORLD", "info=MPI_INFO_NULL");
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Win_free(&win));
}

/* Private memory that its owner has made read-only since. */
static void lost_memory(void)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    char *part = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Win win;
    CHECK(part != MAP_FAILED);
    OK(MPI_Win_create(part, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    mprotect(part, bytes, PROT_READ);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, behind(), 0, win));
    SAYS("ptrace_scope", MPI_Put("x", 1, MPI_CHAR, behind(), 0, 1, MPI_CHAR, win), "read-only");
    OK(MPI_Win_unlock(behind(), win));
    OK(MPI_Win_free(&win));
    munmap(part, bytes);
}

static void of_communicators(void)
{
    MPI_Errhandler handler, same;
    MPI_Comm comm, child;
    void *value;
    int size;
    RULE("MPI-4.1 9.3: a communicator's handler, and that of those made of it");
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
    CHECK(handler == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Errhandler_free(&handler));
    CHECK(handler == MPI_ERRHANDLER_NULL);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_errhandler(on_comm, &handler));
    OK(MPI_Comm_set_errhandler(comm, handler));
    OK(MPI_Comm_get_errhandler(comm, &same));
    CHECK(same == handler);
    OK(MPI_Errhandler_free(&same));
    OK(MPI_Errhandler_free(&handler));
    handled = 0;
    OK(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
    CHECK(handled == 1 && handled_code == MPI_ERR_OTHER && handled_comm == comm);
    RAISES(MPI_ERR_KEYVAL, MPI_Comm_get_attr(comm, MPI_KEYVAL_INVALID, &value, &size));
    CHECK(handled == 2 && handled_comm == comm);
    OK(MPI_Comm_dup(comm, &child));
    RAISES(MPI_ERR_KEYVAL, MPI_Comm_get_attr(child, MPI_KEYVAL_INVALID, &value, &size));
    CHECK(handled == 3 && handled_comm == child);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_call_errhandler(child, MPI_ERR_TAG));
    CHECK(handled == 4 && handled_code == MPI_ERR_TAG);
    OK(MPI_Comm_free(&child));

    RULE("MPI-4.1 9.3: what has no communicator is raised on that of the process");
    OK(MPI_Comm_create_errhandler(on_comm, &handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
    if (ours()) {
        RAISES(MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &size));
        CHECK(handled == 5 && handled_comm == MPI_COMM_SELF);
        RAISES(MPI_ERR_COMM, MPI_Comm_size(MPI_COMM_NULL, &size));
        CHECK(handled == 6 && handled_comm == MPI_COMM_SELF);
    }
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Errhandler_free(&handler));
}

static void of_windows(void)
{
    MPI_Errhandler handler, same, of_comm;
    int *part;
    MPI_Win win = window(1, &part);
    RULE("MPI-4.1 9.3: a window's handler is its own");
    OK(MPI_Win_get_errhandler(win, &handler));
    CHECK(handler == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Win_create_errhandler(on_win, &handler));
    OK(MPI_Win_set_errhandler(win, handler));
    handled = 0;
    RAISES(MPI_ERR_RMA_SYNC, MPI_Win_unlock(0, win));
    CHECK(handled == 1 && handled_win == win);
    OK(MPI_Win_call_errhandler(win, MPI_ERR_BASE));
    CHECK(handled == 2 && handled_code == MPI_ERR_BASE);
    if (ours()) {
        OK(MPI_Comm_create_errhandler(on_comm, &of_comm));
        RAISES(MPI_ERR_ERRHANDLER, MPI_Win_set_errhandler(win, of_comm));
        CHECK(handled == 3);
        OK(MPI_Errhandler_free(&of_comm));
        OK(MPI_Win_get_errhandler(win, &same));
        CHECK(same == handler);
        OK(MPI_Errhandler_free(&same));
        OK(MPI_Errhandler_free(&handler));
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        MPI_Win old = win;
        RAISES(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
        CHECK(handled == 4 && handled_win == old && win == old);
        OK(MPI_Win_unlock(0, win));
    } else {
        OK(MPI_Errhandler_free(&handler));
    }
    OK(MPI_Win_free(&win));
}

static void on_file(MPI_File *file, int *code, ...)
{
    CHECK(*file == MPI_FILE_NULL);
    handled++;
    handled_code = *code;
}

/* The handler of files that are opened is that of MPI_FILE_NULL, and returns. */
static void of_files(void)
{
    MPI_Errhandler handler, same;
    MPI_File file = MPI_FILE_NULL;
    RULE("MPI-4.1 14.7: handlers of files");
    OK(MPI_File_get_errhandler(MPI_FILE_NULL, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
    CHECK(MPI_File_open(MPI_COMM_SELF, "/no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) !=
          MPI_SUCCESS);
    CHECK(file == MPI_FILE_NULL);
    if (!ours())
        return;
    FAILS(MPI_ERR_NO_SUCH_FILE, MPI_File_delete("/no/such/file", MPI_INFO_NULL));
    OK(MPI_File_create_errhandler(on_file, &handler));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
    OK(MPI_File_get_errhandler(MPI_FILE_NULL, &same));
    CHECK(same == handler);
    OK(MPI_Errhandler_free(&same));
    OK(MPI_Errhandler_free(&handler));
    handled = 0;
    OK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_NO_SUCH_FILE));
    CHECK(handled == 1 && handled_code == MPI_ERR_NO_SUCH_FILE);
    RAISES(MPI_ERR_NO_SUCH_FILE, MPI_File_delete("/no/such/file", MPI_INFO_NULL));
    CHECK(handled == 2);
    RAISES(MPI_ERR_FILE, MPI_File_set_errhandler((MPI_File)MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK(handled == 3);
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
}

static void infos(void)
{
    MPI_Info info, copy;
    char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL];
    int number, flag, length;
    RULE("MPI-4.1 10: info objects");
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "no_locks", "true"));
    OK(MPI_Info_set(info, "wind", "north-east"));
    OK(MPI_Info_get_nkeys(info, &number));
    EQUAL(number, 2);
    length = 6;
    OK(MPI_Info_get_string(info, "wind", &length, value, &flag));
    CHECK(flag && length == 11 && strcmp(value, "north") == 0);
    length = 0;
    strcpy(value, "kept");
    OK(MPI_Info_get_string(info, "wind", &length, value, &flag));
    CHECK(flag && length == 11 && strcmp(value, "kept") == 0);
    length = 40;
    OK(MPI_Info_get_string(info, "rain", &length, value, &flag));
    CHECK(!flag && length == 40 && strcmp(value, "kept") == 0);
    OK(MPI_Info_get(info, "wind", ours() ? 5 : 10, value, &flag));
    CHECK(flag && strcmp(value, ours() ? "north" : "north-east") == 0);
    OK(MPI_Info_get_valuelen(info, "wind", &length, &flag));
    CHECK(flag && length == 10);
    OK(MPI_Info_dup(info, &copy));
    OK(MPI_Info_delete(info, "no_locks"));
    OK(MPI_Info_get_nthkey(info, 0, key));
    CHECK(strcmp(key, "wind") == 0);
    OK(MPI_Info_get_nthkey(copy, 0, key));
    CHECK(strcmp(key, "no_locks") == 0);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_INFO_NOKEY, MPI_Info_delete(info, "no_locks"));
    if (ours()) {
        char too_long[MPI_MAX_INFO_VAL + 1];
        memset(too_long, 'v', MPI_MAX_INFO_VAL);
        too_long[MPI_MAX_INFO_VAL] = 0;
        FAILS(MPI_ERR_INFO_VALUE, MPI_Info_set(info, "long", too_long));
        OK(MPI_Info_set(copy, "long", too_long + 1));
        FAILS(MPI_ERR_INFO_KEY, MPI_Info_set(info, "", "x"));
        FAILS(MPI_ERR_ARG, MPI_Info_get_nthkey(info, 1, key));
        FAILS(MPI_ERR_INFO, MPI_Info_set(MPI_INFO_NULL, "a", "b"));
        FAILS(MPI_ERR_INFO, MPI_Info_set(MPI_INFO_ENV, "a", "b"));
    }
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Info_free(&info));
    OK(MPI_Info_free(&copy));
    CHECK(info == MPI_INFO_NULL);
    OK(MPI_Info_get(MPI_INFO_ENV, "thread_level", MPI_MAX_INFO_VAL - 1, value, &flag));
    CHECK(!flag || strlen(value) > 0);
}

static void sessions(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int sets, length = 0, size;
    char name[MPI_MAX_PSET_NAME_LEN];
    RULE("MPI-4.1 11.3: sessions beside the world");
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets));
    CHECK(sets >= 2);
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, NULL));
    CHECK(length > 1 && length <= (int)sizeof name);
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, name));
    EQUAL(strlen(name) + 1, length);
    FAILS(MPI_ERR_ARG, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, sets, &length, name));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Group_size(group, &size));
    EQUAL(size, ranks);
    OK(MPI_Comm_create_from_group(group, "errors.c", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Comm_size(comm, &size));
    EQUAL(size, ranks);
    OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&group));
    OK(MPI_Session_finalize(&session));
    CHECK(session == MPI_SESSION_NULL);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (ours())
        of_nothing(), texts();
    if (ours() && ranks > 1)
        lost_memory();
    codes();
    of_communicators();
    of_windows();
    of_files();
    infos();
    sessions();
    return end();
}
