/* The twin of suites/epochs.rs: synchronisation by all ranks at once. */
#include "bench.h"
#include <stdlib.h>

#define WORDS 512
#define ROW 64
/* Bytes of a large window, and of the largest accumulate. */
#define LARGE (64 << 20)
#define MOST_FENCED (1 << 20)

struct epoch {
    MPI_Win win;
    MPI_Group targets, origins;
    int to[4], count;
    int words;
    /* Of a put or accumulate, or of a window. */
    int bytes;
    void *origin;
    MPI_Datatype element;
};

static void fence(void *context, uint32_t times) {
    struct epoch *e = context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Win_fence(0, e->win);
    }
}

static void barrier(void *context, uint32_t times) {
    (void)context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void exchange(void *context, uint32_t times) {
    struct epoch *e = context;
    static const int64_t row[ROW] = {1};
    for (uint32_t i = 0; i < times; i++) {
        MPI_Win_post(e->origins, 0, e->win);
        MPI_Win_start(e->targets, 0, e->win);
        for (int t = 0; t < e->count; t++) {
            MPI_Put(row, e->words, MPI_INT64_T, e->to[t], rank * e->words, e->words, MPI_INT64_T,
                    e->win);
        }
        MPI_Win_complete(e->win);
        MPI_Win_wait(e->win);
    }
}

static MPI_Group group(const int *members, int count) {
    MPI_Group world, some;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, count, members, &some);
    MPI_Group_free(&world);
    return some;
}

/* The ranks beside this one where all are laid out in a plane, as square as it goes. */
static int neighbours(int *beside) {
    int columns = 1, count = 0;
    for (int c = 1; c * c <= ranks; c++) {
        columns = ranks % c == 0 ? c : columns;
    }
    int column = rank % columns;
    if (rank >= columns) {
        beside[count++] = rank - columns;
    }
    if (rank + columns < ranks) {
        beside[count++] = rank + columns;
    }
    if (column > 0) {
        beside[count++] = rank - 1;
    }
    if (column + 1 < columns) {
        beside[count++] = rank + 1;
    }
    return count;
}

static void exchanges(void) {
    void *base;
    int before = (rank + ranks - 1) % ranks;
    struct epoch ring = {.win = window(8 * (uint64_t)ranks, 8, &base), .words = 1, .count = 1};
    ring.to[0] = (rank + 1) % ranks;
    ring.targets = group(ring.to, 1);
    ring.origins = group(&before, 1);
    struct epoch halo = {.win = window(8 * ROW * (uint64_t)ranks, 8, &base), .words = ROW};
    halo.count = neighbours(halo.to);
    halo.targets = group(halo.to, halo.count);
    halo.origins = group(halo.to, halo.count);
    struct bench rings[] = {{"PSCW ring epoch with put", 8, exchange, &ring, 0}};
    struct bench halos[] = {{"PSCW 2-D halo epoch with puts", 8 * ROW, exchange, &halo, 0}};
    MEASURE(ALL_RANKS, rings);
    MEASURE(ALL_RANKS, halos);
    MPI_Group_free(&ring.targets);
    MPI_Group_free(&ring.origins);
    MPI_Group_free(&halo.targets);
    MPI_Group_free(&halo.origins);
    MPI_Win_free(&ring.win);
    MPI_Win_free(&halo.win);
}

static void lock_all_alone(void *context, uint32_t times) {
    struct epoch *e = context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Win_lock_all(0, e->win);
        MPI_Win_unlock_all(e->win);
    }
}

static void lock_all(void *context, uint32_t times) {
    lock_all_alone(context, times);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* To the next rank; `times` fences end an epoch. */
static void put_fence(void *context, uint32_t times) {
    struct epoch *e = context;
    MPI_Win_fence(0, e->win);
    for (uint32_t i = 0; i < times; i++) {
        MPI_Put(e->origin, e->bytes, MPI_BYTE, (rank + 1) % ranks, 0, e->bytes, MPI_BYTE, e->win);
        MPI_Win_fence(0, e->win);
    }
}

static void accumulate_fence(void *context, uint32_t times) {
    struct epoch *e = context;
    int size;
    MPI_Type_size(e->element, &size);
    MPI_Win_fence(0, e->win);
    for (uint32_t i = 0; i < times; i++) {
        MPI_Accumulate(e->origin, e->bytes / size, e->element, (rank + 1) % ranks, 0,
                       e->bytes / size, e->element, MPI_SUM, e->win);
        MPI_Win_fence(0, e->win);
    }
}

static void with_fence(void) {
    static const int SIZES[] = {8, 512, 4096};
    void *base;
    struct epoch e = {.win = window(MOST_FENCED, 1, &base), .origin = memory(MOST_FENCED)};
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(*SIZES); i++) {
        e.bytes = SIZES[i];
        struct bench puts[] = {{"put + fence", e.bytes, put_fence, &e, 0}};
        MEASURE(ALL_RANKS, puts);
    }
    e.element = MPI_SIGNED_CHAR;
    struct bench chars[] = {{"accumulate sum of chars + fence", e.bytes, accumulate_fence, &e, 0}};
    MEASURE(ALL_RANKS, chars);
    e.element = MPI_DOUBLE;
    e.bytes = MOST_FENCED;
    struct bench doubles[] = {{"accumulate sum f64 + fence", e.bytes, accumulate_fence, &e, 0}};
    MEASURE(ALL_RANKS, doubles);
    MPI_Win_free(&e.win);
    free(e.origin);
}

static void create(void *context, uint32_t times) {
    struct epoch *e = context;
    for (uint32_t i = 0; i < times; i++) {
        void *base;
        MPI_Win win;
        MPI_Win_allocate(e->bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        MPI_Win_free(&win);
    }
}

void epochs(void) {
    void *base;
    struct epoch e = {.win = window(8 * WORDS, 8, &base)};
    /* One by one, so that what was measured is printed, should the next not end. */
    struct bench barriers[] = {{"barrier", 0, barrier, &e, 0}};
    struct bench fences[] = {{"fence", 0, fence, &e, 0}};
    struct bench alone[] = {{"lock_all + unlock_all by one rank", 0, lock_all_alone, &e, 0}};
    struct bench all[] = {{"lock_all + unlock_all", 0, lock_all, &e, 0}};
    struct epoch small = {.bytes = 8 * WORDS}, large = {.bytes = LARGE};
    struct bench creates[] = {{"window allocate + free", 8 * WORDS, create, &small, 0},
                              {"window allocate + free", LARGE, create, &large, 0}};
    MEASURE(ALL_RANKS, fences);
    /* Where ranks poll, one step of 64 ranks takes a fifth of a second. */
    if (ranks <= 16) {
        MEASURE(ALL_RANKS, barriers);
        MEASURE(ALL_RANKS, all);
        exchanges();
    }
    if (rank == 0) {
        MEASURE(ONE_RANK, alone);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (ranks <= 8) {
        MEASURE(ALL_RANKS, creates);
        with_fence();
    }
    MPI_Win_free(&e.win);
}
