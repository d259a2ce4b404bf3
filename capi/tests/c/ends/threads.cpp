/* Threads of C++, for `rmacxx -race -pthread`: as threads.c. */
#include <condition_variable>
#include <cstring>
#include <future>
#include <memory>
#include <mpi.h>
#include <mutex>
#include <shared_mutex>
#include <thread>

static int *base;
static volatile int kept;
static MPI_Win win;
static std::mutex mutex;
static std::shared_mutex shared;
static std::condition_variable condition;
static std::once_flag once;
static bool is_there;

static void get_it()
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Get(base, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    MPI_Win_unlock(1, win);
}

static void read_it()
{
    kept = *base;
}

static bool run(const char *name)
{
    auto is = [name](const char *other) { return !std::strcmp(name, other); };
    if (is("join")) {
        for (int k = 0; k < 40; k++) {
            std::thread thread(get_it);
            thread.join();
            read_it();
        }
    } else if (is("unordered")) {
        std::thread thread(get_it);
        read_it();
        thread.join();
    } else if (is("condition")) {
        std::thread thread([] {
            get_it();
            std::lock_guard guard(mutex);
            is_there = true;
            condition.notify_one();
        });
        {
            std::unique_lock lock(mutex);
            condition.wait(lock, [] { return is_there; });
        }
        read_it();
        thread.join();
    } else if (is("future")) {
        std::async(std::launch::async, get_it).get();
        read_it();
    } else if (is("promise")) {
        std::promise<void> promise;
        std::thread thread([&promise] {
            get_it();
            promise.set_value();
        });
        promise.get_future().wait();
        read_it();
        thread.join();
    } else if (is("once")) {
        std::thread thread([] { std::call_once(once, get_it); });
        std::call_once(once, get_it);
        read_it();
        thread.join();
    } else if (is("static variable")) {
        auto got = [] {
            static int variable = (get_it(), 5);
            return variable;
        };
        std::thread thread(got);
        got();
        read_it();
        thread.join();
    } else if (is("exception")) {
        std::thread thread([] {
            try {
                std::lock_guard guard(mutex);
                get_it();
                is_there = true;
                throw 1;
            } catch (int) {
                condition.notify_one();
            }
        });
        std::unique_lock lock(mutex);
        condition.wait(lock, [] { return is_there; });
        read_it();
        lock.unlock();
        thread.join();
    } else if (is("virtual")) {
        struct Gets {
            virtual ~Gets() = default;
            virtual void run() { get_it(); }
        };
        struct Reads : Gets {
            void run() override { read_it(); }
        };
        std::unique_ptr<Gets> all[] = {std::make_unique<Gets>(), std::make_unique<Reads>()};
        for (auto &one : all)
            one->run();
    } else if (is("shared")) {
        std::thread thread([] {
            std::unique_lock lock(shared);
            get_it();
        });
        {
            std::shared_lock lock(shared);
            read_it();
        }
        thread.join();
    } else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    int provided, rank;
    bool is_known = true;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(16 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    std::memset(base, 0, 16 * sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        is_known = run(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    MPI_Finalize();
    return !is_known;
}
