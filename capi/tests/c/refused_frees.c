/* A call that is refused changes nothing: what it should have freed is there, and usable. */

#include "check.h"

static int deletions, refusals_left;

static int count_deletion(MPI_Win win, int keyval, void *value, void *extra)
{
    (void)keyval, (void)value, (void)extra;
    EQUAL(win != MPI_WIN_NULL, 1);
    if (refusals_left > 0) {
        refusals_left--;
        return MPI_ERR_OTHER;
    }
    deletions++;
    return MPI_SUCCESS;
}

static int refuse_comm(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    return refusals_left-- > 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int refuse_type(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type, (void)keyval, (void)value, (void)extra;
    return refusals_left-- > 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* A window in an epoch on one rank is refused on all, with its attributes. */
static void windows(void)
{
    RULE("MPI-4.1 2.8: windows");
    int *part, key, value = 5, one = 1, found, *kept;
    MPI_Win win = window(4, &part), same;
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, count_deletion, &key, NULL));
    OK(MPI_Win_set_attr(win, key, &value));
    if (rank_here == ranks - 1)
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    same = win;
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
    EQUAL(win == same, 1);
    EQUAL(deletions, 0);
    OK(MPI_Win_get_attr(win, key, &kept, &found));
    EQUAL(found && *kept == 5, 1);
    if (rank_here == ranks - 1) {
        OK(MPI_Put(&one, 1, MPI_INT, 0, 2, 1, MPI_INT, win));
        OK(MPI_Win_unlock(0, win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank_here == 0)
        EQUAL(part[2], 1);
    RULE("MPI-4.1 2.8: a function that refuses");
    refusals_left = rank_here == 0;
    FAILS(rank_here == 0 ? MPI_ERR_OTHER : MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
    EQUAL(win == same, 1);
    EQUAL(deletions, rank_here != 0);
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    OK(MPI_Put(&one, 1, MPI_INT, behind(), 3, 1, MPI_INT, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    EQUAL(part[3], 1);
    OK(MPI_Win_free(&win));
    EQUAL(win == MPI_WIN_NULL, 1);
    EQUAL(deletions, 1);
    OK(MPI_Win_free_keyval(&key));
}

/* The others: what is predefined, and what a function of an attribute keeps. */
static void others(void)
{
    RULE("MPI-4.1 2.8: others");
    MPI_Comm comm = MPI_COMM_WORLD, mine;
    MPI_Datatype type = MPI_INT, made;
    MPI_Op op = MPI_SUM;
    MPI_Info info = MPI_INFO_ENV;
    int key, size, value;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_COMM, MPI_Comm_free(&comm));
    EQUAL(comm == MPI_COMM_WORLD, 1);
    FAILS(MPI_ERR_COMM, MPI_Comm_disconnect(&comm));
    EQUAL(comm == MPI_COMM_WORLD, 1);
    FAILS(MPI_ERR_TYPE, MPI_Type_free(&type));
    EQUAL(type == MPI_INT, 1);
    FAILS(MPI_ERR_OP, MPI_Op_free(&op));
    EQUAL(op == MPI_SUM, 1);
    FAILS(MPI_ERR_INFO, MPI_Info_free(&info));
    EQUAL(info == MPI_INFO_ENV, 1);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &mine));
    OK(MPI_Comm_set_errhandler(mine, MPI_ERRORS_RETURN));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse_comm, &key, NULL));
    OK(MPI_Comm_set_attr(mine, key, &value));
    refusals_left = 1;
    comm = mine;
    FAILS(MPI_ERR_OTHER, MPI_Comm_free(&mine));
    EQUAL(mine == comm, 1);
    OK(MPI_Barrier(mine));
    OK(MPI_Comm_free(&mine));
    OK(MPI_Comm_free_keyval(&key));
    OK(MPI_Type_contiguous(3, MPI_INT, &made));
    OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, refuse_type, &key, NULL));
    OK(MPI_Type_set_attr(made, key, &value));
    refusals_left = 1;
    type = made;
    FAILS(MPI_ERR_OTHER, MPI_Type_free(&made));
    EQUAL(made == type, 1);
    OK(MPI_Type_size(made, &size));
    EQUAL(size, 12);
    OK(MPI_Type_free(&made));
    OK(MPI_Type_free_keyval(&key));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    windows();
    others();
    return end();
}
