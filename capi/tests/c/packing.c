/* Packing, packing to "external32", and what a status says of elements. */

#include "check.h"

static void packed_and_back(void)
{
    int matrix[4][6], again[4][6], size, position = 0;
    char buffer[256], *text = "three", read[6];
    MPI_Datatype column;
    OK(MPI_Type_vector(4, 1, 6, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    for (int k = 0; k < 24; k++) {
        matrix[k / 6][k % 6] = k;
        again[k / 6][k % 6] = -1;
    }
    OK(MPI_Pack_size(1, column, MPI_COMM_WORLD, &size));
    CHECK(size >= 16);
    OK(MPI_Pack(&matrix[0][2], 1, column, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    CHECK(position > 0 && position <= size);
    OK(MPI_Pack(text, 6, MPI_CHAR, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    size = position;
    position = 0;
    OK(MPI_Unpack(buffer, size, &position, &again[0][2], 1, column, MPI_COMM_WORLD));
    OK(MPI_Unpack(buffer, size, &position, read, 6, MPI_CHAR, MPI_COMM_WORLD));
    EQUAL(position, size);
    CHECK(strcmp(read, text) == 0);
    for (int k = 0; k < 24; k++)
        EQUAL(again[k / 6][k % 6], k % 6 == 2 ? k : -1);
    OK(MPI_Type_free(&column));
}

static void external(void)
{
    struct { double value; int index; } pair = {1.5, 258}, back = {0, 0};
    long numbers[2] = {-2, 70000}, others[2] = {0, 0};
    long double real = -3.25L, same = 0;
    unsigned char buffer[64];
    static const unsigned char expected[] = {0x3F, 0xF8, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2,
                                             0xFF, 0xFF, 0xFF, 0xFE, 0, 1, 0x11, 0x70};
    MPI_Aint size = -1, position = 0;
    MPI_Count count = -1;
    OK(MPI_Pack_external_size("external32", 2, MPI_LONG, &size));
    EQUAL(size, 8);
    OK(MPI_Pack_external_size_c("external32", 3, MPI_SHORT, &count));
    EQUAL(count, 6);
    if (!ours())
        return; /* MPICH 5.0.2 takes a byte for a pair. */
    OK(MPI_Pack_external("external32", &pair, 1, MPI_DOUBLE_INT, buffer, 64, &position));
    OK(MPI_Pack_external("external32", numbers, 2, MPI_LONG, buffer, 64, &position));
    EQUAL(position, 20);
    CHECK(memcmp(buffer, expected, 20) == 0);
    OK(MPI_Pack_external("external32", &real, 1, MPI_LONG_DOUBLE, buffer, 64, &position));
    EQUAL(position, 36);
    CHECK(buffer[20] == 0xC0 && buffer[21] == 0 && buffer[22] == 0xA0);
    position = 0;
    OK(MPI_Unpack_external("external32", buffer, 36, &position, &back, 1, MPI_DOUBLE_INT));
    OK(MPI_Unpack_external("external32", buffer, 36, &position, others, 2, MPI_LONG));
    OK(MPI_Unpack_external("external32", buffer, 36, &position, &same, 1, MPI_LONG_DOUBLE));
    REAL(back.value, 1.5);
    EQUAL(back.index, 258);
    EQUAL(others[0], -2);
    EQUAL(others[1], 70000);
    CHECK(same == real);
}

static void refused(void)
{
    int numbers[2] = {1, 2}, position = 0;
    MPI_Aint at = 0;
    char buffer[4] = {0};
    long large = 1L << 40;
    MPI_Datatype raw;
    if (!ours())
        return;
    FAILS(MPI_ERR_TRUNCATE,
          MPI_Pack(numbers, 2, MPI_INT, buffer, 4, &position, MPI_COMM_WORLD));
    FAILS(MPI_ERR_TRUNCATE,
          MPI_Unpack(buffer, 4, &position, numbers, 2, MPI_INT, MPI_COMM_WORLD));
    FAILS(MPI_ERR_COMM, MPI_Pack(numbers, 1, MPI_INT, buffer, 4, &position, MPI_COMM_NULL));
    FAILS(MPI_ERR_COUNT, MPI_Pack(numbers, -1, MPI_INT, buffer, 4, &position, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Pack(NULL, 1, MPI_INT, buffer, 4, &position, MPI_COMM_WORLD));
    FAILS(MPI_ERR_ARG, MPI_Pack_external("native", numbers, 1, MPI_INT, buffer, 4, &at));
    FAILS(MPI_ERR_VALUE_TOO_LARGE,
          MPI_Pack_external("external32", &large, 1, MPI_LONG, buffer, 4, &at));
    OK(MPI_Type_contiguous(1, MPI_INT, &raw));
    FAILS(MPI_ERR_TYPE, MPI_Pack(numbers, 1, raw, buffer, 4, &position, MPI_COMM_WORLD));
    OK(MPI_Type_free(&raw));
    EQUAL(position, 0);
    EQUAL(at, 0);
    CHECK(buffer[0] == 0);
}

static void elements(void)
{
    MPI_Status status;
    MPI_Datatype both, pair;
    int lengths[] = {1, 2}, count = -1, flag = -1;
    MPI_Aint at[] = {0, 8};
    MPI_Datatype of[] = {MPI_DOUBLE, MPI_INT};
    MPI_Count wide = -1;
    memset(&status, 0, sizeof status);
    OK(MPI_Type_create_struct(2, lengths, at, of, &both));
    OK(MPI_Type_commit(&both));
    OK(MPI_Status_set_elements(&status, both, 7));
    OK(MPI_Get_elements(&status, both, &count));
    EQUAL(count, 7);
    OK(MPI_Get_elements_x(&status, both, &wide));
    EQUAL(wide, 7);
    OK(MPI_Get_count(&status, both, &count));
    EQUAL(count, MPI_UNDEFINED);
    OK(MPI_Status_set_elements_c(&status, both, 6));
    OK(MPI_Get_count(&status, both, &count));
    EQUAL(count, 2);
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    EQUAL(count, 32);
    OK(MPI_Type_free(&both));
    OK(MPI_Type_contiguous(2, MPI_DOUBLE_INT, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Status_set_elements_x(&status, pair, 3));
    OK(MPI_Get_elements_c(&status, pair, &wide));
    EQUAL(wide, 3);
    OK(MPI_Type_free(&pair));
    OK(MPI_Status_set_elements_x(&status, MPI_BYTE, 5000000000));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    EQUAL(count, MPI_UNDEFINED);
    OK(MPI_Get_count_c(&status, MPI_BYTE, &wide));
    EQUAL(wide, 5000000000);
    OK(MPI_Test_cancelled(&status, &flag));
    EQUAL(flag, 0);
    OK(MPI_Status_set_cancelled(&status, 1));
    OK(MPI_Test_cancelled(&status, &flag));
    EQUAL(flag, 1);
    OK(MPI_Status_set_source(&status, 3));
    OK(MPI_Status_set_tag(&status, 4));
    OK(MPI_Status_set_error(&status, MPI_ERR_TAG));
    EQUAL(status.MPI_SOURCE, 3);
    EQUAL(status.MPI_TAG, 4);
    OK(MPI_Status_get_error(&status, &count));
    EQUAL(count, MPI_ERR_TAG);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    packed_and_back();
    external();
    refused();
    elements();
    return end();
}
