/* The twin of programs/stencil.rs. */
#include "programs.h"
#include <stdlib.h>
#include <string.h>

#define WHAT "stencil of radius 2, a step by PSCW"
#define SIDE 512
#define RADIUS 2

struct block {
    MPI_Win win;
    MPI_Group group;
    int rows, columns, half;
    /* The ranks above, below, left and right, or -1. */
    int beside[4];
    /* Where what comes from that side begins in a half; the fourth is the length of a half. */
    int place[5];
    double *halo, *input, *output, *edges[4];
};

/* Adds to each cell of `output` the star around its place in `input`. */
__attribute__((noinline)) static void star(int rows, int columns, const double *restrict input,
                                           double *restrict output) {
    int wide = columns + 2 * RADIUS;
    for (int row = 0; row < rows; row++) {
        const double *here = input + (size_t)(row + RADIUS) * wide + RADIUS;
        const double *up1 = here - wide, *up2 = up1 - wide;
        const double *down1 = here + wide, *down2 = down1 + wide;
        double *to = output + (size_t)row * columns;
        for (int c = 0; c < columns; c++) {
            to[c] += 0.25 * (here[c + 1] - here[c - 1] + down1[c] - up1[c]) +
                     0.125 * (here[c + 2] - here[c - 2] + down2[c] - up2[c]);
        }
    }
}

/* The cells of a side, inside the block or of the edge around it: their first, rows and columns. */
static double *side_of(const struct block *b, int side, int inside, int *rows, int *columns) {
    int near = inside ? RADIUS : 0, wide = b->columns + 2 * RADIUS;
    int row = side == 0 ? near : side == 1 ? b->rows + RADIUS - near : RADIUS;
    int column = side == 2 ? near : side == 3 ? b->columns + RADIUS - near : RADIUS;
    *rows = side < 2 ? RADIUS : b->rows;
    *columns = side < 2 ? b->columns : RADIUS;
    return b->input + (size_t)row * wide + column;
}

static void pack(struct block *b) {
    int rows, columns, wide = b->columns + 2 * RADIUS;
    for (int side = 0; side < 4; side++) {
        double *from = side_of(b, side, 1, &rows, &columns);
        for (int row = 0; row < rows; row++) {
            memcpy(b->edges[side] + row * columns, from + row * wide, 8 * columns);
        }
    }
}

static void unpack(struct block *b, int half) {
    int rows, columns, wide = b->columns + 2 * RADIUS;
    for (int side = 0; side < 4; side++) {
        double *to = side_of(b, side, 0, &rows, &columns);
        const double *from = b->halo + half + b->place[side];
        for (int row = 0; b->beside[side] >= 0 && row < rows; row++) {
            memcpy(to + row * wide, from + row * columns, 8 * columns);
        }
    }
}

static void exchange(struct block *b) {
    int half = b->half * b->place[4];
    pack(b);
    MPI_Win_post(b->group, 0, b->win);
    MPI_Win_start(b->group, 0, b->win);
    for (int side = 0; side < 4; side++) {
        int count = RADIUS * (side < 2 ? b->columns : b->rows);
        if (b->beside[side] >= 0) {
            MPI_Put(b->edges[side], count, MPI_DOUBLE, b->beside[side], half + b->place[side ^ 1],
                    count, MPI_DOUBLE, b->win);
        }
    }
    MPI_Win_complete(b->win);
    MPI_Win_wait(b->win);
    unpack(b, half);
}

static void run(void *context, uint32_t times) {
    struct block *b = context;
    size_t cells = (size_t)(b->rows + 2 * RADIUS) * (b->columns + 2 * RADIUS);
    for (uint32_t i = 0; i < times; i++) {
        exchange(b);
        star(b->rows, b->columns, b->input, b->output);
        for (size_t c = 0; c < cells; c++) {
            b->input[c] += 1.0;
        }
        b->half ^= 1;
    }
}

/* Lays the ranks out in a plane, as square as it goes; this rank's row and column of blocks. */
static void lay_out(struct block *b, int *row, int *column) {
    int columns = 1, count = 0, members[4];
    for (int c = 1; c * c <= ranks; c++) {
        columns = ranks % c == 0 ? c : columns;
    }
    *row = rank / columns;
    *column = rank % columns;
    b->rows = SIDE / (ranks / columns);
    b->columns = SIDE / columns;
    b->beside[0] = rank >= columns ? rank - columns : -1;
    b->beside[1] = rank + columns < ranks ? rank + columns : -1;
    b->beside[2] = *column > 0 ? rank - 1 : -1;
    b->beside[3] = *column + 1 < columns ? rank + 1 : -1;
    for (int side = 0; side < 4; side++) {
        int cells = RADIUS * (side < 2 ? b->columns : b->rows);
        b->place[side + 1] = b->place[side] + cells;
        b->edges[side] = memory(8 * (uint64_t)cells);
        if (b->beside[side] >= 0) {
            members[count++] = b->beside[side];
        }
    }
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, count, members, &b->group);
    MPI_Group_free(&world);
}

static double sum(const struct block *b) {
    double sum = 0.0;
    for (size_t i = 0; i < (size_t)b->rows * b->columns; i++) {
        sum += b->output[i];
    }
    return sum;
}

void stencil(void) {
    struct block b = {.half = 0};
    int row, column;
    lay_out(&b, &row, &column);
    int wide = b.columns + 2 * RADIUS;
    b.win = window(2 * 8 * (uint64_t)b.place[4], 8, &b.halo);
    b.input = memory(8 * (uint64_t)(b.rows + 2 * RADIUS) * wide);
    b.output = memory(8 * (uint64_t)b.rows * b.columns);
    for (int r = 0; r < b.rows; r++) {
        for (int c = 0; c < b.columns; c++) {
            b.input[(r + RADIUS) * wide + c + RADIUS] = row * b.rows + r + column * b.columns + c;
        }
    }
    run(&b, 3);
    check(WHAT, 8 * (uint64_t)SIDE * SIDE, sum(&b));
    program(WHAT, 8 * (uint64_t)SIDE * SIDE, run, &b);
    MPI_Win_free(&b.win);
    MPI_Group_free(&b.group);
    free(b.input);
    free(b.output);
    for (int side = 0; side < 4; side++) {
        free(b.edges[side]);
    }
}
