/* Random calls, counted by a wrapper of each, as a tool would. Rank 0 prints how often all ranks have made each, and the
 * bytes, and what each rank has moved to and from each: for the comparison with `rmarun --stats` and `--report`. The
 * argument is the seed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { PUT, GET, ACCUMULATE, FETCH, FLUSH, FENCE, BARRIER, SEND, RECV, SENDRECV, BROADCAST, ALLREDUCE, ALLGATHER, SCATTERV, KINDS };
static const char *names[KINDS] = {"put",  "get",      "accumulate", "fetch_and_op", "flush",     "fence",   "barrier",
                                   "send", "recv",     "sendrecv",   "broadcast",    "allreduce", "allgather", "scatterv"};
static long long times[KINDS], bytes[KINDS];

static void count(int kind, int elements, MPI_Datatype datatype) {
    int size = 0;
    if (elements) {
        PMPI_Type_size(datatype, &size);
    }
    times[kind]++;
    bytes[kind] += (long long)elements * size;
}

enum { MOST = 16 };
/* Operations and bytes of this rank by the other rank's number in the world. */
static long long traffic[MOST][2];

static void count_to(int rank, MPI_Group group, int elements, MPI_Datatype datatype) {
    int size, to;
    MPI_Group world;
    PMPI_Type_size(datatype, &size);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, 1, &rank, world, &to);
    PMPI_Group_free(&world);
    traffic[to][0]++;
    traffic[to][1] += (long long)elements * size;
}

static void count_operation(int target, MPI_Win win, int elements, MPI_Datatype datatype) {
    MPI_Group group;
    PMPI_Win_get_group(win, &group);
    count_to(target, group, elements, datatype);
    PMPI_Group_free(&group);
}

int MPI_Put(const void *from, int n, MPI_Datatype of, int target, MPI_Aint disp, int m, MPI_Datatype to,
            MPI_Win win) {
    count(PUT, n, of);
    count_operation(target, win, n, of);
    return PMPI_Put(from, n, of, target, disp, m, to, win);
}

int MPI_Get(void *into, int n, MPI_Datatype of, int target, MPI_Aint disp, int m, MPI_Datatype from,
            MPI_Win win) {
    count(GET, n, of);
    count_operation(target, win, n, of);
    return PMPI_Get(into, n, of, target, disp, m, from, win);
}

int MPI_Accumulate(const void *from, int n, MPI_Datatype of, int target, MPI_Aint disp, int m,
                   MPI_Datatype to, MPI_Op op, MPI_Win win) {
    count(ACCUMULATE, n, of);
    count_operation(target, win, n, of);
    return PMPI_Accumulate(from, n, of, target, disp, m, to, op, win);
}

int MPI_Fetch_and_op(const void *from, void *result, MPI_Datatype of, int target, MPI_Aint disp,
                     MPI_Op op, MPI_Win win) {
    count(FETCH, 1, of);
    count_operation(target, win, 1, of);
    return PMPI_Fetch_and_op(from, result, of, target, disp, op, win);
}

int MPI_Win_flush(int target, MPI_Win win) {
    count(FLUSH, 0, MPI_BYTE);
    return PMPI_Win_flush(target, win);
}

int MPI_Win_fence(int assertion, MPI_Win win) {
    count(FENCE, 0, MPI_BYTE);
    return PMPI_Win_fence(assertion, win);
}

int MPI_Barrier(MPI_Comm comm) {
    count(BARRIER, 0, MPI_BYTE);
    return PMPI_Barrier(comm);
}

int MPI_Send(const void *from, int n, MPI_Datatype of, int to, int tag, MPI_Comm comm) {
    count(SEND, n, of);
    MPI_Group group;
    PMPI_Comm_group(comm, &group);
    count_to(to, group, n, of);
    PMPI_Group_free(&group);
    return PMPI_Send(from, n, of, to, tag, comm);
}

int MPI_Recv(void *into, int n, MPI_Datatype of, int from, int tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Status found;
    int error = PMPI_Recv(into, n, of, from, tag, comm, &found), got;
    (void)status;
    PMPI_Get_count(&found, of, &got);
    count(RECV, got, of);
    return error;
}

int MPI_Sendrecv(const void *from, int n, MPI_Datatype of, int to, int tag, void *into, int m, MPI_Datatype as,
                 int by, int other, MPI_Comm comm, MPI_Status *status) {
    MPI_Group group;
    PMPI_Comm_group(comm, &group);
    count_to(to, group, n, of);
    PMPI_Group_free(&group);
    MPI_Status found;
    int error = PMPI_Sendrecv(from, n, of, to, tag, into, m, as, by, other, comm, &found), got;
    (void)status;
    PMPI_Get_count(&found, MPI_BYTE, &got);
    count(SENDRECV, n, of);
    bytes[SENDRECV] += got;
    return error;
}

/* Of a collective count the bytes of the rank's larger buffer. */
int MPI_Bcast(void *buffer, int n, MPI_Datatype of, int root, MPI_Comm comm) {
    count(BROADCAST, n, of);
    return PMPI_Bcast(buffer, n, of, root, comm);
}

int MPI_Allreduce(const void *from, void *into, int n, MPI_Datatype of, MPI_Op op, MPI_Comm comm) {
    count(ALLREDUCE, n, of);
    return PMPI_Allreduce(from, into, n, of, op, comm);
}

int MPI_Allgather(const void *from, int n, MPI_Datatype of, void *into, int m, MPI_Datatype as, MPI_Comm comm) {
    int ranks;
    PMPI_Comm_size(comm, &ranks);
    count(ALLGATHER, m * ranks, as);
    return PMPI_Allgather(from, n, of, into, m, as, comm);
}

int MPI_Scatterv(const void *from, const int *counts, const int *places, MPI_Datatype of, void *into, int n,
                 MPI_Datatype as, int root, MPI_Comm comm) {
    int rank, ranks, all = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
    for (int k = 0; rank == root && k < ranks; k++) {
        all += counts[k];
    }
    count(SCATTERV, rank == root ? all : n, as);
    return PMPI_Scatterv(from, counts, places, of, into, n, as, root, comm);
}

/* Collectives of random length: of nothing, in one staging area, in several, or in messages. */
static void meet(int rank, int ranks) {
    enum { LONGEST = 9000 };
    static const int lengths[] = {0, 1, 100, 3000, LONGEST};
    static int given[LONGEST], got[MOST * LONGEST], counts[MOST], places[MOST];
    int n = lengths[rand() % 5], root = rand() % ranks;
    MPI_Bcast(given, n, MPI_INT, root, MPI_COMM_WORLD);
    MPI_Allreduce(given, got, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgather(given, n, MPI_INT, got, n, MPI_INT, MPI_COMM_WORLD);
    for (int k = 0; k < ranks; k++) {
        counts[k] = n / (k + 1);
        places[k] = k ? places[k - 1] + counts[k - 1] : 0;
    }
    MPI_Scatterv(got, counts, places, MPI_INT, given, counts[rank], MPI_INT, root, MPI_COMM_WORLD);
}

static MPI_Datatype column;

/* One operation on a random target. Places of different ranks are apart, and accumulates have a place of their own. */
static void operate(int rank, int ranks, MPI_Win win) {
    static long long values[64], one = 1, result;
    int target = rand() % ranks, n = 1 + rand() % 16, first = 64 + 64 * rank;
    switch (rand() % 5) {
    case 0:
        MPI_Put(values, n, MPI_LONG_LONG, target, first, n, MPI_LONG_LONG, win);
        break;
    case 1:
        MPI_Put(values, 8, MPI_LONG_LONG, target, first, 1, column, win);
        break;
    case 2:
        MPI_Get(values, n, MPI_LONG_LONG, target, first, n, MPI_LONG_LONG, win);
        break;
    case 3:
        MPI_Accumulate(values, n, MPI_LONG_LONG, target, 0, n, MPI_LONG_LONG, MPI_SUM, win);
        break;
    default:
        MPI_Fetch_and_op(&one, &result, MPI_LONG_LONG, target, 20, MPI_SUM, win);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks, seed = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Type_vector(8, 1, 4, MPI_LONG_LONG, &column);
    MPI_Type_commit(&column);
    long long *base;
    MPI_Win win;
    /* The ranks of the window are not those of the world. */
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Win_allocate((64 + 64 * ranks) * sizeof(*base), sizeof(*base), MPI_INFO_NULL, reversed, &base,
                     &win);
    MPI_Win_set_name(win, "table");
    srand(seed);
    int rounds = 3 + rand() % 5;
    for (int round = 0; round < rounds; round++) {
        int barriers = rand() % 3, long_message = rand() % 2 ? 1 : 5000;
        unsigned together = seed + 1000 * round;
        srand(together + rank);
        MPI_Win_fence(0, win);
        for (int k = rand() % 20; k > 0; k--) {
            operate(rank, ranks, win);
        }
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        for (int k = 0; k < barriers; k++) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        srand(together);
        meet(rank, ranks);
        srand(together + rank + 500);
        static char message[5000];
        if (rank % 2 == 0 && rank + 1 < ranks) {
            MPI_Send(message, long_message, MPI_CHAR, rank + 1, round, MPI_COMM_WORLD);
        } else if (rank % 2 == 1) {
            MPI_Recv(message, 5000, MPI_CHAR, rank - 1, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        static char got[5000];
        MPI_Sendrecv(message, long_message, MPI_CHAR, (rank + 1) % ranks, round, got, 5000, MPI_CHAR,
                     (rank + ranks - 1) % ranks, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_lock_all(0, win);
        for (int k = rand() % 20; k > 0; k--) {
            operate(rank, ranks, win);
            MPI_Win_flush(rand() % ranks, win);
        }
        MPI_Win_unlock_all(win);
        srand(seed + round + 1);
    }
    long long all[2][KINDS];
    PMPI_Reduce(times, all[0], KINDS, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    PMPI_Reduce(bytes, all[1], KINDS, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int kind = 0; rank == 0 && kind < KINDS; kind++) {
        printf("%s %lld %lld\n", names[kind], all[0][kind], all[1][kind]);
    }
    long long matrix[MOST][MOST][2];
    PMPI_Gather(traffic, 2 * MOST, MPI_LONG_LONG, matrix, 2 * MOST, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    for (int from = 0; rank == 0 && from < ranks; from++) {
        for (int to = 0; to < ranks; to++) {
            printf("pair %d %d %lld %lld\n", from, to, matrix[from][to][0], matrix[from][to][1]);
        }
    }
    MPI_Type_free(&column);
    MPI_Win_free(&win);
    MPI_Comm_free(&reversed);
    MPI_Finalize();
    return 0;
}
