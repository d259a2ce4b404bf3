/* The variables of the tool interface have the values that the program can know: what it has called and moved, the
   handles that it has, and times between those that it has measured itself. */

#include "check.h"
#include <unistd.h>

#define GIVES(code, call) EQUAL(call, code)

static MPI_T_pvar_session session;

/* The index of a performance variable, its class and what it is bound to. */
static int found(const char *name, int *class, int *bind)
{
    int count;
    OK(MPI_T_pvar_get_num(&count));
    CHECK(count >= 30);
    for (int k = 0; k < count; k++) {
        char called[64];
        int room = sizeof called, index, readonly, continuous, atomic;
        OK(MPI_T_pvar_get_info(k, called, &room, NULL, class, NULL, NULL, NULL, NULL, bind, &readonly, &continuous,
                               &atomic));
        if (strcmp(called, name) != 0)
            continue;
        EQUAL(room, strlen(name) + 1);
        CHECK(readonly == 1 && continuous == 1 && atomic == 0);
        OK(MPI_T_pvar_get_index(name, *class, &index));
        EQUAL(index, k);
        GIVES(MPI_T_ERR_INVALID_NAME, MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_STATE, &index));
        return k;
    }
    FAILED("no variable %s", name);
}

static MPI_T_pvar_handle handle_of(const char *name, void *object)
{
    MPI_T_pvar_handle handle;
    int class, bind, count = 0;
    int index = found(name, &class, &bind);
    CHECK((bind == MPI_T_BIND_NO_OBJECT) == (object == NULL));
    OK(MPI_T_pvar_handle_alloc(session, index, object, &handle, &count));
    EQUAL(count, 1);
    return handle;
}

static long long of(const char *name, void *object)
{
    unsigned long long value = 1234567;
    MPI_T_pvar_handle handle = handle_of(name, object);
    OK(MPI_T_pvar_read(session, handle, &value));
    OK(MPI_T_pvar_handle_free(session, &handle));
    CHECK(handle == MPI_T_PVAR_HANDLE_NULL);
    return (long long)value;
}

static double seconds(const char *name, void *object)
{
    double value = -1;
    MPI_T_pvar_handle handle = handle_of(name, object);
    OK(MPI_T_pvar_read(session, handle, &value));
    OK(MPI_T_pvar_handle_free(session, &handle));
    return value;
}

static long long control(const char *name)
{
    int index, count, scope;
    unsigned long long large = 77;
    int small = 77;
    MPI_Datatype datatype;
    MPI_T_cvar_handle handle;
    OK(MPI_T_cvar_get_index(name, &index));
    OK(MPI_T_cvar_get_info(index, NULL, NULL, NULL, &datatype, NULL, NULL, NULL, NULL, &scope));
    OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    EQUAL(count, 1);
    CHECK(datatype == MPI_INT || datatype == MPI_UNSIGNED_LONG_LONG);
    OK(MPI_T_cvar_read(handle, datatype == MPI_INT ? (void *)&small : (void *)&large));
    if (scope == MPI_T_SCOPE_CONSTANT || scope == MPI_T_SCOPE_READONLY)
        GIVES(MPI_T_ERR_CVAR_SET_NEVER, MPI_T_cvar_write(handle, &small));
    OK(MPI_T_cvar_handle_free(&handle));
    return datatype == MPI_INT ? small : (long long)large;
}

static void outside(void)
{
    unsigned long long value;
    MPI_T_pvar_handle handle;
    RULE("MPI-4.1 15.3: before MPI_Init and after MPI_Finalize");
    CHECK(of("process_memory", NULL) > 0);
    EQUAL(of("windows", NULL), 0);
    handle = handle_of("sleeps", NULL);
    GIVES(MPI_T_ERR_NOT_ACCESSIBLE, MPI_T_pvar_read(session, handle, &value));
    OK(MPI_T_pvar_handle_free(session, &handle));
}

static void refusals(void)
{
    unsigned long long value = 0;
    MPI_T_pvar_session other;
    MPI_T_pvar_handle handle = handle_of("segment_size", NULL), freed;
    RULE("MPI-4.1 15.3.7: read-only variables that run by themselves");
    GIVES(MPI_T_ERR_PVAR_NO_STARTSTOP, MPI_T_pvar_start(session, handle));
    GIVES(MPI_T_ERR_PVAR_NO_STARTSTOP, MPI_T_pvar_stop(session, handle));
    GIVES(MPI_T_ERR_PVAR_NO_WRITE, MPI_T_pvar_reset(session, handle));
    GIVES(MPI_T_ERR_PVAR_NO_WRITE, MPI_T_pvar_write(session, handle, &value));
    GIVES(MPI_T_ERR_PVAR_NO_ATOMIC, MPI_T_pvar_readreset(session, handle, &value));
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    OK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    OK(MPI_T_pvar_session_create(&other));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(other, handle, &value));
    GIVES(MPI_T_ERR_INVALID, MPI_T_pvar_read(session, handle, NULL));
    freed = handle;
    OK(MPI_T_pvar_handle_free(session, &handle));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(session, freed, &value));
    OK(MPI_T_pvar_session_free(&other));
    EQUAL(value, 0);
}

static void categories(void)
{
    int count, variables, settings, all = 0, all_settings = 0, in_all, stamp;
    RULE("MPI-4.1 15.3.9: each variable is in one category");
    OK(MPI_T_category_get_num(&count));
    for (int k = 0; k < count; k++) {
        char name[64], about[256];
        int room = sizeof name, space = sizeof about, index, inside, first[1] = {-1};
        OK(MPI_T_category_get_info(k, name, &room, about, &space, &settings, &variables, &inside));
        CHECK(strlen(name) > 0 && strlen(about) > 0);
        OK(MPI_T_category_get_index(name, &index));
        CHECK(index == k && inside == 0);
        OK(MPI_T_category_get_pvars(k, 1, first));
        CHECK((first[0] >= 0) == (variables > 0));
        all += variables;
        all_settings += settings;
    }
    OK(MPI_T_pvar_get_num(&in_all));
    EQUAL(all, in_all);
    OK(MPI_T_cvar_get_num(&in_all));
    EQUAL(all_settings, in_all);
    OK(MPI_T_category_changed(&stamp));
}

/* A text that does not fit is cut off. */
static void texts(void)
{
    char name[5] = "....";
    int room = 3, index, none = 0;
    OK(MPI_T_cvar_get_index("eager_limit", &index));
    OK(MPI_T_cvar_get_info(index, name, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(strcmp(name, "ea") == 0 && room == 12);
    OK(MPI_T_cvar_get_info(index, NULL, &none, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    EQUAL(none, 12);
}

static void objects(void)
{
    long long windows = of("windows", NULL), groups = of("groups", NULL), infos = of("infos", NULL);
    long long used = of("segment_used", NULL);
    unsigned long long value;
    int comm_ranks = (int)of("ranks", &(MPI_Comm){MPI_COMM_SELF});
    MPI_T_pvar_handle handle;
    MPI_Win window;
    MPI_Group group;
    MPI_Info info;
    char *base;
    RULE("MPI-4.1 15.3.7: what is there");
    EQUAL(comm_ranks, 1);
    EQUAL(of("ranks", &(MPI_Comm){MPI_COMM_WORLD}), ranks);
    EQUAL(of("communicators", NULL), 2);
    OK(MPI_Win_allocate(1000 * (rank_here + 1), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    OK(MPI_Info_create(&info));
    EQUAL(of("windows", NULL), windows + 1);
    EQUAL(of("groups", NULL), groups + 1);
    EQUAL(of("infos", NULL), infos + 1);
    EQUAL(of("window_size", &window), 1000 * (rank_here + 1));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(of("segment_used", NULL) >= used + 1000 * ranks * (ranks + 1) / 2);
    CHECK(of("segment_used", NULL) <= of("segment_size", NULL));
    EQUAL(of("segment_size", NULL), control("segment_size"));
    CHECK(of("segment_in_memory", NULL) > 0 && of("memory_available", NULL) > 0);
    OK(MPI_Info_free(&info));
    OK(MPI_Group_free(&group));
    handle = handle_of("window_size", &window);
    OK(MPI_Win_free(&window));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(session, handle, &value));
    EQUAL(of("windows", NULL), windows);
    EQUAL(of("groups", NULL), groups);
    EQUAL(of("infos", NULL), infos);
}

static void messages(void)
{
    int got = -1, flag;
    MPI_Request request;
    RULE("MPI-4.1 15.3.7: messages that wait");
    EQUAL(of("posted_receives", NULL), 0);
    OK(MPI_Irecv(&got, 1, MPI_INT, rank_here, 5, MPI_COMM_WORLD, &request));
    EQUAL(of("posted_receives", NULL), 1);
    OK(MPI_Send(&rank_here, 1, MPI_INT, rank_here, 5, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    EQUAL(of("posted_receives", NULL), 0);
    OK(MPI_Send(&rank_here, 1, MPI_INT, rank_here, 6, MPI_COMM_WORLD));
    OK(MPI_Iprobe(rank_here, 6, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
    EQUAL(of("unexpected_messages", NULL), 1);
    OK(MPI_Recv(&got, 1, MPI_INT, rank_here, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EQUAL(of("unexpected_messages", NULL), 0);
}

/* Rank 0 comes late to a barrier: the others sleep there. */
static void sleeping(void)
{
    long long slept = of("sleeps", NULL), switches = of("voluntary_switches", NULL);
    RULE("MPI-4.1 15.3.7: a wait of a fifth of a second sleeps");
    if (rank_here == 0)
        usleep(200000);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank_here == 0 || of("sleeps", NULL) > slept);
    CHECK(of("voluntary_switches", NULL) > switches);
    CHECK(seconds("time_user", NULL) >= 0 && seconds("time_system", NULL) >= 0);
    CHECK(of("minor_faults", NULL) > 0 && of("major_faults", NULL) >= 0);
}

static void always(void)
{
    long long ended = of("calls_ended", NULL);
    RULE("MPI-4.1 15.3.7: calls that have ended");
    for (int k = 0; k < 10; k++)
        MPI_Barrier(MPI_COMM_WORLD);
    EQUAL(of("calls_ended", NULL), ended + 10);
    EQUAL(control("eager_limit"), 8192);
    EQUAL(control("recorded_calls"), 64);
    CHECK(control("staged_limit") >= 16 << 10 && control("staged_limit") <= 1 << 20);
    CHECK(control("spins") >= 0 && control("recorder") == 1 && control("check") == 0 && control("strict") == 0 && control("trace") == 0);
}

#define MANY 7

static void operations(MPI_Win window, int next)
{
    long long out[4] = {1, 2, 3, 4}, in[4], sum = 0, one = 1;
    OK(MPI_Win_lock_all(0, window));
    for (int k = 0; k < MANY; k++) {
        OK(MPI_Put(out, 4, MPI_LONG_LONG, next, 0, 4, MPI_LONG_LONG, window));
        OK(MPI_Win_flush(next, window));
    }
    OK(MPI_Get(in, 2, MPI_LONG_LONG, next, 0, 2, MPI_LONG_LONG, window));
    OK(MPI_Win_flush_all(window));
    OK(MPI_Accumulate(out, 3, MPI_LONG_LONG, next, 4, 3, MPI_LONG_LONG, MPI_SUM, window));
    OK(MPI_Fetch_and_op(&one, &sum, MPI_LONG_LONG, next, 7, MPI_SUM, window));
    OK(MPI_Win_unlock_all(window));
    OK(MPI_Win_fence(0, window));
    OK(MPI_Win_fence(0, window));
}

/* What the program does is what is counted. */
static void counted(void)
{
    static const struct {
        const char *name;
        long long by;
    } expected[] = {
        {"puts", MANY}, {"gets", 1}, {"accumulates", 1}, {"fetches", 1}, {"fences", 2}, {"locks", 1}, {"unlocks", 1},
        {"flushes", MANY + 1}, {"posts", 0}, {"starts", 0}, {"sends", 1}, {"receives", 1}, {"barriers", 1},
        {"collectives", 1}, {"put_bytes", 32 * MANY}, {"get_bytes", 16}, {"accumulate_bytes", 24}, {"fetch_bytes", 8},
        {"send_bytes", 12}, {"calls", 2 * MANY + 13},
    };
    enum { ROWS = sizeof expected / sizeof *expected };
    long long before[ROWS], *base, sum = 0;
    int next = (rank_here + 1) % ranks, three[3] = {1, 2, 3}, got[3];
    MPI_Win window, other;
    MPI_Request request;
    double began, waited, lasted;
    RULE("MPI-4.1 15.3.7: what a job that counts has counted");
    OK(MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window));
    OK(MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &other));
    for (int k = 0; k < ROWS; k++)
        before[k] = of(expected[k].name, NULL);
    operations(window, next);
    OK(MPI_Irecv(got, 3, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &request));
    OK(MPI_Send(three, 3, MPI_INT, next, 9, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int k = 0; k < ROWS - 1; k++) {
        RULE(expected[k].name);
        EQUAL(of(expected[k].name, NULL) - before[k], expected[k].by);
    }
    CHECK(of("calls", NULL) - before[ROWS - 1] >= expected[ROWS - 1].by);
    EQUAL(of("window_operations", &window), MANY + 3);
    EQUAL(of("window_bytes", &window), 32 * MANY + 16 + 24 + 8);
    EQUAL(of("window_operations", &other), 0);
    RULE("MPI-4.1 15.3.7: times are those that the program measures");
    waited = seconds("time_waiting_for_arrivals", NULL);
    began = MPI_Wtime();
    if (rank_here == 0)
        usleep(200000);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    lasted = MPI_Wtime() - began;
    waited = seconds("time_waiting_for_arrivals", NULL) - waited;
    CHECK(waited <= lasted && (rank_here == 0 || waited > 0.9 * lasted - 0.01));
    CHECK(seconds("time_waiting", NULL) >= waited && seconds("time_in_calls", NULL) >= seconds("time_waiting", NULL));
    CHECK(seconds("time_in_job", NULL) > seconds("time_in_calls", NULL) && seconds("time_moving", NULL) > 0);
    CHECK(ranks == 1 || rank_here == 0 || of("waits", NULL) > 0);
    CHECK(seconds("time_waiting_for_posts", NULL) == 0 && seconds("time_waiting_for_completes", NULL) == 0);
    CHECK(seconds("time_waiting_for_locks", NULL) >= 0 && seconds("time_waiting_for_messages", NULL) >= 0);
    CHECK(seconds("window_time_waiting", &window) <= seconds("time_waiting", NULL));
    OK(MPI_Win_free(&other));
    OK(MPI_Win_free(&window));
}

static void not_counted(void)
{
    unsigned long long value = 5;
    MPI_T_pvar_handle handle = handle_of("puts", NULL);
    RULE("MPI-4.1 15.3.7: what is not counted has no value");
    GIVES(MPI_T_ERR_NOT_ACCESSIBLE, MPI_T_pvar_read(session, handle, &value));
    EQUAL(value, 5);
    OK(MPI_T_pvar_handle_free(session, &handle));
}

int main(void)
{
    int provided;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    outside();
    begin(NULL, NULL);
    refusals();
    categories();
    texts();
    objects();
    messages();
    sleeping();
    always();
    if (control("statistics"))
        counted();
    else
        not_counted();
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    return end();
}
