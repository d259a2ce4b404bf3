/* MPI-2.2 §11.2.1 and §11.2.2: windows over memory of the program, and what is known of a window. */

#define _GNU_SOURCE
#include "check.h"
#include <sys/mman.h>

/* Rank 0 exposes nothing, the others from one to three integers; odd ranks count in bytes. */
static int length(int rank)
{
    return rank == 0 ? 0 : rank % 3 + 1;
}

static int unit(int rank)
{
    return rank % 2 ? 1 : (int)sizeof(int);
}

static void parts_differ(void)
{
    int memory[4] = {0, 0, 0, 0};
    MPI_Win win;
    RULE("11.2.1-1; 11.2.1-2; 11.2.1-3; 11.2.1-7");
    OK(MPI_Win_create(memory, length(rank_here) * (MPI_Aint)sizeof(int), unit(rank_here),
                      MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_fence(0, win));
    int target = behind(), last = length(target) - 1, number = 100 + rank_here;
    if (last >= 0)
        OK(MPI_Put(&number, 1, MPI_INT, target, last * (int)sizeof(int) / unit(target), 1, MPI_INT,
                   win));
    OK(MPI_Win_fence(0, win));
    RULE("11.2.1-4; 11.3-11");
    for (int i = 0; i < 4; i++)
        EQUAL(memory[i], i == length(rank_here) - 1 ? 100 + before() : 0);
    OK(MPI_Win_free(&win));
}

static void attributes(void)
{
    int memory[5], flag, result, *model, *flavour, *unit_;
    MPI_Aint *size;
    void *base;
    MPI_Group group, world;
    MPI_Win win;
    OK(MPI_Win_create(memory, sizeof memory, 2, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    RULE("11.2.2-1");
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag));
    CHECK(flag && base == memory);
    OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag));
    CHECK(flag);
    EQUAL(*size, sizeof memory);
    OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit_, &flag));
    CHECK(flag);
    EQUAL(*unit_, 2);
    RULE("11.2.2-4");
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavour, &flag));
    CHECK(flag);
    EQUAL(*flavour, MPI_WIN_FLAVOR_CREATE);
    RULE("11.2.2-5");
    OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag));
    CHECK(flag);
    EQUAL(*model, MPI_WIN_UNIFIED);
    RULE("11.2.2-2");
    OK(MPI_Win_get_group(win, &group));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_compare(group, world, &result));
    EQUAL(result, MPI_IDENT);
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&world));
    OK(MPI_Win_free(&win));
}

static int deleted;

static int on_delete(MPI_Win win, int keyval, void *value, void *extra)
{
    (void)win;
    (void)keyval;
    deleted += *(int *)value + *(int *)extra;
    return MPI_SUCCESS;
}

static void attributes_of_the_program(void)
{
    int key, flag, value = 3, extra = 40, *found, memory;
    MPI_Win win;
    RULE("11.2.2-3");
    OK(MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &key, &extra));
    OK(MPI_Win_get_attr(win, key, &found, &flag));
    EQUAL(flag, 0);
    OK(MPI_Win_set_attr(win, key, &value));
    OK(MPI_Win_get_attr(win, key, &found, &flag));
    CHECK(flag && found == &value);
    OK(MPI_Win_delete_attr(win, key));
    EQUAL(deleted, 43);
    OK(MPI_Win_get_attr(win, key, &found, &flag));
    EQUAL(flag, 0);
    OK(MPI_Win_set_attr(win, key, &value));
    OK(MPI_Win_free(&win));
    EQUAL(deleted, 86);
    OK(MPI_Win_free_keyval(&key));
    EQUAL(key, MPI_KEYVAL_INVALID);
}

/* The same memory in two windows; and memory of every kind, also at odd addresses. */
static void any_memory_and_twice(void)
{
    static char fixed[64];
    char automatic[64], *heap = calloc(1, 64);
    char *places[] = {fixed, automatic, heap, fixed + 1, automatic + 3};
    memset(automatic, 0, sizeof automatic);
    RULE("11.2.1-11");
    for (int i = 0; i < 5; i++) {
        MPI_Win win;
        char letter = (char)('a' + i);
        OK(MPI_Win_create(places[i], 32, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        OK(MPI_Win_fence(0, win));
        OK(MPI_Put(&letter, 1, MPI_CHAR, behind(), 31, 1, MPI_CHAR, win));
        OK(MPI_Win_fence(0, win));
        EQUAL(places[i][31], letter);
        OK(MPI_Win_free(&win));
    }
    RULE("11.2.1-9");
    MPI_Win one, two;
    OK(MPI_Win_create(heap, 32, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &one));
    OK(MPI_Win_create(heap + 16, 32, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &two));
    OK(MPI_Win_fence(0, one));
    OK(MPI_Win_fence(0, two));
    OK(MPI_Put("x", 1, MPI_CHAR, behind(), 20, 1, MPI_CHAR, one));
    OK(MPI_Win_fence(0, one));
    OK(MPI_Win_fence(0, two));
    char seen;
    OK(MPI_Get(&seen, 1, MPI_CHAR, behind(), 4, 1, MPI_CHAR, two));
    OK(MPI_Win_fence(0, two));
    EQUAL(seen, 'x');
    OK(MPI_Win_free(&one));
    OK(MPI_Win_free(&two));
    RULE("11.2.1-16");
    free(heap);
}

static void larger_than_four_gibibytes(void)
{
    MPI_Aint size = rank_here == 0 ? (MPI_Aint)5 << 30 : 0;
    char *memory = NULL, letter = 'g', seen = 0;
    MPI_Win win;
    RULE("11.2.1-5");
    if (size) {
        memory = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK(memory != MAP_FAILED);
    }
    OK(MPI_Win_create(memory, size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_fence(0, win));
    if (rank_here == ranks - 1)
        OK(MPI_Put(&letter, 1, MPI_CHAR, 0, ((MPI_Aint)5 << 30) - 1, 1, MPI_CHAR, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(&seen, 1, MPI_CHAR, 0, ((MPI_Aint)5 << 30) - 1, 1, MPI_CHAR, win));
    OK(MPI_Win_fence(0, win));
    EQUAL(seen, 'g');
    OK(MPI_Win_free(&win));
    if (size)
        munmap(memory, (size_t)size);
}

/* Who has left `free` sees that all have called it. */
static void free_waits_for_all(void)
{
    int *calls, one = 1, unused, *part;
    MPI_Win counter = window(1, &calls), win = window(1, &part), alone;
    RULE("11.2.1-17");
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, counter));
    OK(MPI_Fetch_and_op(&one, &unused, MPI_INT, 0, 0, MPI_SUM, counter));
    OK(MPI_Win_unlock(0, counter));
    OK(MPI_Win_free(&win));
    RULE("11.2.1-13");
    CHECK(win == MPI_WIN_NULL);
    EQUAL(value_of(counter, 0, 0), ranks);
    OK(MPI_Win_free(&counter));
    RULE("11.2.1-14");
    OK(MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_SELF, &part, &alone));
    OK(MPI_Win_free(&alone));
}

static void free_needs_the_end_of_epochs(void)
{
    int *part;
    RULE("11.2.1-15");
    MPI_Win win = window(1, &part);
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    if (ours()) {
        /* It fails on every rank, and changes nothing. */
        FAILS(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
        CHECK(win != MPI_WIN_NULL);
    }
    OK(MPI_Win_unlock(0, win));
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    parts_differ();
    attributes();
    attributes_of_the_program();
    any_memory_and_twice();
    larger_than_four_gibibytes();
    free_waits_for_all();
    free_needs_the_end_of_epochs();
    return end();
}
