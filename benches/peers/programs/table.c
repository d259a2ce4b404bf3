/* The twin of programs/table.rs. */
#include "programs.h"
#include <string.h>

#define WHAT "hash table, 32 Ki inserts by compare_and_swap"
#define LOG_WORDS 16
#define KEYS (1u << (LOG_WORDS - 1))

struct table {
    MPI_Win win;
    uint64_t *base, part;
    int shift;
};

static uint64_t swap_zero(const struct table *t, uint64_t word, const uint64_t *key) {
    static const uint64_t zero = 0;
    uint64_t before;
    int target = word >> t->shift;
    MPI_Compare_and_swap(key, &zero, &before, MPI_UINT64_T, target, word & (t->part - 1), t->win);
    MPI_Win_flush(target, t->win);
    return before;
}

static void run(void *context, uint32_t times) {
    struct table *t = context;
    for (uint32_t n = 0; n < times; n++) {
        MPI_Win_lock_all(0, t->win);
        memset(t->base, 0, 8 * t->part);
        MPI_Win_sync(t->win);
        MPI_Barrier(MPI_COMM_WORLD);
        for (uint64_t i = 0; i < KEYS / ranks; i++) {
            uint64_t key = 1 + i * ranks + rank;
            uint64_t word = key * 0x9e3779b97f4a7c15u >> (64 - LOG_WORDS);
            while (swap_zero(t, word, &key) != 0) {
                word = (word + 1) & ((1u << LOG_WORDS) - 1);
            }
        }
        MPI_Win_unlock_all(t->win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

void table(void) {
    struct table t = {.part = (1u << LOG_WORDS) / ranks, .shift = LOG_WORDS};
    for (int i = 1; i < ranks; i *= 2) {
        t.shift--;
    }
    t.win = window(8 * t.part, 8, &t.base);
    run(&t, 1);
    double sum = 0.0;
    for (uint64_t i = 0; i < t.part; i++) {
        sum += t.base[i];
    }
    check(WHAT, 0, sum);
    program(WHAT, 0, run, &t);
    MPI_Win_free(&t.win);
}
