/* A list over all ranks, in memory that each attaches to a dynamic window element by element: who
   appends looks for the end, and hooks its element in by compare_and_swap of the whole pointer. */

#include "check.h"
#include <stddef.h>

enum { ELEMENTS = 8 };

/* A pointer to an element of any rank, in one word: the rank above its address. */
typedef struct {
    long long next;
    long long value;
} element;

static MPI_Win win;
static element *own[ELEMENTS];

static long long pointer(int rank, MPI_Aint address)
{
    return ((long long)(rank + 1) << 48) | (long long)address;
}

static int rank_of(long long pointer)
{
    return (int)(pointer >> 48) - 1;
}

static MPI_Aint address_of(long long pointer)
{
    return (MPI_Aint)(pointer & 0xffffffffffffLL);
}

static long long make(int i, long long value)
{
    MPI_Aint address;
    OK(MPI_Alloc_mem(sizeof(element), MPI_INFO_NULL, &own[i]));
    own[i]->next = 0;
    own[i]->value = value;
    OK(MPI_Win_attach(win, own[i], sizeof(element)));
    OK(MPI_Get_address(own[i], &address));
    return pointer(rank_here, address);
}

static long long read_(long long of, MPI_Aint field)
{
    long long value;
    OK(MPI_Fetch_and_op(NULL, &value, MPI_LONG_LONG, rank_of(of), address_of(of) + field, MPI_NO_OP,
                        win));
    OK(MPI_Win_flush(rank_of(of), win));
    return value;
}

static void append(long long head, long long new)
{
    long long end = head, next = 0, zero = 0;
    for (;;) {
        OK(MPI_Compare_and_swap(&new, &zero, &next, MPI_LONG_LONG, rank_of(end),
                                address_of(end) + (MPI_Aint)offsetof(element, next), win));
        OK(MPI_Win_flush(rank_of(end), win));
        if (next == 0)
            return;
        end = next;
    }
}

int main(int argc, char **argv)
{
    long long head = 0, *place;
    MPI_Win table;
    begin(&argc, &argv);
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_allocate(sizeof head, sizeof head, MPI_INFO_NULL, MPI_COMM_WORLD, &place, &table));
    OK(MPI_Win_fence(0, table));
    if (rank_here == 0) {
        head = make(0, -1);
        for (int rank = 0; rank < ranks; rank++)
            OK(MPI_Put(&head, 1, MPI_LONG_LONG, rank, 0, 1, MPI_LONG_LONG, table));
    }
    OK(MPI_Win_fence(0, table));
    head = *place;
    OK(MPI_Win_lock_all(0, win));
    for (int i = rank_here == 0; i < ELEMENTS; i++)
        append(head, make(i, 100 * rank_here + i));
    OK(MPI_Barrier(MPI_COMM_WORLD));

    /* Each rank's elements are there once, in its own order. */
    int count = 0, last[64];
    for (int rank = 0; rank < ranks; rank++)
        last[rank] = -1;
    for (long long at = read_(head, offsetof(element, next)); at;
         at = read_(at, offsetof(element, next))) {
        int value = (int)read_(at, offsetof(element, value));
        CHECK(value % 100 > last[value / 100]);
        EQUAL(rank_of(at), value / 100);
        last[value / 100] = value % 100;
        count++;
    }
    EQUAL(count, ELEMENTS * ranks - 1);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < ELEMENTS; i++) {
        OK(MPI_Win_detach(win, own[i]));
        OK(MPI_Free_mem(own[i]));
    }
    OK(MPI_Win_free(&win));
    OK(MPI_Win_free(&table));
    return end();
}
