/* The benchmarks of benches/rma as MPI programs: `twins SUITE QUICK ROUNDS BUDGET_MS LIMIT_S FILTER`,
 * started by the peer's mpiexec. */
#include "bench.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct plan plan;
int rank, ranks;

static const struct {
    const char *name;
    void (*run)(void);
} SUITES[] = {
    {"moves", moves},     {"layouts", layouts}, {"epochs", epochs},     {"contended", contended},
    {"waiting", waiting}, {"startup", startup}, {"memory", memory_use},
    {"programs", programs}, {"messages", messages}, {"collectives", collectives},
    {"foreign", foreign},   {"foreign-far", foreign_far},
    {"foreign-node", foreign_node},
};

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "usage: twins SUITE QUICK ROUNDS BUDGET_MS LIMIT_S FILTER\n");
        return 2;
    }
    /* Whatever becomes of mpiexec, no rank outlives its time. */
    alarm(atoi(argv[5]));
    plan.quick = atoi(argv[2]);
    plan.rounds = atoi(argv[3]);
    plan.budget = atof(argv[4]) * 1e6;
    plan.filter = argv[6];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int found = 0;
    for (size_t i = 0; i < sizeof(SUITES) / sizeof(*SUITES); i++) {
        if (strcmp(SUITES[i].name, argv[1]) == 0) {
            SUITES[i].run();
            found = 1;
        }
    }
    MPI_Finalize();
    return found ? 0 : 2;
}
