/* What collectives, probes and requests order, which bytes accumulates of pairs have, and which store changes a buffer. Of four ranks one puts a value into the part of rank 3 and completes the put; then
   all make a call, and another rank puts a value there, too. The argument names the case: those with "unordered" have one pair
   that conflicts, the others none. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

enum { LONG = 100000 };

static int rank, value;
static MPI_Win win;
static MPI_Comm line, across;
static const char *which;
static char bytes[LONG];

static int is(const char *name)
{
    return !strcmp(which, name);
}

static void put_first(int from)
{
    if (rank == from) {
        MPI_Put(&value, 1, MPI_INT, 3, 0, 1, MPI_INT, win);
        MPI_Win_flush(3, win);
    }
}

static void put_second(int from)
{
    if (rank == from)
        MPI_Put(&value, 1, MPI_INT, 3, 0, 1, MPI_INT, win);
}

/* Rank 1 comes last to a collective that does not block, and puts before it has waited for it. */
static void started(void)
{
    MPI_Request request;
    int sum;
    if (rank == 1)
        usleep(20000);
    put_first(0);
    if (is("started barrier, unordered") || is("complete barrier") || is("tested barrier") || is("looked at barrier"))
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    else if (is("started allreduce, unordered"))
        MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    else if (is("started broadcast, unordered"))
        MPI_Ibcast(bytes, LONG, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    if (is("complete barrier")) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (is("tested barrier")) {
        for (int done = 0; !done;)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    } else if (is("looked at barrier")) {
        for (int done = 0; !done;)
            MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    }
    put_second(1);
    if (request != MPI_REQUEST_NULL)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Rank 0 puts behind the start of more collectives than can be under way, which the others come to later. */
static void started_many(void)
{
    enum { MANY = 100 };
    MPI_Request requests[MANY];
    if (rank != 0)
        usleep(50000);
    for (int i = 0; i < MANY; i++)
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]);
    put_first(0);
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    put_second(1);
}

/* A put of one rank, a collective, and a put of another one. */
static const struct {
    const char *name;
    int first, second;
} collectives[] = {
    {"scan", 0, 2},           {"scan back, unordered", 2, 0},
    {"exscan", 1, 2},         {"exscan back, unordered", 2, 1},
    {"neighbour", 0, 1},      {"no neighbour, unordered", 0, 2},
    {"other group", 0, 2},    {"same group, unordered", 0, 1},
    {"some from it", 0, 1},   {"nothing from it, unordered", 0, 2},
    {"long broadcast", 0, 2}, {"broadcast of another, unordered", 1, 2},
    {"long scatter", 0, 2},   {"scatter of another, unordered", 1, 2},
};

static void call(int which_one)
{
    int sum = 0, list[8], places[4] = {0, 1, 2, 3}, to[4] = {0}, from[4] = {0};
    switch (which_one) {
    case 0:
        MPI_Scan(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        break;
    case 1:
        MPI_Exscan(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        break;
    case 2:
        MPI_Neighbor_allgather(&value, 1, MPI_INT, list, 1, MPI_INT, line);
        break;
    case 3:
        MPI_Allgather(&value, 1, MPI_INT, list, 1, MPI_INT, across);
        break;
    case 4:
        to[(rank + 1) % 4] = from[(rank + 3) % 4] = 1;
        MPI_Alltoallv(places, to, places, MPI_INT, list, from, places, MPI_INT, MPI_COMM_WORLD);
        break;
    case 5:
        MPI_Bcast(bytes, LONG, MPI_BYTE, 0, MPI_COMM_WORLD);
        break;
    default:
        MPI_Scatter(bytes, LONG / 4, MPI_BYTE, rank ? bytes : MPI_IN_PLACE, LONG / 4, MPI_BYTE, 0,
                    MPI_COMM_WORLD);
    }
}

static int collective(void)
{
    for (int at = 0; at < (int)(sizeof(collectives) / sizeof(*collectives)); at++) {
        if (is(collectives[at].name)) {
            put_first(collectives[at].first);
            call(at / 2);
            put_second(collectives[at].second);
            return 1;
        }
    }
    return 0;
}

/* Rank 1 has found the message that rank 0 has sent behind its put, and received it or not yet. */
static void probed(void)
{
    MPI_Message message;
    int found = 0, got = 0;
    put_first(0);
    if (rank == 0)
        MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank != 1)
        return;
    if (is("probe")) {
        MPI_Probe(0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (is("mprobe")) {
        MPI_Mprobe(0, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    } else {
        while (!found && is("iprobe"))
            MPI_Iprobe(0, 0, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    }
    put_second(1);
    if (is("mprobe"))
        MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    else
        MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The request of a get is complete, or freed, before another get has the same buffer. */
static void requested(void)
{
    MPI_Request request;
    int done = 0;
    if (rank != 0)
        return;
    MPI_Rget(&value, 1, MPI_INT, 3, 0, 1, MPI_INT, win, &request);
    if (is("looked at request"))
        MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    else if (is("freed request, unordered"))
        MPI_Request_free(&request);
    MPI_Get(&value, 1, MPI_INT, 3, 1, 1, MPI_INT, win);
    if (is("looked at request"))
        MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Rank 0 accumulates a pair of the part of rank 3, which another rank puts to. */
static void accumulated(void)
{
    struct {
        double number;
        int at;
    } pair = {1, 0};
    int byte = is("padding of a pair") ? 12 : 8;
    if (rank == 0)
        MPI_Accumulate(&pair, 1, MPI_DOUBLE_INT, 3, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC, win);
    else if (rank == 1 && (byte == 12 || is("index of a pair, unordered")))
        MPI_Put(&value, 1, MPI_INT, 3, byte / sizeof(int), 1, MPI_INT, win);
}

/* Rank 1 changes what a put of rank 3 reads. */
static void changed(int *part)
{
    if (rank == 3) {
        MPI_Put(part, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        int other = 7;
        MPI_Recv(&value, 1, MPI_INT, 3, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Put(&other, 1, MPI_INT, 3, 0, 1, MPI_INT, win);
        MPI_Win_flush(3, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 3 passes its part to a call, and rank 1 puts there. */
static void passed(int *part)
{
    int sum;
    put_first(is("passed later") ? 1 : -1);
    if (is("passed later"))
        MPI_Barrier(MPI_COMM_WORLD);
    if (is("passed to a reduction, unordered"))
        MPI_Reduce(part, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    else if (rank == 3)
        MPI_Send(part, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    else if (rank == 0)
        MPI_Recv(&sum, 1, MPI_INT, 3, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    put_second(is("passed to a reduction, unordered") || is("passed to a send, unordered") ? 1 : -1);
}

int main(int argc, char **argv)
{
    int *mine, size = 4, around = 1;
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    which = argc > 1 ? argv[1] : "";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &around, 0, &line);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 0, &across);
    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    MPI_Win_lock_all(0, win);
    if (is("many, unordered"))
        started_many();
    else if (strstr(which, "barrier") || strstr(which, "started"))
        started();
    else if (strstr(which, "probe"))
        probed();
    else if (strstr(which, "passed"))
        passed(mine);
    else if (is("buffer in a part, unordered"))
        changed(mine);
    else if (strstr(which, "pair"))
        accumulated();
    else if (strstr(which, "request"))
        requested();
    else if (!collective())
        return 2;
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Comm_free(&across);
    MPI_Comm_free(&half);
    MPI_Comm_free(&line);
    MPI_Finalize();
    return 0;
}
