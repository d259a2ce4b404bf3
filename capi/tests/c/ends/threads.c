/* Accesses by threads of one rank, for `rmacc -race -fopenmp -pthread`. Each case has an operation and an access to the same
   bytes, by two threads or tasks of one rank, or of two. The argument names the case: those with "unordered" have one
   pair that conflicts, the others none. */
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

static int rank, *base, kept;
static MPI_Win win;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static mtx_t lock;
static omp_lock_t omp_lock;
static atomic_int flag;
static int is_there;

/* The operation and the access to its buffer, which lies in the window. */
static void get_it(void)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Get(base, 1, MPI_INT, 1, 0, 1, MPI_INT, win); /* gets it */
    MPI_Win_unlock(1, win);
}

static void read_it(void)
{
    kept = *base; /* reads it */
}

static void put_it(void)
{
    int value = 42;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win); /* puts it */
    MPI_Win_unlock(1, win);
}

/* Waits until another thread has signalled, so that both run; orders nothing. */
static void signal_one(int *signalled)
{
#pragma omp atomic
    (*signalled)++;
}

static void await_one(int *signalled)
{
    int now;
    do {
        usleep(100);
#pragma omp atomic read
        now = *signalled;
    } while (!now);
}

static void *get_then(void *how)
{
    get_it();
    if (how == &mutex) {
        pthread_mutex_lock(&mutex);
        is_there = 1;
        pthread_cond_signal(&condition);
        pthread_mutex_unlock(&mutex);
    } else if (how == &barrier)
        pthread_barrier_wait(&barrier);
    else if (how == &semaphore)
        sem_post(&semaphore);
    else if (how == &flag)
        atomic_store_explicit(&flag, 1, memory_order_release);
    else if (how == &is_there)
        atomic_store_explicit(&flag, 1, memory_order_relaxed);
    else if (how == &rank) {
        atomic_thread_fence(memory_order_release);
        atomic_store_explicit(&flag, 1, memory_order_relaxed);
    } else if (how == &win) {
        /* Only the operation before this one is behind the fence. */
        atomic_thread_fence(memory_order_release);
        get_it();
        atomic_fetch_add_explicit(&flag, 1, memory_order_relaxed);
    }
    else if (how == &kept)
        pthread_exit(NULL);
    return NULL;
}

static void await(void *how)
{
    if (how == &mutex) {
        pthread_mutex_lock(&mutex);
        while (!is_there)
            pthread_cond_wait(&condition, &mutex);
        pthread_mutex_unlock(&mutex);
    } else if (how == &barrier)
        pthread_barrier_wait(&barrier);
    else if (how == &semaphore)
        sem_wait(&semaphore);
    else if (how == &flag)
        while (!atomic_load_explicit(&flag, memory_order_acquire))
            usleep(100);
    else
        while (!atomic_load_explicit(&flag, memory_order_relaxed))
            usleep(100);
    if (how == &rank || how == &win)
        atomic_thread_fence(memory_order_acquire);
}

static void posix(void *how)
{
    pthread_t thread;
    pthread_create(&thread, NULL, get_then, how);
    if (how == &kept || !how) {
        pthread_join(thread, NULL);
        read_it();
    } else {
        await(how);
        read_it();
        pthread_join(thread, NULL);
    }
}

static int get_by_c11(void *unused)
{
    mtx_lock(&lock);
    get_it();
    mtx_unlock(&lock);
    return 0;
}

/* Each thread has a place in the window. */
#pragma omp declare reduction(into : int * : *omp_out += *omp_in)                                                      \
    initializer(omp_priv = omp_orig + 1 + omp_get_thread_num())

/* Rank 0 in the cases of one rank. */
static int of_one_rank(const char *name)
{
#define CASE(text) if (!strcmp(name, text))
    CASE("unordered master") {
#pragma omp parallel num_threads(2)
        {
#pragma omp master
            get_it();
            read_it();
        }
        return 1;
    }
    CASE("master and barrier") {
#pragma omp parallel num_threads(2)
        {
#pragma omp master
            get_it();
#pragma omp barrier
            read_it();
        }
        return 1;
    }
    CASE("unordered single") {
#pragma omp parallel num_threads(2)
        {
#pragma omp single nowait
            get_it();
            read_it();
        }
        return 1;
    }
    CASE("single") {
#pragma omp parallel num_threads(2)
        {
#pragma omp single
            get_it();
            read_it();
        }
        return 1;
    }
    CASE("ordered") {
#pragma omp parallel for ordered num_threads(2) schedule(static, 1)
        for (int k = 0; k < 2; k++) {
#pragma omp ordered
            k ? read_it() : get_it();
        }
        return 1;
    }
    CASE("iterations that depend") {
#pragma omp parallel for ordered(1) num_threads(2) schedule(static, 1)
        for (int k = 0; k < 2; k++) {
#pragma omp ordered depend(sink : k - 1)
            k ? read_it() : get_it();
#pragma omp ordered depend(source)
        }
        return 1;
    }
    CASE("unordered iterations") {
#pragma omp parallel for ordered(1) num_threads(2) schedule(static, 1)
        for (int k = 0; k < 2; k++) {
#pragma omp ordered depend(sink : k - 2)
            k ? read_it() : get_it();
#pragma omp ordered depend(source)
        }
        return 1;
    }
    CASE("iterations of two loops that depend") {
#pragma omp parallel for ordered(2) num_threads(2) schedule(dynamic, 1)
        for (unsigned long k = 1; k < 3; k++)
            for (long i = 3; i < 5; i++) {
#pragma omp ordered depend(sink : k - 1, i)
                if (i == 4)
                    k == 2 ? read_it() : get_it();
#pragma omp ordered depend(source)
            }
        return 1;
    }
    CASE("unordered iterations of two loops") {
        int signalled = 0;
#pragma omp parallel for ordered(2) num_threads(2) schedule(static, 1)
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < 2; i++) {
                if (k == 1 && i == 0)
                    await_one(&signalled);
#pragma omp ordered depend(sink : k - 1, i)
                if (k == 0 && i == 1)
                    get_it();
                if (k == 1 && i == 0)
                    read_it();
#pragma omp ordered depend(source)
                if (k == 0 && i == 1)
                    signal_one(&signalled);
            }
        return 1;
    }
    CASE("unordered with what is pending") {
        int begun = 0, read = 0;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num()) {
                await_one(&begun);
                read_it();
                signal_one(&read);
            } else {
                MPI_Get(base, 1, MPI_INT, 1, 0, 1, MPI_INT, win); /* gets it */
                signal_one(&begun);
                await_one(&read);
            }
        }
        MPI_Win_unlock(1, win);
        return 1;
    }
    CASE("unordered loop") {
#pragma omp parallel for num_threads(2) schedule(static, 1)
        for (int k = 0; k < 2; k++)
            k ? read_it() : get_it();
        return 1;
    }
    CASE("unordered dynamic loop") {
        int begun = 0, signalled = 0;
#pragma omp parallel num_threads(2)
        {
#pragma omp for schedule(dynamic, 1)
            for (int k = 0; k < 2; k++)
                if (k) {
                    signal_one(&signalled);
                    read_it();
                    await_one(&begun);
                } else {
                    signal_one(&begun);
                    get_it();
                    await_one(&signalled);
                }
        }
        return 1;
    }
    CASE("unordered sections") {
        int signalled = 0;
#pragma omp parallel num_threads(2)
        {
#pragma omp sections
            {
#pragma omp section
                {
                    get_it();
                    await_one(&signalled);
                }
#pragma omp section
                {
                    signal_one(&signalled);
                    read_it();
                }
            }
        }
        return 1;
    }
    CASE("sections one after the other") {
#pragma omp parallel num_threads(2)
        {
#pragma omp sections
            {
#pragma omp section
                get_it();
            }
#pragma omp sections
            {
#pragma omp section
                read_it();
            }
        }
        return 1;
    }
    CASE("unordered task") {
        int signalled = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
        {
#pragma omp task shared(signalled)
            {
                signal_one(&signalled);
                get_it();
            }
            await_one(&signalled);
            read_it();
        }
        return 1;
    }
    CASE("unordered late task") {
#pragma omp parallel num_threads(1)
        {
#pragma omp task
            get_it();
            read_it();
        }
        return 1;
    }
    CASE("taskwait") {
        int signalled = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
        {
#pragma omp task shared(signalled)
            {
                signal_one(&signalled);
                get_it();
            }
            await_one(&signalled);
#pragma omp taskwait
            read_it();
        }
        return 1;
    }
    CASE("taskgroup") {
#pragma omp parallel num_threads(2)
#pragma omp single
        {
#pragma omp taskgroup
            {
#pragma omp task
                get_it();
            }
            read_it();
        }
        return 1;
    }
    CASE("dependent tasks") {
#pragma omp parallel num_threads(2)
#pragma omp single
        {
#pragma omp task depend(out : kept)
            get_it();
#pragma omp task depend(in : kept)
            read_it();
        }
        return 1;
    }
    CASE("unordered tasks") {
#pragma omp parallel num_threads(2)
#pragma omp single
        {
            int payload[32] = {7};
#pragma omp task firstprivate(payload)
            {
                payload[1] = payload[0];
                get_it();
            }
#pragma omp task
            read_it();
        }
        return 1;
    }
    CASE("loop of tasks") {
#pragma omp parallel num_threads(2)
#pragma omp single
        {
            *base = 3;
#pragma omp taskloop num_tasks(4)
            for (int k = 1; k < 5; k++)
                base[k] = base[0] + k;
            get_it();
            kept = base[4];
        }
        return kept == 7;
    }
    CASE("task at once") {
#pragma omp parallel num_threads(2)
#pragma omp single
        {
#pragma omp task if (0)
            get_it();
            read_it();
        }
        return 1;
    }
    CASE("critical") {
#pragma omp parallel num_threads(2)
        {
#pragma omp critical
            get_it();
#pragma omp critical
            read_it();
        }
        return 1;
    }
    CASE("unordered critical") {
#pragma omp parallel num_threads(2)
        {
#pragma omp critical(one)
            get_it();
#pragma omp critical(other)
            read_it();
        }
        return 1;
    }
    CASE("lock of openmp") {
#pragma omp parallel num_threads(2)
        {
            omp_set_lock(&omp_lock);
            omp_get_thread_num() ? read_it() : get_it();
            omp_unset_lock(&omp_lock);
        }
        return 1;
    }
    CASE("copyprivate") {
#pragma omp parallel num_threads(2)
        {
            int copied;
#pragma omp single copyprivate(copied)
            {
                get_it();
                copied = 1;
            }
            read_it();
            (void)copied;
        }
        return 1;
    }
    CASE("copyprivate of what is got") {
        MPI_Win_lock_all(0, win);
        *base = 5;
#pragma omp parallel num_threads(4) reduction(+ : kept)
        {
            int copied;
#pragma omp single copyprivate(copied)
            {
                MPI_Get(&copied, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
                MPI_Win_flush(0, win);
            }
            kept += copied;
        }
        MPI_Win_unlock_all(win);
        return kept == 20;
    }
    CASE("reduction of what is got") {
        int sum = 0;
        MPI_Win_lock_all(0, win);
        *base = 5;
        MPI_Win_sync(win);
#pragma omp parallel num_threads(8) reduction(+ : sum)
        {
            MPI_Get(&sum, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_flush(0, win);
        }
        MPI_Win_unlock_all(win);
        return sum == 40;
    }
    CASE("reduction of what is got in a window") {
        int *sum = base + 9;
        MPI_Win_lock_all(0, win);
        *base = 5;
        MPI_Win_sync(win);
#pragma omp parallel num_threads(8) reduction(into : sum)
        {
            MPI_Get(sum, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_flush(0, win);
        }
        MPI_Win_unlock_all(win);
        return base[9] == 40;
    }
    CASE("reductions") {
        int sum = 0, others = 0;
        for (int threads = 2; threads < 12; threads += 6) {
#pragma omp parallel num_threads(threads)
            {
                if (omp_get_thread_num())
#pragma omp critical
                    get_it();
#pragma omp for reduction(+ : sum)
                for (int k = 0; k < 40; k++)
                    sum += k;
                read_it();
#pragma omp for reduction(+ : others)
                for (int k = 0; k < 40; k++)
                    others += sum;
            }
        }
        return sum == 1560 && others == 40 * (780 + 1560);
    }
    CASE("unordered reduction") {
        int sum = 0;
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num())
                get_it();
#pragma omp for reduction(+ : sum) nowait
            for (int k = 0; k < 40; k++)
                sum += k;
            if (!omp_get_thread_num())
                read_it();
        }
        return 1;
    }
    CASE("many variables") {
        char a = 1;
        short b = 2;
        double c = 3;
        long d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10;
        for (int threads = 1; threads < 4; threads++) {
#pragma omp parallel num_threads(threads) firstprivate(a, b, c, d, e, f, g, h, i)
            {
                a += omp_get_thread_num();
#pragma omp atomic
                j += a + b + c + d + e + f + g + h + i;
            }
#pragma omp parallel num_threads(threads) firstprivate(b, c, d, e, f, g, h) if (threads > 1)
            {
#pragma omp atomic
                j -= b + c + d + e + f + g + h;
            }
        }
        return j == 10 + 6 * 10 + 4;
    }
    CASE("regions of one thread") {
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num())
#pragma omp parallel if (0)
            {
#pragma omp barrier
                get_it();
#pragma omp task
                base[1] = 1;
            }
#pragma omp barrier
            read_it();
            if (!omp_get_thread_num())
                base[1] = 2;
        }
        return 1;
    }
    CASE("unordered region of one thread") {
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num())
                get_it();
            else
                usleep(20000);
#pragma omp parallel if (0)
            {
#pragma omp barrier
            }
            if (!omp_get_thread_num())
                read_it();
        }
        return 1;
    }
    CASE("teams") {
#pragma omp teams num_teams(2)
        {
            if (omp_get_team_num() == 1)
#pragma omp parallel num_threads(2)
            {
                if (omp_get_thread_num())
                    get_it();
            }
        }
        read_it();
        return 1;
    }
    CASE("final task") {
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp task final(1)
        {
#pragma omp task
            get_it();
            read_it();
        }
        return 1;
    }
    CASE("task that is not tied") {
#pragma omp parallel num_threads(2)
#pragma omp single
        {
#pragma omp task untied depend(out : kept)
            {
                for (int k = 0; k < 4; k++) {
#pragma omp task
                    base[1 + k] = k;
#pragma omp taskyield
                }
#pragma omp taskwait
                get_it();
#pragma omp taskyield
                read_it();
            }
#pragma omp task depend(in : kept)
            read_it();
        }
        return 1;
    }
    CASE("loop of tasks without a group") {
#pragma omp parallel num_threads(2)
        {
#pragma omp single
            {
                get_it();
                for (int k = 0; k < 14; k++) {
#pragma omp taskloop num_tasks(4) nogroup
                    for (int i = 1; i < 5; i++)
                        base[4 * k + i] = base[0];
                }
            }
#pragma omp single
            get_it();
        }
        return 1;
    }
    CASE("unordered loop of tasks") {
#pragma omp parallel num_threads(2)
#pragma omp single
        {
#pragma omp taskloop num_tasks(2) nogroup
            for (int k = 0; k < 2; k++)
                if (k)
                    get_it();
            read_it();
        }
        return 1;
    }
    CASE("task that depends, at once") {
#pragma omp parallel num_threads(2)
#pragma omp single
        {
#pragma omp task depend(out : kept)
            get_it();
#pragma omp task depend(in : kept) if (0)
            read_it();
            read_it();
        }
        return 1;
    }
    CASE("taskwait with depend") {
#pragma omp parallel num_threads(2)
#pragma omp single
        {
#pragma omp task depend(out : kept)
            get_it();
#pragma omp taskwait depend(in : kept)
            read_it();
        }
        return 1;
    }
    CASE("event") {
#pragma omp parallel num_threads(2)
#pragma omp single
        {
            omp_event_handle_t event;
#pragma omp task detach(event)
            kept = 3;
#pragma omp task
            {
                get_it();
                omp_fulfill_event(event);
            }
#pragma omp taskwait
            read_it();
        }
        return 1;
    }
    CASE("unordered atomic operations on two variables") {
        int one = 0, other = 0, found;
#pragma omp parallel num_threads(2) private(found)
        {
            if (omp_get_thread_num()) {
                get_it();
#pragma omp atomic write release
                one = 1;
            } else {
                usleep(20000);
#pragma omp atomic read acquire
                found = other;
                read_it();
                (void)found;
            }
        }
        return 1;
    }
    CASE("flush") {
        int signalled = 0;
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num()) {
                get_it();
#pragma omp flush
                signal_one(&signalled);
            } else {
                await_one(&signalled);
#pragma omp flush
                read_it();
            }
        }
        return 1;
    }
    CASE("two regions") {
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num())
                get_it();
        }
#pragma omp parallel num_threads(2)
        {
            if (!omp_get_thread_num())
                read_it();
        }
        return 1;
    }
    CASE("nested regions") {
        omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num()) {
#pragma omp parallel num_threads(2)
                {
                    if (omp_get_thread_num())
                        get_it();
                }
            }
#pragma omp barrier
            read_it();
        }
        return 1;
    }
    CASE("a flush by each") {
        MPI_Win_lock_all(0, win);
#pragma omp parallel num_threads(4)
        for (int k = 0; k < 50; k++) {
            int mine = k, back, place = omp_get_thread_num();
            MPI_Put(&mine, 1, MPI_INT, 1, place, 1, MPI_INT, win);
            MPI_Win_flush(1, win);
            MPI_Get(&back, 1, MPI_INT, 1, place, 1, MPI_INT, win);
            MPI_Win_flush(1, win);
            usleep(100);
        }
        MPI_Win_unlock_all(win);
        return 1;
    }
    CASE("a flush by another") {
        MPI_Win_lock_all(0, win);
#pragma omp parallel num_threads(3)
        {
            int mine = omp_get_thread_num(), back[3];
            MPI_Put(&mine, 1, MPI_INT, 1, mine, 1, MPI_INT, win);
#pragma omp barrier
#pragma omp master
            MPI_Win_flush(1, win);
#pragma omp barrier
            MPI_Get(back, 3, MPI_INT, 1, 0, 3, MPI_INT, win);
            MPI_Win_flush_local(1, win);
#pragma omp barrier
        }
        MPI_Win_unlock_all(win);
        return 1;
    }
    CASE("flushes by two, each for itself") {
        MPI_Win_lock_all(0, win);
#pragma omp parallel num_threads(3)
        {
            int mine = 1, back;
            if (omp_get_thread_num() == 0)
                MPI_Put(&mine, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
#pragma omp barrier
            usleep(1000 * omp_get_thread_num());
            MPI_Win_flush(1, win);
            MPI_Get(&back, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
            MPI_Win_flush(1, win);
#pragma omp barrier
        }
        MPI_Win_unlock_all(win);
        return 1;
    }
    CASE("unordered flush") {
        MPI_Win_lock_all(0, win);
#pragma omp parallel num_threads(2)
        {
            int back;
            if (omp_get_thread_num() == 0)
                MPI_Put(&kept, 1, MPI_INT, 1, 0, 1, MPI_INT, win); /* puts first */
            else {
                usleep(20000);
                MPI_Win_flush(1, win);
                MPI_Get(&back, 1, MPI_INT, 1, 0, 1, MPI_INT, win); /* gets then */
                MPI_Win_flush_local(1, win);
            }
        }
        MPI_Win_unlock_all(win);
        return 1;
    }
    CASE("join") return posix(NULL), 1;
    CASE("join after exit") return posix(&kept), 1;
    CASE("condition") return posix(&mutex), 1;
    CASE("barrier") return posix(&barrier), 1;
    CASE("semaphore") return posix(&semaphore), 1;
    CASE("release and acquire") return posix(&flag), 1;
    CASE("unordered relaxed") return posix(&is_there), 1;
    CASE("fences") return posix(&rank), 1;
    CASE("unordered fences") return posix(&win), 1;
    CASE("mutex of c11") {
        thrd_t thread;
        thrd_create(&thread, get_by_c11, NULL);
        mtx_lock(&lock);
        read_it();
        mtx_unlock(&lock);
        thrd_join(thread, NULL);
        return 1;
    }
    CASE("many threads") {
        for (int k = 0; k < 100; k++) {
            pthread_t thread;
            pthread_create(&thread, NULL, get_then, NULL);
            pthread_join(thread, NULL);
            read_it();
        }
        return 1;
    }
    CASE("many at once") {
#pragma omp parallel num_threads(40)
        {
            base[omp_get_thread_num() % 8 + 1 + 8 * (omp_get_thread_num() / 8)] = 1;
#pragma omp barrier
#pragma omp single
            get_it();
            read_it();
        }
        return 1;
    }
    return 0;
}

/* Rank 0 puts, and another thread than the one that synchronises loads; or another one than that has put. */
static int of_two_ranks(const char *name)
{
    CASE("unordered load") {
        if (rank == 0) {
            put_it();
            MPI_Barrier(MPI_COMM_WORLD);
        }
        if (rank == 1)
#pragma omp parallel num_threads(2)
        {
#pragma omp master
            MPI_Barrier(MPI_COMM_WORLD);
            read_it();
        }
        return 1;
    }
    CASE("locks by any thread") {
        if (rank == 0)
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num())
                put_it();
        }
        if (rank == 0)
            usleep(1000);
        else
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num()) {
                usleep(50000);
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
                read_it();
                MPI_Win_unlock(1, win);
            }
        }
        return 1;
    }
    CASE("fences by another thread") {
        MPI_Win_fence(0, win);
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num()) {
                int value = 5;
                if (rank == 0)
                    MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
                MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
                if (rank == 1)
                    read_it();
            }
        }
        return 1;
    }
    CASE("unordered load beside flushes by all") {
        MPI_Win_lock_all(0, win);
        if (rank == 0)
#pragma omp parallel num_threads(8)
        {
            int mine = 1;
            if (omp_get_thread_num() == 3)
                MPI_Put(&mine, 1, MPI_INT, 1, 0, 1, MPI_INT, win); /* puts for all */
#pragma omp barrier
            MPI_Win_flush_all(win);
#pragma omp barrier
            /* Many others, so that this one is forgotten. */
            for (int k = 0; k < 300; k++) {
                MPI_Put(&mine, 1, MPI_INT, 1, 8 + omp_get_thread_num(), 1, MPI_INT, win);
                MPI_Win_flush(1, win);
            }
#pragma omp barrier
        }
        if (rank == 1) {
            usleep(100000);
            read_it();
        }
        MPI_Win_unlock_all(win);
        return 1;
    }
    CASE("message after flushes by all") {
        MPI_Win_lock_all(0, win);
        if (rank == 0)
#pragma omp parallel num_threads(4)
        {
            int mine = 1;
            if (omp_get_thread_num() == 0)
                MPI_Put(&mine, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
#pragma omp barrier
            MPI_Win_flush_all(win);
            if (omp_get_thread_num() == 3)
                MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
#pragma omp barrier
        }
        if (rank == 1) {
            MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            read_it();
        }
        MPI_Win_unlock_all(win);
        return 1;
    }
    CASE("load after a barrier of the threads") {
        if (rank == 0) {
            put_it();
            MPI_Barrier(MPI_COMM_WORLD);
        }
        if (rank == 1)
#pragma omp parallel num_threads(2)
        {
#pragma omp master
            MPI_Barrier(MPI_COMM_WORLD);
#pragma omp barrier
            read_it();
        }
        return 1;
    }
    CASE("unordered message") {
        if (rank == 0)
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num())
                put_it();
            else {
                usleep(20000);
                MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
            }
        }
        if (rank == 1) {
            MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            read_it();
        }
        return 1;
    }
    CASE("message after a barrier of the threads") {
        if (rank == 0)
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num())
                put_it();
#pragma omp barrier
            if (!omp_get_thread_num())
                MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
        }
        if (rank == 1) {
            MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            read_it();
        }
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int provided, is_known = 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(64 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    for (int k = 0; k < 64; k++)
        base[k] = 0;
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&semaphore, 0, 0);
    mtx_init(&lock, mtx_plain);
    omp_init_lock(&omp_lock);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!of_two_ranks(argv[1]) && rank == 0)
        is_known = of_one_rank(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    MPI_Finalize();
    if (!is_known)
        printf("no such case\n");
    return !is_known;
}
