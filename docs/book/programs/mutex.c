#include <mpi.h>
#include <stdio.h>

static int balance(MPI_Win accounts, int rank) {
    int found;
    MPI_Get(&found, 1, MPI_INT, rank, 0, 1, MPI_INT, accounts);
    MPI_Win_flush(rank, accounts);
    return found;
}

static void set(MPI_Win accounts, int rank, int balance) {
    MPI_Put(&balance, 1, MPI_INT, rank, 0, 1, MPI_INT, accounts);
    MPI_Win_flush(rank, accounts);
}

int main(void) {
    MPI_Init(NULL, NULL);
    int rank, size, *account;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* The exclusive lock of a window that has no other use is a mutex. */
    char *byte, seen;
    MPI_Win accounts, mutex;
    MPI_Win_allocate(sizeof *account, sizeof *account, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &account, &accounts);
    MPI_Win_allocate(1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &byte, &mutex);
    *account = 100;
    MPI_Barrier(MPI_COMM_WORLD);

    int right = (rank + 1) % size, amount = rank + 1;
    MPI_Win_lock_all(0, accounts);
    for (int i = 0; i < 10; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, mutex);
        /* Some MPIs take the lock only with the first operation. */
        MPI_Get(&seen, 1, MPI_CHAR, 0, 0, 1, MPI_CHAR, mutex);
        MPI_Win_flush(0, mutex);
        int mine = balance(accounts, rank), theirs = balance(accounts, right);
        set(accounts, rank, mine - amount);
        set(accounts, right, theirs + amount);
        MPI_Win_unlock(0, mutex);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d has %d\n", rank, balance(accounts, rank));
    MPI_Win_unlock_all(accounts);
    MPI_Win_free(&mutex);
    MPI_Win_free(&accounts);
    MPI_Finalize();
}
