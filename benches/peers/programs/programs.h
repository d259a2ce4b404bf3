/* What the twins of the whole programs share. */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "bench.h"

/* Prints the sum of a result over all ranks, which the driver compares with that of the others. */
void check(const char *what, uint64_t bytes, double mine);
/* Measures one program. */
void program(const char *what, uint64_t bytes, void (*run)(void *, uint32_t), void *context);

void gups(void);
void table(void);
void heat(int side);
void transpose(int side);
void spmv(void);
void stencil(void);
void wavefront(void);

#endif
