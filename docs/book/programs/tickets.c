#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

int main(void) {
    MPI_Init(NULL, NULL);
    uint64_t *part;
    MPI_Win window;
    MPI_Win_allocate(sizeof *part, sizeof *part, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &window);
    *part = 0;
    /* No rank draws before rank 0 has written the first number. */
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Win_lock_all(0, window);
    for (int i = 0; i < 2; i++) {
        uint64_t one = 1, ticket;
        MPI_Fetch_and_op(&one, &ticket, MPI_UINT64_T, 0, 0, MPI_SUM, window);
        MPI_Win_flush(0, window);
        printf("ticket %d\n", (int)ticket);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
}
