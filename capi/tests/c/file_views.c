/* Views of files: filetypes with gaps, arrays, byte offsets, seeking in a view. */

#include "files.h"

#define BOTH (MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE)

static void turn(MPI_File file)
{
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_sync(file));
}

/* Each rank has every ranks-th integer, as in a table with a column for each. */
static void columns(void)
{
    MPI_File file = opened("columns", BOTH);
    MPI_Datatype column, etype, filetype;
    MPI_Status status;
    MPI_Offset at, disp;
    char name[MPI_MAX_DATAREP_STRING];
    int here[4], got[4], size, combiner, numbers[3];
    RULE("MPI-4.1 14.3: views");
    OK(MPI_Type_create_resized(MPI_INT, 0, 4 * ranks, &column));
    OK(MPI_Type_commit(&column));
    OK(MPI_File_set_view(file, 8 + 4 * rank_here, MPI_INT, column, "native", MPI_INFO_NULL));
    for (int k = 0; k < 4; k++)
        here[k] = 10 * k + rank_here;
    OK(MPI_File_write_all(file, here, 4, MPI_INT, &status));
    INTEGERS(status, 4);
    OK(MPI_File_get_position(file, &at));
    EQUAL(at, 4);
    turn(file);
    OK(MPI_File_get_byte_offset(file, 2, &disp));
    EQUAL(disp, 8 + 4 * rank_here + 8 * ranks);
    OK(MPI_File_seek(file, -1, MPI_SEEK_END));
    OK(MPI_File_get_position(file, &at));
    EQUAL(at, 3);
    OK(MPI_File_read(file, got, 1, MPI_INT, &status));
    INTEGERS(status, 1);
    EQUAL(got[0], 30 + rank_here);
    /* Of what begins with the second row, the last lies behind the end. */
    memset(got, 0xff, sizeof got);
    OK(MPI_File_read_at_all(file, 1, got, 4, MPI_INT, &status));
    INTEGERS(status, 3);
    CHECK(got[0] == 10 + rank_here && got[2] == 30 + rank_here && (got[3] == -1 || !ours()));

    RULE("MPI-4.1 14.3: MPI_File_get_view");
    OK(MPI_File_get_view(file, &disp, &etype, &filetype, name));
    EQUAL(disp, 8 + 4 * rank_here);
    CHECK(etype == MPI_INT && filetype != column && strcmp(name, "native") == 0);
    OK(MPI_Type_get_envelope(filetype, numbers, numbers + 1, numbers + 2, &combiner));
    OK(MPI_Type_size(filetype, &size));
    EQUAL(size, 4);
    OK(MPI_Type_free(&filetype));
    OK(MPI_Type_free(&column));
    OK(MPI_File_read_at(file, 0, got, 1, MPI_INT, &status));
    EQUAL(got[0], rank_here);

    RULE("MPI-4.1 14.3: a view of bytes");
    OK(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_get_position(file, &at));
    EQUAL(at, 0);
    for (int k = 0; k < 4 * ranks; k++) {
        OK(MPI_File_read(file, got, 1, MPI_INT, &status));
        EQUAL(got[0], k / ranks * 10 + k % ranks);
    }
    OK(MPI_File_close(&file));
}

/* Blocks of a matrix, by subarrays of it in the file and in memory. */
static void subarrays(void)
{
    MPI_File file = opened("matrix", BOTH);
    MPI_Datatype part, inside;
    int whole[2] = {4, 3 * ranks}, own[2] = {4, 3}, start[2] = {0, 3 * rank_here};
    int with_border[2] = {6, 5}, border[2] = {1, 1}, memory[6][5], got[6][5];
    MPI_Status status;
    RULE("MPI-4.1 14.9.2: a matrix of all ranks");
    OK(MPI_Type_create_subarray(2, whole, own, start, MPI_ORDER_C, MPI_INT, &part));
    OK(MPI_Type_create_subarray(2, with_border, own, border, MPI_ORDER_C, MPI_INT, &inside));
    OK(MPI_Type_commit(&part));
    OK(MPI_Type_commit(&inside));
    for (int k = 0; k < 30; k++)
        memory[k / 5][k % 5] = 1000 * rank_here + k;
    OK(MPI_File_set_view(file, 0, MPI_INT, part, "native", MPI_INFO_NULL));
    OK(MPI_File_write_all(file, memory, 1, inside, &status));
    INTEGERS(status, 12);
    OK(MPI_File_write_at_all(file, 12, memory, 1, inside, &status));
    turn(file);
    memset(got, 0xff, sizeof got);
    OK(MPI_File_read_at_all(file, 12, got, 1, inside, &status));
    INTEGERS(status, 12);
    for (int k = 0; k < 30; k++) {
        int is_inside = k / 5 >= 1 && k / 5 <= 4 && k % 5 >= 1 && k % 5 <= 3;
        EQUAL(got[k / 5][k % 5], is_inside ? memory[k / 5][k % 5] : -1);
    }
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int k = 0; k < 24 * ranks; k++) {
        int value, row = k / (3 * ranks) % 4, place = k % (3 * ranks);
        OK(MPI_File_read(file, &value, 1, MPI_INT, &status));
        INTEGERS(status, 1);
        EQUAL(value, 1000 * (place / 3) + 5 * (row + 1) + place % 3 + 1);
    }
    OK(MPI_Type_free(&part));
    OK(MPI_Type_free(&inside));
    OK(MPI_File_close(&file));
}

/* Many small pieces, of different sizes, some of them behind the end. */
static void small_pieces(void)
{
    enum { MANY = 30000 };
    MPI_File file = opened("pieces", BOTH);
    MPI_Datatype pieces, tile;
    MPI_Status status;
    static int all[8 * MANY], got[3 * MANY];
    int lengths[2] = {1, 2}, places[2] = {1, 4};
    RULE("MPI-4.1 14.3: small pieces");
    OK(MPI_Type_indexed(2, lengths, places, MPI_INT, &pieces));
    OK(MPI_Type_create_resized(pieces, 0, 8 * sizeof(int), &tile));
    OK(MPI_Type_commit(&tile));
    for (int k = 0; k < 8 * MANY; k++)
        all[k] = k;
    OK(MPI_File_write_at_all(file, 0, all, rank_here == 0 ? 8 * MANY - 12 : 0, MPI_INT, &status));
    turn(file);
    OK(MPI_File_set_view(file, 0, MPI_INT, tile, "native", MPI_INFO_NULL));
    memset(got, 0xff, sizeof got);
    OK(MPI_File_read_all(file, got, 3 * MANY, MPI_INT, &status));
    if (ours())
        INTEGERS(status, 3 * MANY - 5);
    for (int k = 0; k < 3 * MANY - 5; k++) {
        int place = k / 3 * 8 + (k % 3 == 0 ? 1 : k % 3 + 3);
        if (got[k] != place)
            EQUAL(got[k], place);
    }
    OK(MPI_Type_free(&pieces));
    OK(MPI_Type_free(&tile));
    OK(MPI_File_close(&file));
}

static void wrong_views(void)
{
    MPI_File file = opened("views", BOTH);
    MPI_Datatype three, backwards, own;
    MPI_Offset at;
    MPI_Aint extent;
    MPI_Count large;
    int numbers[4] = {0}, lengths[2] = {1, 1}, places[2] = {1, 0};
    RULE("MPI-4.1 14.3: what is no view");
    OK(MPI_Type_contiguous(3, MPI_BYTE, &three));
    OK(MPI_Type_commit(&three));
    OK(MPI_Type_indexed(2, lengths, places, MPI_INT, &backwards));
    OK(MPI_Type_commit(&backwards));
    OK(MPI_Type_contiguous(2, MPI_INT, &own));
    FAILS(MPI_ERR_ARG, MPI_File_set_view(file, -5, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    FAILS(MPI_ERR_ARG, MPI_File_set_view(file, 0, MPI_INT, three, "native", MPI_INFO_NULL));
    if (ours()) {
        FAILS(MPI_ERR_TYPE,
              MPI_File_set_view(file, 0, MPI_DATATYPE_NULL, MPI_INT, "native", MPI_INFO_NULL));
        FAILS(MPI_ERR_TYPE, MPI_File_set_view(file, 0, own, own, "native", MPI_INFO_NULL));
        FAILS(MPI_ERR_TYPE,
              MPI_File_set_view(file, 0, MPI_INT, backwards, "native", MPI_INFO_NULL));
        FAILS(MPI_ERR_ARG, MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT,
                                             "native", MPI_INFO_NULL));
        OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "internal", MPI_INFO_NULL));
    }
    FAILS(MPI_ERR_UNSUPPORTED_DATAREP,
          MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "no such", MPI_INFO_NULL));
    if (ours() && ranks > 1) {
        const char *name = rank_here == 1 ? "no such" : "native";
        FAILS(MPI_ERR_UNSUPPORTED_DATAREP,
              MPI_File_set_view(file, 0, MPI_INT, MPI_INT, name, MPI_INFO_NULL));
        MPI_Datatype other = rank_here == 1 ? MPI_DOUBLE : MPI_INT;
        FAILS(MPI_ERR_NOT_SAME,
              MPI_File_set_view(file, 0, other, other, "native", MPI_INFO_NULL));
    }
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    CHECK(MPI_File_write(file, numbers, 5, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_File_read(file, numbers, 5, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    OK(MPI_File_get_position(file, &at));
    EQUAL(at, 0);
    OK(MPI_File_get_type_extent(file, MPI_DOUBLE, &extent));
    EQUAL(extent, 8);
    OK(MPI_File_get_type_extent_c(file, three, &large));
    EQUAL(large, 3);
    OK(MPI_Type_free(&three));
    OK(MPI_Type_free(&backwards));
    OK(MPI_Type_free(&own));
    OK(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    make_folder();
    columns();
    subarrays();
    small_pieces();
    wrong_views();
    remove_folder();
    return end();
}
