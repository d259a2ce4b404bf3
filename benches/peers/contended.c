/* The twin of suites/contended.rs: all ranks want the same word or the same lock of rank 0. */
#include "bench.h"

#define TARGET 0
#define LONGER 50
#define MOST_DOUBLES 1024

struct prize {
    MPI_Win win;
    int64_t *base;
    int doubles;
};

static void fetch_and_op(void *context, uint32_t times) {
    struct prize *p = context;
    int64_t one = 1, before;
    MPI_Win_lock_all(0, p->win);
    for (uint32_t i = 0; i < times; i++) {
        MPI_Fetch_and_op(&one, &before, MPI_INT64_T, TARGET, 0, MPI_SUM, p->win);
        MPI_Win_flush(TARGET, p->win);
    }
    MPI_Win_unlock_all(p->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void compare_and_swap(void *context, uint32_t times) {
    struct prize *p = context;
    int64_t value = 0, new, before;
    MPI_Win_lock_all(0, p->win);
    for (uint32_t i = 0; i < times; i++) {
        new = value + 1;
        MPI_Compare_and_swap(&new, &value, &before, MPI_INT64_T, TARGET, 8, p->win);
        MPI_Win_flush(TARGET, p->win);
        value = before;
    }
    MPI_Win_unlock_all(p->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void accumulate(void *context, uint32_t times) {
    struct prize *p = context;
    double ones[MOST_DOUBLES];
    for (int i = 0; i < p->doubles; i++) {
        ones[i] = 1.0;
    }
    MPI_Win_lock_all(0, p->win);
    for (uint32_t i = 0; i < times; i++) {
        MPI_Accumulate(ones, p->doubles, MPI_DOUBLE, TARGET, 16, p->doubles, MPI_DOUBLE, MPI_SUM,
                       p->win);
    }
    MPI_Win_flush(TARGET, p->win);
    MPI_Win_unlock_all(p->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void lock_increment_unlock(void *context, uint32_t times) {
    struct prize *p = context;
    for (uint32_t i = 0; i < times; i++) {
        int64_t value;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, p->win);
        MPI_Get(&value, 1, MPI_INT64_T, TARGET, 64, 1, MPI_INT64_T, p->win);
        MPI_Win_flush(TARGET, p->win);
        value++;
        MPI_Put(&value, 1, MPI_INT64_T, TARGET, 64, 1, MPI_INT64_T, p->win);
        MPI_Win_unlock(TARGET, p->win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void lock_get_unlock(void *context, uint32_t times) {
    struct prize *p = context;
    for (uint32_t i = 0; i < times; i++) {
        int64_t value;
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, p->win);
        MPI_Get(&value, 1, MPI_INT64_T, TARGET, 64, 1, MPI_INT64_T, p->win);
        MPI_Win_unlock(TARGET, p->win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

void contended(void) {
    struct prize p = {.doubles = 16}, one, many;
    p.win = window(16384, 8, &p.base);
    one = many = p;
    one.doubles = 1;
    many.doubles = MOST_DOUBLES;
    struct bench cases[][1] = {
        {{"fetch_and_op sum u64 + flush, contended", 8, fetch_and_op, &p, LONGER}},
        {{"compare_and_swap u64 + flush, contended", 8, compare_and_swap, &p, LONGER}},
        {{"accumulate sum of 1 f64, contended", 8, accumulate, &one, LONGER}},
        {{"accumulate sum of 16 f64, contended", 128, accumulate, &p, LONGER}},
        {{"accumulate sum of 1024 f64, contended", 8192, accumulate, &many, LONGER}},
        {{"lock + increment + unlock, contended", 8, lock_increment_unlock, &p, LONGER}},
        {{"lock shared + get + unlock, contended", 8, lock_get_unlock, &p, LONGER}}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        MEASURE(ALL_RANKS, cases[i]);
    }
    MPI_Win_free(&p.win);
}
