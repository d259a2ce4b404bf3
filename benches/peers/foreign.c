/* The twin of suites/foreign.rs: rank 0 works on rank 1, which waits in a barrier; all ranks fence. */
#include "bench.h"

#define TARGET 1
/* As in foreign.rs. */
#define PUTS 64
#define STRIDE 16

static const int64_t SOURCE = 7;

static void put_at(MPI_Win win, MPI_Aint place) {
    MPI_Put(&SOURCE, 1, MPI_INT64_T, TARGET, place, 1, MPI_INT64_T, win);
}

static void batch(void *context, uint32_t times) {
    MPI_Win win = *(MPI_Win *)context;
    for (uint32_t i = 0; i < times; i++) {
        for (int put = 0; put < PUTS; put++) {
            put_at(win, put * STRIDE);
        }
        MPI_Win_flush(TARGET, win);
    }
}

static void one(void *context, uint32_t times) {
    MPI_Win win = *(MPI_Win *)context;
    for (uint32_t i = 0; i < times; i++) {
        put_at(win, 0);
        MPI_Win_flush(TARGET, win);
    }
}

static void puts_of(const char *of_batch, const char *of_one) {
    void *base;
    MPI_Win win = window(8 * PUTS * STRIDE, 8, &base);
    if (rank == 0) {
        MPI_Win_lock_all(0, win);
        struct bench cases[] = {{of_batch, 8, batch, &win, 0}, {of_one, 8, one, &win, 0}};
        MEASURE(ONE_RANK, cases);
        MPI_Win_unlock_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
}

static void sum(void *context, uint32_t times) {
    MPI_Win win = *(MPI_Win *)context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Accumulate(&SOURCE, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, MPI_SUM, win);
        MPI_Win_flush(TARGET, win);
    }
}

static void fence(void *context, uint32_t times) {
    MPI_Win win = *(MPI_Win *)context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Win_fence(0, win);
    }
}

void foreign_node(void) {
    void *base;
    MPI_Win win = window(8 * STRIDE, 8, &base);
    if (rank == 0) {
        MPI_Win_lock_all(0, win);
        struct bench cases[] = {{"put + flush on a node", 8, one, &win, 0},
                                {"accumulate sum u64 + flush on a node", 8, sum, &win, 0}};
        MEASURE(ONE_RANK, cases);
        MPI_Win_unlock_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    win = window(4096, 8, &base);
    struct bench fences[] = {{"fence on a node", 0, fence, &win, 0}};
    MEASURE(ALL_RANKS, fences);
    MPI_Win_free(&win);
}

void foreign(void) {
    puts_of("64 puts + flush by another MPI", "put + flush by another MPI");
}

void foreign_far(void) {
    puts_of("64 puts + flush by another MPI, far", "put + flush by another MPI, far");
}
