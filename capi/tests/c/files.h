/* Files of a test: in a folder of its own, which rank 0 makes and takes away. */

#ifndef FILES_H
#define FILES_H

#include "check.h"
#include <sys/stat.h>
#include <unistd.h>

static char folder_here[200];

/* Collective. */
static inline void make_folder(void)
{
    if (rank_here == 0) {
        const char *base = getenv("TMPDIR");
        snprintf(folder_here, sizeof folder_here, "%s/onesided-files-XXXXXX", base ? base : "/tmp");
        CHECK(mkdtemp(folder_here) != NULL);
    }
    OK(MPI_Bcast(folder_here, sizeof folder_here, MPI_CHAR, 0, MPI_COMM_WORLD));
}

/* Collective; all files in it have been deleted. */
static inline void remove_folder(void)
{
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank_here == 0)
        CHECK(rmdir(folder_here) == 0);
}

static inline const char *path_of(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", folder_here, name);
    return path;
}

/* The size of a file for the operating system, or -1. */
static inline long long size_of(const char *name)
{
    struct stat found;
    return stat(path_of(name), &found) == 0 ? (long long)found.st_size : -1;
}

/* Opens a file of all ranks. */
static inline MPI_File opened(const char *name, int amode)
{
    MPI_File file;
    OK(MPI_File_open(MPI_COMM_WORLD, path_of(name), amode, MPI_INFO_NULL, &file));
    return file;
}

/* A status has that many integers. */
#define INTEGERS(status, expected)                                                                \
    do {                                                                                          \
        int count_ = -1;                                                                          \
        OK(MPI_Get_count(&(status), MPI_INT, &count_));                                           \
        EQUAL(count_, (expected));                                                                \
    } while (0)

#endif
