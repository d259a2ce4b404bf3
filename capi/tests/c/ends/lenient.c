/* What the standard does not allow and every library accepts: request-based operations in epochs of fence
   and start, and locks of a window that was made with no_locks. */

#include "../check.h"

static void requests(void)
{
    int *part, one = 1, two = 2, got = 0, was = 0;
    MPI_Request request;
    MPI_Group group = group_of_one(behind()), other = group_of_one(before());
    MPI_Win win = window(4, &part);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Rput(&one, 1, MPI_INT, behind(), 0, 1, MPI_INT, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Raccumulate(&two, 1, MPI_INT, behind(), 1, 1, MPI_INT, MPI_SUM, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Rget(&got, 1, MPI_INT, behind(), 1, 1, MPI_INT, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    EQUAL(got, 2);
    EQUAL(part[0], 1);
    OK(MPI_Win_post(other, 0, win));
    OK(MPI_Win_start(group, 0, win));
    OK(MPI_Rget_accumulate(&two, 1, MPI_INT, &was, 1, MPI_INT, behind(), 0, 1, MPI_INT, MPI_SUM, win,
                           &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    EQUAL(was, 1);
    EQUAL(part[0], 3);
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&other));
    OK(MPI_Win_free(&win));
}

static void locks(void)
{
    int *part, one = 1;
    MPI_Info info;
    MPI_Win win;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "no_locks", "true"));
    OK(MPI_Win_allocate(4 * sizeof(int), sizeof(int), info, MPI_COMM_WORLD, &part, &win));
    part[0] = part[1] = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, behind(), 0, win));
    OK(MPI_Put(&one, 1, MPI_INT, behind(), 0, 1, MPI_INT, win));
    OK(MPI_Win_unlock(behind(), win));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Put(&one, 1, MPI_INT, behind(), 1, 1, MPI_INT, win));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    EQUAL(part[0] + part[1], 2);
    OK(MPI_Info_free(&info));
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (argc > 1)
        locks();
    requests();
    locks();
    return end();
}
