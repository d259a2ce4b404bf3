/* The forms of a collective, for programs that check all of them. */

#ifndef FORMS_H
#define FORMS_H

#include "check.h"

/* Whether only the blocking form of a collective is checked. */
static int blocking_alone;

/* The three forms of a collective; a persistent one is started twice. `again` puts the buffers back. */
#define FORMS(name, init, again, check, ...)                                                      \
    do {                                                                                          \
        MPI_Request request_;                                                                     \
        again;                                                                                    \
        OK(MPI_##name(__VA_ARGS__));                                                              \
        check;                                                                                    \
        if (blocking_alone)                                                                       \
            break;                                                                                \
        again;                                                                                    \
        OK(MPI_I##init(__VA_ARGS__, &request_));                                                  \
        OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));                                               \
        CHECK(request_ == MPI_REQUEST_NULL);                                                      \
        check;                                                                                    \
        OK(MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_));                             \
        for (int time_ = 0; time_ < 2; time_++) {                                                 \
            again;                                                                                \
            OK(MPI_Start(&request_));                                                             \
            OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));                                           \
            check;                                                                                \
        }                                                                                         \
        OK(MPI_Request_free(&request_));                                                          \
    } while (0)

/* Two integers with one between them. */
static MPI_Datatype gap(void)
{
    MPI_Datatype vector, type;
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &vector));
    OK(MPI_Type_create_resized(vector, 0, 4 * sizeof(int), &type));
    OK(MPI_Type_free(&vector));
    OK(MPI_Type_commit(&type));
    return type;
}

#endif
