/* The twin of suites/layouts.rs: puts by derived datatypes from rank 0 to rank 1. */
#include "bench.h"
#include <stdlib.h>

#define TARGET 1
#define STRIDE 8
#define COLUMNS 1024
#define WORDS (STRIDE * (128u << 10))
#define INDEXED 1000
#define CREATED (64 << 10)

struct shape {
    MPI_Win win;
    void *origin;
    int count;
    MPI_Datatype type;
};

static void put(void *context, uint32_t times) {
    struct shape *s = context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Put(s->origin, s->count, MPI_INT64_T, TARGET, 0, 1, s->type, s->win);
    }
    MPI_Win_flush_local(TARGET, s->win);
}

static void measure_shape(const char *what, struct shape s) {
    MPI_Type_commit(&s.type);
    struct bench cases[] = {{what, 8 * (uint64_t)s.count, put, &s, 0}};
    MEASURE(ONE_RANK, cases);
    MPI_Type_free(&s.type);
}

/* As `random_indices` of suites/layouts.rs draws them. */
static void random_indices(int *indices) {
    uint64_t state = 1;
    for (int i = 0; i < INDEXED; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int spread = WORDS / INDEXED;
        indices[i] = i * spread + (state >> 33) % spread;
    }
    for (int i = INDEXED - 1; i > 0; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int other = (state >> 33) % (i + 1), index = indices[i];
        indices[i] = indices[other];
        indices[other] = index;
    }
}

static void shapes(MPI_Win win, void *origin) {
    static const int VECTORS[] = {8, 16, 64, 4 << 10, 128 << 10};
    struct shape s = {win, origin, 0, MPI_DATATYPE_NULL};
    for (size_t i = 0; i < sizeof(VECTORS) / sizeof(*VECTORS); i++) {
        s.count = VECTORS[i];
        MPI_Type_vector(s.count, 1, STRIDE, MPI_INT64_T, &s.type);
        measure_shape("put vector, stride 8 doubles", s);
    }
    int array[] = {64, COLUMNS}, size[] = {8, 8}, start[] = {3, 5}, indices[INDEXED];
    s.count = 64;
    MPI_Type_create_subarray(2, array, size, start, MPI_ORDER_C, MPI_INT64_T, &s.type);
    measure_shape("put 8x8 of 1024 columns", s);
    random_indices(indices);
    s.count = INDEXED;
    MPI_Type_create_indexed_block(INDEXED, 1, indices, MPI_INT64_T, &s.type);
    measure_shape("put indexed, 1000 doubles anywhere", s);
}

/* Single words of memory that is the program's own, not the library's. */
static void created(void) {
    void *origin = memory(8 * 2 * CREATED), *base = memory(8 * 2 * CREATED);
    struct shape s = {.origin = origin, .count = CREATED};
    MPI_Win_create(base, 8 * 2 * CREATED, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &s.win);
    if (rank == 0) {
        MPI_Win_lock_all(0, s.win);
        MPI_Type_vector(CREATED, 1, 2, MPI_INT64_T, &s.type);
        measure_shape("put vector to created memory, stride 2 doubles", s);
        MPI_Win_unlock_all(s.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&s.win);
    free(origin);
    free(base);
}

void layouts(void) {
    void *base, *origin = memory(8 * WORDS);
    MPI_Win win = window(8 * (uint64_t)WORDS, 8, &base);
    if (rank == 0) {
        MPI_Win_lock_all(0, win);
        shapes(win, origin);
        MPI_Win_unlock_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    free(origin);
    created();
}
