/* Descriptors: what a rank executes has none of the library's, and a program that closes all that are open,
   as a daemon does, loses neither its windows nor the file that gets their numbers. */

#define _GNU_SOURCE
#include "check.h"
#include <fcntl.h>
#include <unistd.h>

enum { BYTES = 8 << 20, LAST = 40 };

static void executed_programs_have_none(void)
{
    char line[4096];
    RULE("MPI-4.1 2.9.1: executed");
    FILE *list = popen("for f in /proc/$$/fd/*; do readlink $f; done; true", "r");
    CHECK(list != NULL);
    while (fgets(line, sizeof line, list))
        CHECK(!strstr(line, "onesided") && !strstr(line, "/dev/shm"));
    EQUAL(pclose(list), 0);
}

/* A file without a zero, under all numbers that the library may have had. */
static int take_numbers(void)
{
    char *bytes = malloc(BYTES), name[] = "/tmp/descriptors-XXXXXX";
    closefrom(3);
    int file = mkstemp(name), number;
    CHECK(file >= 0 && bytes != NULL);
    OK(unlink(name));
    memset(bytes, 0x5a, BYTES);
    EQUAL(write(file, bytes, BYTES), BYTES);
    while ((number = dup(file)) < LAST)
        CHECK(number >= 0);
    free(bytes);
    return file;
}

static void is_intact(int file)
{
    char *bytes = malloc(BYTES);
    EQUAL(pread(file, bytes, BYTES, 0), BYTES);
    CHECK(bytes[0] == 0x5a && memcmp(bytes, bytes + 1, BYTES - 1) == 0);
    free(bytes);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    executed_programs_have_none();
    int file = take_numbers();
    RULE("MPI-4.1 2.9.1: closed");
    for (int round = 0; round < 4; round++) {
        int *part, count = 1 << (6 + 5 * round);
        MPI_Win win = window(count, &part);
        OK(MPI_Win_fence(0, win));
        OK(MPI_Put(&round, 1, MPI_INT, behind(), count - 1, 1, MPI_INT, win));
        OK(MPI_Win_fence(0, win));
        EQUAL(part[count - 1], round);
        OK(MPI_Win_free(&win));
        is_intact(file);
    }
    return end();
}
