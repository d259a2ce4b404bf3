/* Operations: the predefined ones on every kind of number, those of the program, and long doubles in
   accumulates. */

#include "check.h"
#include <stdint.h>

#define COMBINED(type, datatype, op, a, b, expected)                                              \
    do {                                                                                          \
        type in_ = (a), inout_ = (b);                                                             \
        OK(MPI_Reduce_local(&in_, &inout_, 1, datatype, op));                                     \
        CHECK(inout_ == (type)(expected));                                                        \
    } while (0)

static void numbers(void)
{
    COMBINED(int, MPI_INT, MPI_SUM, 3, -5, -2);
    COMBINED(int, MPI_INT, MPI_PROD, 3, -5, -15);
    COMBINED(int, MPI_INT, MPI_MAX, 3, -5, 3);
    COMBINED(int, MPI_INT, MPI_MIN, 3, -5, -5);
    COMBINED(int, MPI_INT, MPI_LAND, 3, 5, 1);
    COMBINED(int, MPI_INT, MPI_LOR, 0, 0, 0);
    COMBINED(int, MPI_INT, MPI_LXOR, 3, 0, 1);
    COMBINED(int, MPI_INT, MPI_BAND, 6, 3, 2);
    COMBINED(int, MPI_INT, MPI_BOR, 6, 3, 7);
    COMBINED(int, MPI_INT, MPI_BXOR, 6, 3, 5);
    COMBINED(long, MPI_LONG, MPI_SUM, 1L << 40, 1, (1L << 40) + 1);
    COMBINED(uint8_t, MPI_UINT8_T, MPI_MAX, 200, 100, 200);
    COMBINED(int8_t, MPI_INT8_T, MPI_MAX, -56, 100, 100);
    COMBINED(MPI_Aint, MPI_AINT, MPI_SUM, 40, 2, 42);
    COMBINED(MPI_Count, MPI_COUNT, MPI_MIN, 40, 2, 2);
    COMBINED(unsigned char, MPI_BYTE, MPI_BXOR, 0xF0, 0x3C, 0xCC);
    COMBINED(_Bool, MPI_C_BOOL, MPI_LXOR, 1, 1, 0);
    COMBINED(_Bool, MPI_C_BOOL, MPI_LAND, 1, 1, 1);
    COMBINED(int, MPI_LOGICAL, MPI_LOR, 0, 1, 1);
    COMBINED(int, MPI_INTEGER, MPI_SUM, 20, 22, 42);
    COMBINED(float, MPI_FLOAT, MPI_SUM, 1.5f, 2.25f, 3.75f);
    COMBINED(double, MPI_DOUBLE_PRECISION, MPI_PROD, 1.5, -2, -3.0);
    COMBINED(long double, MPI_LONG_DOUBLE, MPI_SUM, 1.0L, 0x1p-60L, 1.0L + 0x1p-60L);
    COMBINED(long double, MPI_LONG_DOUBLE, MPI_PROD, 1e3000L, 1e1000L, 1e3000L * 1e1000L);
    COMBINED(long double, MPI_LONG_DOUBLE, MPI_MAX, -1.0L, -2.0L, -1.0L);
    COMBINED(long double, MPI_LONG_DOUBLE, MPI_MIN, -1.0L, -2.0L, -2.0L);
}

struct long_double_int { long double value; int index; };
struct short_int { short value; int index; };

static void places(void)
{
    struct long_double_int a[] = {{2.5L, 7}, {1.0L, 1}}, b[] = {{2.5L, 3}, {4.0L, 9}};
    struct short_int c = {-3, 5}, d = {4, 1};
    float e[] = {3.0f, 2.0f}, f[] = {1.0f, 8.0f};
    OK(MPI_Reduce_local(a, b, 2, MPI_LONG_DOUBLE_INT, MPI_MAXLOC));
    CHECK(b[0].value == 2.5L && b[1].value == 4.0L);
    EQUAL(b[0].index, 3);
    EQUAL(b[1].index, 9);
    OK(MPI_Reduce_local(&c, &d, 1, MPI_SHORT_INT, MPI_MINLOC));
    EQUAL(d.value, -3);
    EQUAL(d.index, 5);
    OK(MPI_Reduce_local(e, f, 1, MPI_2REAL, MPI_MAXLOC));
    REAL(f[0], 3);
    REAL(f[1], 2);
}

static void complex_numbers(void)
{
    double a[] = {1, 2}, b[] = {3, -4};
    long double c[] = {1, 2}, d[] = {3, -4};
    OK(MPI_Reduce_local(a, b, 1, MPI_C_DOUBLE_COMPLEX, MPI_PROD));
    REAL(b[0], 11);
    REAL(b[1], 2);
    OK(MPI_Reduce_local(c, d, 1, MPI_C_LONG_DOUBLE_COMPLEX, MPI_SUM));
    REAL(d[0], 4);
    REAL(d[1], -2);
}

/* Only the elements of the layout are combined; the standard leaves it to the library. */
static void layouts(void)
{
    int a[] = {1, 2, 3, 4, 5, 6}, b[] = {10, 20, 30, 40, 50, 60};
    MPI_Datatype every_second;
    OK(MPI_Type_vector(3, 1, 2, MPI_INT, &every_second));
    OK(MPI_Type_commit(&every_second));
    OK(MPI_Reduce_local(a, b, 1, every_second, MPI_SUM));
    for (int k = 0; k < 6; k++)
        EQUAL(b[k], 10 * (k + 1) + (k % 2 == 0 ? k + 1 : 0));
    OK(MPI_Type_free(&every_second));
}

static MPI_Datatype expected_type;
static int calls;

static void minus(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    int *a = in, *b = inout;
    CHECK(*datatype == expected_type);
    for (int k = 0; k < *length; k++)
        b[k] = a[k] - b[k];
    calls++;
}

static void minus_c(void *in, void *inout, MPI_Count *length, MPI_Datatype *datatype)
{
    int *a = in, *b = inout;
    CHECK(*datatype == expected_type);
    for (MPI_Count k = 0; k < *length; k++)
        b[k] = a[k] - b[k];
    calls++;
}

static void functions(void)
{
    MPI_Op op, large;
    int a[] = {5, 7}, b[] = {1, 10}, commutes = -1;
    expected_type = MPI_INT;
    OK(MPI_Op_create(minus, 0, &op));
    OK(MPI_Op_create_c(minus_c, 1, &large));
    OK(MPI_Op_commutative(op, &commutes));
    EQUAL(commutes, 0);
    OK(MPI_Op_commutative(large, &commutes));
    EQUAL(commutes, 1);
    OK(MPI_Op_commutative(MPI_SUM, &commutes));
    EQUAL(commutes, 1);
    CHECK(MPI_Op_fromint(MPI_Op_toint(op)) == op);
    CHECK(MPI_Op_fromint(MPI_Op_toint(MPI_SUM)) == MPI_SUM);
    OK(MPI_Reduce_local(a, b, 2, MPI_INT, op));
    EQUAL(b[0], 4);
    EQUAL(b[1], -3);
    OK(MPI_Reduce_local_c(a, b, 2, MPI_INT, large));
    EQUAL(b[0], 1);
    EQUAL(b[1], 10);
    OK(MPI_Reduce_local(a, b, 0, MPI_INT, op));
    CHECK(calls == 2 || !ours());
    OK(MPI_Op_free(&op));
    OK(MPI_Op_free(&large));
    CHECK(op == MPI_OP_NULL);
}

static void refused(void)
{
    int a = 1, b = 2;
    double c = 1, d = 2;
    _Bool e = 1, f = 1;
    MPI_Op sum = MPI_SUM, null = MPI_OP_NULL, own;
    FAILS(MPI_ERR_OP, MPI_Reduce_local(&c, &d, 1, MPI_DOUBLE, MPI_BAND));
    FAILS(MPI_ERR_OP, MPI_Reduce_local(&a, &b, 1, MPI_INT, MPI_MAXLOC));
    FAILS(MPI_ERR_OP, MPI_Reduce_local(&a, &b, 1, MPI_INT, MPI_OP_NULL));
    FAILS(MPI_ERR_OP, MPI_Op_free(&sum));
    FAILS(MPI_ERR_OP, MPI_Op_free(&null));
    if (ours()) {
        FAILS(MPI_ERR_OP, MPI_Reduce_local(&e, &f, 1, MPI_C_BOOL, MPI_SUM));
        FAILS(MPI_ERR_OP, MPI_Reduce_local(&a, &b, 1, MPI_INT, MPI_REPLACE));
        FAILS(MPI_ERR_COUNT, MPI_Reduce_local(&a, &b, -1, MPI_INT, MPI_SUM));
        FAILS(MPI_ERR_BUFFER, MPI_Reduce_local(&a, &a, 1, MPI_INT, MPI_SUM));
        FAILS(MPI_ERR_BUFFER, MPI_Reduce_local(MPI_IN_PLACE, &a, 1, MPI_INT, MPI_SUM));
        FAILS(MPI_ERR_ARG, MPI_Op_create(NULL, 1, &own));
    }
    EQUAL(b, 2);
    REAL(d, 2);
}

/* Of no elements every operation is defined, and an accumulate has the rules of a reduction. */
static void accumulates_refused(void)
{
    int *part;
    unsigned char byte = 1;
    MPI_Win win = window(1, &part);
    MPI_Op op;
    OK(MPI_Op_create(minus, 1, &op));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(&byte, 0, MPI_BYTE, 0, 0, 0, MPI_BYTE, MPI_SUM, win));
    FAILS(MPI_ERR_OP, MPI_Accumulate(&byte, 1, MPI_INT, 0, 0, 1, MPI_INT, op, win));
    if (ours()) {
        FAILS(MPI_ERR_OP, MPI_Accumulate(&byte, 1, MPI_BYTE, 0, 0, 1, MPI_BYTE, MPI_SUM, win));
        FAILS(MPI_ERR_OP, MPI_Accumulate(&byte, 1, MPI_C_BOOL, 0, 0, 1, MPI_C_BOOL, MPI_MAX, win));
    }
    OK(MPI_Win_fence(0, win));
    EQUAL(*part, 0);
    OK(MPI_Op_free(&op));
    OK(MPI_Win_free(&win));
}

/* Numbers that no instruction updates at once are accumulated too. */
static void accumulated(void)
{
    long double *part, one = 1.0L, before = 0, zero = 0;
    MPI_Win win;
    OK(MPI_Win_allocate(sizeof(long double), sizeof(long double), MPI_INFO_NULL, MPI_COMM_WORLD,
                        &part, &win));
    *part = 0x1p-60L;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    for (int k = 0; k < 10; k++)
        OK(MPI_Accumulate(&one, 1, MPI_LONG_DOUBLE, 0, 0, 1, MPI_LONG_DOUBLE, MPI_SUM, win));
    OK(MPI_Win_flush_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Fetch_and_op(&zero, &before, MPI_LONG_DOUBLE, 0, 0, MPI_NO_OP, win));
    OK(MPI_Win_unlock_all(win));
    if (10 * ranks < 16)
        CHECK(before == 10.0L * ranks + 0x1p-60L);
    else
        CHECK(before >= 10.0L * ranks && before < 10.0L * ranks + 1);
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    numbers();
    places();
    complex_numbers();
    if (ours())
        layouts();
    functions();
    refused();
    accumulates_refused();
    accumulated();
    return end();
}
