/* Files: opening, modes, errors, sizes, and accesses at offsets and by the individual pointer. */

#include "files.h"

#define BOTH (MPI_MODE_CREATE | MPI_MODE_RDWR)

static void modes(void)
{
    MPI_File file = MPI_FILE_NULL;
    int amode;
    RULE("MPI-4.1 14.2.1: access modes");
    const int wrong[] = {
        0, MPI_MODE_CREATE, MPI_MODE_RDONLY | MPI_MODE_WRONLY, MPI_MODE_RDONLY | MPI_MODE_RDWR,
        MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_MODE_RDONLY | MPI_MODE_EXCL,
        MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL,
    };
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++)
        FAILS(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, path_of("modes"), wrong[k],
                                           MPI_INFO_NULL, &file));
    FAILS(MPI_ERR_NO_SUCH_FILE, MPI_File_open(MPI_COMM_WORLD, path_of("modes"), MPI_MODE_RDONLY,
                                              MPI_INFO_NULL, &file));
    FAILS(MPI_ERR_NO_SUCH_FILE, MPI_File_open(MPI_COMM_WORLD, path_of("modes"), MPI_MODE_RDWR,
                                              MPI_INFO_NULL, &file));
    /* MPICH 5.0.2 writes something else there. */
    CHECK(file == MPI_FILE_NULL || !ours());
    file = opened("modes", MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY);
    OK(MPI_File_get_amode(file, &amode));
    EQUAL(amode, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY);
    OK(MPI_File_close(&file));
    CHECK(file == MPI_FILE_NULL);
    FAILS(MPI_ERR_FILE_EXISTS,
          MPI_File_open(MPI_COMM_WORLD, path_of("modes"),
                        MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    file = opened("modes", BOTH | MPI_MODE_UNIQUE_OPEN | MPI_MODE_DELETE_ON_CLOSE);
    EQUAL(size_of("modes"), 0);
    OK(MPI_File_close(&file));
    EQUAL(size_of("modes"), -1);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (ours()) {
        FAILS(MPI_ERR_BAD_FILE, MPI_File_open(MPI_COMM_WORLD, path_of(""), MPI_MODE_RDONLY,
                                              MPI_INFO_NULL, &file));
        FAILS(MPI_ERR_BAD_FILE,
              MPI_File_open(MPI_COMM_WORLD, "", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
        FAILS(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, path_of("modes"),
                                           MPI_MODE_RDWR | 1 << 30, MPI_INFO_NULL, &file));
    }
    if (ours() && ranks > 1) {
        int differs = rank_here == 1 ? MPI_MODE_RDWR : MPI_MODE_WRONLY;
        FAILS(MPI_ERR_NOT_SAME, MPI_File_open(MPI_COMM_WORLD, path_of("modes"),
                                              differs | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
        /* It fails on all ranks if it fails on one. */
        int amode = rank_here == 1 ? 0 : MPI_MODE_WRONLY;
        FAILS(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, path_of("modes"),
                                           amode | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
        EQUAL(size_of("modes"), -1);
    }
}

static int copied;

static int copy(MPI_Comm comm, int key, void *extra, void *from, void *to, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)from, (void)to;
    copied++;
    *flag = 0;
    return MPI_SUCCESS;
}

/* The communicator may go before the file, and its attributes are not copied. */
static void communicators(void)
{
    MPI_Comm comm, between;
    MPI_File file;
    int key;
    RULE("MPI-4.1 14.2.1: the communicator of a file");
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Comm_set_attr(comm, key, &key));
    OK(MPI_File_open(comm, path_of("comm"), BOTH | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    CHECK(copied == 0 || !ours());
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free_keyval(&key));
    OK(MPI_File_write_ordered(file, &copied, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&file));
    if (ours() && ranks > 1) {
        OK(MPI_Comm_split(MPI_COMM_WORLD, rank_here == 0, 0, &comm));
        OK(MPI_Intercomm_create(comm, 0, MPI_COMM_WORLD, rank_here == 0, 7, &between));
        FAILS(MPI_ERR_COMM, MPI_File_open(between, path_of("comm"), BOTH, MPI_INFO_NULL, &file));
        OK(MPI_Comm_free(&between));
        OK(MPI_Comm_free(&comm));
        FAILS(MPI_ERR_COMM, MPI_File_open(MPI_COMM_NULL, path_of("comm"), BOTH, MPI_INFO_NULL,
                                          &file));
    }
}

static void deletion(void)
{
    RULE("MPI-4.1 14.2.3: MPI_File_delete");
    MPI_File file;
    /* All ranks but one open the same file. */
    OK(MPI_File_open(MPI_COMM_SELF, path_of(rank_here ? "b" : "a"), BOTH, MPI_INFO_NULL, &file));
    OK(MPI_File_close(&file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank_here == 0) {
        OK(MPI_File_delete(path_of("a"), MPI_INFO_NULL));
        FAILS(MPI_ERR_NO_SUCH_FILE, MPI_File_delete(path_of("a"), MPI_INFO_NULL));
        if (ranks > 1)
            OK(MPI_File_delete(path_of("b"), MPI_INFO_NULL));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void sizes(void)
{
    MPI_File file = opened("sizes", BOTH | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Offset size;
    MPI_Group group, world;
    MPI_Info info;
    int same;
    RULE("MPI-4.1 14.2.4: sizes");
    OK(MPI_File_set_size(file, 1000));
    OK(MPI_File_get_size(file, &size));
    EQUAL(size, 1000);
    EQUAL(size_of("sizes"), 1000);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_preallocate(file, 500));
    OK(MPI_File_get_size(file, &size));
    EQUAL(size, 1000);
    OK(MPI_File_preallocate(file, 5000));
    OK(MPI_File_get_size(file, &size));
    EQUAL(size, 5000);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_set_size(file, 10));
    OK(MPI_File_get_size(file, &size));
    EQUAL(size, 10);
    FAILS(MPI_ERR_ARG, MPI_File_set_size(file, -1));
    if (ours() && ranks > 1) {
        FAILS(MPI_ERR_NOT_SAME, MPI_File_set_size(file, 20 + rank_here));
        FAILS(MPI_ERR_ARG, MPI_File_set_size(file, rank_here ? 20 : -1));
        EQUAL(size_of("sizes"), 10);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    RULE("MPI-4.1 14.2.7: what a file is");
    OK(MPI_File_get_group(file, &group));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_compare(group, world, &same));
    EQUAL(same, MPI_IDENT);
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&world));
    OK(MPI_File_set_info(file, MPI_INFO_NULL));
    OK(MPI_File_get_info(file, &info));
    CHECK(info != MPI_INFO_NULL);
    OK(MPI_Info_free(&info));
    OK(MPI_File_close(&file));
}

static void offsets(void)
{
    MPI_File file = opened("offsets", BOTH | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Status status;
    int here[3] = {rank_here, rank_here + 100, rank_here + 200}, got[3] = {-1, -1, -1};
    RULE("MPI-4.1 14.4.2: explicit offsets");
    OK(MPI_File_write_at(file, 12 * rank_here, here, 3, MPI_INT, &status));
    INTEGERS(status, 3);
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_sync(file));
    OK(MPI_File_read_at_all(file, 12 * behind(), got, 3, MPI_INT, &status));
    INTEGERS(status, 3);
    for (int k = 0; k < 3; k++)
        EQUAL(got[k], behind() + 100 * k);
    /* The last integer is there, and behind it is nothing. */
    got[0] = got[1] = -1;
    OK(MPI_File_read_at(file, 12 * ranks - 4, got, 3, MPI_INT, &status));
    INTEGERS(status, 1);
    CHECK(got[0] == ranks - 1 + 200 && got[1] == -1);
    OK(MPI_File_read_at(file, 12 * ranks, got, 3, MPI_INT, &status));
    INTEGERS(status, 0);
    OK(MPI_File_write_at_all(file, 0, here, 0, MPI_INT, &status));
    INTEGERS(status, 0);
    FAILS(MPI_ERR_ARG, MPI_File_write_at(file, -1, here, 3, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_COUNT, MPI_File_write_at(file, 0, here, -1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_TYPE,
          MPI_File_write_at(file, 0, here, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE));
    if (ours()) {
        /* Where no file ends. */
        MPI_Offset last = 0x7ffffffffffffff8, before, after;
        OK(MPI_File_get_size(file, &before));
        FAILS(MPI_ERR_ARG, MPI_File_write_at(file, last, here, 3, MPI_INT, MPI_STATUS_IGNORE));
        FAILS(MPI_ERR_ARG, MPI_File_read_at(file, last, got, 3, MPI_INT, MPI_STATUS_IGNORE));
        OK(MPI_File_get_size(file, &after));
        EQUAL(after, before);
    }
    /* Above two and four GiB. */
    OK(MPI_Barrier(MPI_COMM_WORLD));
    MPI_Offset far = ((MPI_Offset)5 << 30) + 8 * rank_here;
    OK(MPI_File_write_at_all_c(file, far, here, 2, MPI_INT, &status));
    INTEGERS(status, 2);
    got[0] = got[1] = -1;
    OK(MPI_File_read_at_c(file, far, got, 2, MPI_INT, &status));
    CHECK(got[0] == here[0] && got[1] == here[1]);
    OK(MPI_File_close(&file));
}

static void individual(void)
{
    MPI_File file = opened("individual", BOTH);
    MPI_Status status;
    MPI_Offset at;
    int here[2] = {rank_here, -rank_here}, got[4] = {7, 7, 7, 7};
    RULE("MPI-4.1 14.4.3: individual file pointers");
    OK(MPI_File_seek(file, 8 * rank_here, MPI_SEEK_SET));
    OK(MPI_File_write(file, here, 1, MPI_INT, &status));
    INTEGERS(status, 1);
    OK(MPI_File_get_position(file, &at));
    EQUAL(at, 8 * rank_here + 4);
    OK(MPI_File_write_all(file, here + 1, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_sync(file));
    OK(MPI_File_seek(file, -8, MPI_SEEK_END));
    OK(MPI_File_get_position(file, &at));
    EQUAL(at, 8 * ranks - 8);
    OK(MPI_File_read(file, got, 2, MPI_INT, &status));
    INTEGERS(status, 2);
    CHECK(got[0] == ranks - 1 && got[1] == 1 - ranks && got[2] == 7);
    OK(MPI_File_read(file, got, 2, MPI_INT, &status));
    INTEGERS(status, 0);
    OK(MPI_File_seek(file, 8 * behind(), MPI_SEEK_SET));
    OK(MPI_File_seek(file, 4, MPI_SEEK_CUR));
    OK(MPI_File_read_all(file, got, 1, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(got[0], -behind());
    FAILS(MPI_ERR_ARG, MPI_File_seek(file, -1, MPI_SEEK_SET));
    FAILS(MPI_ERR_ARG, MPI_File_seek(file, 0, 12345));
    OK(MPI_File_close(&file));

    RULE("MPI-4.1 14.2.1: MPI_MODE_APPEND");
    file = opened("individual", MPI_MODE_APPEND | MPI_MODE_RDWR);
    OK(MPI_File_get_position(file, &at));
    EQUAL(at, 8 * ranks);
    OK(MPI_File_get_position_shared(file, &at));
    EQUAL(at, 8 * ranks);
    OK(MPI_File_close(&file));

    RULE("MPI-4.1 14.2.1: what an access mode forbids");
    file = opened("individual", MPI_MODE_RDONLY);
    FAILS(MPI_ERR_READ_ONLY, MPI_File_write(file, here, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_READ_ONLY, MPI_File_set_size(file, 100));
    OK(MPI_File_close(&file));
    file = opened("individual", MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE);
    FAILS(MPI_ERR_ACCESS, MPI_File_read(file, got, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_preallocate(file, 8 * ranks + 100));
    EQUAL(size_of("individual"), 8 * ranks + 100);
    OK(MPI_File_close(&file));
}

/* A buffer with gaps; what is behind the end of the file stays as it was. */
static void gaps(void)
{
    MPI_File file;
    MPI_Datatype gap;
    MPI_Status status;
    int from[6] = {1, 2, 3, 4, 5, 6}, to[6] = {0};
    RULE("MPI-4.1 14.4: derived datatypes in memory");
    OK(MPI_Type_vector(3, 1, 2, MPI_INT, &gap));
    char name[30];
    snprintf(name, sizeof name, "gaps-%d", rank_here);
    OK(MPI_File_open(MPI_COMM_SELF, path_of(name), BOTH | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                     &file));
    FAILS(MPI_ERR_TYPE, MPI_File_write(file, from, 1, gap, MPI_STATUS_IGNORE));
    OK(MPI_Type_commit(&gap));
    OK(MPI_File_write(file, from, 1, gap, &status));
    INTEGERS(status, 3);
    OK(MPI_File_read_at(file, 4, to, 1, gap, &status));
    CHECK(to[0] == 3 && to[1] == 0 && to[2] == 5 && to[3] == 0);
    /* MPICH 5.0.2 counts what is not there, and writes it. */
    if (ours()) {
        INTEGERS(status, 2);
        EQUAL(to[4], 0);
    }
    OK(MPI_Type_free(&gap));
    OK(MPI_File_close(&file));
}

static int handled;
static MPI_File handled_file;

static void on_file(MPI_File *file, int *code, ...)
{
    int class;
    OK(MPI_Error_class(*code, &class));
    EQUAL(class, MPI_ERR_ARG);
    handled_file = *file;
    handled++;
}

static void handlers(void)
{
    MPI_File file = opened("handlers", BOTH | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Errhandler handler, found;
    RULE("MPI-4.1 14.7: error handlers of files");
    OK(MPI_File_get_errhandler(file, &found));
    CHECK(found == MPI_ERRORS_RETURN);
    OK(MPI_File_create_errhandler(on_file, &handler));
    OK(MPI_File_set_errhandler(file, handler));
    OK(MPI_File_get_errhandler(file, &found));
    CHECK(found == handler);
    OK(MPI_Errhandler_free(&found));
    OK(MPI_Errhandler_free(&handler));
    int code = MPI_File_seek(file, -1, MPI_SEEK_SET);
    /* MPICH 5.0.2 forgets the code behind a handler. */
    CHECK(code == MPI_ERR_ARG || !ours());
    CHECK(handled == 1 && handled_file == file);
    OK(MPI_File_call_errhandler(file, MPI_ERR_ARG));
    CHECK(handled == 2 && handled_file == file);
    OK(MPI_File_close(&file));
    if (ours()) {
        FAILS(MPI_ERR_FILE, MPI_File_close(&file));
        EQUAL(handled, 2);
        FAILS(MPI_ERR_FILE, MPI_File_sync(MPI_FILE_NULL));
        /* The device of which nothing can be written. */
        OK(MPI_File_open(MPI_COMM_SELF, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
        FAILS(MPI_ERR_NO_SPACE, MPI_File_write(file, &handled, 1, MPI_INT, MPI_STATUS_IGNORE));
        OK(MPI_File_close(&file));
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    make_folder();
    modes();
    communicators();
    deletion();
    sizes();
    offsets();
    individual();
    gaps();
    handlers();
    remove_folder();
    return end();
}
