/* Prints the variables of the tool interface as docs/reference/variables.md shows them. */

#include <mpi.h>
#include <stdio.h>

static const char *class_name(int class)
{
    switch (class) {
    case MPI_T_PVAR_CLASS_COUNTER: return "counter";
    case MPI_T_PVAR_CLASS_AGGREGATE: return "aggregate";
    case MPI_T_PVAR_CLASS_TIMER: return "timer";
    case MPI_T_PVAR_CLASS_LEVEL: return "level";
    case MPI_T_PVAR_CLASS_SIZE: return "size";
    case MPI_T_PVAR_CLASS_HIGHWATERMARK: return "high-water mark";
    default: return "?";
    }
}

static const char *bound(int bind)
{
    return bind == MPI_T_BIND_MPI_WIN ? "window" : bind == MPI_T_BIND_MPI_COMM ? "communicator" : "–";
}

int main(void)
{
    int provided, categories, count;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_category_get_num(&categories);
    printf("\n| performance variable | class | bound to | what |\n| --- | --- | --- | --- |\n");
    for (int k = 0; k < categories; k++) {
        int all[100], number;
        MPI_T_category_get_info(k, NULL, NULL, NULL, NULL, NULL, &number, NULL);
        MPI_T_category_get_pvars(k, 100, all);
        for (int j = 0; j < number; j++) {
            char name[100], what[400];
            int room = sizeof name, space = sizeof what, class, bind;
            MPI_T_pvar_get_info(all[j], name, &room, NULL, &class, NULL, NULL, what, &space, &bind, NULL, NULL, NULL);
            printf("| `%s` | %s | %s | %s |\n", name, class_name(class), bound(bind), what);
        }
    }
    printf("\n| control variable | type | can be set | what |\n| --- | --- | --- | --- |\n");
    MPI_T_cvar_get_num(&count);
    for (int k = 0; k < count; k++) {
        char name[100], what[400];
        int room = sizeof name, space = sizeof what, scope;
        MPI_Datatype type;
        MPI_T_cvar_get_info(k, name, &room, NULL, &type, NULL, what, &space, NULL, &scope);
        printf("| `%s` | `%s` | %s | %s |\n", name, type == MPI_INT ? "int" : "unsigned long long",
               scope == MPI_T_SCOPE_LOCAL ? "yes" : "no", what);
    }
    return MPI_T_finalize();
}
