/* Collectives of all ranks: of 8 B, 4 KiB, 64 KiB and 1 MiB that each rank gives another. */
#include "bench.h"

#define LARGEST (1u << 20)

struct buffers {
    double *given, *got;
    int count;
};

static void barriers(void *context, uint32_t times) {
    (void)context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void bcasts(void *context, uint32_t times) {
    struct buffers *b = context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Bcast(b->given, b->count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
}

static void reduces(void *context, uint32_t times) {
    struct buffers *b = context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Reduce(b->given, b->got, b->count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    }
}

static void allreduces(void *context, uint32_t times) {
    struct buffers *b = context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Allreduce(b->given, b->got, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void allgathers(void *context, uint32_t times) {
    struct buffers *b = context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Allgather(b->given, b->count, MPI_DOUBLE, b->got, b->count, MPI_DOUBLE,
                      MPI_COMM_WORLD);
    }
}

static void alltoalls(void *context, uint32_t times) {
    struct buffers *b = context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Alltoall(b->given, b->count, MPI_DOUBLE, b->got, b->count, MPI_DOUBLE, MPI_COMM_WORLD);
    }
}

void collectives(void) {
    static const uint32_t SIZES[] = {8, 4 << 10, 64 << 10, LARGEST};
    struct buffers b = {memory((uint64_t)LARGEST * ranks), memory((uint64_t)LARGEST * ranks), 0};
    struct bench barrier[] = {{"collective barrier", 0, barriers, &b, 0}};
    MEASURE(ALL_RANKS, barrier);
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(*SIZES); i++) {
        uint32_t bytes = SIZES[i];
        b.count = bytes / sizeof(double);
        struct bench cases[] = {{"collective bcast", bytes, bcasts, &b, 0},
                                {"collective reduce", bytes, reduces, &b, 0},
                                {"collective allreduce", bytes, allreduces, &b, 0},
                                {"collective allgather", bytes, allgathers, &b, 0},
                                {"collective alltoall", bytes, alltoalls, &b, 0}};
        MEASURE(ALL_RANKS, cases);
    }
}
