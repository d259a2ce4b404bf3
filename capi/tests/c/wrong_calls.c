/* Calls that are wrong in one way, and what each of them is told: MPI-4.1 §9.4, §12.3, §12.7. A refused call
   makes nothing and changes nothing. What a wrong call does is the library's own business, so this looks at
   onesided alone. */

#include "check.h"
#include <limits.h>
#include <stdint.h>

static MPI_Win win;
static int *part, mine[4] = {1, 2, 3, 4}, back[4];

static void counts(void)
{
    const MPI_Count many = (MPI_Count)1 << 62;
    MPI_Request request;
    RULE("MPI-4.1 9.4: counts of more than an address space holds");
    FAILS(MPI_ERR_COUNT, MPI_Send_c(mine, many, MPI_INT, rank_here, 1, MPI_COMM_WORLD));
    FAILS(MPI_ERR_COUNT, MPI_Irecv_c(mine, many, MPI_INT, rank_here, 1, MPI_COMM_WORLD, &request));
    FAILS(MPI_ERR_COUNT, MPI_Bcast_c(mine, many, MPI_INT, 0, MPI_COMM_SELF));
    FAILS(MPI_ERR_COUNT, MPI_Put_c(mine, many, MPI_INT, 0, 0, many, MPI_INT, win));
    FAILS(MPI_ERR_COUNT, MPI_Put_c(mine, many, MPI_INT, 0, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_COUNT, MPI_Accumulate_c(mine, many, MPI_INT, 0, 0, many, MPI_INT, MPI_SUM, win));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Put_c(mine, 1, MPI_INT, 0, 0, many, MPI_INT, win));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Accumulate_c(mine, 1, MPI_INT, 0, 0, many, MPI_INT, MPI_SUM, win));
}

static void datatypes(void)
{
    MPI_Datatype like_int, pair, mixed;
    int lengths[] = {1, 1};
    MPI_Aint places[] = {0, 4};
    MPI_Datatype of[] = {MPI_INT, MPI_CHAR};
    RULE("MPI-4.1 12.3.4: the same predefined datatype on every side");
    FAILS(MPI_ERR_TYPE, MPI_Accumulate(mine, 1, MPI_INT, 0, 0, 4, MPI_BYTE, MPI_SUM, win));
    FAILS(MPI_ERR_TYPE, MPI_Accumulate(mine, 4, MPI_BYTE, 0, 0, 1, MPI_INT, MPI_SUM, win));
    FAILS(MPI_ERR_TYPE, MPI_Get_accumulate(mine, 1, MPI_INT, back, 4, MPI_BYTE, 0, 0, 1, MPI_INT,
                                           MPI_SUM, win));
    FAILS(MPI_ERR_TYPE, MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, back, 4, MPI_BYTE, 0, 0, 1,
                                           MPI_INT, MPI_NO_OP, win));
    FAILS(MPI_ERR_TYPE, MPI_Put(mine, 1, MPI_INT, 0, 0, 4, MPI_BYTE, win));
    FAILS(MPI_ERR_TYPE, MPI_Accumulate(mine, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Type_create_struct(2, lengths, places, of, &mixed));
    OK(MPI_Type_commit(&mixed));
    FAILS(MPI_ERR_TYPE, MPI_Accumulate(mine, 1, mixed, 0, 0, 1, mixed, MPI_SUM, win));
    OK(MPI_Type_free(&mixed));
    RULE("MPI-4.1 12.3.4: operations on one element take predefined datatypes");
    OK(MPI_Type_dup(MPI_INT, &like_int));
    OK(MPI_Type_contiguous(1, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    FAILS(MPI_ERR_TYPE, MPI_Fetch_and_op(mine, back, like_int, 0, 0, MPI_SUM, win));
    FAILS(MPI_ERR_TYPE, MPI_Fetch_and_op(mine, back, pair, 0, 0, MPI_SUM, win));
    FAILS(MPI_ERR_TYPE, MPI_Compare_and_swap(mine, mine, back, like_int, 0, 0, win));
    FAILS(MPI_ERR_TYPE, MPI_Compare_and_swap(mine, mine, back, pair, 0, 0, win));
    FAILS(MPI_ERR_TYPE, MPI_Compare_and_swap(mine, mine, back, MPI_DOUBLE, 0, 0, win));
    OK(MPI_Type_free(&like_int));
    OK(MPI_Type_free(&pair));
}

static void operations(void)
{
    char letter = 'a', other = 'b';
    MPI_Request request;
    RULE("MPI-4.1 6.9.2: operations that are not defined");
    FAILS(MPI_ERR_OP, MPI_Accumulate(mine, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, win));
    FAILS(MPI_ERR_OP, MPI_Accumulate(mine, 2, MPI_INT, 0, 0, 2, MPI_INT, MPI_NO_OP, win));
    FAILS(MPI_ERR_OP,
          MPI_Raccumulate(mine, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, win, &request));
    OK(MPI_Get_accumulate(NULL, 0, MPI_INT, back, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, win));
    FAILS(MPI_ERR_OP, MPI_Accumulate(&letter, 1, MPI_CHAR, 0, 0, 1, MPI_CHAR, MPI_SUM, win));
    FAILS(MPI_ERR_OP, MPI_Reduce_local(&letter, &other, 1, MPI_CHAR, MPI_SUM));
    FAILS(MPI_ERR_OP, MPI_Reduce(&letter, &other, 1, MPI_CHAR, MPI_SUM, 0, MPI_COMM_SELF));
    OK(MPI_Accumulate(&letter, 0, MPI_CHAR, 0, 0, 0, MPI_CHAR, MPI_REPLACE, win));
    RULE("MPI-4.1 12.3.4: an accumulate without elements");
    FAILS(MPI_ERR_OP, MPI_Accumulate(mine, 0, MPI_INT, 0, 0, 0, MPI_INT, MPI_OP_NULL, win));
    FAILS(MPI_ERR_OP, MPI_Accumulate(mine, 0, MPI_INT, 0, 0, 0, MPI_INT, MPI_NO_OP, win));
    FAILS(MPI_ERR_TYPE, MPI_Accumulate(mine, 0, MPI_INT, 0, 0, 0, MPI_DATATYPE_NULL, MPI_SUM, win));
    FAILS(MPI_ERR_RANK, MPI_Accumulate(mine, 0, MPI_INT, -7, 0, 0, MPI_INT, MPI_SUM, win));
    OK(MPI_Accumulate(mine, 0, MPI_DOUBLE, 0, 0, 0, MPI_DOUBLE, MPI_BAND, win));
    OK(MPI_Get_accumulate(mine, 0, MPI_DOUBLE, back, 0, MPI_DOUBLE, 0, 0, 0, MPI_DOUBLE, MPI_BAND,
                          win));
    OK(MPI_Accumulate(mine, 0, MPI_INT, 0, 0, 0, MPI_DOUBLE, MPI_SUM, win));
    OK(MPI_Accumulate(mine, 0, MPI_INT, 0, 0, 0, MPI_INT, MPI_SUM, win));
}

/* The place in a handle's number; MPICH's ABI has in it, too, how often the place was used. */
#define PLACE 0x1fffff

/* The place of a new request, which is the one that is used next. */
static int next_request(void)
{
    MPI_Request request;
    OK(MPI_Irecv(back, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request));
    int number = MPI_Request_toint(request) & PLACE;
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return number;
}

static int next_window(void)
{
    void *base;
    MPI_Win one;
    OK(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &one));
    int number = MPI_Win_toint(one) & PLACE;
    OK(MPI_Win_free(&one));
    return number;
}

static void leaks(void)
{
    MPI_Win one = MPI_WIN_NULL;
    MPI_Message message;
    MPI_Status status;
    int requests = next_request(), windows = next_window(), found;
    RULE("MPI-4.1 9.4: a refused call makes nothing");
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_here, 0, win));
    FAILS(MPI_ERR_ARG, MPI_Rput(mine, 1, MPI_INT, rank_here, 0, 1, MPI_INT, win, NULL));
    FAILS(MPI_ERR_ARG, MPI_Rget(back, 1, MPI_INT, rank_here, 0, 1, MPI_INT, win, NULL));
    FAILS(MPI_ERR_ARG,
          MPI_Raccumulate(mine, 1, MPI_INT, rank_here, 0, 1, MPI_INT, MPI_SUM, win, NULL));
    OK(MPI_Win_unlock(rank_here, win));
    EQUAL(part[0], 0);
    FAILS(MPI_ERR_ARG, MPI_Isend(mine, 1, MPI_INT, 0, 3, MPI_COMM_SELF, NULL));
    FAILS(MPI_ERR_ARG, MPI_Irecv(back, 1, MPI_INT, 0, 3, MPI_COMM_SELF, NULL));
    FAILS(MPI_ERR_ARG, MPI_Ibarrier(MPI_COMM_SELF, NULL));
    OK(MPI_Iprobe(0, 3, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE));
    EQUAL(found, 0);
    EQUAL(next_request(), requests);
    FAILS(MPI_ERR_ARG, MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_SELF, NULL, &one));
    FAILS(MPI_ERR_ARG, MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_SELF, NULL, &one));
    FAILS(MPI_ERR_ARG, MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &found, NULL));
    CHECK(one == MPI_WIN_NULL);
    EQUAL(next_window(), windows);
    FAILS(MPI_ERR_ARG, MPI_Comm_dup(MPI_COMM_SELF, NULL));
    FAILS(MPI_ERR_ARG, MPI_Type_contiguous(2, MPI_INT, NULL));
    FAILS(MPI_ERR_ARG, MPI_Alloc_mem(8, MPI_INFO_NULL, NULL));
    RULE("MPI-4.1 9.4: a refused call loses no message");
    OK(MPI_Send(mine, 1, MPI_INT, 0, 4, MPI_COMM_SELF));
    FAILS(MPI_ERR_ARG, MPI_Improbe(0, 4, MPI_COMM_SELF, NULL, &message, &status));
    FAILS(MPI_ERR_ARG, MPI_Mprobe(0, 4, MPI_COMM_SELF, NULL, &status));
    OK(MPI_Mprobe(0, 4, MPI_COMM_SELF, &message, &status));
    FAILS(MPI_ERR_COUNT, MPI_Mrecv_c(back, (MPI_Count)1 << 62, MPI_INT, &message, &status));
    OK(MPI_Mrecv(back, 1, MPI_INT, &message, &status));
    EQUAL(back[0], mine[0]);
}

/* A place that is missing is missed before anything is done. */
static void places(void)
{
    int number = -1, room = 0, done = -1, key = MPI_KEYVAL_INVALID;
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Group own = group_of_one(rank_here);
    RULE("MPI-4.1 9.4: a refused call does nothing");
    OK(MPI_Win_post(own, 0, win));
    OK(MPI_Win_start(own, 0, win));
    OK(MPI_Win_complete(win));
    FAILS(MPI_ERR_ARG, MPI_Win_test(win, NULL));
    OK(MPI_Win_test(win, &done));
    EQUAL(done, 1);
    OK(MPI_Group_free(&own));
    FAILS(MPI_ERR_ARG, MPI_Get_version(&number, NULL));
    FAILS(MPI_ERR_ARG, MPI_Error_string(MPI_ERR_ARG, text, NULL));
    FAILS(MPI_ERR_ARG, MPI_Type_get_envelope(MPI_INT, &number, &number, NULL, &number));
    FAILS(MPI_ERR_ARG, MPI_Buffer_detach(&room, NULL));
    EQUAL(number, -1);
    EQUAL(text[0], 0);
    EQUAL(room, 0);
    FAILS(MPI_ERR_ARG, MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, NULL, NULL));
    OK(MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Keyval_free(&key));
}

static void arguments(void)
{
    const MPI_Count many = INT64_MAX;
    MPI_Info info, freed;
    MPI_Request send, receive;
    MPI_Datatype made;
    MPI_Count lengths[] = {1}, places[] = {0}, large = 0;
    int arrived, position = 0;
    char packed[64];
    RULE("MPI-4.1 10: an info object that is none");
    OK(MPI_Info_create(&info));
    freed = info;
    OK(MPI_Info_free(&info));
    FAILS(MPI_ERR_INFO, MPI_Barrier_init(MPI_COMM_SELF, freed, &send));
    FAILS(MPI_ERR_INFO, MPI_Bcast_init(mine, 1, MPI_INT, 0, MPI_COMM_SELF, freed, &send));
    FAILS(MPI_ERR_INFO, MPI_Bcast_init_c(mine, 1, MPI_INT, 0, MPI_COMM_SELF, freed, &send));
    RULE("MPI-4.1 5.2: MPI_IN_PLACE is no buffer of packed bytes");
    FAILS(MPI_ERR_BUFFER,
          MPI_Pack(mine, 1, MPI_INT, MPI_IN_PLACE, 64, &position, MPI_COMM_SELF));
    FAILS(MPI_ERR_BUFFER,
          MPI_Unpack(MPI_IN_PLACE, 64, &position, back, 1, MPI_INT, MPI_COMM_SELF));
    EQUAL(position, 0);
    OK(MPI_Pack(mine, 1, MPI_INT, packed, sizeof packed, &position, MPI_COMM_SELF));
    FAILS(MPI_ERR_COUNT, MPI_Pack_c(mine, -1, MPI_INT, packed, 64, &large, MPI_COMM_SELF));
    RULE("MPI-4.1 5.1: arrays of more elements than an address space holds");
    FAILS(MPI_ERR_COUNT, MPI_Type_indexed_c(many, lengths, places, MPI_INT, &made));
    FAILS(MPI_ERR_COUNT, MPI_Type_create_hindexed_block_c(many, 1, places, MPI_INT, &made));
    RULE("MPI-4.1 4.2: partitions that are none");
    FAILS(MPI_ERR_COUNT, MPI_Psend_init(mine, 2, INT64_MIN, MPI_INT, 0, 6, MPI_COMM_SELF,
                                        MPI_INFO_NULL, &send));
    FAILS(MPI_ERR_COUNT,
          MPI_Psend_init(mine, 2, many, MPI_INT, 0, 6, MPI_COMM_SELF, MPI_INFO_NULL, &send));
    OK(MPI_Psend_init(mine, 2, 2, MPI_INT, 0, 6, MPI_COMM_SELF, MPI_INFO_NULL, &send));
    OK(MPI_Precv_init(back, 2, 2, MPI_INT, 0, 6, MPI_COMM_SELF, MPI_INFO_NULL, &receive));
    OK(MPI_Start(&send));
    OK(MPI_Start(&receive));
    FAILS(MPI_ERR_ARG, MPI_Pready_range(0, INT_MAX, send));
    FAILS(MPI_ERR_ARG, MPI_Pready_range(7, INT_MAX, send));
    FAILS(MPI_ERR_ARG, MPI_Pready(INT_MAX, send));
    OK(MPI_Parrived(receive, 0, &arrived));
    EQUAL(arrived, 0);
    OK(MPI_Pready_range(0, 1, send));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    EQUAL(back[3], mine[3]);
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
}

#define UNTOUCHED(list, count)                                                                    \
    do {                                                                                          \
        for (int k_ = 0; k_ < (count); k_++)                                                      \
            EQUAL((list)[k_], -7);                                                                \
    } while (0)

/* Each of the arrays of a call is null once; the others stay as they are. */
static void topology_arrays(void)
{
    int dims[] = {ranks, 1}, turns[] = {1, 0}, ends[5], edge[5], one = 1, a[8], b[8], c[8], d[8];
    MPI_Comm grid, graph, spread;
    RULE("MPI-4.1 8.5.5: a refused question about a topology changes nothing");
    for (int k = 0; k < 8; k++)
        a[k] = b[k] = c[k] = d[k] = -7;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, turns, 0, &grid));
    OK(MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_ARG, MPI_Cart_get(grid, 2, NULL, b, c));
    FAILS(MPI_ERR_ARG, MPI_Cart_get(grid, 2, a, NULL, c));
    FAILS(MPI_ERR_ARG, MPI_Cart_get(grid, 2, a, b, NULL));
    OK(MPI_Cart_get(grid, 0, NULL, NULL, NULL));
    for (int k = 0; k < ranks; k++) {
        ends[k] = k + 1;
        edge[k] = (k + 1) % ranks;
    }
    OK(MPI_Graph_create(MPI_COMM_WORLD, ranks, ends, edge, 0, &graph));
    OK(MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_ARG, MPI_Graph_get(graph, ranks, ranks, NULL, b));
    FAILS(MPI_ERR_ARG, MPI_Graph_get(graph, ranks, ranks, a, NULL));
    FAILS(MPI_ERR_ARG, MPI_Graph_get(graph, ranks, -1, a, b));
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &rank_here, &one, 1, &rank_here, &one,
                                      MPI_INFO_NULL, 0, &spread));
    OK(MPI_Comm_set_errhandler(spread, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_ARG, MPI_Dist_graph_neighbors(spread, 1, NULL, b, 1, c, d));
    FAILS(MPI_ERR_ARG, MPI_Dist_graph_neighbors(spread, 1, a, NULL, 1, c, d));
    FAILS(MPI_ERR_ARG, MPI_Dist_graph_neighbors(spread, 1, a, b, 1, NULL, d));
    FAILS(MPI_ERR_ARG, MPI_Dist_graph_neighbors(spread, 1, a, b, 1, c, NULL));
    UNTOUCHED(a, 8);
    UNTOUCHED(b, 8);
    UNTOUCHED(c, 8);
    UNTOUCHED(d, 8);
    OK(MPI_Comm_free(&grid));
    OK(MPI_Comm_free(&graph));
    OK(MPI_Comm_free(&spread));
}

static void contents_arrays(void)
{
    int lengths[] = {2, 1}, integers[] = {-7, -7, -7};
    MPI_Aint at[] = {16, 0}, addresses[] = {-7, -7};
    MPI_Count counts[] = {-7, -7}, wide[] = {1, 1}, places[] = {0, 8};
    MPI_Datatype of[] = {MPI_LONG, MPI_INT}, made, parts[] = {MPI_CHAR, MPI_CHAR};
    RULE("MPI-4.1 5.1.13: a refused question about a datatype changes nothing");
    OK(MPI_Type_create_struct(2, lengths, at, of, &made));
    FAILS(MPI_ERR_ARG, MPI_Type_get_contents(made, 3, 2, 2, NULL, addresses, parts));
    FAILS(MPI_ERR_ARG, MPI_Type_get_contents(made, 3, 2, 2, integers, NULL, parts));
    FAILS(MPI_ERR_ARG, MPI_Type_get_contents(made, 3, 2, 2, integers, addresses, NULL));
    OK(MPI_Type_free(&made));
    OK(MPI_Type_create_hindexed_c(2, wide, places, MPI_INT, &made));
    FAILS(MPI_ERR_ARG, MPI_Type_get_contents_c(made, 0, 0, 5, 1, NULL, NULL, NULL, parts));
    FAILS(MPI_ERR_ARG, MPI_Type_get_contents_c(made, 0, 0, 5, 1, NULL, NULL, counts, NULL));
    OK(MPI_Type_free(&made));
    UNTOUCHED(integers, 3);
    UNTOUCHED(addresses, 2);
    UNTOUCHED(counts, 2);
    EQUAL(parts[0] == MPI_CHAR && parts[1] == MPI_CHAR, 1);
}

static void other_outputs(void)
{
    int yes = 1, no = 0, found = -7, set = -7;
    MPI_Request both[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    RULE("MPI-5.0 20.5: a refused question about Fortran changes nothing");
    OK(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no));
    FAILS(MPI_ERR_ARG, MPI_Abi_get_fortran_booleans(sizeof found, &found, NULL, &set));
    EQUAL(found, -7);
    EQUAL(set, -7);
    RULE("MPI-4.1 3.9: a refused start starts none");
    OK(MPI_Recv_init(back, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &both[0]));
    FAILS(MPI_ERR_REQUEST, MPI_Startall(2, both));
    OK(MPI_Test(&both[0], &found, MPI_STATUS_IGNORE));
    EQUAL(found, 1);
    OK(MPI_Request_free(&both[0]));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    CHECK(MPI_COMM_WORLD != MPI_COMM_NULL);
    if (!ours())
        return end();
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    win = window(4, &part);
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_fence(0, win));
    counts();
    datatypes();
    operations();
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    for (int k = 0; k < 4; k++)
        EQUAL(part[k], 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    leaks();
    places();
    arguments();
    topology_arrays();
    contents_arrays();
    other_outputs();
    OK(MPI_Win_free(&win));
    return end();
}
