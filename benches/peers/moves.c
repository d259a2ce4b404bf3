/* The twin of suites/moves.rs: rank 0 works on rank 1, which waits in a barrier. */
#include "bench.h"
#include <stdlib.h>

#define TARGET 1
#define LARGEST (64u << 20)
#define MOST_DOUBLES (1 << 20)
/* As in moves.rs. */
#define IN_TURN 8
#define CHARS 4096

struct move {
    MPI_Win win;
    void *origin, *result;
    int count;
};

static void put_flush(void *context, uint32_t times) {
    struct move *m = context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Put(m->origin, m->count, MPI_INT64_T, TARGET, 0, m->count, MPI_INT64_T, m->win);
        MPI_Win_flush(TARGET, m->win);
    }
}

static void get_flush(void *context, uint32_t times) {
    struct move *m = context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Get(m->result, m->count, MPI_INT64_T, TARGET, 0, m->count, MPI_INT64_T, m->win);
        MPI_Win_flush(TARGET, m->win);
    }
}

static void put(void *context, uint32_t times) {
    struct move *m = context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Put(m->origin, m->count, MPI_INT64_T, TARGET, 0, m->count, MPI_INT64_T, m->win);
    }
    MPI_Win_flush_local(TARGET, m->win);
}

/* Where the operation with this number puts its result: one of several places in turn. */
static int64_t *place(const struct move *m, uint32_t i) {
    return (int64_t *)m->result + (i % IN_TURN) * (size_t)m->count;
}

static void get(void *context, uint32_t times) {
    struct move *m = context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Get(place(m, i), m->count, MPI_INT64_T, TARGET, 0, m->count, MPI_INT64_T, m->win);
    }
    MPI_Win_flush_local(TARGET, m->win);
}

static void flush(void *context, uint32_t times) {
    struct move *m = context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Win_flush(TARGET, m->win);
    }
}

static void request_put(void *context, uint32_t times) {
    struct move *m = context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Request request;
        MPI_Rput(m->origin, m->count, MPI_INT64_T, TARGET, 0, m->count, MPI_INT64_T, m->win,
                 &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void sizes(struct move m) {
    static const uint32_t WITH_FLUSH[] = {8,       64,      512,     4 << 10,  16 << 10, 64 << 10,
                                          256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20};
    static const uint32_t RATE[] = {8, 64, 256, 1 << 10, 4 << 10};
    for (size_t i = 0; i < sizeof(WITH_FLUSH) / sizeof(*WITH_FLUSH); i++) {
        uint32_t bytes = WITH_FLUSH[i];
        m.count = bytes / 8;
        struct bench cases[] = {{"put + flush", bytes, put_flush, &m, 0},
                                {"get + flush", bytes, get_flush, &m, 0}};
        if (!plan.quick || bytes <= 1 << 20) {
            MEASURE(ONE_RANK, cases);
        }
    }
    for (size_t i = 0; i < sizeof(RATE) / sizeof(*RATE); i++) {
        m.count = RATE[i] / 8;
        struct bench cases[] = {{"put", RATE[i], put, &m, 0}, {"get", RATE[i], get, &m, 0}};
        MEASURE(ONE_RANK, cases);
    }
    m.count = 1;
    struct bench cases[] = {{"flush", 0, flush, &m, 0}, {"rput + wait", 8, request_put, &m, 0}};
    MEASURE(ONE_RANK, cases);
}

static void fetch_and_op(void *context, uint32_t times) {
    struct move *m = context;
    int64_t one = 1, before;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Fetch_and_op(&one, &before, MPI_INT64_T, TARGET, 0, MPI_SUM, m->win);
        MPI_Win_flush(TARGET, m->win);
    }
}

static void compare_and_swap(void *context, uint32_t times) {
    struct move *m = context;
    int64_t none = 0, value, new, before;
    MPI_Fetch_and_op(&none, &value, MPI_INT64_T, TARGET, 0, MPI_NO_OP, m->win);
    MPI_Win_flush(TARGET, m->win);
    for (uint32_t i = 0; i < times; i++) {
        new = value + 1;
        MPI_Compare_and_swap(&new, &value, &before, MPI_INT64_T, TARGET, 0, m->win);
        MPI_Win_flush(TARGET, m->win);
        value = before + 1;
    }
}

static void accumulate_word(void *context, uint32_t times) {
    struct move *m = context;
    int64_t one = 1;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Accumulate(&one, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, MPI_SUM, m->win);
    }
    MPI_Win_flush_local(TARGET, m->win);
}

static void accumulate(void *context, uint32_t times) {
    struct move *m = context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Accumulate(m->origin, m->count, MPI_DOUBLE, TARGET, 0, m->count, MPI_DOUBLE, MPI_SUM,
                       m->win);
    }
    MPI_Win_flush_local(TARGET, m->win);
}

static void get_accumulate(void *context, uint32_t times) {
    struct move *m = context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Get_accumulate(m->origin, m->count, MPI_DOUBLE, place(m, i), m->count, MPI_DOUBLE,
                           TARGET, 0, m->count, MPI_DOUBLE, MPI_SUM, m->win);
    }
    MPI_Win_flush_local(TARGET, m->win);
}

static void accumulate_chars(void *context, uint32_t times) {
    struct move *m = context;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Accumulate(m->origin, m->count, MPI_SIGNED_CHAR, TARGET, 0, m->count, MPI_SIGNED_CHAR,
                       MPI_SUM, m->win);
        MPI_Win_flush(TARGET, m->win);
    }
}

static void doubles(struct move m) {
    static const int COUNTS[] = {1, 16, 1024, 128 << 10, 1 << 20};
    double *ones = m.origin;
    for (int i = 0; i < MOST_DOUBLES; i++) {
        ones[i] = 1.0;
    }
    for (size_t i = 0; i < sizeof(COUNTS) / sizeof(*COUNTS); i++) {
        m.count = COUNTS[i];
        uint64_t bytes = 8 * (uint64_t)m.count;
        struct bench cases[] = {{"accumulate sum f64", bytes, accumulate, &m, 0},
                                {"get_accumulate sum f64", bytes, get_accumulate, &m, 0}};
        MEASURE(ONE_RANK, cases);
    }
    m.count = CHARS;
    struct bench chars[] = {{"accumulate sum of chars + flush", CHARS, accumulate_chars, &m, 0}};
    MEASURE(ONE_RANK, chars);
}

static void lock_put_unlock(struct move *m, int kind, uint32_t times) {
    for (uint32_t i = 0; i < times; i++) {
        MPI_Win_lock(kind, TARGET, 0, m->win);
        MPI_Put(m->origin, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, m->win);
        MPI_Win_unlock(TARGET, m->win);
    }
}

static void lock_unlock(struct move *m, int kind, uint32_t times) {
    for (uint32_t i = 0; i < times; i++) {
        MPI_Win_lock(kind, TARGET, 0, m->win);
        MPI_Win_unlock(TARGET, m->win);
    }
}

static void only_exclusive(void *context, uint32_t times) {
    lock_unlock(context, MPI_LOCK_EXCLUSIVE, times);
}

static void only_shared(void *context, uint32_t times) {
    lock_unlock(context, MPI_LOCK_SHARED, times);
}

static void lock_exclusive(void *context, uint32_t times) {
    lock_put_unlock(context, MPI_LOCK_EXCLUSIVE, times);
}

static void lock_shared(void *context, uint32_t times) {
    lock_put_unlock(context, MPI_LOCK_SHARED, times);
}

void moves(void) {
    void *base, *sums;
    struct move words = {window(LARGEST, 8, &base), memory(LARGEST), memory(LARGEST), 1};
    struct move reals = {window(8 * MOST_DOUBLES, 8, &sums), words.origin, words.result, 1};
    if (rank == 0) {
        struct bench locks[] = {{"lock exclusive + put + unlock", 8, lock_exclusive, &words, 0},
                                {"lock shared + put + unlock", 8, lock_shared, &words, 0},
                                {"lock exclusive + unlock", 0, only_exclusive, &words, 0},
                                {"lock shared + unlock", 0, only_shared, &words, 0}};
        MEASURE(ONE_RANK, locks);
        MPI_Win_lock_all(0, words.win);
        sizes(words);
        struct bench integers[] = {
            {"fetch_and_op sum u64 + flush", 8, fetch_and_op, &words, 0},
            {"compare_and_swap u64 + flush", 8, compare_and_swap, &words, 0},
            {"accumulate sum u64", 8, accumulate_word, &words, 0}};
        MEASURE(ONE_RANK, integers);
        MPI_Win_unlock_all(words.win);
        MPI_Win_lock_all(0, reals.win);
        doubles(reals);
        MPI_Win_unlock_all(reals.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&words.win);
    MPI_Win_free(&reals.win);
    free(words.origin);
    free(words.result);
}
