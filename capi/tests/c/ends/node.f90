! A ring of operations in a window under another MPI with libonesided_node.so, by Fortran's functions of the standard ABI.
! The argument says whether the window is to be one of onesided, which has hints of its own.
program node
  use, intrinsic :: iso_c_binding
  implicit none
  ! The numbers of the ABI: Intel MPI's modules have those of MPICH's.
  integer, parameter :: world = int(z'101'), no_info = int(z'130'), double = int(z'21c')
  integer, parameter :: sum_of = int(z'21'), exclusive = 301
  integer :: rank, ranks, win, info, next, before, ierr
  integer(kind=c_intptr_t) :: base, bytes, first
  real(kind=8), pointer :: part(:)
  real(kind=8) :: given, got
  character(len=32) :: expected, value
  logical :: is_there
  call get_command_argument(1, expected)
  call mpi_init(ierr)
  call mpi_comm_rank(world, rank, ierr)
  call mpi_comm_size(world, ranks, ierr)
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  bytes = 16
  first = 0
  call mpi_win_allocate(bytes, 8, no_info, world, base, win, ierr)
  call c_f_pointer(transfer(base, c_null_ptr), part, [2])
  call mpi_win_get_info(win, info, ierr)
  call mpi_info_get(info, 'onesided_reserve', 32, value, is_there, ierr)
  call mpi_info_free(info, ierr)
  call check(is_there .eqv. expected == 'taken', 'who has the window')
  part = 0
  given = 100 + rank
  call mpi_win_fence(0, win, ierr)
  call mpi_put(given, 1, double, next, first, 1, double, win, ierr)
  call mpi_win_fence(0, win, ierr)
  call check(nint(part(1)) == 100 + before, 'a put')
  call mpi_barrier(world, ierr)
  call mpi_accumulate(given, 1, double, next, first, 1, double, sum_of, win, ierr)
  call mpi_win_fence(0, win, ierr)
  call mpi_barrier(world, ierr)
  call mpi_win_lock(exclusive, next, 0, win, ierr)
  call mpi_get(got, 1, double, next, first, 1, double, win, ierr)
  call mpi_win_unlock(next, win, ierr)
  call check(nint(got) == 200 + 2 * rank, 'an accumulate, and a get')
  call mpi_win_free(win, ierr)
  call check(ierr == 0, 'the end')
  if (rank == 0) print '(a)', '4 checks passed'
  call mpi_finalize(ierr)
contains
  subroutine check(is_so, what)
    logical, intent(in) :: is_so
    character(len=*), intent(in) :: what
    if (is_so) return
    print '(a, i0, 2a)', 'rank ', rank, ' fails: ', what
    call mpi_abort(world, 1, ierr)
  end subroutine
end program
