/* A program with objects of Fortran, which are linked to libmpifort.so.12 of MPICH's ABI. With STAND_IN: a library of
   that name for the linker alone. */

#ifdef STAND_IN
void mpi_file_open_(void) {}
void mpi_send_f08ts_(void) {}
void mpi_send_(void) {}
void pmpi_init_(void) {}
void mpi_comm_dup_fn_(void) {}
#else
#include <stdio.h>

int MPI_Init(int *, char ***);
void mpi_file_open_(void *, void *, void *, void *, void *, int *ierror, int length);
void mpi_send_(void *, void *, void *, void *, void *, void *, int *ierror);
void mpi_send_f08ts_(void *, void *, void *, void *, void *, void *, int *ierror);
void pmpi_init_(int *ierror);
void mpi_comm_dup_fn_(int *);

int main(void)
{
    /* What an object passes on is found when it is loaded. */
    void (*passed[])(int *) = {pmpi_init_, mpi_comm_dup_fn_};
    int number = 0, ierror = -1;
    MPI_Init(NULL, NULL);
    mpi_file_open_(&number, "result", &number, &number, &number, &ierror, 6);
    printf("ierror is %s\n", ierror > 0 && passed[0] && passed[1] ? "an error" : "wrong");
    fflush(stdout);
    if (ierror < 0)
        mpi_send_f08ts_(&number, &number, &number, &number, &number, &number, NULL);
    mpi_send_(&number, &number, &number, &number, &number, &number, &ierror);
    puts("went on");
}
#endif
