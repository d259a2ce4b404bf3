/* A wavefront: each rank adds to the value that the rank before it has passed on, and passes it to the next. */
#include "programs.h"
#include <stdlib.h>

/* Steps between two barriers, so that no rank overwrites a value that the next one still needs. */
#define STEPS 1024

struct front {
    MPI_Win win;
    /* Of each step: the value, and the number of the step for which it is. */
    volatile double *values;
    volatile int64_t *steps;
    MPI_Group before, next;
    int64_t step;
};

static void together(const struct front *f) {
    if (f->step % STEPS == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void by_flush(void *context, uint32_t times) {
    struct front *f = context;
    MPI_Win_lock_all(0, f->win);
    for (uint32_t i = 0; i < times; i++) {
        int at = ++f->step % STEPS;
        double value = 1.0;
        if (rank > 0) {
            while (f->steps[at] != f->step) {
                MPI_Win_sync(f->win);
            }
            value += f->values[at];
        }
        if (rank + 1 < ranks) {
            MPI_Put(&value, 1, MPI_DOUBLE, rank + 1, at, 1, MPI_DOUBLE, f->win);
            MPI_Win_flush(rank + 1, f->win);
            MPI_Put(&f->step, 1, MPI_INT64_T, rank + 1, STEPS + at, 1, MPI_INT64_T, f->win);
            MPI_Win_flush(rank + 1, f->win);
        }
        together(f);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(f->win);
}

static void by_pscw(void *context, uint32_t times) {
    struct front *f = context;
    for (uint32_t i = 0; i < times; i++) {
        double value = 1.0;
        if (rank > 0) {
            MPI_Win_post(f->before, 0, f->win);
            MPI_Win_wait(f->win);
            value += f->values[0];
        }
        if (rank + 1 < ranks) {
            MPI_Win_start(f->next, 0, f->win);
            MPI_Put(&value, 1, MPI_DOUBLE, rank + 1, 0, 1, MPI_DOUBLE, f->win);
            MPI_Win_complete(f->win);
        }
    }
}

static void by_messages(void *context, uint32_t times) {
    struct front *f = context;
    for (uint32_t i = 0; i < times; i++) {
        f->step++;
        double value = 1.0, before = 0.0;
        if (rank > 0) {
            MPI_Recv(&before, 1, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            value += before;
        }
        if (rank + 1 < ranks) {
            MPI_Send(&value, 1, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
        }
        together(f);
    }
}

/* The group of one rank; of rank 0 where the rank does not exist, which is not used. */
static MPI_Group alone(int member) {
    MPI_Group world, one;
    member = member < 0 || member >= ranks ? 0 : member;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &member, &one);
    MPI_Group_free(&world);
    return one;
}

void wavefront(void) {
    double *base;
    struct front f = {.before = alone(rank - 1), .next = alone(rank + 1)};
    f.win = window(2 * 8 * STEPS, 8, &base);
    f.values = base;
    f.steps = (volatile int64_t *)(base + STEPS);
    /* A rank that looks for a value again and again needs a core of its own. */
    if (ranks == 2) {
        program("wavefront, a value by put + flush", 8, by_flush, &f);
    }
    program("wavefront, a value by PSCW", 8, by_pscw, &f);
    program("wavefront, a value by a message", 8, by_messages, &f);
    MPI_Group_free(&f.before);
    MPI_Group_free(&f.next);
    MPI_Win_free(&f.win);
}
