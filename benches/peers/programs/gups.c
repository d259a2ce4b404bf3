/* The twin of programs/gups.rs. */
#include "programs.h"

#define WHAT "gups, 64 Ki updates by exclusive or"
#define LOG_WORDS 20
#define UPDATES (64 << 10)
#define LOOK_AHEAD 1024

struct gups {
    MPI_Win win;
    uint64_t part;
    int shift;
};

static void updates(const struct gups *g) {
    uint64_t numbers[LOOK_AHEAD], random = 0x9e3779b97f4a7c15u ^ (uint64_t)rank;
    for (int left = UPDATES / ranks; left > 0; left -= LOOK_AHEAD) {
        int count = left < LOOK_AHEAD ? left : LOOK_AHEAD;
        for (int i = 0; i < count; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            uint64_t word = random & ((1u << LOG_WORDS) - 1);
            numbers[i] = random;
            MPI_Accumulate(&numbers[i], 1, MPI_UINT64_T, word >> g->shift, word & (g->part - 1), 1,
                           MPI_UINT64_T, MPI_BXOR, g->win);
        }
        MPI_Win_flush_local_all(g->win);
    }
    MPI_Win_flush_all(g->win);
}

static void run(void *context, uint32_t times) {
    struct gups *g = context;
    MPI_Win_lock_all(0, g->win);
    for (uint32_t i = 0; i < times; i++) {
        updates(g);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(g->win);
}

void gups(void) {
    uint64_t *base;
    struct gups g = {.part = (1u << LOG_WORDS) / ranks, .shift = LOG_WORDS};
    for (int i = 1; i < ranks; i *= 2) {
        g.shift--;
    }
    g.win = window(8 * g.part, 8, &base);
    run(&g, 1);
    double sum = 0.0;
    for (uint64_t i = 0; i < g.part; i++) {
        sum += base[i] >> 40;
    }
    check(WHAT, 0, sum);
    program(WHAT, 0, run, &g);
    MPI_Win_free(&g.win);
}
