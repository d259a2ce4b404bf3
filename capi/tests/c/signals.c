/* A rank that waits for a generalized request, which the handler of a signal completes, is in no deadlock;
   nor are the ranks that wait for that rank. */
#include "check.h"

#include <signal.h>
#include <time.h>

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

/* Waits for a request that the handler of `number` completes after two seconds. A timer of the kernel sends
   the signal, because a process that did would be one more of the job. */
static void wait_for_handler(int number)
{
    MPI_Request waited;
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    struct itimerspec later = {.it_value.tv_sec = 2};
    handled = 0;
    OK(MPI_Grequest_start(query, release, cancel, NULL, &request));
    waited = request;
    CHECK(signal(number, completes) != SIG_ERR);
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    CHECK(timer_settime(timer, 0, &later, NULL) == 0);
    OK(MPI_Wait(&waited, MPI_STATUS_IGNORE));
    EQUAL(handled, 1);
    CHECK(waited == MPI_REQUEST_NULL);
    CHECK(signal(number, SIG_DFL) != SIG_ERR);
    timer_delete(timer);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (rank_here == 0) {
        wait_for_handler(SIGALRM);
        /* Also a signal by which others end a program. */
        wait_for_handler(SIGTERM);
        wait_for_handler(SIGINT);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return end();
}
