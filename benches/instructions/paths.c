/* What is counted of programs in C: the rows of paths.rs that have a call in C, and requests and messages. The one rank
   works on itself. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

enum { ONCE = 1000 };

static MPI_Win win;
static MPI_Datatype vector;
static double source[64], result[64];
static int64_t one = 1, before;

/* As in callgrind.rs: what follows the call keeps it from being a jump. */
__attribute__((noinline)) void calls_that_are_counted(void (*run)(int), int times) {
    run(times);
    __asm__ volatile("" ::: "memory");
}

static void path(const char *what, void (*run)(int)) {
    run(ONCE / 10);
    calls_that_are_counted(run, ONCE);
    calls_that_are_counted(run, 2 * ONCE);
    printf("@path C: %s\n", what);
}

#define PATH(name, call)                                                                           \
    static void name(int n) {                                                                      \
        for (int i = 0; i < n; i++) {                                                              \
            call;                                                                                  \
        }                                                                                          \
    }

static void lock_and_unlock(int type) {
    MPI_Win_lock(type, 0, 0, win);
    MPI_Win_unlock(0, win);
}

static void lock_put_unlock(void) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Put(source, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win);
    MPI_Win_unlock(0, win);
}

static void accumulate(int count) {
    MPI_Accumulate(source, count, MPI_DOUBLE, 0, 0, count, MPI_DOUBLE, MPI_SUM, win);
}

static void get_accumulate(int count) {
    MPI_Get_accumulate(source, count, MPI_DOUBLE, result, count, MPI_DOUBLE, 0, 0, count,
                       MPI_DOUBLE, MPI_SUM, win);
}

static void rput(void) {
    MPI_Request request;
    MPI_Rput(source, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void exchange(void) {
    MPI_Request requests[2];
    MPI_Irecv(result, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(source, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

PATH(shared, lock_and_unlock(MPI_LOCK_SHARED))
PATH(exclusive, lock_and_unlock(MPI_LOCK_EXCLUSIVE))
PATH(locked_put, lock_put_unlock())
PATH(all, MPI_Win_lock_all(0, win); MPI_Win_unlock_all(win))
PATH(put, MPI_Put(source, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win))
PATH(get, MPI_Get(result, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win))
PATH(flush, MPI_Win_flush(0, win))
PATH(add, MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, 0, MPI_SUM, win))
PATH(swap, MPI_Compare_and_swap(&one, &one, &before, MPI_INT64_T, 0, 1, win))
PATH(accumulate_1, accumulate(1))
PATH(accumulate_16, accumulate(16))
PATH(get_accumulate_1, get_accumulate(1))
PATH(get_accumulate_16, get_accumulate(16))
PATH(put_vector, MPI_Put(source, 16, MPI_DOUBLE, 0, 0, 1, vector, win))
PATH(rput_and_wait, rput())
PATH(fence, MPI_Win_fence(0, win))
PATH(messages, exchange())

int main(void) {
    double *base;
    MPI_Init(NULL, NULL);
    MPI_Win_allocate(1024 * sizeof(double), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Type_vector(16, 1, 8, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    path("lock shared + unlock", shared);
    path("lock exclusive + unlock", exclusive);
    path("lock exclusive + put of 8 bytes + unlock", locked_put);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    path("flush of a locked rank", flush);
    MPI_Win_unlock(0, win);
    path("lock_all + unlock_all", all);
    MPI_Win_lock_all(0, win);
    path("put of 8 bytes", put);
    path("get of 8 bytes", get);
    path("flush", flush);
    path("fetch_and_op of an int64_t", add);
    path("compare_and_swap of an int64_t", swap);
    path("accumulate of a double", accumulate_1);
    path("accumulate of 16 doubles", accumulate_16);
    path("get_accumulate of a double", get_accumulate_1);
    path("get_accumulate of 16 doubles", get_accumulate_16);
    path("put of a vector of 16 doubles", put_vector);
    path("rput of 8 bytes + wait", rput_and_wait);
    MPI_Win_unlock_all(win);
    path("fence", fence);
    path("irecv + isend of 8 bytes to itself + waitall", messages);
    MPI_Type_free(&vector);
    MPI_Win_free(&win);
    return MPI_Finalize();
}
