/* Needs the library of OpenMP by functions alone that `rmacc -race` lets come to the library of MPI. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int provided, sum = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
#pragma omp parallel num_threads(2)
#pragma omp critical
    sum++;
    MPI_Finalize();
    return sum == 0;
}
