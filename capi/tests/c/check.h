/* What the test programs share: checks that say where they fail, and which rule they are about.

   A program begins with `begin` and ends with `return end();`, which makes rank 0 print how many checks
   it has passed: a program that checks nothing fails in tests/programs.rs. */

#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank_here, ranks;
static long checks_passed;
static const char *rule_here = "";

/* The rule that the checks below it are about, by its number in docs/reference/conformance.md. */
#define RULE(number) (rule_here = (number))

#define FAILED(...)                                                                               \
    do {                                                                                          \
        fprintf(stderr, "%s:%d: rank %d of %d: rule '%s': ", __FILE__, __LINE__, rank_here,       \
                ranks, rule_here);                                                                \
        fprintf(stderr, __VA_ARGS__);                                                             \
        fputc('\n', stderr);                                                                      \
        MPI_Abort(MPI_COMM_WORLD, 1);                                                             \
        exit(1);                                                                                  \
    } while (0)

#define CHECK(condition)                                                                          \
    do {                                                                                          \
        if (!(condition))                                                                         \
            FAILED("not so: %s", #condition);                                                     \
        checks_passed++;                                                                          \
    } while (0)

/* Whole numbers. */
#define EQUAL(got, expected)                                                                      \
    do {                                                                                          \
        long long got_ = (long long)(got), expected_ = (long long)(expected);                     \
        if (got_ != expected_)                                                                    \
            FAILED("%s is %lld, not %lld (%s)", #got, got_, expected_, #expected);                \
        checks_passed++;                                                                          \
    } while (0)

#define REAL(got, expected)                                                                       \
    do {                                                                                          \
        double got_ = (double)(got), expected_ = (double)(expected);                              \
        if (got_ != expected_)                                                                    \
            FAILED("%s is %g, not %g (%s)", #got, got_, expected_, #expected);                    \
        checks_passed++;                                                                          \
    } while (0)

/* The text of an error code. */
static inline const char *sentence(int code)
{
    static char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        snprintf(text, sizeof text, "code %d", code);
    return text;
}

/* A call that succeeds. */
#define OK(call)                                                                                  \
    do {                                                                                          \
        int code_ = (call);                                                                       \
        if (code_ != MPI_SUCCESS)                                                                 \
            FAILED("%s: %s", #call, sentence(code_));                                             \
        checks_passed++;                                                                          \
    } while (0)

/* A call that fails with an error of a class. What a library does with a wrong call is mostly its own
   business, so this is for `if (ours())`, or for where the standard names the class. */
#define FAILS(class, call)                                                                        \
    do {                                                                                          \
        int code_ = (call), class_ = -1;                                                          \
        MPI_Error_class(code_, &class_);                                                          \
        if (class_ != (class))                                                                    \
            FAILED("%s: class %d, not %d (%s): %s", #call, class_, (class), #class,               \
                   sentence(code_));                                                              \
        checks_passed++;                                                                          \
    } while (0)

/* Whether this runs on onesided, and not on another MPI. */
static inline int ours(void)
{
    static char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    if (!version[0])
        MPI_Get_library_version(version, &length);
    return strstr(version, "onesided") != NULL;
}

static inline void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_here);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

static inline int end(void)
{
    RULE("end");
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank_here == 0) {
        printf("%ld checks passed\n", checks_passed);
        fflush(stdout);
    }
    return MPI_Finalize();
}

/* The ranks before and behind this one, in a ring. */
static inline int behind(void)
{
    return (rank_here + 1) % ranks;
}

static inline int before(void)
{
    return (rank_here + ranks - 1) % ranks;
}

/* A group of some ranks of the world. */
static inline MPI_Group group_of(int count, const int *members)
{
    MPI_Group world, group;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, count, members, &group));
    OK(MPI_Group_free(&world));
    return group;
}

static inline MPI_Group group_of_one(int member)
{
    return group_of(1, &member);
}

/* A window of integers, zero everywhere, every rank's part of the same length. */
static inline MPI_Win window(int count, int **part)
{
    MPI_Win win;
    OK(MPI_Win_allocate((MPI_Aint)count * (MPI_Aint)sizeof(int), (int)sizeof(int), MPI_INFO_NULL,
                        MPI_COMM_WORLD, part, &win));
    memset(*part, 0, (size_t)count * sizeof(int));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return win;
}

/* One integer of a part of a window, there and back, by a lock of its own. */
static inline int value_of(MPI_Win win, int target, MPI_Aint place)
{
    int value = -1;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    OK(MPI_Get(&value, 1, MPI_INT, target, place, 1, MPI_INT, win));
    OK(MPI_Win_unlock(target, win));
    return value;
}

#endif
