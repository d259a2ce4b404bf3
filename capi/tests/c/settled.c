/* MPI-4.1 §3.7.3, §12.3.5: requests of operations that may be complete when their calls return, completed by each
   call that can, in the thread that began them and in another one. Copies of a handle are wrong, and refused under
   rmarun --strict (tests/programs.rs). */

#include "check.h"
#include <pthread.h>

enum { KINDS = 8, EACH = 20 };

static MPI_Win win;
static int *part, out = 7, in[KINDS];
static const char *failure;

#define SUCCEEDS(call)                                                                            \
    do {                                                                                          \
        if ((call) != MPI_SUCCESS)                                                                \
            failure = #call;                                                                      \
    } while (0)

static void complete(int kind, MPI_Request *one)
{
    int flag = 1, index = 0, count = 1, looks = 0;
    MPI_Status status;
    switch (kind) {
    case 0: SUCCEEDS(MPI_Wait(one, &status)); break;
    case 1: SUCCEEDS(MPI_Waitall(1, one, MPI_STATUSES_IGNORE)); break;
    case 2: SUCCEEDS(MPI_Waitany(1, one, &index, &status)); break;
    case 3: SUCCEEDS(MPI_Waitsome(1, one, &count, &index, &status)); break;
    case 4:
        do
            SUCCEEDS(MPI_Test(one, &flag, &status));
        while (!flag);
        break;
    case 5:
        do
            SUCCEEDS(MPI_Testall(1, one, &flag, &status));
        while (!flag);
        break;
    case 6:
        do
            SUCCEEDS(MPI_Request_get_status(*one, &flag, &status));
        while (!flag || ++looks < 2);
        SUCCEEDS(MPI_Wait(one, &status));
        break;
    default: SUCCEEDS(MPI_Request_free(one));
    }
    if (*one != MPI_REQUEST_NULL || !flag || index != 0 || count != 1)
        failure = "the request is null, the only one, and complete";
}

static void all_kinds(MPI_Request *requests)
{
    for (int k = 0; k < KINDS; k++)
        complete(k, requests + k);
}

static void *elsewhere(void *requests)
{
    all_kinds(requests);
    MPI_Request own;
    SUCCEEDS(MPI_Rput(&out, 1, MPI_INT, behind(), KINDS, 1, MPI_INT, win, &own));
    SUCCEEDS(MPI_Wait(&own, MPI_STATUS_IGNORE));
    SUCCEEDS(MPI_Win_flush(behind(), win));
    return NULL;
}

static void completed(int in_another_thread, MPI_Request *requests)
{
    pthread_t thread;
    if (!in_another_thread) {
        all_kinds(requests);
    } else if (pthread_create(&thread, NULL, elsewhere, requests) || pthread_join(thread, NULL)) {
        FAILED("a thread has not begun or ended");
    }
    if (failure)
        FAILED("not so: %s", failure);
}

int main(int argc, char **argv)
{
    MPI_Request puts[KINDS], gets[KINDS], sends[KINDS];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_here);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (provided < MPI_THREAD_MULTIPLE)
        return end();
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    win = window(KINDS + 1, &part);
    OK(MPI_Win_lock_all(0, win));
    /* Ranks of MPICH take turns on the processors by milliseconds. */
    for (int round = 0; round < (ours() ? EACH : 6); round++) {
        RULE("MPI-4.1 12.3.5: an operation with a request is complete at the origin after a wait");
        for (int k = 0; k < KINDS; k++) {
            OK(MPI_Rput(&out, 1, MPI_INT, behind(), k, 1, MPI_INT, win, puts + k));
            OK(MPI_Win_flush(behind(), win));
            OK(MPI_Rget(in + k, 1, MPI_INT, behind(), k, 1, MPI_INT, win, gets + k));
        }
        completed(round % 2, puts);
        completed(round % 3 == 0, gets);
        OK(MPI_Win_flush(behind(), win));
        for (int k = 0; k < KINDS; k++)
            EQUAL(in[k], 7);
        RULE("MPI-4.1 3.7: a nonblocking send may be completed before its message is received");
        /* MPICH completes a send of a rank to itself when it is received. */
        if (ours() || ranks > 1) {
            for (int k = 0; k < KINDS; k++)
                OK(MPI_Isend(&round, 1, MPI_INT, behind(), k, MPI_COMM_WORLD, sends + k));
            completed(round % 2, sends);
            for (int k = 0; k < KINDS; k++) {
                int got = -1;
                OK(MPI_Recv(&got, 1, MPI_INT, before(), k, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                EQUAL(got, round);
            }
        }
        RULE("MPI-4.1 3.8.4: cancelling what is complete changes nothing");
        OK(MPI_Rput(&out, 1, MPI_INT, behind(), 0, 1, MPI_INT, win, puts));
        if (ours()) {
            OK(MPI_Cancel(puts));
            FAILS(MPI_ERR_REQUEST, MPI_Start(puts));
        }
        OK(MPI_Wait(puts, MPI_STATUS_IGNORE));
        OK(MPI_Win_flush(behind(), win));
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return end();
}
