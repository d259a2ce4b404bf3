/* Attributes: keys, copies, deletions, their order and their errors; the predefined ones. */

#include "check.h"

#define MOST 16

/* What the functions of keys were called for, in order. */
static struct {
    void *handle, *value, *extra;
    int keyval, copied;
} called[MOST];
static int calls;

static void note(void *handle, int keyval, void *value, void *extra, int copied)
{
    if (calls < MOST) {
        called[calls].handle = handle;
        called[calls].keyval = keyval;
        called[calls].value = value;
        called[calls].extra = extra;
        called[calls].copied = copied;
    }
    calls++;
}

static int copy_comm(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    note((void *)comm, keyval, in, extra, 1);
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_comm(MPI_Comm comm, int keyval, void *value, void *extra)
{
    note((void *)comm, keyval, value, extra, 0);
    return MPI_SUCCESS;
}

static int refuse_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval, (void)in, (void)out;
    *flag = 0;
    return *(int *)extra;
}

static int refuse_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value;
    return *(int *)extra;
}

static int delete_win(MPI_Win win, int keyval, void *value, void *extra)
{
    void *base;
    int flag = 0;
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag));
    CHECK(flag);
    note((void *)win, keyval, value, extra, 0);
    return MPI_SUCCESS;
}

static char values[8];
static int extra = 5;

static void *value_of_comm(MPI_Comm comm, int keyval)
{
    void *value = NULL;
    int flag = -1;
    OK(MPI_Comm_get_attr(comm, keyval, &value, &flag));
    CHECK(flag == 0 || flag == 1);
    return flag ? value : NULL;
}

static void copies_and_deletions(void)
{
    MPI_Comm comm, copy;
    int copied, shared, dropped;
    RULE("MPI-4.1 7.7.2: a duplicate has what the copy function says");
    OK(MPI_Comm_create_keyval(copy_comm, delete_comm, &copied, &extra));
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, delete_comm, &shared, NULL));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &dropped, NULL));
    CHECK(copied != shared && shared != dropped && copied != MPI_KEYVAL_INVALID);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK(value_of_comm(comm, copied) == NULL);
    OK(MPI_Comm_set_attr(comm, copied, &values[0]));
    OK(MPI_Comm_set_attr(comm, shared, &values[4]));
    OK(MPI_Comm_set_attr(comm, dropped, &values[6]));
    calls = 0;
    OK(MPI_Comm_dup(comm, &copy));
    EQUAL(calls, 1);
    CHECK(called[0].copied && called[0].handle == (void *)comm && called[0].keyval == copied);
    CHECK(called[0].extra == &extra && called[0].value == &values[0]);
    CHECK(value_of_comm(copy, copied) == &values[1]);
    CHECK(value_of_comm(copy, shared) == &values[4]);
    CHECK(value_of_comm(copy, dropped) == NULL);

    RULE("MPI-4.1 7.7.2: an attribute that is set again is deleted first");
    calls = 0;
    OK(MPI_Comm_set_attr(copy, copied, &values[2]));
    EQUAL(calls, 1);
    CHECK(!called[0].copied && called[0].value == &values[1] && called[0].handle == (void *)copy);

    RULE("MPI-4.1 7.7.2: a key that is freed lives on with its attributes");
    int freed = copied;
    OK(MPI_Comm_free_keyval(&freed));
    EQUAL(freed, MPI_KEYVAL_INVALID);
    calls = 0;
    void *handle = (void *)copy;
    OK(MPI_Comm_free(&copy));
    CHECK(copy == MPI_COMM_NULL);
    EQUAL(calls, 2);
    int first = called[0].keyval == copied ? 0 : 1;
    CHECK(called[first].keyval == copied && called[first].value == &values[2]);
    CHECK(called[!first].keyval == shared && called[!first].value == &values[4]);
    CHECK(called[0].handle == handle && called[1].handle == handle);
    OK(MPI_Comm_delete_attr(comm, dropped));
    CHECK(value_of_comm(comm, dropped) == NULL);
    OK(MPI_Comm_free_keyval(&dropped));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free_keyval(&shared));
}

/* Functions of one kind of object, as functions of any. */
#define FREED_KEYS(Kind, Type)                                                                    \
    static int delete_freed_##Type(Type object, int keyval, void *value, void *state)             \
    {                                                                                             \
        note((void *)object, keyval, value, state, 0);                                            \
        return MPI_SUCCESS;                                                                       \
    }                                                                                             \
                                                                                                  \
    static void freed_keys_of_##Type(Type object, Type other)                                     \
    {                                                                                             \
        int keyval, freed, flag = -1;                                                             \
        void *value = NULL;                                                                       \
        RULE("MPI-4.1 7.7.2: a key that is freed is one as long as attributes hold it");          \
        OK(MPI_##Kind##_create_keyval(MPI_##Kind##_NULL_COPY_FN, delete_freed_##Type, &keyval,    \
                                      &extra));                                                   \
        OK(MPI_##Kind##_set_attr(object, keyval, &values[1]));                                    \
        for (int k = 0; k < 2; k++) {                                                             \
            freed = keyval;                                                                       \
            OK(MPI_##Kind##_free_keyval(&freed));                                                 \
            EQUAL(freed, MPI_KEYVAL_INVALID);                                                     \
            OK(MPI_##Kind##_get_attr(object, keyval, &value, &flag));                             \
            CHECK(flag == 1 && value == &values[1]);                                              \
            OK(MPI_##Kind##_get_attr(other, keyval, &value, &flag));                              \
            EQUAL(flag, 0);                                                                       \
        }                                                                                         \
        calls = 0;                                                                                \
        OK(MPI_##Kind##_set_attr(object, keyval, &values[2]));                                    \
        OK(MPI_##Kind##_delete_attr(object, keyval));                                             \
        EQUAL(calls, 2);                                                                          \
        CHECK(called[0].value == &values[1] && called[1].value == &values[2]);                    \
        CHECK(called[1].handle == (void *)object && called[1].keyval == keyval);                  \
        if (ours()) {                                                                             \
            freed = keyval;                                                                       \
            FAILS(MPI_ERR_KEYVAL, MPI_##Kind##_get_attr(object, keyval, &value, &flag));          \
            FAILS(MPI_ERR_KEYVAL, MPI_##Kind##_delete_attr(object, keyval));                      \
            FAILS(MPI_ERR_KEYVAL, MPI_##Kind##_set_attr(object, keyval, &values[3]));             \
            FAILS(MPI_ERR_KEYVAL, MPI_##Kind##_free_keyval(&freed));                              \
            EQUAL(freed, keyval);                                                                 \
        }                                                                                         \
    }

#define MPI_Comm_NULL_COPY_FN MPI_COMM_NULL_COPY_FN
#define MPI_Win_NULL_COPY_FN MPI_WIN_NULL_COPY_FN
#define MPI_Type_NULL_COPY_FN MPI_TYPE_NULL_COPY_FN

FREED_KEYS(Comm, MPI_Comm)
FREED_KEYS(Win, MPI_Win)
FREED_KEYS(Type, MPI_Datatype)

static void freed_keys(void)
{
    int *part;
    MPI_Win first = window(1, &part), second = window(1, &part);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Win_set_errhandler(first, MPI_ERRORS_RETURN));
    freed_keys_of_MPI_Comm(MPI_COMM_WORLD, MPI_COMM_SELF);
    freed_keys_of_MPI_Win(first, second);
    freed_keys_of_MPI_Datatype(MPI_INT, MPI_DOUBLE);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Win_free(&first));
    OK(MPI_Win_free(&second));
}

static void refusals(void)
{
    MPI_Comm comm, copy = MPI_COMM_NULL;
    int keyval, code;
    RULE("MPI-4.1 7.7.2: the code of a function is that of the call");
    OK(MPI_Add_error_code(MPI_ERR_OTHER, &code));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Comm_create_keyval(refuse_copy, refuse_delete, &keyval, &code));
    OK(MPI_Comm_set_attr(comm, keyval, &values[0]));
    EQUAL(MPI_Comm_dup(comm, &copy), code);
    EQUAL(MPI_Comm_delete_attr(comm, keyval), code);
    CHECK(value_of_comm(comm, keyval) == &values[0]);
    if (ours()) {
        EQUAL(MPI_Comm_free(&comm), code);
        CHECK(comm != MPI_COMM_NULL);
    }
    code = MPI_SUCCESS;
    OK(MPI_Comm_delete_attr(comm, keyval));
    OK(MPI_Comm_free_keyval(&keyval));
    OK(MPI_Comm_free(&comm));
}

static void wrong_keys(void)
{
    int keyval, flag;
    void *value;
    RULE("MPI-4.1 7.7: what is no key of the object is refused");
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &value, &flag));
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &value));
    FAILS(MPI_ERR_COMM, MPI_Comm_get_attr(MPI_COMM_NULL, MPI_TAG_UB, &value, &flag));
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &keyval, NULL));
    if (ours()) {
        FAILS(MPI_ERR_KEYVAL, MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &value));
        FAILS(MPI_ERR_KEYVAL, MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value));
        FAILS(MPI_ERR_KEYVAL, MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_IO));
        flag = keyval;
        FAILS(MPI_ERR_KEYVAL, MPI_Comm_free_keyval(&flag));
        EQUAL(flag, keyval);
    }
    OK(MPI_Win_free_keyval(&keyval));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

static void windows(void)
{
    int *part, keyval, flag = 0;
    MPI_Win win = window(6, &part);
    void *value;
    RULE("MPI-4.1 12.2.7: what a window says of itself");
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag));
    CHECK(flag && value == part);
    OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &value, &flag));
    CHECK(flag && *(MPI_Aint *)value == 6 * (MPI_Aint)sizeof(int));
    OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &value, &flag));
    CHECK(flag && *(int *)value == sizeof(int));
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &flag));
    CHECK(flag && *(int *)value == MPI_WIN_FLAVOR_ALLOCATE);
    OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &value, &flag));
    CHECK(flag && *(int *)value == MPI_WIN_UNIFIED);

    RULE("MPI-4.1 7.7.3: a window's attributes are deleted while it is there");
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_win, &keyval, &extra));
    OK(MPI_Win_set_attr(win, keyval, &values[3]));
    OK(MPI_Win_get_attr(win, keyval, &value, &flag));
    CHECK(flag && value == &values[3]);
    calls = 0;
    void *handle = (void *)win;
    OK(MPI_Win_free(&win));
    EQUAL(calls, 1);
    CHECK(called[0].handle == handle && called[0].keyval == keyval);
    CHECK(called[0].value == &values[3] && called[0].extra == &extra);
    OK(MPI_Win_free_keyval(&keyval));
}

static void datatypes(void)
{
    int keyval, flag = -1;
    void *value = NULL;
    RULE("MPI-4.1 7.7.4: datatypes have attributes, predefined ones too");
    OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &keyval, NULL));
    OK(MPI_Type_get_attr(MPI_INT, keyval, &value, &flag));
    EQUAL(flag, 0);
    OK(MPI_Type_set_attr(MPI_INT, keyval, &values[5]));
    OK(MPI_Type_get_attr(MPI_INT, keyval, &value, &flag));
    CHECK(flag && value == &values[5]);
    OK(MPI_Type_delete_attr(MPI_INT, keyval));
    OK(MPI_Type_get_attr(MPI_INT, keyval, &value, &flag));
    EQUAL(flag, 0);
    OK(MPI_Type_free_keyval(&keyval));
    EQUAL(keyval, MPI_KEYVAL_INVALID);
}

static void predefined(void)
{
    int *value = NULL, flag = 0, code;
    RULE("MPI-4.1 9.1.2: what is known of the job");
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *value >= 32767);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag));
    CHECK(!flag || *value == 0 || *value == 1);
    if (flag && *value) {
        /* Each rank reads the clock behind the one before it. */
        double time = 0.0;
        MPI_Status status;
        if (rank_here > 0) {
            OK(MPI_Recv(&time, 1, MPI_DOUBLE, rank_here - 1, 7, MPI_COMM_WORLD, &status));
        }
        CHECK(MPI_Wtime() >= time);
        time = MPI_Wtime();
        if (rank_here + 1 < ranks) {
            OK(MPI_Send(&time, 1, MPI_DOUBLE, rank_here + 1, 7, MPI_COMM_WORLD));
        }
        double last = 0.0;
        OK(MPI_Allreduce(&time, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
        CHECK(last - time < 1000.0);
    }
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
    CHECK(!flag || *value >= ranks);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
    CHECK(flag && *value >= MPI_ERR_LASTCODE);
    OK(MPI_Add_error_class(&code));
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
    CHECK(flag && *value >= code && code > MPI_ERR_LASTCODE);
}

/* Runs in MPI_Finalize: everything still works. */
static int at_the_end(MPI_Comm comm, int keyval, void *value, void *extra_state)
{
    static int next = 2;
    int over = -1, mine = *(int *)value;
    (void)keyval, (void)extra_state;
    CHECK(comm == MPI_COMM_SELF);
    OK(MPI_Finalized(&over));
    EQUAL(over, 0);
    EQUAL(mine, next);
    next--;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mine == 0 && rank_here == 0)
        printf("deleted, the latest first\n");
    return MPI_SUCCESS;
}

/* One that refuses does not keep the process. */
static int stays(MPI_Comm comm, int keyval, void *value, void *extra_state)
{
    int begun;
    (void)comm, (void)keyval, (void)value, (void)extra_state;
    MPI_Initialized(&begun);
    return MPI_ERR_OTHER;
}

int main(int argc, char **argv)
{
    static int numbers[] = {0, 1, 2};
    int refusing;
    begin(&argc, &argv);
    if (ours()) {
        OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, stays, &refusing, NULL));
        OK(MPI_Comm_set_attr(MPI_COMM_SELF, refusing, NULL));
    }
    copies_and_deletions();
    freed_keys();
    refusals();
    wrong_keys();
    windows();
    datatypes();
    predefined();
    for (int k = 0; k < 3; k++) {
        int keyval;
        OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &keyval, NULL));
        OK(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &numbers[k]));
        OK(MPI_Comm_free_keyval(&keyval));
    }
    return end();
}
