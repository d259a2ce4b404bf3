/* Data representations of files: "external32", and those of the program. */

#include "files.h"
#include <stdint.h>

#define BOTH (MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE)

/* Where this rank's part of the file begins. */
#define PART (256 * rank_here)

/* The bytes of this rank's part, as the operating system has them. */
static const unsigned char *bytes_of(const char *name)
{
    static unsigned char bytes[256];
    FILE *file = fopen(path_of(name), "rb");
    memset(bytes, 0xee, sizeof bytes);
    CHECK(file != NULL && fseek(file, PART, SEEK_SET) == 0);
    CHECK(fread(bytes, 1, sizeof bytes, file) > 0);
    fclose(file);
    return bytes;
}

static void view(MPI_File file, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep)
{
    OK(MPI_File_set_view(file, PART, etype, filetype, datarep, MPI_INFO_NULL));
}

static void external(void)
{
    static const unsigned char integers[8] = {1, 2, 3, 4, 0xff, 0xff, 0xff, 0xfe};
    /* 2.5 is 0x4004'0000'0000'0000. */
    static const unsigned char real[8] = {0x40, 4};
    MPI_File file = opened("external", BOTH);
    MPI_Status status;
    MPI_Aint extent;
    char name[MPI_MAX_DATAREP_STRING];
    MPI_Datatype etype, filetype;
    MPI_Offset disp;
    int numbers[2] = {0x01020304, -2}, got[3] = {7, 7, 7};
    double half = 2.5, back = 0;
    RULE("MPI-4.1 14.5.2: the bytes of numbers");
    view(file, MPI_INT, MPI_INT, "external32");
    OK(MPI_File_get_view(file, &disp, &etype, &filetype, name));
    CHECK(strcmp(name, "external32") == 0);
    OK(MPI_File_write_at_all(file, 0, numbers, 2, MPI_INT, &status));
    INTEGERS(status, 2);
    CHECK(memcmp(bytes_of("external"), integers, 8) == 0);
    OK(MPI_File_read_at_all(file, 0, got, 2, MPI_INT, &status));
    INTEGERS(status, 2);
    CHECK(got[0] == numbers[0] && got[1] == -2 && got[2] == 7);
    view(file, MPI_DOUBLE, MPI_DOUBLE, "external32");
    OK(MPI_File_write(file, &half, 1, MPI_DOUBLE, MPI_STATUS_IGNORE));
    CHECK(memcmp(bytes_of("external"), real, 8) == 0);
    OK(MPI_File_read_at(file, 0, &back, 1, MPI_DOUBLE, MPI_STATUS_IGNORE));
    REAL(back, 2.5);
    view(file, MPI_INT, MPI_INT, "native");
    OK(MPI_File_read_at(file, 0, got, 2, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(got[0] == 0x0440 && got[1] == 0);

    RULE("MPI-4.1 14.5.1: the extent of a datatype in the file");
    view(file, MPI_LONG, MPI_LONG, "external32");
    OK(MPI_File_get_type_extent(file, MPI_LONG, &extent));
    EQUAL(extent, 4);
    OK(MPI_File_get_type_extent(file, MPI_DOUBLE_INT, &extent));
    EQUAL(extent, 12);
    OK(MPI_File_close(&file));
}

/* Every second long of the file, from every third long of memory: four bytes there, and eight here. */
static void layouts(void)
{
    static const unsigned char expected[12] = {0, 0, 0, 1, 0xab, 0xab, 0xab, 0xab, 0, 0, 0, 2};
    MPI_File file = opened("layouts", BOTH);
    MPI_Status status;
    MPI_Datatype tile, third;
    MPI_Offset place;
    long numbers[6] = {1, -1, -1, 2, -1, -1}, got[6] = {0}, large = 1L << 40;
    char fill[16];
    int count, size = 2, subsize = 1, start = 0;
    RULE("MPI-4.1 14.5.2: a view with gaps");
    memset(fill, 0xab, sizeof fill);
    view(file, MPI_BYTE, MPI_BYTE, "native");
    OK(MPI_File_write_at_all(file, 0, fill, 16, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_Type_create_subarray(1, &size, &subsize, &start, MPI_ORDER_C, MPI_LONG, &tile));
    OK(MPI_Type_vector(2, 1, 3, MPI_LONG, &third));
    OK(MPI_Type_commit(&tile));
    OK(MPI_Type_commit(&third));
    view(file, MPI_LONG, tile, "external32");
    OK(MPI_File_write_all(file, numbers, 1, third, &status));
    OK(MPI_Get_elements(&status, third, &count));
    EQUAL(count, 2);
    CHECK(memcmp(bytes_of("layouts"), expected, 12) == 0);
    OK(MPI_File_get_position(file, &place));
    EQUAL(place, 2);
    OK(MPI_File_get_byte_offset(file, 1, &place));
    EQUAL(place, PART + 8);
    OK(MPI_File_read_at_all(file, 0, got, 1, third, &status));
    CHECK(got[0] == 1 && got[1] == 0 && got[3] == 2 && got[4] == 0);
    FAILS(MPI_ERR_VALUE_TOO_LARGE,
          MPI_File_write_at(file, 0, &large, 1, MPI_LONG, MPI_STATUS_IGNORE));
    CHECK(memcmp(bytes_of("layouts"), expected, 12) == 0);
    RULE("MPI-4.1 14.4.1: fewer numbers at the end of the file");
    OK(MPI_File_set_size(file, 256 * (ranks - 1) + 6));
    if (rank_here == ranks - 1) {
        got[0] = got[3] = 5;
        OK(MPI_File_read_at(file, 0, got, 1, third, &status));
        OK(MPI_Get_elements(&status, third, &count));
        EQUAL(count, 1);
        CHECK(got[0] == 1 && got[3] == 5);
    }
    OK(MPI_Type_free(&tile));
    OK(MPI_Type_free(&third));
    OK(MPI_File_close(&file));
}

/* A representation of the program: integers as eight digits. */
static int digits_asked;

static int extent_of(MPI_Datatype datatype, MPI_Aint *extent, void *extra)
{
    digits_asked += extra == &digits_asked;
    *extent = datatype == MPI_INT ? 8 : 1;
    return datatype == MPI_CHAR ? 77 : MPI_SUCCESS;
}

static int to_digits(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position,
                     void *extra)
{
    char text[9];
    if (datatype != MPI_INT || extra != &digits_asked)
        return 5;
    for (int k = 0; k < count; k++) {
        snprintf(text, sizeof text, "%08d", ((int *)user)[position + k]);
        memcpy((char *)file + 8 * k, text, 8);
    }
    return MPI_SUCCESS;
}

static int of_digits(void *user, MPI_Datatype datatype, MPI_Count count, void *file,
                     MPI_Offset position, void *extra)
{
    char text[9] = "";
    if (datatype != MPI_INT || extra != &digits_asked)
        return 5;
    for (MPI_Count k = 0; k < count; k++) {
        memcpy(text, (char *)file + 8 * k, 8);
        ((int *)user)[position + k] = atoi(text);
    }
    return MPI_SUCCESS;
}

static int of_digits_int(void *user, MPI_Datatype datatype, int count, void *file,
                         MPI_Offset position, void *extra)
{
    return of_digits(user, datatype, count, file, position, extra);
}

static int to_digits_large(void *user, MPI_Datatype datatype, MPI_Count count, void *file,
                           MPI_Offset position, void *extra)
{
    return to_digits(user, datatype, (int)count, file, position, extra);
}

static void own(const char *name)
{
    MPI_File file = opened("own", BOTH);
    MPI_Status status;
    MPI_Datatype tile;
    MPI_Aint extent;
    int numbers[2] = {42, 12345678}, got[3] = {7, 7, 7}, size = 2, subsize = 1, start = 0;
    float real = 1;
    RULE("MPI-4.1 14.5.3: a representation of the program");
    view(file, MPI_INT, MPI_INT, name);
    OK(MPI_File_get_type_extent(file, MPI_INT, &extent));
    EQUAL(extent, 8);
    OK(MPI_File_write_at_all(file, 0, numbers, 2, MPI_INT, &status));
    INTEGERS(status, 2);
    CHECK(memcmp(bytes_of("own"), "0000004212345678", 16) == 0);
    OK(MPI_Type_create_subarray(1, &size, &subsize, &start, MPI_ORDER_C, MPI_INT, &tile));
    OK(MPI_Type_commit(&tile));
    view(file, MPI_INT, tile, name);
    OK(MPI_File_read_at_all(file, 0, got, 1, MPI_INT, &status));
    CHECK(got[0] == 42 && got[1] == 7);
    OK(MPI_File_write_at_all(file, 1, numbers, 1, MPI_INT, &status));
    CHECK(memcmp(bytes_of("own"), "000000421234567800000042", 24) == 0);
    CHECK(digits_asked > 0);
    FAILS(MPI_ERR_CONVERSION, MPI_File_write_at(file, 0, &real, 8, MPI_FLOAT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_CONVERSION,
          MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, name, MPI_INFO_NULL));
    OK(MPI_Type_free(&tile));
    OK(MPI_File_close(&file));
}

static void registered(void)
{
    char longest[MPI_MAX_DATAREP_STRING + 1];
    int number = 3;
    RULE("MPI-4.1 14.5.3: MPI_Register_datarep");
    OK(MPI_Register_datarep("digits", of_digits_int, to_digits, extent_of, &digits_asked));
    OK(MPI_Register_datarep_c("large digits", of_digits, to_digits_large, extent_of,
                              &digits_asked));
    OK(MPI_Register_datarep("plain", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of,
                            NULL));
    FAILS(MPI_ERR_DUP_DATAREP, MPI_Register_datarep("digits", NULL, NULL, extent_of, NULL));
    FAILS(MPI_ERR_DUP_DATAREP, MPI_Register_datarep("native", NULL, NULL, extent_of, NULL));
    FAILS(MPI_ERR_ARG, MPI_Register_datarep("none", NULL, NULL, NULL, NULL));
    memset(longest, 'a', sizeof longest);
    longest[MPI_MAX_DATAREP_STRING] = 0;
    FAILS(MPI_ERR_ARG, MPI_Register_datarep(longest, NULL, NULL, extent_of, NULL));
    own("digits");
    own("large digits");
    MPI_File file = opened("plain", BOTH);
    view(file, MPI_BYTE, MPI_BYTE, "plain");
    OK(MPI_File_write_at_all(file, 0, &number, 4, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(memcmp(bytes_of("plain"), &number, 4) == 0);
    FAILS(MPI_ERR_CONVERSION, MPI_File_write_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
    if (ranks > 1) {
        const char *name = rank_here == 1 ? "external32" : "native";
        FAILS(MPI_ERR_NOT_SAME,
              MPI_File_set_view(file, 0, MPI_INT, MPI_INT, name, MPI_INFO_NULL));
    }
    OK(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    make_folder();
    /* Others have less: MPICH registers no functions that convert. */
    if (ours()) {
        external();
        layouts();
        registered();
    }
    remove_folder();
    return end();
}
