/* The pair types are structs of two numbers (MPI-4.1 §6.9.4): what moves is their numbers, and what lies
   between and behind these stays as it is. */

#include "check.h"
#include <stddef.h>

enum { MARK = 0x5A };

typedef struct {
    double value;
    int index;
} double_int;

typedef struct {
    long value;
    int index;
} long_int;

typedef struct {
    short value;
    int index;
} short_int;

typedef struct {
    float value;
    int index;
} float_int;

typedef struct {
    long double value;
    int index;
} long_double_int;

typedef struct {
    int value;
    int index;
} two_int;

/* Three pairs, whatever their type, with every byte that belongs to no number marked. */
#define FILLED(type, all, first)                                                                   \
    do {                                                                                           \
        memset(all, MARK, sizeof all);                                                             \
        for (int i_ = 0; i_ < 3; i_++) {                                                           \
            all[i_].value = (first) + i_;                                                          \
            all[i_].index = 10 * (first) + i_;                                                     \
        }                                                                                          \
    } while (0)

#define HAS(all, first)                                                                            \
    do {                                                                                           \
        for (int i_ = 0; i_ < 3; i_++) {                                                           \
            REAL(all[i_].value, (first) + i_);                                                     \
            EQUAL(all[i_].index, 10 * (first) + i_);                                               \
        }                                                                                          \
    } while (0)

/* Whether the bytes behind the index of a pair have their mark; of a short, those in between. */
static void padding_stays(const void *pair, size_t from, size_t to)
{
    const unsigned char *bytes = pair;
    for (size_t i = from; i < to; i++)
        EQUAL(bytes[i], MARK);
}

/* MPICH 5.0.2 divides by zero in MPI_Get_elements of a pair type: there it is as expected. */
static int elements_of(const MPI_Status *status, MPI_Datatype datatype, int expected)
{
    int elements = expected;
    if (ours())
        OK(MPI_Get_elements(status, datatype, &elements));
    return elements;
}

/* Sizes, and what is packed, sent, received and counted. */
#define MOVES(type, name, first_type, bytes, gap_from, gap_to)                                     \
    do {                                                                                           \
        type out[3], in[3];                                                                        \
        int size, position = 0, packed, elements;                                                  \
        char room[128];                                                                            \
        MPI_Aint lower, extent;                                                                    \
        MPI_Status status;                                                                         \
        OK(MPI_Type_size(name, &size));                                                            \
        EQUAL(size, bytes);                                                                        \
        OK(MPI_Type_get_extent(name, &lower, &extent));                                            \
        EQUAL(extent, sizeof(type));                                                               \
        OK(MPI_Type_get_true_extent(name, &lower, &extent));                                       \
        EQUAL(extent, offsetof(type, index) + sizeof(int));                                        \
        FILLED(type, out, 3);                                                                      \
        OK(MPI_Pack(out, 3, name, room, sizeof room, &position, MPI_COMM_SELF));                   \
        EQUAL(position, 3 * (bytes));                                                              \
        position = 0;                                                                              \
        memset(in, MARK, sizeof in);                                                               \
        OK(MPI_Unpack(room, sizeof room, &position, in, 3, name, MPI_COMM_SELF));                  \
        HAS(in, 3);                                                                                \
        memset(in, MARK, sizeof in);                                                               \
        memset(out, 0, sizeof out);                                                                \
        for (int i_ = 0; i_ < 3; i_++)                                                             \
            out[i_].value = 3 + i_, out[i_].index = 30 + i_;                                       \
        OK(MPI_Sendrecv(out, 3, name, behind(), 1, in, 3, name, before(), 1, MPI_COMM_WORLD,       \
                        &status));                                                                 \
        HAS(in, 3);                                                                                \
        OK(MPI_Get_count(&status, name, &packed));                                                 \
        EQUAL(packed, 3);                                                                          \
        elements = elements_of(&status, name, 6);                                                  \
        EQUAL(elements, 6);                                                                        \
        for (int i_ = 0; i_ < 3; i_++)                                                             \
            padding_stays(&in[i_], gap_from, gap_to);                                              \
        /* A datatype of the program's own with the same numbers. */                               \
        MPI_Datatype parts[2] = {first_type, MPI_INT}, made;                                       \
        int lengths[2] = {1, 1};                                                                   \
        MPI_Aint places[2] = {0, offsetof(type, index)};                                           \
        OK(MPI_Type_create_struct(2, lengths, places, parts, &made));                              \
        OK(MPI_Type_commit(&made));                                                                \
        memset(in, MARK, sizeof in);                                                               \
        OK(MPI_Sendrecv(out, 3, made, behind(), 2, in, 3, name, before(), 2, MPI_COMM_WORLD,       \
                        &status));                                                                 \
        HAS(in, 3);                                                                                \
        OK(MPI_Get_count(&status, name, &packed));                                                 \
        EQUAL(packed, 3);                                                                          \
        OK(MPI_Bcast(out, 3, rank_here % 2 ? made : name, 0, MPI_COMM_WORLD));                     \
        one_sided(name, made, in, out, sizeof in);                                                 \
        HAS(in, 3);                                                                                \
        for (int i_ = 0; i_ < 3; i_++)                                                             \
            padding_stays(&in[i_], gap_from, gap_to);                                              \
        reduces_##type(name);                                                                      \
        OK(MPI_Type_free(&made));                                                                  \
    } while (0)

/* Puts from one datatype to the other, and gets it back the other way. */
static void one_sided(MPI_Datatype name, MPI_Datatype made, void *in, const void *out, size_t bytes)
{
    char *part;
    MPI_Win win;
    OK(MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win));
    memset(part, MARK, bytes);
    memset(in, MARK, bytes);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(out, 3, made, behind(), 0, 3, name, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(in, 3, name, behind(), 0, 3, made, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(out, 3, name, behind(), 0, 3, name, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(in, 3, name, behind(), 0, 3, name, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    OK(MPI_Win_free(&win));
}

/* Two pairs in memory that ends with the index of the second, at the origin, the target and the result,
   whether the target is mapped or not. */
static void tight(MPI_Datatype name, const void *pair, size_t extent, size_t used, size_t gap_from,
                  size_t gap_to)
{
    size_t bytes = extent + used, first = gap_from && gap_from < used ? gap_from : used;
    for (int is_private = 0; is_private < 2; is_private++) {
        char *part, *origin = malloc(bytes), *result = malloc(bytes), guard[64];
        MPI_Win win;
        if (is_private) {
            part = malloc(bytes);
            OK(MPI_Win_create(part, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        } else {
            OK(MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win));
        }
        memset(origin, 0, bytes);
        memcpy(origin, pair, used);
        memcpy(origin + extent, pair, used);
        memset(part, MARK, bytes);
        memset(result, MARK, bytes);
        memset(guard, MARK, sizeof guard);
        OK(MPI_Win_fence(0, win));
        OK(MPI_Accumulate(origin, 2, name, behind(), 0, 2, name, MPI_REPLACE, win));
        OK(MPI_Win_fence(0, win));
        OK(MPI_Get_accumulate(origin, 2, name, result, 2, name, behind(), 0, 2, name, MPI_MAXLOC,
                              win));
        OK(MPI_Win_fence(0, win));
        EQUAL(memcmp(result + extent, origin + extent, first), 0);
        EQUAL(memcmp(part + extent, origin + extent, first), 0);
        padding_stays(result, gap_from, gap_to);
        padding_stays(part, gap_from, gap_to);
        OK(MPI_Fetch_and_op(origin, guard, name, behind(), (MPI_Aint)extent, MPI_NO_OP, win));
        padding_stays(guard, gap_from, gap_to);
        padding_stays(guard, used, sizeof guard);
        OK(MPI_Win_fence(0, win));
        OK(MPI_Win_free(&win));
        if (is_private)
            free(part);
        free(origin);
        free(result);
    }
}

/* Every rank's value is its number but for one, and the indices say whose it is. */
#define REDUCES(type, gap_from, gap_to)                                                            \
    static void reduces_##type(MPI_Datatype name)                                                  \
    {                                                                                              \
        RULE("MPI-4.1 6.9.4: reductions of " #type);                                                              \
        type mine[3], best[3], *part;                                                              \
        memset(mine, 0, sizeof mine);                                                              \
        for (int i = 0; i < 3; i++)                                                                \
            mine[i].value = (rank_here + i) % ranks, mine[i].index = rank_here;                    \
        memset(best, MARK, sizeof best);                                                           \
        OK(MPI_Allreduce(mine, best, 3, name, MPI_MAXLOC, MPI_COMM_WORLD));                        \
        for (int i = 0; i < 3; i++) {                                                              \
            REAL(best[i].value, ranks - 1);                                                        \
            EQUAL(best[i].index, (2 * ranks - 1 - i) % ranks);                                     \
            padding_stays(&best[i], gap_from, gap_to);                                             \
        }                                                                                          \
        MPI_Win win;                                                                               \
        OK(MPI_Win_allocate(sizeof best, sizeof(type), MPI_INFO_NULL, MPI_COMM_WORLD, &part,       \
                            &win));                                                                \
        memset(part, MARK, sizeof best);                                                           \
        for (int i = 0; i < 3; i++)                                                                \
            part[i].value = 100, part[i].index = 100;                                              \
        OK(MPI_Barrier(MPI_COMM_WORLD));                                                           \
        OK(MPI_Win_lock_all(0, win));                                                              \
        OK(MPI_Accumulate(mine, 3, name, 0, 0, 3, name, MPI_MINLOC, win));                         \
        OK(MPI_Win_flush(0, win));                                                                 \
        OK(MPI_Barrier(MPI_COMM_WORLD));                                                           \
        type got;                                                                                  \
        memset(&got, ours() ? MARK : 0, sizeof got);                                               \
        OK(MPI_Fetch_and_op(mine, &got, name, 0, 1, MPI_NO_OP, win));                              \
        OK(MPI_Win_flush(0, win));                                                                 \
        REAL(got.value, 0);                                                                        \
        EQUAL(got.index, ranks - 1);                                                               \
        if (ours())                                                                                \
            padding_stays(&got, gap_from, gap_to);                                                 \
        OK(MPI_Barrier(MPI_COMM_WORLD));                                                           \
        mine[2].value = 7, mine[2].index = 9;                                                      \
        OK(MPI_Get_accumulate(&mine[2], 1, name, &got, 1, name, 0, 2, 1, name, MPI_REPLACE, win)); \
        OK(MPI_Win_unlock_all(win));                                                               \
        if (ours())                                                                                \
            padding_stays(&got, gap_from, gap_to);                                                 \
        OK(MPI_Barrier(MPI_COMM_WORLD));                                                           \
        if (rank_here == 0) {                                                                      \
            REAL(part[0].value, 0);                                                                \
            EQUAL(part[0].index, 0);                                                               \
            REAL(part[2].value, 7);                                                                \
            EQUAL(part[2].index, 9);                                                               \
            for (int i = 0; i < 3 && ours(); i++)                                                  \
                padding_stays(&part[i], gap_from, gap_to);                                         \
        }                                                                                          \
        OK(MPI_Win_free(&win));                                                                    \
        if (ours())                                                                                \
            tight(name, &mine[2], sizeof(type), offsetof(type, index) + sizeof(int), gap_from, gap_to);\
    }

REDUCES(double_int, 12, 16)
REDUCES(long_int, 12, 16)
REDUCES(short_int, 2, 4)
REDUCES(float_int, 0, 0)
REDUCES(long_double_int, 20, 32)
REDUCES(two_int, 0, 0)

/* Numbers side by side at the sender are pairs at the receiver, also where the last is half a pair. */
static void halves(void)
{
    RULE("MPI-4.1 6.9.4: halves");
    struct {
        double a;
        int b;
        double c;
        int d;
    } out = {1, 2, 3, 4};
    double_int in[2];
    MPI_Datatype parts[4] = {MPI_DOUBLE, MPI_INT, MPI_DOUBLE, MPI_INT}, four, three;
    int lengths[4] = {1, 1, 1, 1}, count;
    MPI_Aint places[4] = {0, 8, 16, 24};
    MPI_Status status;
    OK(MPI_Type_create_struct(4, lengths, places, parts, &four));
    OK(MPI_Type_create_struct(3, lengths, places, parts, &three));
    OK(MPI_Type_commit(&four));
    OK(MPI_Type_commit(&three));
    OK(MPI_Sendrecv(&out, 1, four, behind(), 0, in, 2, MPI_DOUBLE_INT, before(), 0,
                    MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_DOUBLE_INT, &count));
    EQUAL(count, 2);
    REAL(in[0].value, 1);
    EQUAL(in[0].index, 2);
    REAL(in[1].value, 3);
    EQUAL(in[1].index, 4);
    in[1].index = 77;
    OK(MPI_Sendrecv(&out, 1, three, behind(), 0, in, 2, MPI_DOUBLE_INT, before(), 0,
                    MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_DOUBLE_INT, &count));
    EQUAL(count, MPI_UNDEFINED);
    EQUAL(elements_of(&status, MPI_DOUBLE_INT, 3), 3);
    EQUAL(in[1].index, 77);
    char *part;
    MPI_Win win;
    OK(MPI_Win_allocate(sizeof in, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win));
    memset(part, 0, sizeof in);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&out, 1, three, behind(), 0, 2, MPI_DOUBLE_INT, win));
    OK(MPI_Win_fence(0, win));
    REAL(((double_int *)part)[1].value, 3);
    EQUAL(((double_int *)part)[1].index, 0);
    OK(MPI_Win_free(&win));
    OK(MPI_Type_free(&four));
    OK(MPI_Type_free(&three));
}

/* Pairs within datatypes of the program: of every second pair, and beside another number. */
static void within(void)
{
    RULE("MPI-4.1 6.9.4: within others");
    MPI_Datatype every_second, beside;
    double_int out[4], in[4];
    int size;
    for (int i = 0; i < 4; i++)
        out[i].value = i, out[i].index = -i;
    memset(in, MARK, sizeof in);
    OK(MPI_Type_vector(2, 1, 2, MPI_DOUBLE_INT, &every_second));
    OK(MPI_Type_commit(&every_second));
    OK(MPI_Type_size(every_second, &size));
    EQUAL(size, 24);
    MPI_Status status;
    OK(MPI_Sendrecv(out, 1, every_second, behind(), 0, in, 1, every_second, before(), 0,
                    MPI_COMM_WORLD, &status));
    EQUAL(elements_of(&status, every_second, 4), 4);
    REAL(in[2].value, 2);
    EQUAL(in[2].index, -2);
    padding_stays(&in[0], 12, 32);
    padding_stays(&in[2], 12, 32);
    MPI_Win win;
    double_int *part;
    OK(MPI_Win_allocate(sizeof in, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win));
    memset(part, MARK, sizeof in);
    part[0].value = part[2].value = 1;
    part[0].index = part[2].index = 50;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(out, 1, every_second, behind(), 0, 1, every_second, MPI_MAXLOC, win));
    OK(MPI_Win_fence(0, win));
    REAL(part[0].value, 1);
    EQUAL(part[0].index, 50);
    REAL(part[2].value, 2);
    EQUAL(part[2].index, -2);
    padding_stays(&part[1], 0, 16);
    OK(MPI_Win_free(&win));
    struct {
        int first;
        double_int pair;
    } one = {5, {6, 7}}, other;
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {0, 8};
    MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE_INT};
    OK(MPI_Type_create_struct(2, lengths, places, parts, &beside));
    OK(MPI_Type_commit(&beside));
    OK(MPI_Type_size(beside, &size));
    EQUAL(size, 16);
    memset(&other, MARK, sizeof other);
    OK(MPI_Sendrecv(&one, 1, beside, behind(), 0, &other, 1, beside, before(), 0, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    EQUAL(other.first, 5);
    REAL(other.pair.value, 6);
    EQUAL(other.pair.index, 7);
    padding_stays(&other, 20, 24);
    OK(MPI_Type_free(&beside));
    OK(MPI_Type_free(&every_second));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    RULE("MPI-4.1 6.9.4: pairs");
    MOVES(double_int, MPI_DOUBLE_INT, MPI_DOUBLE, 12, 12, 16);
    MOVES(long_int, MPI_LONG_INT, MPI_LONG, 12, 12, 16);
    MOVES(short_int, MPI_SHORT_INT, MPI_SHORT, 6, 2, 4);
    MOVES(float_int, MPI_FLOAT_INT, MPI_FLOAT, 8, 0, 0);
    MOVES(long_double_int, MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, 20, 20, 32);
    MOVES(two_int, MPI_2INT, MPI_INT, 8, 0, 0);
    halves();
    within();
    return end();
}
