/* The twin of suites/messages.rs: messages between pairs of ranks, and round all ranks. */
#include "bench.h"
#include <stdlib.h>

/* Messages that go one way before an answer comes. */
#define IN_A_ROW 16

struct pair {
    void *from, *into;
    int bytes, other, begins;
};

/* One sends and the other receives: in the first direction, or in the second. */
static void one_way(const struct pair *p, int first) {
    if (p->begins == first) {
        MPI_Send(p->from, p->bytes, MPI_BYTE, p->other, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(p->into, p->bytes, MPI_BYTE, p->other, MPI_ANY_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
}

static void there_and_back(void *context, uint32_t times) {
    for (uint32_t i = 0; i < times; i++) {
        one_way(context, 1);
        one_way(context, 0);
    }
}

static void in_a_row(void *context, uint32_t times) {
    for (uint32_t k = 1; k <= times; k++) {
        one_way(context, 1);
        if (k % IN_A_ROW == 0 || k == times) {
            one_way(context, 0);
        }
    }
}

/* Ranks 0 and 1, while the others wait for the end. */
static void beside_waiting(void *context, uint32_t times) {
    if (rank < 2) {
        there_and_back(context, times);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* To the next rank, from the one before. */
static void all_round(void *context, uint32_t times) {
    struct pair *p = context;
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Sendrecv(p->from, p->bytes, MPI_BYTE, right, 1, p->into, p->bytes, MPI_BYTE, left, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* The same by requests, as programs exchange their halos. */
static void exchange_round(void *context, uint32_t times) {
    struct pair *p = context;
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Request both[2];
        MPI_Irecv(p->into, p->bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD, &both[0]);
        MPI_Isend(p->from, p->bytes, MPI_BYTE, right, 1, MPI_COMM_WORLD, &both[1]);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    }
}

void messages(void) {
    static const int LENGTHS[] = {8,        64,       1 << 10,  4 << 10, 8 << 10,
                                  16 << 10, 64 << 10, 256 << 10, 1 << 20};
    for (size_t i = 0; i < sizeof(LENGTHS) / sizeof(*LENGTHS); i++) {
        int bytes = LENGTHS[i];
        struct pair p = {memory(bytes), memory(bytes), bytes, rank ^ 1, rank % 2 == 0};
        struct bench cases[] = {{"message there and back", bytes, there_and_back, &p, 4},
                                {"messages one way", bytes, in_a_row, &p, 4}};
        MEASURE(ALL_RANKS, cases);
        struct bench also[] = {{"sendrecv round all ranks", bytes, all_round, &p, 4},
                               {"irecv + isend + waitall", bytes, exchange_round, &p, 4},
                               {"message there and back beside waiting ranks", bytes,
                                beside_waiting, &p, 4}};
        if (bytes == 8 || bytes == 4 << 10 || bytes == 64 << 10 || bytes == 1 << 20) {
            measure(ALL_RANKS, also, ranks > 2 ? 3 : 2);
        }
        free(p.from);
        free(p.into);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}
