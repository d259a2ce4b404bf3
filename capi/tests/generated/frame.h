/* What the generated programs share: the window, the order of the steps, and the program's own accesses. The steps take turns
   by a counter in a file that all ranks map, which orders nothing for the check. */
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum memory { ALLOCATED, CREATED, SHARED, ATTACHED };
enum { BYTES = 128, MOST_SCALE = 1024, MESSAGE = 100000 };

#define NOT_SEEN __attribute__((no_sanitize("thread"), noinline, unused))

/* Of each access: what it sends, what it receives, what a compare_and_swap compares with, and its request. */
static uint64_t sources[2][MOST_SCALE], results[2][MOST_SCALE], compared[2];
static MPI_Request requests[2];
/* Memory that windows are created over, or that is attached to them. */
static uint64_t memory[BYTES / 8];
static _Alignas(8) char message[MESSAGE];
static const uint64_t one = 1;
/* A result for each fetch, as several may not be complete. */
static struct { uint64_t results[16]; unsigned number; } fetched;
#define FETCHED &fetched.results[fetched.number++ % 16]

static int rank;
static MPI_Win win;
/* The part of this rank. */
static unsigned char *part;
/* The displacement of the first byte of rank 0's part. */
static MPI_Aint first;
static MPI_Datatype strided;
/* Of ranks 0, 1 and 2 alone, and of 1 and 2. */
static MPI_Group groups[4];
static volatile unsigned char seen;

static unsigned *counter;
static FILE *turns;

/* Waits until it is this rank's turn. */
NOT_SEEN static void turn(void)
{
    unsigned wanted, raised;
    if (fscanf(turns, "%u", &wanted) != 1)
        abort();
    while ((raised = __atomic_load_n(counter, __ATOMIC_SEQ_CST)) < wanted)
        syscall(SYS_futex, counter, FUTEX_WAIT, raised, NULL, NULL, 0);
}

NOT_SEEN static void done(void)
{
    __atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, counter, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static unsigned char changed[4 * MOST_SCALE];

/* Other bytes than those that are at an address, for a store that changes them. */
NOT_SEEN static unsigned char *other_than(const void *at, size_t bytes)
{
    for (size_t k = 0; k < bytes; k++)
        changed[k] = (unsigned char)~((const volatile unsigned char *)at)[k];
    return changed;
}

/* Accesses of the program itself to some bytes, in the line that has them. */
#define LOAD(at, bytes)                                                                                                         \
    for (size_t k = 0; k < (bytes); k++)                                                                                        \
        seen = ((const volatile unsigned char *)(at))[k]
#define STORE(at, bytes)                                                                                                        \
    for (size_t k = 0, is_new = !!other_than(at, bytes); k < (bytes)*is_new; k++)                                                \
        ((volatile unsigned char *)(at))[k] = changed[k]
/* Repeats a call that sets `number` until that is not zero. */
#define AWAIT(call)                                                                                                             \
    for (int number = 0; number == 0;)                                                                                          \
        call
/* A message from and to that rank. */
#define EXCHANGE(other)                                                                                                         \
    MPI_Sendrecv(message, 1, MPI_BYTE, other, 7, message + 8, 1, MPI_BYTE, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
#define COPY_TO(at, bytes) memcpy(at, other_than(at, bytes), bytes)
#define COPY_FROM(at, bytes) memcpy(message, at, bytes)

static void begin(enum memory kind, int scale, const char *name)
{
    MPI_Aint bytes = (MPI_Aint)BYTES * scale;
    first = 0;
    requests[0] = requests[1] = MPI_REQUEST_NULL;
    part = (unsigned char *)memory;
    if (kind == ALLOCATED)
        MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win);
    else if (kind == SHARED)
        MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win);
    else if (kind == CREATED)
        MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    else
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_name(win, name);
    if (kind == ATTACHED) {
        if (rank == 0) {
            MPI_Win_attach(win, memory, sizeof memory);
            MPI_Get_address(memory, &first);
        }
        MPI_Bcast(&first, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    }
}

static void end(void)
{
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Win_free(&win);
}

static void programs(void);

/* The arguments are the file with the counter, and the beginning of the names of those with the turns of each rank. */
int main(int argc, char **argv)
{
    int ones[4] = {1, 1, 1, 1}, places[4] = {0, 2, 64, 66}, members[4] = {0, 1, 2, 1}, behind = 2;
    char path[4096];
    MPI_Group world, of_one;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    counter = argc == 3 ? mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, open(argv[1], O_RDWR), 0) : MAP_FAILED;
    snprintf(path, sizeof path, "%s.%d", argc == 3 ? argv[2] : "", rank);
    turns = fopen(path, "r");
    if (counter == MAP_FAILED || !turns)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Type_indexed(4, ones, places, MPI_UINT8_T, &strided);
    MPI_Type_commit(&strided);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int k = 0; k < 3; k++)
        MPI_Group_incl(world, 1, &members[k], &groups[k]);
    MPI_Group_incl(world, 1, &behind, &of_one);
    MPI_Group_union(groups[1], of_one, &groups[3]);
    MPI_Group_free(&of_one);
    memset(sources, 1, sizeof sources);
    programs();
    for (int k = 0; k < 4; k++)
        MPI_Group_free(&groups[k]);
    MPI_Group_free(&world);
    MPI_Type_free(&strided);
    MPI_Finalize();
    return 0;
}
