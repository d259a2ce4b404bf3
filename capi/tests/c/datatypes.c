/* Datatypes: the predefined ones, what each constructor makes, and what it tells of its arguments. */

#include "check.h"
#include <stddef.h>

static void predefined(MPI_Datatype datatype, const char *name, int size, MPI_Aint extent)
{
    char text[MPI_MAX_OBJECT_NAME];
    int length = 0, found = -1, integers = -1, addresses = -1, datatypes = -1, combiner = -1;
    MPI_Aint lower = -1, reach = -1;
    MPI_Count count = -1, wide_lower = -1, wide = -1;
    OK(MPI_Type_get_name(datatype, text, &length));
    if (ours() && strcmp(text, name) != 0)
        FAILED("the name is %s, not %s", text, name);
    EQUAL(length, strlen(text));
    OK(MPI_Type_size(datatype, &found));
    OK(MPI_Type_size_c(datatype, &count));
    EQUAL(found, size);
    EQUAL(count, size);
    OK(MPI_Type_size_x(datatype, &count));
    EQUAL(count, size);
    OK(MPI_Type_get_extent(datatype, &lower, &reach));
    EQUAL(lower, 0);
    EQUAL(reach, extent);
    OK(MPI_Type_get_extent_x(datatype, &wide_lower, &wide));
    EQUAL(wide_lower, 0);
    EQUAL(wide, extent);
    OK(MPI_Type_get_envelope(datatype, &integers, &addresses, &datatypes, &combiner));
    EQUAL(integers, 0);
    EQUAL(addresses, 0);
    EQUAL(datatypes, 0);
    EQUAL(combiner, MPI_COMBINER_NAMED);
    EQUAL(MPI_Type_fromint(MPI_Type_toint(datatype)) == datatype, 1);
    OK(MPI_Type_commit(&datatype));
}

#define PREDEFINED(datatype, size, extent) predefined(datatype, #datatype, size, (MPI_Aint)(extent))
#define NUMBER(datatype, type) predefined(datatype, #datatype, sizeof(type), sizeof(type))

struct float_int { float value; int index; };
struct double_int { double value; int index; };
struct long_int { long value; int index; };
struct short_int { short value; int index; };
struct long_double_int { long double value; int index; };

static void predefined_of_c(void)
{
    NUMBER(MPI_CHAR, char);
    NUMBER(MPI_SIGNED_CHAR, signed char);
    NUMBER(MPI_UNSIGNED_CHAR, unsigned char);
    NUMBER(MPI_BYTE, char);
    NUMBER(MPI_PACKED, char);
    NUMBER(MPI_WCHAR, wchar_t);
    NUMBER(MPI_SHORT, short);
    NUMBER(MPI_INT, int);
    NUMBER(MPI_LONG, long);
    NUMBER(MPI_LONG_LONG, long long);
    NUMBER(MPI_UNSIGNED_SHORT, unsigned short);
    NUMBER(MPI_UNSIGNED, unsigned);
    NUMBER(MPI_UNSIGNED_LONG, unsigned long);
    NUMBER(MPI_UNSIGNED_LONG_LONG, unsigned long long);
    NUMBER(MPI_FLOAT, float);
    NUMBER(MPI_DOUBLE, double);
    NUMBER(MPI_LONG_DOUBLE, long double);
    PREDEFINED(MPI_C_FLOAT_COMPLEX, 8, 8);
    PREDEFINED(MPI_C_DOUBLE_COMPLEX, 16, 16);
    PREDEFINED(MPI_C_LONG_DOUBLE_COMPLEX, 32, 32);
    PREDEFINED(MPI_C_BOOL, 1, 1);
    PREDEFINED(MPI_INT8_T, 1, 1);
    PREDEFINED(MPI_INT64_T, 8, 8);
    NUMBER(MPI_AINT, MPI_Aint);
    NUMBER(MPI_COUNT, MPI_Count);
    NUMBER(MPI_OFFSET, MPI_Offset);
    PREDEFINED(MPI_FLOAT_INT, 8, sizeof(struct float_int));
    PREDEFINED(MPI_DOUBLE_INT, 12, sizeof(struct double_int));
    PREDEFINED(MPI_LONG_INT, 12, sizeof(struct long_int));
    PREDEFINED(MPI_2INT, 8, 8);
    PREDEFINED(MPI_SHORT_INT, 6, sizeof(struct short_int));
    PREDEFINED(MPI_LONG_DOUBLE_INT, 20, sizeof(struct long_double_int));
}

static void predefined_of_fortran(void)
{
    PREDEFINED(MPI_INTEGER, 4, 4);
    PREDEFINED(MPI_REAL, 4, 4);
    PREDEFINED(MPI_LOGICAL, 4, 4);
    PREDEFINED(MPI_CHARACTER, 1, 1);
    PREDEFINED(MPI_COMPLEX, 8, 8);
    PREDEFINED(MPI_DOUBLE_PRECISION, 8, 8);
    PREDEFINED(MPI_DOUBLE_COMPLEX, 16, 16);
    PREDEFINED(MPI_2REAL, 8, 8);
    PREDEFINED(MPI_2DOUBLE_PRECISION, 16, 16);
    PREDEFINED(MPI_2INTEGER, 8, 8);
    PREDEFINED(MPI_LOGICAL1, 1, 1);
    PREDEFINED(MPI_LOGICAL16, 16, 16);
    PREDEFINED(MPI_INTEGER2, 2, 2);
    PREDEFINED(MPI_INTEGER16, 16, 16);
    PREDEFINED(MPI_REAL2, 2, 2);
    PREDEFINED(MPI_REAL16, 16, 16);
    PREDEFINED(MPI_COMPLEX4, 4, 4);
    PREDEFINED(MPI_COMPLEX32, 32, 32);
}

/* A new datatype has these measures; it is freed. */
static void measures(MPI_Datatype datatype, int size, MPI_Aint lower, MPI_Aint extent,
                     MPI_Aint true_lower, MPI_Aint true_extent)
{
    int found = -1;
    MPI_Aint a = -1, b = -1;
    MPI_Count c = -1, d = -1;
    OK(MPI_Type_size(datatype, &found));
    EQUAL(found, size);
    OK(MPI_Type_get_extent(datatype, &a, &b));
    EQUAL(a, lower);
    EQUAL(b, extent);
    OK(MPI_Type_get_true_extent(datatype, &a, &b));
    EQUAL(a, true_lower);
    EQUAL(b, true_extent);
    OK(MPI_Type_get_true_extent_x(datatype, &c, &d));
    EQUAL(c, true_lower);
    EQUAL(d, true_extent);
    OK(MPI_Type_free(&datatype));
    CHECK(datatype == MPI_DATATYPE_NULL);
}

static void constructors(void)
{
    MPI_Datatype made;
    int lengths[] = {2, 1}, at[] = {3, 0};
    MPI_Aint bytes[] = {20, 4};
    OK(MPI_Type_contiguous(3, MPI_INT, &made));
    measures(made, 12, 0, 12, 0, 12);
    OK(MPI_Type_contiguous(0, MPI_INT, &made));
    measures(made, 0, 0, 0, 0, 0);
    OK(MPI_Type_vector(3, 2, 5, MPI_INT, &made));
    measures(made, 24, 0, 48, 0, 48);
    OK(MPI_Type_create_hvector(2, 1, -8, MPI_INT, &made));
    measures(made, 8, -8, 12, -8, 12);
    OK(MPI_Type_indexed(2, lengths, at, MPI_INT, &made));
    measures(made, 12, 0, 20, 0, 20);
    OK(MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &made));
    measures(made, 12, 4, 24, 4, 24);
    OK(MPI_Type_create_indexed_block(2, 2, at, MPI_INT, &made));
    measures(made, 16, 0, 20, 0, 20);
    OK(MPI_Type_create_hindexed_block(2, 2, bytes, MPI_INT, &made));
    measures(made, 16, 4, 24, 4, 24);
    OK(MPI_Type_create_resized(MPI_INT, -4, 16, &made));
    measures(made, 4, -4, 16, 0, 4);
    OK(MPI_Type_dup(MPI_INT, &made));
    measures(made, 4, 0, 4, 0, 4);
}

/* The extent of a struct is that of C's, padding included. */
static void structs(void)
{
    struct both { char first; long double second; char last; };
    int lengths[] = {1, 1, 1};
    MPI_Aint at[] = {offsetof(struct both, first), offsetof(struct both, second),
                     offsetof(struct both, last)};
    MPI_Datatype of[] = {MPI_CHAR, MPI_LONG_DOUBLE, MPI_CHAR}, made;
    OK(MPI_Type_create_struct(3, lengths, at, of, &made));
    measures(made, 18, 0, sizeof(struct both), 0, offsetof(struct both, last) + 1);
}

static void arrays(void)
{
    MPI_Datatype made;
    int sizes[] = {4, 6}, subsizes[] = {2, 3}, starts[] = {1, 2};
    int distributions[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[] = {2, 2};
    OK(MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &made));
    measures(made, 24, 0, 96, 4 * (6 + 2), 4 * (6 + 3));
    OK(MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, &made));
    measures(made, 24, 0, 96, 4 * (8 + 1), 4 * (8 + 2));
    OK(MPI_Type_create_darray(4, 3, 2, sizes, distributions, arguments, grid, MPI_ORDER_C,
                              MPI_INT, &made));
    measures(made, 16, 0, 96, 4 * (12 + 2), 4 * (6 + 2));
}

/* The arguments come back as they were given; a derived datatype is a new handle. */
static void contents(void)
{
    int lengths[] = {2, 1}, n[4], integers[3], combiner;
    MPI_Aint at[] = {16, 0}, addresses[2];
    MPI_Datatype of[] = {MPI_LONG, MPI_DATATYPE_NULL}, made, datatypes[2];
    OK(MPI_Type_contiguous(2, MPI_INT64_T, &of[1]));
    OK(MPI_Type_create_struct(2, lengths, at, of, &made));
    OK(MPI_Type_free(&of[1]));
    OK(MPI_Type_get_envelope(made, &n[0], &n[1], &n[2], &combiner));
    EQUAL(n[0], 3);
    EQUAL(n[1], 2);
    EQUAL(n[2], 2);
    EQUAL(combiner, MPI_COMBINER_STRUCT);
    OK(MPI_Type_get_contents(made, 3, 2, 2, integers, addresses, datatypes));
    EQUAL(integers[0], 2);
    EQUAL(integers[1], 2);
    EQUAL(integers[2], 1);
    EQUAL(addresses[0], 16);
    EQUAL(addresses[1], 0);
    CHECK(datatypes[0] == MPI_LONG);
    OK(MPI_Type_free(&made));
    OK(MPI_Type_get_contents(datatypes[1], 1, 0, 1, integers, addresses, datatypes));
    EQUAL(integers[0], 2);
    CHECK(datatypes[0] == MPI_INT64_T);
    OK(MPI_Type_free(&datatypes[1]));
}

/* What was made with large counts tells them as such, and only by the calls that can. */
static void large_contents(void)
{
    MPI_Count sizes[] = {4, 6}, subsizes[] = {2, 3}, starts[] = {1, 2}, n[4], counts[6];
    MPI_Count lengths[] = {1, 2}, at[] = {0, 8};
    int integers[2], combiner, few[3];
    MPI_Aint addresses[1];
    MPI_Datatype made, datatypes[1];
    OK(MPI_Type_create_subarray_c(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &made));
    OK(MPI_Type_get_envelope_c(made, &n[0], &n[1], &n[2], &n[3], &combiner));
    EQUAL(n[0], 2);
    EQUAL(n[1], 0);
    EQUAL(n[2], 6);
    EQUAL(n[3], 1);
    EQUAL(combiner, MPI_COMBINER_SUBARRAY);
    OK(MPI_Type_get_contents_c(made, 2, 0, 6, 1, integers, addresses, counts, datatypes));
    EQUAL(integers[0], 2);
    EQUAL(integers[1], MPI_ORDER_C);
    for (int k = 0; k < 2; k++) {
        EQUAL(counts[k], sizes[k]);
        EQUAL(counts[2 + k], subsizes[k]);
        EQUAL(counts[4 + k], starts[k]);
    }
    FAILS(MPI_ERR_TYPE, MPI_Type_get_envelope(made, &few[0], &few[1], &few[2], &combiner));
    OK(MPI_Type_free(&made));
    OK(MPI_Type_create_hindexed_c(2, lengths, at, MPI_INT, &made));
    OK(MPI_Type_get_envelope_c(made, &n[0], &n[1], &n[2], &n[3], &combiner));
    EQUAL(n[0], 0);
    EQUAL(n[1], 0);
    EQUAL(n[2], 5);
    measures(made, 12, 0, 16, 0, 16);
    OK(MPI_Type_create_resized_c(MPI_INT, -4, 12, &made));
    OK(MPI_Type_get_envelope_c(made, &n[0], &n[1], &n[2], &n[3], &combiner));
    EQUAL(n[1], 0);
    EQUAL(n[2], 2);
    measures(made, 4, -4, 12, 0, 4);
}

/* More bytes than an int can say. */
static void large(void)
{
    MPI_Datatype block, made;
    int size;
    MPI_Count wide;
    OK(MPI_Type_contiguous(1 << 30, MPI_INT, &block));
    OK(MPI_Type_size(block, &size));
    EQUAL(size, MPI_UNDEFINED);
    OK(MPI_Type_size_c(block, &wide));
    EQUAL(wide, 1LL << 32);
    OK(MPI_Type_free(&block));
    OK(MPI_Type_contiguous_c(1LL << 40, MPI_BYTE, &made));
    OK(MPI_Type_size_c(made, &wide));
    EQUAL(wide, 1LL << 40);
    OK(MPI_Type_free(&made));
}

static void by_properties(void)
{
    MPI_Datatype a, b;
    int n[3], combiner, integers[2];
    MPI_Aint addresses[1];
    MPI_Datatype datatypes[1];
    OK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &a));
    CHECK(a == MPI_REAL8);
    OK(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, &a));
    CHECK(a == MPI_INTEGER2);
    OK(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &a));
    CHECK(a == MPI_COMPLEX16);
    FAILS(MPI_ERR_ARG, MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &a));
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &a));
    CHECK(a == MPI_DOUBLE_INT);
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_FLOAT, &a));
    CHECK(a == MPI_DATATYPE_NULL);
    OK(MPI_Type_create_f90_real(15, 300, &a));
    OK(MPI_Type_create_f90_real(15, 300, &b));
    CHECK(a == b);
    OK(MPI_Type_size(a, &n[0]));
    EQUAL(n[0], 8);
    OK(MPI_Type_get_envelope(a, &n[0], &n[1], &n[2], &combiner));
    EQUAL(combiner, MPI_COMBINER_F90_REAL);
    EQUAL(n[0], 2);
    OK(MPI_Type_get_contents(a, 2, 0, 0, integers, addresses, datatypes));
    EQUAL(integers[0], 15);
    EQUAL(integers[1], 300);
    OK(MPI_Type_create_f90_integer(9, &a));
    OK(MPI_Type_size(a, &n[0]));
    EQUAL(n[0], 4);
}

static void names(void)
{
    MPI_Datatype made;
    char text[MPI_MAX_OBJECT_NAME];
    int length = -1;
    OK(MPI_Type_dup(MPI_DOUBLE, &made));
    OK(MPI_Type_get_name(made, text, &length));
    EQUAL(length, 0);
    OK(MPI_Type_set_name(made, "a pressure"));
    OK(MPI_Type_get_name(made, text, &length));
    CHECK(strcmp(text, "a pressure") == 0);
    EQUAL(length, 10);
    OK(MPI_Type_free(&made));
}

static void refused(void)
{
    MPI_Datatype made = MPI_DATATYPE_NULL, null = MPI_DATATYPE_NULL, number = MPI_INT, freed;
    int size = 4, none = 0, much = 5, n = -7;
    FAILS(MPI_ERR_COUNT, MPI_Type_contiguous(-1, MPI_INT, &made));
    FAILS(MPI_ERR_TYPE, MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &made));
    FAILS(MPI_ERR_TYPE, MPI_Type_size(MPI_DATATYPE_NULL, &n));
    FAILS(MPI_ERR_TYPE, MPI_Type_free(&null));
    FAILS(MPI_ERR_TYPE, MPI_Type_free(&number));
    if (ours()) {
        FAILS(MPI_ERR_ARG, MPI_Type_vector(1, -1, 1, MPI_INT, &made));
        FAILS(MPI_ERR_ARG, MPI_Type_create_subarray(1, &size, &much, &none, MPI_ORDER_C, MPI_INT,
                                                    &made));
        FAILS(MPI_ERR_ARG, MPI_Type_create_subarray(1, &size, &size, &none, 7, MPI_INT, &made));
        FAILS(MPI_ERR_TYPE, MPI_Type_size((MPI_Datatype)MPI_COMM_WORLD, &n));
        FAILS(MPI_ERR_ARG, MPI_Type_create_f90_real(40, 10, &made));
        OK(MPI_Type_dup(MPI_INT, &made));
        freed = made;
        OK(MPI_Type_free(&made));
        FAILS(MPI_ERR_TYPE, MPI_Type_size(freed, &n));
        FAILS(MPI_ERR_TYPE, MPI_Type_get_contents(MPI_INT, 0, 0, 0, NULL, NULL, NULL));
        FAILS(MPI_ERR_ARG, MPI_Type_size(MPI_INT, NULL));
    }
    EQUAL(n, -7);
    CHECK(made == MPI_DATATYPE_NULL);
}

static void messages_of_nothing(void)
{
    MPI_Status status;
    MPI_Request requests[2];
    int count = -1;
    RULE("MPI-4.1 3.2.2: a message of nothing, without a datatype");
    OK(MPI_Sendrecv(NULL, 0, MPI_DATATYPE_NULL, behind(), 3, NULL, 0, MPI_DATATYPE_NULL, before(),
                    3, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == 0 && status.MPI_SOURCE == before());
    OK(MPI_Irecv(NULL, 0, MPI_DATATYPE_NULL, before(), 4, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Send_init(NULL, 0, MPI_DATATYPE_NULL, behind(), 4, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Start(&requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Request_free(&requests[1]));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_TYPE, MPI_Send(&count, 1, MPI_DATATYPE_NULL, behind(), 5, MPI_COMM_WORLD));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    messages_of_nothing();
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    predefined_of_c();
    predefined_of_fortran();
    constructors();
    structs();
    arrays();
    contents();
    large_contents();
    large();
    by_properties();
    names();
    refused();
    return end();
}
