/* Files by the shared pointer, in order, split and nonblocking; atomic mode; sequential files. */

#include "files.h"

#define BOTH (MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE)

static void turn(MPI_File file)
{
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_sync(file));
}

static void shared(void)
{
    MPI_File file = opened("shared", BOTH);
    MPI_Status status;
    MPI_Offset at;
    int seen[64] = {0}, all[64], got[2];
    RULE("MPI-4.1 14.4.4: the shared file pointer");
    OK(MPI_File_set_view(file, 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int k = 0; k < 5; k++) {
        int pair[2] = {10 * rank_here + k, -(10 * rank_here + k)};
        OK(MPI_File_write_shared(file, pair, 2, MPI_INT, &status));
        INTEGERS(status, 2);
    }
    turn(file);
    OK(MPI_File_get_position_shared(file, &at));
    EQUAL(at, 10 * ranks);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    for (int k = 0; k < 5; k++) {
        OK(MPI_File_read_shared(file, got, 2, MPI_INT, &status));
        INTEGERS(status, 2);
        CHECK(got[0] == -got[1] && got[0] / 10 < ranks && got[0] % 10 < 5);
        seen[got[0]]++;
    }
    OK(MPI_Allreduce(seen, all, 64, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int k = 0; k < 10 * ranks && k < 64; k++)
        EQUAL(all[k], k % 10 < 5);
    OK(MPI_File_seek_shared(file, -2, MPI_SEEK_END));
    OK(MPI_File_get_position_shared(file, &at));
    EQUAL(at, 10 * ranks - 2);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_seek_shared(file, -1, MPI_SEEK_CUR));
    OK(MPI_File_get_position_shared(file, &at));
    EQUAL(at, 10 * ranks - 3);
    /* Under MPICH 5.0.2 only rank 0 sees it. */
    if (ours())
        FAILS(MPI_ERR_ARG, MPI_File_seek_shared(file, -1, MPI_SEEK_SET));
    if (ours() && ranks > 1) {
        FAILS(MPI_ERR_NOT_SAME, MPI_File_seek_shared(file, rank_here, MPI_SEEK_SET));
        FAILS(MPI_ERR_ARG, MPI_File_seek_shared(file, 0, rank_here == 1 ? 777 : MPI_SEEK_SET));
    }
    OK(MPI_File_get_position(file, &at));
    EQUAL(at, 0);
    OK(MPI_File_close(&file));
}

/* Rank r has r + 1 integers. */
static void ordered(void)
{
    MPI_File file = opened("ordered", BOTH);
    MPI_Status status;
    MPI_Offset at;
    int here[8], got[8], before = rank_here * (rank_here + 1) / 2;
    int all = ranks * (ranks + 1) / 2;
    RULE("MPI-4.1 14.4.4: in the order of the ranks");
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int k = 0; k <= rank_here; k++)
        here[k] = before + k;
    OK(MPI_File_write_ordered(file, here, rank_here + 1, MPI_INT, &status));
    INTEGERS(status, rank_here + 1);
    for (int k = 0; k <= rank_here; k++)
        here[k] += all;
    OK(MPI_File_write_ordered_begin(file, here, rank_here + 1, MPI_INT));
    OK(MPI_File_write_ordered_end(file, here, &status));
    INTEGERS(status, rank_here + 1);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_get_position_shared(file, &at));
    EQUAL(at, 2 * all);
    turn(file);
    for (int k = 0; k < 2 * all; k++) {
        OK(MPI_File_read_at(file, k, got, 1, MPI_INT, &status));
        EQUAL(got[0], k);
    }
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    OK(MPI_File_read_ordered(file, got, 1, MPI_INT, &status));
    EQUAL(got[0], rank_here);
    OK(MPI_File_read_ordered_begin(file, got, 1, MPI_INT));
    OK(MPI_File_read_ordered_end(file, got, &status));
    INTEGERS(status, 1);
    EQUAL(got[0], ranks + rank_here);
    if (ours()) {
        /* A rank whose call is refused does not keep the others waiting. */
        OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
        if (rank_here == 0)
            FAILS(MPI_ERR_COUNT, MPI_File_read_ordered(file, got, -1, MPI_INT, &status));
        else {
            OK(MPI_File_read_ordered(file, got, 1, MPI_INT, &status));
            EQUAL(got[0], rank_here - 1);
        }
    }
    OK(MPI_File_close(&file));
}

static void split(void)
{
    MPI_File file = opened("split", BOTH);
    MPI_Status status;
    int here[2] = {rank_here, rank_here + 50}, got[2];
    RULE("MPI-4.1 14.4.5: split collectives");
    OK(MPI_File_write_at_all_begin(file, 8 * rank_here, here, 2, MPI_INT));
    OK(MPI_File_write_at_all_end(file, here, &status));
    INTEGERS(status, 2);
    turn(file);
    OK(MPI_File_read_at_all_begin_c(file, 8 * behind(), got, 2, MPI_INT));
    OK(MPI_File_read_at_all_end(file, got, &status));
    INTEGERS(status, 2);
    CHECK(got[0] == behind() && got[1] == behind() + 50);
    OK(MPI_File_seek(file, 8 * (ranks + rank_here), MPI_SEEK_SET));
    OK(MPI_File_write_all_begin(file, here, 2, MPI_INT));
    OK(MPI_File_write_all_end(file, here, &status));
    OK(MPI_File_seek(file, 8 * (ranks + rank_here), MPI_SEEK_SET));
    OK(MPI_File_read_all_begin(file, got, 2, MPI_INT));
    if (ours()) {
        CHECK(MPI_File_read_all_begin(file, got, 2, MPI_INT) != MPI_SUCCESS);
        CHECK(MPI_File_write_all_end(file, got, &status) != MPI_SUCCESS);
        CHECK(MPI_File_read_all_end(file, here, &status) != MPI_SUCCESS);
        CHECK(MPI_File_close(&file) != MPI_SUCCESS);
    }
    OK(MPI_File_read_all_end(file, got, &status));
    INTEGERS(status, 2);
    CHECK(got[0] == here[0] && got[1] == here[1]);
    CHECK(MPI_File_read_all_end(file, got, &status) != MPI_SUCCESS);
    OK(MPI_File_close(&file));
}

static void nonblocking(void)
{
    MPI_File file = opened("nonblocking", BOTH);
    MPI_Request requests[4];
    MPI_Status statuses[4];
    MPI_Offset at;
    int here[4] = {rank_here, rank_here + 1, rank_here + 2, rank_here + 3}, got[4];
    RULE("MPI-4.1 14.4: nonblocking accesses");
    OK(MPI_File_iwrite_at(file, 16 * rank_here, here, 1, MPI_INT, &requests[0]));
    OK(MPI_File_iwrite_at_all(file, 16 * rank_here + 4, here + 1, 1, MPI_INT, &requests[1]));
    OK(MPI_File_seek(file, 16 * rank_here + 8, MPI_SEEK_SET));
    OK(MPI_File_iwrite(file, here + 2, 1, MPI_INT, &requests[2]));
    OK(MPI_File_iwrite_all(file, here + 3, 1, MPI_INT, &requests[3]));
    OK(MPI_Waitall(4, requests, statuses));
    for (int k = 0; k < 4; k++) {
        INTEGERS(statuses[k], 1);
        CHECK(requests[k] == MPI_REQUEST_NULL);
    }
    turn(file);
    OK(MPI_File_iread_at(file, 16 * rank_here, got, 1, MPI_INT, &requests[0]));
    OK(MPI_File_iread_at_all(file, 16 * rank_here + 4, got + 1, 1, MPI_INT, &requests[1]));
    OK(MPI_File_seek(file, 16 * rank_here + 8, MPI_SEEK_SET));
    OK(MPI_File_iread(file, got + 2, 1, MPI_INT, &requests[2]));
    OK(MPI_File_iread_all(file, got + 3, 1, MPI_INT, &requests[3]));
    OK(MPI_Waitall(4, requests, statuses));
    for (int k = 0; k < 4; k++)
        EQUAL(got[k], here[k]);
    OK(MPI_File_iread_shared(file, got, 1, MPI_INT, &requests[0]));
    OK(MPI_Wait(&requests[0], &statuses[0]));
    INTEGERS(statuses[0], 1);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_iwrite_shared(file, here, 1, MPI_INT, &requests[0]));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_get_position_shared(file, &at));
    EQUAL(at, 8 * ranks);
    OK(MPI_File_close(&file));
}

/* What a rank writes in atomic mode, another reads as a whole or not at all. */
static void atomic(void)
{
    enum { MANY = 20000, TIMES = 20 };
    MPI_File file = opened("atomic", BOTH);
    static int values[MANY];
    int is_atomic;
    RULE("MPI-4.1 14.6.1: atomic mode");
    OK(MPI_File_get_atomicity(file, &is_atomic));
    CHECK(!is_atomic);
    OK(MPI_File_set_size(file, sizeof values));
    OK(MPI_File_set_atomicity(file, 1));
    OK(MPI_File_get_atomicity(file, &is_atomic));
    CHECK(is_atomic);
    for (int time = 0; time < TIMES; time++) {
        if (rank_here == 0) {
            for (int k = 0; k < MANY; k++)
                values[k] = time;
            OK(MPI_File_write_at(file, 0, values, MANY, MPI_INT, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_File_read_at(file, 0, values, MANY, MPI_INT, MPI_STATUS_IGNORE));
            for (int k = 1; k < MANY; k++)
                if (values[k] != values[0])
                    EQUAL(values[k], values[0]);
        }
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_read_at(file, 0, values, MANY, MPI_INT, MPI_STATUS_IGNORE));
    EQUAL(values[MANY - 1], TIMES - 1);
    OK(MPI_File_close(&file));
}

static void sequential(void)
{
    MPI_File file = opened("sequential", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
    MPI_Status status;
    int here = rank_here, got = -1;
    RULE("MPI-4.1 14.2.1: MPI_MODE_SEQUENTIAL");
    OK(MPI_File_write_ordered(file, &here, 1, MPI_INT, &status));
    FAILS(MPI_ERR_UNSUPPORTED_OPERATION,
          MPI_File_write_at(file, 0, &here, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_UNSUPPORTED_OPERATION,
          MPI_File_write(file, &here, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_seek(file, 0, MPI_SEEK_SET));
    OK(MPI_File_close(&file));
    file = opened("sequential",
                  MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE);
    if (ours()) {
        /* The view goes on behind what has been read. */
        OK(MPI_File_read_ordered(file, &got, rank_here == 0, MPI_INT, &status));
        EQUAL(got, rank_here == 0 ? 0 : -1);
        OK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native",
                             MPI_INFO_NULL));
        OK(MPI_File_read_ordered(file, &got, rank_here + 1 < ranks, MPI_INT, &status));
        EQUAL(got, rank_here + 1 < ranks ? rank_here + 1 : ranks == 1 ? 0 : -1);
    } else {
        OK(MPI_File_read_ordered(file, &got, 1, MPI_INT, &status));
        EQUAL(got, rank_here);
    }
    OK(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    make_folder();
    shared();
    ordered();
    split();
    nonblocking();
    atomic();
    sequential();
    remove_folder();
    return end();
}
