#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { THREADS = 3 };

static MPI_Win window;

static void *draw(void *unused) {
    uint32_t one = 1, number;
    MPI_Fetch_and_op(&one, &number, MPI_UINT32_T, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
    printf("number %d\n", (int)number);
    return unused;
}

int main(void) {
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 1);
    uint32_t *part;
    MPI_Win_allocate(sizeof *part, sizeof *part, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &window);
    *part = 0;
    MPI_Barrier(MPI_COMM_WORLD);

    pthread_t threads[THREADS];
    MPI_Win_lock_all(0, window);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, draw, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
}
