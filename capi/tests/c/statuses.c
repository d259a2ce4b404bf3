/* MPI-4.1 §3.2.5, §3.7.3 to §3.7.5, §3.8, §3.10: what every call that takes a status writes to it. Calls for
   one message leave MPI_ERROR as it was; those for several write it only if they return
   MPI_ERR_IN_STATUS. */

#include "check.h"

enum { UNTOUCHED = 12345, TAG = 7 };

static MPI_Status fresh(void)
{
    MPI_Status status;
    memset(&status, 0x5a, sizeof status);
    status.MPI_ERROR = UNTOUCHED;
    return status;
}

/* MPICH 5.0.2 writes success in many of these calls. */
static int is_untouched(int error)
{
    return error == UNTOUCHED || (!ours() && error == MPI_SUCCESS);
}

/* Each is one call that takes what the request, or a message from the rank before with that tag, gives. */
typedef int receiving(int *into, int room, MPI_Status *status);

static int by_recv(int *into, int room, MPI_Status *status)
{
    return MPI_Recv(into, room, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status);
}

static int by_sendrecv(int *into, int room, MPI_Status *status)
{
    return MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 1, into, room, MPI_INT, before(), TAG,
                        MPI_COMM_WORLD, status);
}

static int by_sendrecv_replace(int *into, int room, MPI_Status *status)
{
    return MPI_Sendrecv_replace(into, room, MPI_INT, MPI_PROC_NULL, 1, before(), TAG, MPI_COMM_WORLD,
                                status);
}

static int by_mrecv(int *into, int room, MPI_Status *status)
{
    MPI_Message message;
    OK(MPI_Mprobe(before(), TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    return MPI_Mrecv(into, room, MPI_INT, &message, status);
}

static int by_imrecv(int *into, int room, MPI_Status *status)
{
    MPI_Message message;
    MPI_Request request;
    OK(MPI_Mprobe(before(), TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    OK(MPI_Imrecv(into, room, MPI_INT, &message, &request));
    return MPI_Wait(&request, status);
}

static MPI_Request posted(int *into, int room)
{
    MPI_Request request;
    OK(MPI_Irecv(into, room, MPI_INT, before(), MPI_ANY_TAG, MPI_COMM_WORLD, &request));
    return request;
}

static int by_wait(int *into, int room, MPI_Status *status)
{
    MPI_Request request = posted(into, room);
    return MPI_Wait(&request, status);
}

static int by_test(int *into, int room, MPI_Status *status)
{
    MPI_Request request = posted(into, room);
    int done = 0, code = MPI_SUCCESS;
    while (request != MPI_REQUEST_NULL && code == MPI_SUCCESS)
        code = MPI_Test(&request, &done, status);
    return code;
}

static int by_waitany(int *into, int room, MPI_Status *status)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, posted(into, room)};
    int place, code = MPI_Waitany(2, requests, &place, status);
    EQUAL(place, 1);
    return code;
}

static int by_testany(int *into, int room, MPI_Status *status)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, posted(into, room)};
    int place = MPI_UNDEFINED, done = 0, code = MPI_SUCCESS;
    while (place == MPI_UNDEFINED && code == MPI_SUCCESS)
        code = MPI_Testany(2, requests, &place, &done, status);
    return code;
}

static int by_isendrecv(int *into, int room, MPI_Status *status)
{
    MPI_Request request;
    OK(MPI_Isendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 1, into, room, MPI_INT, before(), TAG,
                     MPI_COMM_WORLD, &request));
    return MPI_Wait(&request, status);
}

static int by_persistent(int *into, int room, MPI_Status *status)
{
    MPI_Request request;
    OK(MPI_Recv_init(into, room, MPI_INT, before(), TAG, MPI_COMM_WORLD, &request));
    OK(MPI_Start(&request));
    int code = MPI_Wait(&request, status);
    OK(MPI_Request_free(&request));
    return code;
}

static receiving *const receives[] = {
    by_recv,      by_sendrecv, by_sendrecv_replace, by_mrecv,   by_imrecv,
    by_wait,      by_test,     by_waitany,          by_testany, by_isendrecv,
    by_persistent,
};

enum { RECEIVES = sizeof receives / sizeof receives[0] };

static void check(const MPI_Status *status, int source, int tag, int length, int error)
{
    int count = -7, cancelled = -7;
    EQUAL(status->MPI_SOURCE, source);
    EQUAL(status->MPI_TAG, tag);
    CHECK(status->MPI_ERROR == error || (error == UNTOUCHED && is_untouched(status->MPI_ERROR)));
    OK(MPI_Get_count(status, MPI_INT, &count));
    if (length >= 0)
        EQUAL(count, length);
    OK(MPI_Test_cancelled(status, &cancelled));
    EQUAL(cancelled, 0);
}

static int out[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static void begin_send(int length, MPI_Request *request)
{
    OK(MPI_Isend(out, length, MPI_INT, behind(), TAG, MPI_COMM_WORLD, request));
}

static void one_at_a_time(void)
{
    int into[8];
    MPI_Request send;
    for (int k = 0; k < RECEIVES; k++) {
        MPI_Status status = fresh(), of_send = fresh();
        RULE("MPI-4.1 3.2.5: one message");
        begin_send(3, &send);
        OK(receives[k](into, 8, &status));
        check(&status, before(), TAG, 3, UNTOUCHED);
        OK(MPI_Wait(&send, &of_send));
        CHECK(is_untouched(of_send.MPI_ERROR));
        RULE("MPI-4.1 3.2.5: a truncated message");
        begin_send(8, &send);
        status = fresh();
        FAILS(MPI_ERR_TRUNCATE, receives[k](into, 2, &status));
        /* MPICH writes another error and count, and nothing in some of the calls. */
        if (ours())
            check(&status, before(), TAG, 0, UNTOUCHED);
        OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
}

static void sends(void)
{
    int into[8], done = 0, place;
    MPI_Request send;
    RULE("MPI-4.1 3.2.5: the status of a send");
    for (int way = 0; way < 4; way++) {
        MPI_Status status = fresh();
        begin_send(2, &send);
        OK(MPI_Recv(into, 8, MPI_INT, before(), TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        while (way == 0 && send != MPI_REQUEST_NULL)
            OK(MPI_Test(&send, &done, &status));
        while (way == 1 && send != MPI_REQUEST_NULL)
            OK(MPI_Testany(1, &send, &place, &done, &status));
        if (way == 2)
            OK(MPI_Waitany(1, &send, &place, &status));
        for (done = 0; way == 3 && !done;)
            OK(MPI_Request_get_status(send, &done, &status));
        OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
        CHECK(is_untouched(status.MPI_ERROR));
        OK(MPI_Test_cancelled(&status, &done));
        EQUAL(done, 0);
    }
}

static void probes(void)
{
    int into[8], found = 0;
    MPI_Status status = fresh();
    MPI_Message message;
    MPI_Request send;
    RULE("MPI-4.1 3.8.1: probes");
    begin_send(5, &send);
    OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    check(&status, before(), TAG, 5, UNTOUCHED);
    status = fresh();
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &status));
    EQUAL(found, 1);
    check(&status, before(), TAG, 5, UNTOUCHED);
    status = fresh();
    OK(MPI_Improbe(before(), MPI_ANY_TAG, MPI_COMM_WORLD, &found, &message, &status));
    EQUAL(found, 1);
    check(&status, before(), TAG, 5, UNTOUCHED);
    OK(MPI_Mrecv(into, 8, MPI_INT, &message, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    begin_send(4, &send);
    status = fresh();
    OK(MPI_Mprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &message, &status));
    check(&status, before(), TAG, 4, UNTOUCHED);
    OK(MPI_Mrecv(into, 8, MPI_INT, &message, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
}

/* Ways to end all requests of an array, with their statuses in the places of the requests. */
static int end_all(int way, int count, MPI_Request *requests, MPI_Status *statuses)
{
    int done = 0, code = MPI_SUCCESS, now, total = 0, places[4];
    MPI_Status some[4];
    if (way == 0)
        return MPI_Waitall(count, requests, statuses);
    for (; way == 1 && !done && code == MPI_SUCCESS;)
        code = MPI_Testall(count, requests, &done, statuses);
    for (; way > 1 && total < count && code == MPI_SUCCESS; total += now) {
        for (int k = 0; k < count; k++)
            some[k] = fresh();
        code = way == 2 ? MPI_Waitsome(count, requests, &now, places, some)
                        : MPI_Testsome(count, requests, &now, places, some);
        for (int k = 0; k < now; k++)
            statuses[places[k]] = some[k];
    }
    return code;
}

static void several(void)
{
    int into[3][8], class;
    for (int way = 0; way < 4; way++) {
        MPI_Request requests[3];
        MPI_Status statuses[3] = {fresh(), fresh(), fresh()};
        RULE("MPI-4.1 3.7.5: several, of which none fails");
        requests[0] = posted(into[0], 8);
        begin_send(3, &requests[1]);
        OK(end_all(way, 2, requests, statuses));
        check(&statuses[0], before(), TAG, 3, UNTOUCHED);
        CHECK(is_untouched(statuses[1].MPI_ERROR));
        RULE("MPI-4.1 3.7.5: several, of which one fails");
        MPI_Request sends[3];
        for (int k = 0; k < 3; k++)
            OK(MPI_Isend(out, 2 + k, MPI_INT, behind(), k, MPI_COMM_WORLD, &sends[k]));
        for (int k = 0; k < 3; k++)
            OK(MPI_Irecv(into[k], 3, MPI_INT, before(), k, MPI_COMM_WORLD, &requests[k]));
        /* All are complete in the first call. */
        for (int k = 0, done; k < 3; k++)
            for (done = 0; !done;)
                MPI_Request_get_status(requests[k], &done, MPI_STATUS_IGNORE);
        for (int k = 0; k < 3; k++)
            statuses[k] = fresh();
        FAILS(MPI_ERR_IN_STATUS, end_all(way, 3, requests, statuses));
        check(&statuses[0], before(), 0, 2, MPI_SUCCESS);
        check(&statuses[1], before(), 1, 3, MPI_SUCCESS);
        OK(MPI_Error_class(statuses[2].MPI_ERROR, &class));
        EQUAL(class, MPI_ERR_TRUNCATE);
        EQUAL(statuses[2].MPI_SOURCE, before());
        EQUAL(statuses[2].MPI_TAG, 2);
        for (int k = 0; k < 3; k++)
            CHECK(requests[k] == MPI_REQUEST_NULL);
        OK(MPI_Waitall(3, sends, MPI_STATUSES_IGNORE));
    }
}

static void check_empty(const MPI_Status *status)
{
    /* MPICH leaves MPI_ERROR of an empty status as it was. */
    check(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, ours() ? MPI_SUCCESS : status->MPI_ERROR);
}

static void empty(void)
{
    int done, place, into[8];
    MPI_Request inactive;
    RULE("MPI-4.1 3.7.3: empty statuses");
    OK(MPI_Recv_init(into, 8, MPI_INT, before(), TAG, MPI_COMM_WORLD, &inactive));
    for (int k = 0; k < 2; k++) {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, k ? inactive : MPI_REQUEST_NULL};
        MPI_Status status = fresh(), statuses[2] = {fresh(), fresh()};
        OK(MPI_Wait(&requests[1], &status));
        check_empty(&status);
        status = fresh();
        OK(MPI_Test(&requests[1], &done, &status));
        EQUAL(done, 1);
        check_empty(&status);
        status = fresh();
        OK(MPI_Waitany(2, requests, &place, &status));
        EQUAL(place, MPI_UNDEFINED);
        check_empty(&status);
        status = fresh();
        OK(MPI_Testany(2, requests, &place, &done, &status));
        EQUAL(done, 1);
        check_empty(&status);
        status = fresh();
        OK(MPI_Request_get_status(requests[1], &done, &status));
        EQUAL(done, 1);
        check_empty(&status);
        OK(MPI_Waitall(2, requests, statuses));
        check_empty(&statuses[0]);
        check_empty(&statuses[1]);
        statuses[1] = fresh();
        OK(MPI_Testall(2, requests, &done, statuses));
        check_empty(&statuses[1]);
        OK(MPI_Waitsome(2, requests, &done, &place, statuses));
        EQUAL(done, MPI_UNDEFINED);
    }
    /* It is as before. */
    MPI_Request send;
    OK(MPI_Start(&inactive));
    begin_send(1, &send);
    OK(MPI_Wait(&inactive, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&inactive));
}

static void nobody(void)
{
    int into[8], found = 0;
    MPI_Request request;
    MPI_Message message;
    MPI_Status status = fresh();
    RULE("MPI-4.1 3.10: MPI_PROC_NULL");
    OK(MPI_Recv(into, 8, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &status));
    check(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, UNTOUCHED);
    status = fresh();
    OK(MPI_Sendrecv(out, 1, MPI_INT, MPI_PROC_NULL, 1, into, 8, MPI_INT, MPI_PROC_NULL, TAG,
                    MPI_COMM_WORLD, &status));
    check(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, UNTOUCHED);
    status = fresh();
    OK(MPI_Irecv(into, 8, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, &status));
    check(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, UNTOUCHED);
    status = fresh();
    OK(MPI_Probe(MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &status));
    check(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, UNTOUCHED);
    status = fresh();
    OK(MPI_Iprobe(MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &found, &status));
    EQUAL(found, 1);
    check(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, UNTOUCHED);
    status = fresh();
    OK(MPI_Mprobe(MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &message, &status));
    check(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, UNTOUCHED);
    status = fresh();
    OK(MPI_Mrecv(into, 8, MPI_INT, &message, &status));
    check(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, UNTOUCHED);
    OK(MPI_Mprobe(MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    status = fresh();
    OK(MPI_Imrecv(into, 8, MPI_INT, &message, &request));
    OK(MPI_Wait(&request, &status));
    check(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, UNTOUCHED);
}

static void cancelled(void)
{
    int into[8], is_cancelled = 0;
    MPI_Request request = posted(into, 8);
    MPI_Status status = fresh();
    RULE("MPI-4.1 3.8.4: a cancelled receive");
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &is_cancelled));
    EQUAL(is_cancelled, 1);
    CHECK(is_untouched(status.MPI_ERROR));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* A look at a request that has failed is no end of it. */
static void looked_at(void)
{
    int into[8], done = 0, class;
    MPI_Request send, request;
    MPI_Status status = fresh();
    RULE("MPI-4.1 3.7.6: MPI_Request_get_status");
    begin_send(3, &send);
    request = posted(into, 8);
    for (int k = 0; k < 2 || !done; k++)
        OK(MPI_Request_get_status(request, &done, &status));
    check(&status, before(), TAG, 3, UNTOUCHED);
    status = fresh();
    OK(MPI_Request_get_status_all(1, &request, &done, &status));
    EQUAL(done, 1);
    check(&status, before(), TAG, 3, UNTOUCHED);
    status = fresh();
    OK(MPI_Wait(&request, &status));
    check(&status, before(), TAG, 3, UNTOUCHED);
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    if (!ours())
        return;
    begin_send(8, &send);
    request = posted(into, 2);
    int code = MPI_SUCCESS;
    for (done = 0; !done;)
        code = MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    FAILS(MPI_ERR_TRUNCATE, code);
    status = fresh();
    FAILS(MPI_ERR_TRUNCATE, MPI_Request_get_status(request, &done, &status));
    check(&status, before(), TAG, 0, UNTOUCHED);
    FAILS(MPI_ERR_IN_STATUS, MPI_Request_get_status_all(1, &request, &done, &status));
    OK(MPI_Error_class(status.MPI_ERROR, &class));
    EQUAL(class, MPI_ERR_TRUNCATE);
    status = fresh();
    FAILS(MPI_ERR_TRUNCATE, MPI_Wait(&request, &status));
    check(&status, before(), TAG, 0, UNTOUCHED);
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
}

/* The source of a message in hand is a rank of the other group. */
static void between_groups(void)
{
    MPI_Comm half, both;
    MPI_Message message;
    MPI_Status status = fresh();
    int into, place, size;
    RULE("MPI-4.1 3.2.5: an intercommunicator");
    if (ranks < 2)
        return;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank_here % 2, 0, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank_here % 2, 5, &both));
    OK(MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN));
    OK(MPI_Comm_rank(half, &place));
    OK(MPI_Comm_remote_size(both, &size));
    if (place == 0) {
        MPI_Request sends[2];
        OK(MPI_Isend(out, 1, MPI_INT, 0, TAG, both, &sends[0]));
        OK(MPI_Isend(out, 8, MPI_INT, 0, TAG, both, &sends[1]));
        OK(MPI_Mprobe(MPI_ANY_SOURCE, TAG, both, &message, MPI_STATUS_IGNORE));
        OK(MPI_Mrecv(&into, 1, MPI_INT, &message, &status));
        check(&status, 0, TAG, 1, UNTOUCHED);
        status = fresh();
        FAILS(MPI_ERR_TRUNCATE, MPI_Recv(&into, 1, MPI_INT, 0, TAG, both, &status));
        EQUAL(status.MPI_SOURCE, 0);
        OK(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Comm_free(&both));
    OK(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    one_at_a_time();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    sends();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    probes();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    several();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    empty();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    nobody();
    cancelled();
    looked_at();
    between_groups();
    return end();
}
