#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    MPI_Init(NULL, NULL);
    int rank, size, ranks, one = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int last = size - 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == last)
        exit(3);

    if (MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS) {
        MPI_Group all, others;
        MPI_Comm rest;
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_excl(all, 1, &last, &others);
        MPI_Comm_create_group(MPI_COMM_WORLD, others, 0, &rest);
        MPI_Allreduce(&one, &ranks, 1, MPI_INT, MPI_SUM, rest);
        printf("rank %d of %d goes on without rank %d\n", rank, ranks, last);
        MPI_Group_free(&all);
        MPI_Group_free(&others);
        MPI_Comm_free(&rest);
    }
    MPI_Finalize();
}
