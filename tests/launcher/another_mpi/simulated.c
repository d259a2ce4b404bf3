/* A library with the standard ABI in which one process is rank 0 of a job of SIMULATED_RANKS ranks: each other rank
 * is as if it had called what this one calls, with the same arguments, and been first. Its memory is this rank's. The
 * first SIMULATED_NEAR ranks are on this rank's node. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WORLD ((void *)0x101)
#define REQUEST_NULL ((void *)0x180)
#define GROUP ((void *)0x200)
#define NO_OP ((void *)0x3d)
#define THREAD_MULTIPLE 4096
#define WIN_UNIFIED 321
/* A communicator is its number of ranks and this. */
#define COMM ((intptr_t)1 << 40)

typedef int64_t Count;
typedef void *Handle;

static int number(const char *name) {
    const char *text = getenv(name);
    return text ? atoi(text) : 1;
}

static int size_of(Handle comm) {
    return comm == WORLD ? number("SIMULATED_RANKS") : (int)((intptr_t)comm - COMM);
}

static int like(Handle comm, Handle *made) {
    *made = (Handle)(COMM + size_of(comm));
    return 0;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    *provided = getenv("SIMULATED_THREADS") ? number("SIMULATED_THREADS") : THREAD_MULTIPLE;
    return 0;
}
int MPI_Finalize(void) { return 0; }
int MPI_Abort(Handle comm, int code) { _Exit(code); }
int MPI_Get_library_version(char *text, int *length) {
    strcpy(text, "simulated");
    *length = 9;
    return 0;
}
int MPI_Error_class(int code, int *class) { return *class = code; }
int MPI_Error_string(int code, char *text, int *length) { return *text = *length = 0; }

int MPI_Comm_rank(Handle comm, int *rank) { return *rank = 0; }
int MPI_Comm_size(Handle comm, int *size) {
    *size = size_of(comm);
    return 0;
}
int MPI_Comm_dup(Handle comm, Handle *made) { return like(comm, made); }
int MPI_Comm_idup(Handle comm, Handle *made, Handle *request) {
    *request = REQUEST_NULL;
    return like(comm, made);
}
int MPI_Comm_split(Handle comm, int colour, int key, Handle *made) { return like(comm, made); }
int MPI_Comm_split_type(Handle comm, int type, int key, Handle info, Handle *made) {
    int near = number("SIMULATED_NEAR"), size = size_of(comm);
    *made = (Handle)(COMM + (near < size ? near : size));
    return 0;
}
int MPI_Comm_group(Handle comm, Handle *group) {
    *group = GROUP;
    return 0;
}
int MPI_Group_incl(Handle group, int n, const int *ranks, Handle *made) {
    *made = (Handle)(COMM + n);
    return 0;
}
int MPI_Comm_create_group(Handle comm, Handle group, int tag, Handle *made) {
    *made = group;
    return 0;
}
int MPI_Group_free(Handle *group) { return 0; }
int MPI_Comm_free(Handle *comm) { return 0; }
int MPI_Comm_create_errhandler(void *function, Handle *made) { return 0; }
int MPI_Comm_set_errhandler(Handle comm, Handle handler) { return 0; }

int MPI_Iprobe(int rank, int tag, Handle comm, int *found, void *status) { return *found = 0; }
int MPI_Improbe(int rank, int tag, Handle comm, int *found, Handle *message, void *status) {
    return *found = 0;
}
int MPI_Get_count_c(const void *status, Handle type, Count *count) { return *count = 0; }
int MPI_Imrecv_c(void *to, Count n, Handle type, Handle *message, Handle *request) { return 1; }
int MPI_Isend_c(const void *from, Count n, Handle type, int to, int tag, Handle comm,
                Handle *request) {
    *request = REQUEST_NULL;
    return 0;
}
int MPI_Irecv_c(void *to, Count n, Handle type, int from, int tag, Handle comm, Handle *request) {
    *request = REQUEST_NULL;
    return 0;
}
int MPI_Request_free(Handle *request) { return 0; }
int MPI_Test(Handle *request, int *done, void *status) {
    *done = 1;
    return 0;
}
int MPI_Ibarrier(Handle comm, Handle *request) {
    *request = REQUEST_NULL;
    return 0;
}
int MPI_Iallgather(const void *from, int n, Handle type, void *to, int m, Handle other,
                   Handle comm, Handle *request) {
    for (int64_t rank = 0; rank < size_of(comm); rank++) {
        memcpy((char *)to + rank * n, from, n);
    }
    *request = REQUEST_NULL;
    return 0;
}

int MPI_Info_create(Handle *info) { return 0; }
int MPI_Info_set(Handle info, const char *key, const char *value) { return 0; }
int MPI_Info_free(Handle *info) { return 0; }

/* A window is the address of its memory. */
int MPI_Win_allocate(intptr_t bytes, int unit, Handle info, Handle comm, void *base, Handle *made) {
    *made = *(void **)base = calloc(bytes + 1, 1);
    return 0;
}
int MPI_Win_allocate_shared(intptr_t bytes, int unit, Handle info, Handle comm, void *base,
                            Handle *made) {
    return MPI_Win_allocate(bytes, unit, info, comm, base, made);
}
int MPI_Win_create(void *base, intptr_t bytes, int unit, Handle info, Handle comm, Handle *made) {
    *made = base;
    return 0;
}
int MPI_Win_create_dynamic(Handle info, Handle comm, Handle *made) {
    *made = NULL;
    return 0;
}
int MPI_Win_attach(Handle win, void *base, intptr_t bytes) { return 0; }
int MPI_Win_detach(Handle win, const void *base) { return 0; }
int MPI_Win_shared_query(Handle win, int rank, intptr_t *bytes, int *unit, void *base) {
    *(void **)base = rank < number("SIMULATED_NEAR") ? win : NULL;
    return 0;
}
int MPI_Win_get_attr(Handle win, int key, void *value, int *found) {
    static int model = WIN_UNIFIED;
    *(int **)value = &model;
    *found = 1;
    return 0;
}
int MPI_Win_create_errhandler(void *function, Handle *made) { return 0; }
int MPI_Win_set_errhandler(Handle win, Handle handler) { return 0; }
int MPI_Win_free(Handle *win) {
    free(*win);
    return 0;
}
int MPI_Win_lock_all(int assert, Handle win) { return 0; }
int MPI_Win_unlock_all(Handle win) { return 0; }
int MPI_Win_flush(int rank, Handle win) { return 0; }
int MPI_Win_flush_all(Handle win) { return 0; }
int MPI_Win_sync(Handle win) { return 0; }

int MPI_Put_c(const void *from, Count n, Handle type, int rank, intptr_t at, Count m, Handle other,
              Handle win) {
    memcpy((char *)win + at, from, n);
    return 0;
}
int MPI_Get_c(void *to, Count n, Handle type, int rank, intptr_t at, Count m, Handle other,
              Handle win) {
    memcpy(to, (char *)win + at, n);
    return 0;
}
int MPI_Fetch_and_op(const void *from, void *to, Handle type, int rank, intptr_t at, Handle op,
                     Handle win) {
    uint64_t *word = (uint64_t *)((char *)win + at), one;
    memcpy(to, word, sizeof(*word));
    memcpy(&one, from, op == NO_OP ? 0 : sizeof(one));
    *word += op == NO_OP ? 0 : one;
    return 0;
}
/* The program has none of these. */
int MPI_Accumulate_c(void) { return 1; }
int MPI_Get_accumulate_c(void) { return 1; }
int MPI_Compare_and_swap(void) { return 1; }
