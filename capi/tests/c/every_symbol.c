/* Every function of the ABI is there, by both names, and `-z now` resolves them all when the program
   is loaded: `names.h` is made by tests/programs.rs from the table of functions. */

#include "check.h"
#include <dlfcn.h>

typedef void function(void);

static const struct {
    const char *name;
    function *here;
} symbols[] = {
#define SYMBOL(name) {#name, (function *)name},
#include "names.h"
};

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    /* The library that a preloaded tool stands before. */
    void *program = dlopen(NULL, RTLD_NOW);
    CHECK(program != NULL);
    size_t count = sizeof symbols / sizeof *symbols;
    for (size_t i = 0; i < count; i++) {
        CHECK(symbols[i].here != NULL);
        if (dlsym(program, symbols[i].name) == NULL)
            FAILED("no symbol %s", symbols[i].name);
        checks_passed++;
    }
    return end();
}
