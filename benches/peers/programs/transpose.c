/* The twin of programs/transpose.rs. */
#include "programs.h"
#include <stdlib.h>

#define WHAT "transpose"
#define TILE 32

struct matrix {
    MPI_Win win;
    MPI_Datatype tile;
    double *base, *matrix;
    int side, rows;
};

static void put_tile(const struct matrix *m, int row, int column) {
    double tile[TILE * TILE];
    for (int r = 0; r < TILE; r++) {
        for (int c = 0; c < TILE; c++) {
            tile[c * TILE + r] = m->matrix[(size_t)(row + r) * m->side + column + c];
        }
    }
    int target = column / m->rows;
    MPI_Aint at = (MPI_Aint)(column % m->rows) * m->side + rank * m->rows + row;
    MPI_Put(tile, TILE * TILE, MPI_DOUBLE, target, at, 1, m->tile, m->win);
    MPI_Win_flush_local(target, m->win);
}

static void run(void *context, uint32_t times) {
    struct matrix *m = context;
    MPI_Win_lock_all(0, m->win);
    for (uint32_t i = 0; i < times; i++) {
        for (int column = 0; column < m->side; column += TILE) {
            for (int row = 0; row < m->rows; row += TILE) {
                put_tile(m, row, column);
            }
        }
        MPI_Win_flush_all(m->win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(m->win);
}

void transpose(int side) {
    struct matrix m = {.side = side, .rows = side / ranks};
    uint64_t cells = (uint64_t)m.rows * side, bytes = 8 * (uint64_t)side * side;
    m.win = window(8 * cells, 8, &m.base);
    m.matrix = memory(8 * cells);
    MPI_Type_vector(TILE, TILE, side, MPI_DOUBLE, &m.tile);
    MPI_Type_commit(&m.tile);
    for (uint64_t i = 0; i < cells; i++) {
        m.matrix[i] = (rank * cells + i) % 1009;
    }
    run(&m, 1);
    double sum = 0.0;
    for (uint64_t i = 0; i < cells; i++) {
        sum += (i % 127) * m.base[i];
    }
    check(WHAT, bytes, sum);
    program(WHAT, bytes, run, &m);
    MPI_Type_free(&m.tile);
    MPI_Win_free(&m.win);
    free(m.matrix);
}
