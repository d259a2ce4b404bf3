/* MPI-2.2 §11.3.4 and MPI-4.1 §12.3.4: every operation on every type it is for. */

#include "check.h"
#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A target of its own for each type: the part of the rank behind, in a lock that nobody else has. */
static MPI_Win win;
static void *part;

static void update(const void *operand, void *before_, MPI_Datatype type, MPI_Op op)
{
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, behind(), 0, win));
    OK(MPI_Fetch_and_op(operand, before_, type, behind(), 0, op, win));
    OK(MPI_Win_unlock(behind(), win));
}

static void accumulate(const void *operand, MPI_Datatype type, MPI_Op op)
{
    /* MPI_NO_OP is for the calls that return something. */
    if (op == MPI_NO_OP)
        return;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, behind(), 0, win));
    OK(MPI_Accumulate(operand, 1, type, behind(), 0, 1, type, op, win));
    OK(MPI_Win_unlock(behind(), win));
}

static void get_accumulate(const void *operand, void *before_, MPI_Datatype type, MPI_Op op)
{
    OK(MPI_Win_lock(MPI_LOCK_SHARED, behind(), 0, win));
    OK(MPI_Get_accumulate(operand, 1, type, before_, 1, type, behind(), 0, 1, type, op, win));
    OK(MPI_Win_unlock(behind(), win));
}

/* Sets the target to `x`, applies `op` with `y` by all three calls, one behind the other, and compares
   with what C makes of the same. */
#define THRICE(ctype, type, op, x, y, f)                                                          \
    do {                                                                                          \
        ctype start = (x), operand = (y), was = 0, expected = start;                              \
        accumulate(&start, type, MPI_REPLACE);                                                    \
        update(&operand, &was, type, op);                                                         \
        CHECK(was == expected);                                                                   \
        expected = (ctype)(f);                                                                    \
        get_accumulate(&operand, &was, type, op);                                                 \
        CHECK(was == expected);                                                                   \
        start = expected;                                                                         \
        expected = (ctype)(f);                                                                    \
        accumulate(&operand, type, op);                                                           \
        start = expected;                                                                         \
        expected = (ctype)(f);                                                                    \
        operand = 0;                                                                              \
        get_accumulate(&operand, &was, type, MPI_NO_OP);                                          \
        CHECK(was == expected);                                                                   \
    } while (0)

#define ARITHMETIC(ctype, type, x, y)                                                             \
    do {                                                                                          \
        THRICE(ctype, type, MPI_SUM, x, y, start + operand);                                      \
        THRICE(ctype, type, MPI_PROD, x, y, start * operand);                                     \
        THRICE(ctype, type, MPI_MIN, x, y, start < operand ? start : operand);                    \
        THRICE(ctype, type, MPI_MAX, x, y, start > operand ? start : operand);                    \
        THRICE(ctype, type, MPI_REPLACE, x, y, operand);                                          \
        THRICE(ctype, type, MPI_NO_OP, x, y, start);                                              \
    } while (0)

#define BITS(ctype, type, x, y)                                                                   \
    do {                                                                                          \
        THRICE(ctype, type, MPI_BAND, x, y, start & operand);                                     \
        THRICE(ctype, type, MPI_BOR, x, y, start | operand);                                      \
        THRICE(ctype, type, MPI_BXOR, x, y, start ^ operand);                                     \
    } while (0)

#define LOGIC(ctype, type, x, y)                                                                  \
    do {                                                                                          \
        THRICE(ctype, type, MPI_LAND, x, y, start && operand);                                    \
        THRICE(ctype, type, MPI_LOR, x, y, start || operand);                                     \
        THRICE(ctype, type, MPI_LXOR, x, y, !start != !operand);                                  \
    } while (0)

#define SWAP(ctype, type, x, y)                                                                   \
    do {                                                                                          \
        ctype start = (x), operand = (y), was = 0, other = (ctype)((x) + 1);                      \
        accumulate(&start, type, MPI_REPLACE);                                                    \
        OK(MPI_Win_lock(MPI_LOCK_SHARED, behind(), 0, win));                                      \
        OK(MPI_Compare_and_swap(&operand, &other, &was, type, behind(), 0, win));                 \
        OK(MPI_Win_flush(behind(), win));                                                         \
        CHECK(was == start);                                                                      \
        OK(MPI_Compare_and_swap(&operand, &start, &was, type, behind(), 0, win));                 \
        OK(MPI_Win_flush(behind(), win));                                                         \
        CHECK(was == start);                                                                      \
        OK(MPI_Fetch_and_op(NULL, &was, type, behind(), 0, MPI_NO_OP, win));                      \
        OK(MPI_Win_unlock(behind(), win));                                                        \
        CHECK(was == operand);                                                                    \
    } while (0)

#define INTEGER(ctype, type, x, y)                                                                \
    do {                                                                                          \
        ARITHMETIC(ctype, type, x, y);                                                            \
        BITS(ctype, type, x, y);                                                                  \
        LOGIC(ctype, type, x, y);                                                                 \
        LOGIC(ctype, type, 0, y);                                                                 \
        SWAP(ctype, type, x, y);                                                                  \
    } while (0)

static void integers(void)
{
    RULE("11.3.4-2; 11.3.4-7; 11.3.4-9; 11.3.4-10");
    INTEGER(signed char, MPI_SIGNED_CHAR, -5, 3);
    INTEGER(unsigned char, MPI_UNSIGNED_CHAR, 5, 3);
    INTEGER(short, MPI_SHORT, -300, 5);
    INTEGER(unsigned short, MPI_UNSIGNED_SHORT, 300, 5);
    INTEGER(int, MPI_INT, -70000, 13);
    INTEGER(unsigned, MPI_UNSIGNED, 70000u, 13u);
    INTEGER(long, MPI_LONG, -(1L << 40), 7);
    INTEGER(unsigned long, MPI_UNSIGNED_LONG, 1ul << 40, 7);
    INTEGER(long long, MPI_LONG_LONG, -(1LL << 40), 7);
    INTEGER(unsigned long long, MPI_UNSIGNED_LONG_LONG, 1ull << 40, 7);
    INTEGER(int8_t, MPI_INT8_T, 6, -4);
    INTEGER(uint8_t, MPI_UINT8_T, 6, 4);
    INTEGER(int16_t, MPI_INT16_T, 600, -4);
    INTEGER(uint16_t, MPI_UINT16_T, 600, 4);
    INTEGER(int32_t, MPI_INT32_T, 1 << 20, -4);
    INTEGER(uint32_t, MPI_UINT32_T, 1u << 20, 4);
    INTEGER(int64_t, MPI_INT64_T, (int64_t)1 << 50, -4);
    INTEGER(uint64_t, MPI_UINT64_T, (uint64_t)1 << 50, 4);
    ARITHMETIC(MPI_Aint, MPI_AINT, 1 << 20, 3);
    ARITHMETIC(MPI_Offset, MPI_OFFSET, 1 << 20, 3);
    ARITHMETIC(MPI_Count, MPI_COUNT, 1 << 20, 3);
    BITS(unsigned char, MPI_BYTE, 0x5a, 0x33);
    SWAP(unsigned char, MPI_BYTE, 0x5a, 0x33);
    LOGIC(_Bool, MPI_C_BOOL, 1, 0);
    LOGIC(_Bool, MPI_C_BOOL, 1, 1);
}

static void floating(void)
{
    RULE("11.3.4-2");
    ARITHMETIC(float, MPI_FLOAT, 1.5f, -0.25f);
    ARITHMETIC(double, MPI_DOUBLE, -1.5, 1024.0);
    ARITHMETIC(long double, MPI_LONG_DOUBLE, 2.5L, -0.5L);
    THRICE(float _Complex, MPI_C_FLOAT_COMPLEX, MPI_SUM, 1 + 2 * I, 3 - I, start + operand);
    THRICE(float _Complex, MPI_C_FLOAT_COMPLEX, MPI_PROD, 1 + 2 * I, 3 - I, start * operand);
    THRICE(double _Complex, MPI_C_DOUBLE_COMPLEX, MPI_SUM, 1 + 2 * I, 3 - I, start + operand);
    THRICE(double _Complex, MPI_C_DOUBLE_COMPLEX, MPI_PROD, 1 + 2 * I, 3 - I, start * operand);
    THRICE(double _Complex, MPI_C_DOUBLE_COMPLEX, MPI_REPLACE, 1 + 2 * I, 3 - I, operand);
}

/* The pairs that the standard defines as structures of C. */
#define PAIR(ctype, type)                                                                         \
    do {                                                                                          \
        struct {                                                                                  \
            ctype value;                                                                          \
            int index;                                                                            \
        } one = {7, 4}, same = {7, 2}, less = {3, 9}, was;                                        \
        accumulate(&one, type, MPI_REPLACE);                                                      \
        get_accumulate(&same, &was, type, MPI_MAXLOC);                                            \
        CHECK(was.value == 7 && was.index == 4);                                                  \
        get_accumulate(&less, &was, type, MPI_MINLOC);                                            \
        CHECK(was.value == 7 && was.index == 2);                                                  \
        get_accumulate(&less, &was, type, MPI_NO_OP);                                             \
        CHECK(was.value == 3 && was.index == 9);                                                  \
    } while (0)

static void pairs(void)
{
    RULE("11.3.4-2");
    PAIR(int, MPI_2INT);
    PAIR(float, MPI_FLOAT_INT);
    PAIR(double, MPI_DOUBLE_INT);
    PAIR(long, MPI_LONG_INT);
    PAIR(short, MPI_SHORT_INT);
    PAIR(long double, MPI_LONG_DOUBLE_INT);
}

static void combine(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)length;
    (void)type;
}

static void refused(void)
{
    double real = 1, was, compare = 0;
    int number = 1;
    MPI_Op op;
    if (!ours())
        return;
    OK(MPI_Op_create(combine, 1, &op));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, behind(), 0, win));
    RULE("11.3.4-3");
    FAILS(MPI_ERR_OP, MPI_Accumulate(&number, 1, MPI_INT, behind(), 0, 1, MPI_INT, op, win));
    RULE("11.3.4-10");
    FAILS(MPI_ERR_TYPE,
          MPI_Compare_and_swap(&real, &compare, &was, MPI_DOUBLE, behind(), 0, win));
    RULE("11.3.4-4");
    FAILS(MPI_ERR_TYPE,
          MPI_Accumulate(&number, 1, MPI_INT, behind(), 0, 1, MPI_FLOAT, MPI_SUM, win));
    FAILS(MPI_ERR_OP, MPI_Accumulate(&real, 1, MPI_DOUBLE, behind(), 0, 1, MPI_DOUBLE, MPI_BAND, win));
    OK(MPI_Win_unlock(behind(), win));
    OK(MPI_Op_free(&op));
    RULE("11.3.4-8");
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_OP, MPI_Reduce_local(&number, &number, 1, MPI_INT, MPI_REPLACE));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    OK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    integers();
    floating();
    pairs();
    refused();
    OK(MPI_Win_free(&win));
    return end();
}
