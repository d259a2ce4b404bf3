/* Rank 0 uses buffers of its operations before they are complete, or just behind that: the case is the argument. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LONG 100000

static MPI_Win win;
static int *base, buffer[4] = {1, 2, 3, 4}, many[20000];

static int is(const char *name, char **argv)
{
    return strcmp(argv[1], name) == 0;
}

static void too_early(char **argv)
{
    if (is("changed", argv)) {
        MPI_Put(buffer, 2, MPI_INT, 1, 0, 2, MPI_INT, win); /* the put */
        buffer[0] = 5;
        MPI_Win_flush(1, win); /* its flush */
    } else if (is("read", argv)) {
        MPI_Get(buffer, 2, MPI_INT, 1, 0, 2, MPI_INT, win);     /* the get */
        MPI_Put(buffer + 1, 2, MPI_INT, 1, 2, 2, MPI_INT, win); /* puts the result */
    } else if (is("written", argv)) {
        MPI_Put(buffer, 1, MPI_INT, 1, 0, 1, MPI_INT, win); /* the other put */
        MPI_Get(buffer, 2, MPI_INT, 1, 2, 2, MPI_INT, win); /* gets over it */
    } else if (is("twice", argv)) {
        MPI_Get(buffer, 2, MPI_INT, 1, 0, 2, MPI_INT, win); /* the first get */
        MPI_Get(buffer, 2, MPI_INT, 1, 2, 2, MPI_INT, win); /* the second get */
    } else if (is("fetched", argv)) {
        MPI_Fetch_and_op(buffer + 1, buffer, MPI_INT, 1, 0, MPI_SUM, win); /* the fetch */
        MPI_Put(buffer, 1, MPI_INT, 1, 2, 1, MPI_INT, win);                /* puts what is fetched */
    }
}

/* By calls that belong to no window. */
static void too_early_in_other_calls(char **argv)
{
    if (is("sent", argv)) {
        MPI_Get(buffer, 2, MPI_INT, 1, 0, 2, MPI_INT, win); /* the get before a send */
        MPI_Sendrecv(buffer, 1, MPI_INT, 0, 0, many, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, /* sends it */
                     MPI_STATUS_IGNORE);
    } else if (is("received", argv)) {
        MPI_Put(buffer, 2, MPI_INT, 1, 0, 2, MPI_INT, win); /* the put before a receive */
        MPI_Sendrecv(many, 1, MPI_INT, 0, 0, buffer, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, /* receives */
                     MPI_STATUS_IGNORE);
    } else if (is("reduced", argv)) {
        MPI_Get(buffer, 2, MPI_INT, 1, 0, 2, MPI_INT, win); /* the get before a reduction */
        MPI_Allreduce(buffer + 1, many, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF); /* reduces */
    } else if (is("read only", argv)) {
        MPI_Put(buffer, 2, MPI_INT, 1, 0, 2, MPI_INT, win);
        MPI_Allreduce(buffer, many, 2, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    }
}

/* Of many pages, in memory of each kind. */
static void too_early_in_long_ones(char **argv)
{
    if (is("long", argv)) {
        int *block = calloc(LONG, sizeof(int));
        MPI_Put(block, LONG, MPI_INT, 1, 0, LONG, MPI_INT, win); /* the long put */
        block[70000] = 5;
        MPI_Win_flush(1, win); /* the long put's flush */
    } else if (is("mapped", argv)) {
        int *block = mmap(NULL, LONG * sizeof(int), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MPI_Put(block, LONG, MPI_INT, 1, 0, LONG, MPI_INT, win); /* the mapped put */
        block[70000] = 5;
        MPI_Win_flush(1, win); /* the mapped put's flush */
    } else if (is("own", argv)) {
        MPI_Put(base, LONG, MPI_INT, 1, 0, LONG, MPI_INT, win); /* the put of the own part */
        base[70000] = 5;
        MPI_Win_flush(1, win); /* flushes the own part */
    } else if (is("strided", argv)) {
        MPI_Datatype blocks;
        MPI_Type_vector(3, 8, 16, MPI_INT, &blocks);
        MPI_Type_commit(&blocks);
        MPI_Put(many, 1, blocks, 1, 0, 24, MPI_INT, win); /* the strided put */
        many[12] = many[35] = 5;
        MPI_Type_free(&blocks);
        MPI_Win_flush(1, win); /* the strided put's flush */
    }
}

static void operations_of_one_element(char **argv)
{
    MPI_Request request;
    if (is("waited", argv)) {
        MPI_Rput(buffer, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request); /* the rput */
        buffer[0] = 5;
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* its wait */
    } else if (is("compared", argv)) {
        MPI_Compare_and_swap(buffer, buffer + 1, buffer + 2, MPI_INT, 1, 0, win); /* the swap */
        MPI_Put(buffer + 2, 1, MPI_INT, 1, 2, 1, MPI_INT, win);                   /* puts what it found */
    } else if (is("swapped", argv)) {
        MPI_Compare_and_swap(buffer, buffer + 1, buffer + 2, MPI_INT, 1, 0, win); /* the other swap */
        buffer[1] = 5;
        MPI_Win_flush(1, win); /* the swap's flush */
    }
}

static void in_time(char **argv)
{
    MPI_Request requests[2];
    if (is("complete", argv)) {
        MPI_Put(buffer, 2, MPI_INT, 1, 0, 2, MPI_INT, win);
        MPI_Win_flush_local(1, win);
        buffer[0] = 6;
        MPI_Get(buffer, 1, MPI_INT, 1, 2, 1, MPI_INT, win);
        MPI_Win_flush(1, win);
        MPI_Put(buffer, 1, MPI_INT, 1, 3, 1, MPI_INT, win);
    } else if (is("beside", argv)) {
        MPI_Put(buffer, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Get(buffer + 1, 1, MPI_INT, 1, 2, 1, MPI_INT, win);
        buffer[2] = 6;
        MPI_Put(buffer + 3, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
    } else if (is("same", argv)) {
        MPI_Put(buffer, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Put(buffer, 2, MPI_INT, 1, 1, 2, MPI_INT, win);
    } else if (is("requests", argv)) {
        MPI_Rput(buffer, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &requests[0]);
        MPI_Rget(buffer + 1, 1, MPI_INT, 1, 2, 1, MPI_INT, win, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        buffer[0] = 7;
        MPI_Put(buffer + 1, 1, MPI_INT, 1, 2, 1, MPI_INT, win);
    } else if (is("unmapped", argv)) {
        int *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MPI_Put(page, 4, MPI_INT, 1, 0, 4, MPI_INT, win);
        munmap(page, 4096);
    } else if (is("many", argv)) {
        for (int i = 0; i < 20000; i++)
            MPI_Get(&many[i], 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    }
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(LONG * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    if (is("fence", argv)) {
        MPI_Win_fence(0, win);
        if (rank == 0) {
            MPI_Put(buffer, 2, MPI_INT, 1, 0, 2, MPI_INT, win); /* put in a fence */
            buffer[1] = 5;
        }
        MPI_Win_fence(0, win); /* ends */
    } else {
        MPI_Win_lock_all(0, win);
        if (rank == 0) {
            too_early(argv);
            too_early_in_other_calls(argv);
            too_early_in_long_ones(argv);
            operations_of_one_element(argv);
            in_time(argv);
        }
        MPI_Win_unlock_all(win);
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return argc == 2 ? 0 : 1;
}
