/* MPI-2.2 §11.6: error handlers and classes. What a wrong call does is the library's own business, so the
   classes are looked at on onesided alone. */

#include "check.h"
#include <stdint.h>

static int told, told_class;
static MPI_Win told_of;

static void on_error(MPI_Win *win, int *code, ...)
{
    told++;
    told_of = *win;
    MPI_Error_class(*code, &told_class);
}

static int told_by_comm;

static void on_error_of_comm(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    told_by_comm += *comm == MPI_COMM_WORLD;
}

static void handlers(void)
{
    int *part, code = 0;
    MPI_Errhandler of_win, of_comm, found;
    MPI_Win win = window(1, &part), none;
    RULE("11.6-3");
    OK(MPI_Win_get_errhandler(win, &found));
    CHECK(found == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found));
    CHECK(found == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Win_create_errhandler(on_error, &of_win));
    OK(MPI_Win_set_errhandler(win, of_win));
    OK(MPI_Win_get_errhandler(win, &found));
    CHECK(found == of_win);
    OK(MPI_Errhandler_free(&found));
    OK(MPI_Errhandler_free(&of_win));
    CHECK(of_win == MPI_ERRHANDLER_NULL);
    RULE("11.6-2");
    OK(MPI_Win_call_errhandler(win, MPI_ERR_RMA_SYNC));
    EQUAL(told, 1);
    EQUAL(told_class, MPI_ERR_RMA_SYNC);
    CHECK(told_of == win);
    if (ours()) {
        OK(MPI_Win_fence(0, win));
        code = MPI_Put(part, 1, MPI_INT, ranks, 0, 1, MPI_INT, win);
        CHECK(code != MPI_SUCCESS);
        EQUAL(told, 2);
        EQUAL(told_class, MPI_ERR_RANK);
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        RULE("11.6-1");
        OK(MPI_Comm_create_errhandler(on_error_of_comm, &of_comm));
        OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_comm));
        FAILS(MPI_ERR_DISP, MPI_Win_create(part, 4, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &none));
        EQUAL(told_by_comm, 1);
        OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
        OK(MPI_Errhandler_free(&of_comm));
    }
    OK(MPI_Win_free(&win));
}

static void arguments_of_operations(MPI_Win win, int *part)
{
    int mine[2] = {1, 2}, was;
    MPI_Datatype open;
    MPI_Request request;
    OK(MPI_Type_contiguous(2, MPI_INT, &open));
    RULE("11.6-WIN");
    FAILS(MPI_ERR_WIN, MPI_Put(mine, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL));
    FAILS(MPI_ERR_WIN, MPI_Win_fence(0, MPI_WIN_NULL));
    FAILS(MPI_ERR_WIN, MPI_Win_fence(0, (MPI_Win)MPI_COMM_WORLD));
    FAILS(MPI_ERR_WIN, MPI_Win_fence(0, (MPI_Win)(intptr_t)0x7fff12345678));
    FAILS(MPI_ERR_WIN, MPI_Win_free(&(MPI_Win){MPI_WIN_NULL}));
    OK(MPI_Win_fence(0, win));
    FAILS(MPI_ERR_RANK, MPI_Put(mine, 1, MPI_INT, -7, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_RANK, MPI_Get(mine, 1, MPI_INT, ranks, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_COUNT, MPI_Put(mine, -1, MPI_INT, 0, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_COUNT, MPI_Get(mine, 1, MPI_INT, 0, 0, -1, MPI_INT, win));
    FAILS(MPI_ERR_TYPE, MPI_Put(mine, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, win));
    RULE("11.4.5-3");
    FAILS(MPI_ERR_TYPE, MPI_Put(mine, 1, open, 0, 0, 2, MPI_INT, win));
    FAILS(MPI_ERR_OP, MPI_Accumulate(mine, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, win));
    FAILS(MPI_ERR_OP, MPI_Fetch_and_op(mine, &was, MPI_INT, 0, 0, (MPI_Op)MPI_INT, win));
    RULE("11.6-DISP; 11.6-RMA_RANGE");
    CHECK(MPI_Put(mine, 1, MPI_INT, 0, -1, 1, MPI_INT, win) != MPI_SUCCESS);
    FAILS(MPI_ERR_RMA_RANGE, MPI_Put(mine, 2, MPI_INT, 0, 3, 2, MPI_INT, win));
    RULE("11.6-RMA_CONFLICT");
    FAILS(MPI_ERR_RMA_CONFLICT, MPI_Put(part, 2, MPI_INT, rank_here, 1, 2, MPI_INT, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    RULE("11.6-RMA_SYNC");
    FAILS(MPI_ERR_RMA_SYNC,
          MPI_Rput(mine, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &request));
    OK(MPI_Type_free(&open));
    RULE("11.6-4");
    for (int i = 0; i < 4; i++)
        EQUAL(part[i], 0);
}

static void arguments_of_synchronisation(MPI_Win win)
{
    RULE("11.6-LOCKTYPE");
    FAILS(MPI_ERR_LOCKTYPE, MPI_Win_lock(0, 0, 0, win));
    FAILS(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, ranks, 0, win));
    FAILS(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, -1, 0, win));
    RULE("11.6-ASSERT");
    FAILS(MPI_ERR_ASSERT, MPI_Win_lock(MPI_LOCK_SHARED, 0, 1, win));
    FAILS(MPI_ERR_GROUP, MPI_Win_post(MPI_GROUP_NULL, 0, win));
    FAILS(MPI_ERR_GROUP, MPI_Win_start((MPI_Group)MPI_INT, 0, win));
    FAILS(MPI_ERR_RANK, MPI_Win_unlock(ranks, win));
}

static void arguments_of_creation(void)
{
    int memory[4];
    void *base;
    MPI_Win win;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    RULE("11.6-SIZE");
    FAILS(MPI_ERR_SIZE, MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FAILS(MPI_ERR_SIZE, MPI_Win_allocate(-1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    FAILS(MPI_ERR_SIZE,
          MPI_Win_create(memory, PTRDIFF_MAX, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_SIZE, MPI_Win_attach(win, memory, -1));
    FAILS(MPI_ERR_SIZE, MPI_Win_attach(win, memory, PTRDIFF_MAX));
    OK(MPI_Win_attach(win, memory, sizeof memory));
    OK(MPI_Win_detach(win, memory));
    OK(MPI_Win_free(&win));
    RULE("11.6-DISP");
    FAILS(MPI_ERR_DISP, MPI_Win_create(memory, 4, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FAILS(MPI_ERR_DISP, MPI_Win_allocate(4, -1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    RULE("11.6-BASE");
    FAILS(MPI_ERR_BASE, MPI_Win_create(NULL, 4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FAILS(MPI_ERR_COMM, MPI_Win_create(memory, 4, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win));
    FAILS(MPI_ERR_INFO, MPI_Win_create(memory, 4, 1, (MPI_Info)MPI_SUM, MPI_COMM_WORLD, &win));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

static void flavours(MPI_Win win)
{
    int memory;
    RULE("11.6-RMA_FLAVOR");
    FAILS(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(win, &memory, sizeof memory));
    FAILS(MPI_ERR_RMA_FLAVOR, MPI_Win_detach(win, &memory));
}

/* A handle that was freed is no handle any more, also if a window is made meanwhile. */
static void freed(void)
{
    int *part;
    MPI_Win win = window(1, &part), old = win;
    RULE("11.6-WIN");
    OK(MPI_Win_free(&win));
    win = window(1, &part);
    FAILS(MPI_ERR_WIN, MPI_Win_fence(0, old));
    FAILS(MPI_ERR_WIN, MPI_Win_free(&old));
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    int *part;
    begin(&argc, &argv);
    handlers();
    if (ours()) {
        MPI_Win win = window(4, &part);
        OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
        /* Errors of calls without a good window are raised on the world. */
        OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
        arguments_of_operations(win, part);
        arguments_of_synchronisation(win);
        flavours(win);
        freed();
        arguments_of_creation();
        OK(MPI_Win_free(&win));
    }
    return end();
}
