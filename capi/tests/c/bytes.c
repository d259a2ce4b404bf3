/* Strings are bytes: names, keys, values and texts of errors come back as they were given, whether they are
   UTF-8 or not, and lengths count bytes. */

#include "check.h"

/* Latin-1; UTF-8; a character that the library has a use of its own for; the beginning of one. */
static const char *const texts[] = {"caf\xe9", "caf\xc3\xa9", "\xf4\x8f\xbf\xa9", "a\xc3", "\xff\x80\x01"};
enum { TEXTS = sizeof texts / sizeof *texts };

static void names(const char *text, size_t kept)
{
    char name[MPI_MAX_OBJECT_NAME + 8];
    int length, *part;
    MPI_Win win = window(1, &part);
    MPI_Comm comm;
    MPI_Datatype type;
    OK(MPI_Win_set_name(win, text));
    memset(name, 'x', sizeof name);
    OK(MPI_Win_get_name(win, name, &length));
    EQUAL(length, kept);
    EQUAL(memcmp(name, text, kept), 0);
    EQUAL(name[kept], 0);
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Comm_set_name(comm, text));
    OK(MPI_Comm_get_name(comm, name, &length));
    EQUAL(length, kept);
    EQUAL(memcmp(name, text, kept), 0);
    EQUAL(name[kept], 0);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    OK(MPI_Type_set_name(type, text));
    OK(MPI_Type_get_name(type, name, &length));
    EQUAL(length, kept);
    EQUAL(memcmp(name, text, kept), 0);
    EQUAL(name[kept], 0);
    OK(MPI_Type_free(&type));
}

static void infos(const char *key, const char *value)
{
    char text[MPI_MAX_INFO_VAL + 1], name[MPI_MAX_INFO_KEY + 1];
    int length = sizeof text, found;
    MPI_Info info, copy;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, value));
    OK(MPI_Info_dup(info, &copy));
    OK(MPI_Info_get_string(copy, key, &length, text, &found));
    EQUAL(found, 1);
    EQUAL(length, strlen(value) + 1);
    EQUAL(strcmp(text, value), 0);
    OK(MPI_Info_get_nthkey(copy, 0, name));
    EQUAL(strcmp(name, key), 0);
    OK(MPI_Info_get_valuelen(copy, key, &length, &found));
    EQUAL(length, strlen(value));
    /* Cut off in the middle of a character. */
    length = 5;
    memset(text, 'x', sizeof text);
    OK(MPI_Info_get_string(copy, key, &length, text, &found));
    EQUAL(strncmp(text, value, 4), 0);
    EQUAL(strlen(text), strlen(value) < 4 ? strlen(value) : 4);
    OK(MPI_Info_delete(copy, key));
    OK(MPI_Info_free(&copy));
    OK(MPI_Info_free(&info));
}

static void errors(const char *text)
{
    char told[MPI_MAX_ERROR_STRING];
    int class, code, length;
    OK(MPI_Add_error_class(&class));
    OK(MPI_Add_error_code(class, &code));
    OK(MPI_Add_error_string(code, text));
    OK(MPI_Error_string(code, told, &length));
    EQUAL(length, strlen(text));
    EQUAL(strcmp(told, text), 0);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    char long_one[901];
    memset(long_one, 0xE9, 900);
    long_one[900] = 0;
    RULE("MPI-4.1 7.8: names");
    for (int i = 0; i < TEXTS; i++)
        names(texts[i], strlen(texts[i]));
    long_one[200] = 0;
    names(long_one, MPI_MAX_OBJECT_NAME - 1);
    RULE("MPI-4.1 7.8: infos");
    for (int i = 0; i < TEXTS; i++)
        infos(texts[i], texts[TEXTS - 1 - i]);
    long_one[200] = (char)0xE9;
    infos("key", long_one);
    long_one[200] = 0;
    infos(long_one, "value");
    RULE("MPI-4.1 7.8: errors");
    for (int i = 0; i < TEXTS; i++)
        errors(texts[i]);
    return end();
}
