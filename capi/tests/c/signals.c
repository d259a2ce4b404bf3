/* A rank that waits for a generalized request, which the handler of a signal completes, is in no deadlock;
   nor are the ranks that wait for that rank. */
#include "check.h"

#include <signal.h>
#include <unistd.h>

static MPI_Request request;
static volatile sig_atomic_t handled;

static int query(void *extra, MPI_Status *status)
{
    (void)extra;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int release(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra;
    (void)complete;
    return MPI_SUCCESS;
}

static void completes(int signal)
{
    (void)signal;
    handled = 1;
    MPI_Grequest_complete(request);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (rank_here == 0) {
        MPI_Request waited;
        OK(MPI_Grequest_start(query, release, cancel, NULL, &request));
        waited = request;
        CHECK(signal(SIGALRM, completes) != SIG_ERR);
        alarm(2);
        OK(MPI_Wait(&waited, MPI_STATUS_IGNORE));
        EQUAL(handled, 1);
        CHECK(waited == MPI_REQUEST_NULL);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return end();
}
