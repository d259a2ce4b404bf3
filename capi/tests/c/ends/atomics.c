/* C's atomic operations on integers of each size, for `rmacc -race`: what they find and leave. */
#include <mpi.h>
#include <stdio.h>

static int failures;

#define SAME(what, expected)                                                                                           \
    if ((what) != (expected))                                                                                          \
    failures++, printf("line %d: wrong\n", __LINE__)

/* `all` has bits in each byte, so that a part of a value is seen. */
#define OF(type, all)                                                                                                  \
    {                                                                                                                  \
        static _Alignas(16) type value;                                                                                \
        type old, bits = (type)(all);                                                                                  \
        __atomic_store_n(&value, bits, __ATOMIC_RELEASE);                                                              \
        SAME(__atomic_load_n(&value, __ATOMIC_ACQUIRE), bits);                                                         \
        SAME(__atomic_exchange_n(&value, (type)(bits * 3), __ATOMIC_ACQ_REL), bits);                                   \
        SAME(__atomic_fetch_add(&value, bits, __ATOMIC_SEQ_CST), (type)(bits * 3));                                    \
        SAME(__atomic_fetch_sub(&value, (type)(bits * 2), __ATOMIC_RELAXED), (type)(bits * 4));                        \
        SAME(__atomic_fetch_or(&value, bits, __ATOMIC_CONSUME), (type)(bits * 2));                                     \
        SAME(__atomic_fetch_and(&value, (type)~bits, __ATOMIC_RELEASE), (type)(bits * 3));                             \
        SAME(__atomic_fetch_xor(&value, (type)-1, __ATOMIC_RELEASE), (type)(bits * 2));                                \
        SAME(__atomic_fetch_nand(&value, bits, __ATOMIC_RELEASE), (type)~(bits * 2));                                  \
        SAME(__atomic_load_n(&value, __ATOMIC_SEQ_CST), (type)~bits);                                                  \
        old = bits;                                                                                                    \
        SAME(__atomic_compare_exchange_n(&value, &old, bits, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED), 0);               \
        SAME(old, (type)~bits);                                                                                        \
        SAME(__atomic_compare_exchange_n(&value, &old, bits, 0, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE), 1);               \
        while (!__atomic_compare_exchange_n(&value, &bits, 7, 1, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))                  \
            ;                                                                                                          \
        SAME(__atomic_add_fetch(&value, 1, __ATOMIC_RELAXED), 8);                                                      \
    }

int main(int argc, char **argv)
{
    unsigned long byte = 0x1111111111111111;
    MPI_Init(&argc, &argv);
    OF(unsigned char, byte);
    OF(unsigned short, byte);
    OF(unsigned int, byte);
    OF(unsigned long, byte);
    OF(unsigned __int128, (unsigned __int128)byte << 64 | byte);
    MPI_Finalize();
    return failures;
}
