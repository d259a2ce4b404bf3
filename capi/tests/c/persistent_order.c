/* Persistent collectives are started in any order, between others and across rounds. */

#include "check.h"

enum { KINDS = 6, LONG = 20000 };

static int flag[LONG], all[64], sums[4], mine[4], scanned, part, given[64];

static void prepare(int round)
{
    for (int k = 0; k < LONG; k++)
        flag[k] = rank_here == ranks - 1 ? round + k : -1;
    for (int k = 0; k < 4; k++)
        mine[k] = round + rank_here + k;
    memset(all, -1, sizeof all);
    memset(sums, -1, sizeof sums);
    scanned = part = -1;
    for (int k = 0; k < ranks; k++)
        given[k] = 100 * round + k;
}

static void check(int round)
{
    int base = ranks * (ranks - 1) / 2;
    for (int k = 0; k < LONG; k++)
        EQUAL(flag[k], round + k);
    for (int k = 0; k < ranks; k++)
        EQUAL(all[k], round + k);
    for (int k = 0; k < 4; k++)
        EQUAL(sums[k], ranks * (round + k) + base);
    EQUAL(scanned, (rank_here + 1) * round + rank_here * (rank_here + 1) / 2);
    EQUAL(part, 100 * round + rank_here);
}

static void in_orders(MPI_Comm comm)
{
    MPI_Request requests[KINDS];
    OK(MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Bcast_init(flag, LONG, MPI_INT, ranks - 1, comm, MPI_INFO_NULL, &requests[1]));
    OK(MPI_Allgather_init(mine, 1, MPI_INT, all, 1, MPI_INT, comm, MPI_INFO_NULL, &requests[2]));
    OK(MPI_Allreduce_init(mine, sums, 4, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[3]));
    OK(MPI_Scan_init(mine, &scanned, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[4]));
    OK(MPI_Scatter_init(given, 1, MPI_INT, &part, 1, MPI_INT, 0, comm, MPI_INFO_NULL,
                        &requests[5]));
    for (int round = 0; round < 50; round++) {
        prepare(round);
        for (int k = 0; k < KINDS; k++) {
            int step = rank_here % 2 ? 5 : 1;
            OK(MPI_Start(&requests[(step * k + rank_here + round) % KINDS]));
        }
        /* Others that are started between them, in one order. */
        int one = 1, sum = 0;
        MPI_Request between;
        OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &between));
        OK(MPI_Barrier(comm));
        OK(MPI_Wait(&between, MPI_STATUS_IGNORE));
        EQUAL(sum, ranks);
        OK(MPI_Waitall(KINDS, requests, MPI_STATUSES_IGNORE));
        check(round);
    }
    for (int k = 0; k < KINDS; k++)
        OK(MPI_Request_free(&requests[k]));
}

/* One after the other, each waited for before the next: without any progress of the others. */
static void crosswise(MPI_Comm comm)
{
    MPI_Request first, second;
    int one = 1, sums[2] = {0, 0};
    OK(MPI_Allreduce_init(&one, &sums[0], 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &first));
    OK(MPI_Allreduce_init(&one, &sums[1], 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &second));
    MPI_Request both[2] = {rank_here % 2 ? second : first, rank_here % 2 ? first : second};
    for (int round = 0; round < 50; round++) {
        OK(MPI_Start(&both[0]));
        OK(MPI_Start(&both[1]));
        OK(MPI_Wait(&both[0], MPI_STATUS_IGNORE));
        OK(MPI_Wait(&both[1], MPI_STATUS_IGNORE));
        EQUAL(sums[0] + sums[1], 2 * ranks);
        sums[0] = sums[1] = 0;
    }
    OK(MPI_Request_free(&both[0]));
    OK(MPI_Request_free(&both[1]));
}

/* Neighbours in a ring, and two groups. */
static void others(void)
{
    MPI_Comm ring, half, inter;
    MPI_Request requests[2];
    int out[2] = {rank_here, rank_here}, in[2], sums[2];
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, (int[]){1}, 0, &ring));
    OK(MPI_Neighbor_allgather_init(out, 1, MPI_INT, in, 1, MPI_INT, ring, MPI_INFO_NULL,
                                   &requests[0]));
    OK(MPI_Allreduce_init(out, sums, 1, MPI_INT, MPI_SUM, ring, MPI_INFO_NULL, &requests[1]));
    for (int round = 0; round < 10; round++) {
        in[0] = in[1] = sums[0] = -1;
        OK(MPI_Start(&requests[rank_here % 2]));
        OK(MPI_Start(&requests[1 - rank_here % 2]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        EQUAL(in[0], before());
        EQUAL(in[1], behind());
        EQUAL(sums[0], ranks * (ranks - 1) / 2);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    OK(MPI_Comm_free(&ring));
    /* MPICH 5.0.2 has no persistent collectives between two groups. */
    if (ranks < 2 || !ours())
        return;
    int colour = rank_here % 2, remote, one = 1;
    OK(MPI_Comm_split(MPI_COMM_WORLD, colour, 0, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - colour, 4, &inter));
    OK(MPI_Comm_remote_size(inter, &remote));
    OK(MPI_Barrier_init(inter, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Allreduce_init(&one, sums, 1, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL, &requests[1]));
    for (int round = 0; round < 10; round++) {
        OK(MPI_Start(&requests[rank_here / 2 % 2]));
        OK(MPI_Start(&requests[1 - rank_here / 2 % 2]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        EQUAL(sums[0], remote);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    begin(&argc, &argv);
    RULE("MPI-4.1 6.13: persistent collectives can be started in any order");
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    in_orders(comm);
    crosswise(comm);
    others();
    OK(MPI_Comm_free(&comm));
    return end();
}
