/* The tool interface, which works before MPI_Init and after MPI_Finalize, and whose errors are returned
   whatever the error handlers are: here they stay those that are fatal. */

#include "check.h"

/* The code itself: MPI_Error_class need not know those of the tool interface. */
#define GIVES(code, call) EQUAL(call, code)

/* No variable, category, event or source has it. */
#define NO_INDEX (1 << 24)

static void initialised_by_count(void)
{
    int count, provided = -1;
    RULE("MPI-4.1 15.3.4: finalised as often as initialised");
    GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_cvar_get_num(&count));
    GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_finalize());
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE);
    OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    OK(MPI_T_finalize());
    OK(MPI_T_cvar_get_num(&count));
    OK(MPI_T_finalize());
    GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_cvar_get_num(&count));
    GIVES(MPI_T_ERR_INVALID, MPI_T_init_thread(MPI_THREAD_SINGLE - 1, &provided));
}

static void numbers(void)
{
    int count = -1, stamp = -1, again = -2;
    RULE("MPI-4.1 15.3: how many there are");
    OK(MPI_T_cvar_get_num(&count));
    CHECK(ours() ? count > 0 : count >= 0);
    OK(MPI_T_pvar_get_num(&count));
    CHECK(ours() ? count >= 30 : count >= 0);
    OK(MPI_T_category_get_num(&count));
    CHECK(ours() ? count > 0 : count >= 0);
    OK(MPI_T_event_get_num(&count));
    CHECK(ours() ? count == 0 : count >= 0);
    OK(MPI_T_source_get_num(&count));
    CHECK(ours() ? count == 0 : count >= 0);
    OK(MPI_T_category_changed(&stamp));
    OK(MPI_T_category_changed(&again));
    EQUAL(again, stamp);
}

static void names(void)
{
    int index = -5;
    RULE("MPI-4.1 15.3.10: a name that nothing has");
    GIVES(MPI_T_ERR_INVALID_NAME, MPI_T_cvar_get_index("no such", &index));
    GIVES(MPI_T_ERR_INVALID_NAME,
          MPI_T_pvar_get_index("no such", MPI_T_PVAR_CLASS_STATE, &index));
    GIVES(MPI_T_ERR_INVALID_NAME, MPI_T_category_get_index("no such", &index));
    GIVES(MPI_T_ERR_INVALID_NAME, MPI_T_event_get_index("no such", &index));
    EQUAL(index, -5);
    if (ours()) {
        GIVES(MPI_T_ERR_INVALID, MPI_T_cvar_get_index(NULL, &index));
        GIVES(MPI_T_ERR_INVALID, MPI_T_cvar_get_num(NULL));
    }
}

/* MPICH follows them without a look. */
static void indices(int index)
{
    char text[8] = "";
    int room = sizeof text, number = -5, places[2];
    MPI_T_cvar_handle cvar;
    MPI_T_event_registration event;
    MPI_Count time;
    RULE("MPI-4.1 15.3.10: an index that nothing has");
    GIVES(MPI_T_ERR_INVALID_INDEX,
          MPI_T_cvar_get_info(index, text, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_handle_alloc(index, NULL, &cvar, &number));
    GIVES(MPI_T_ERR_INVALID_INDEX,
          MPI_T_pvar_get_info(index, text, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                              NULL, NULL));
    GIVES(MPI_T_ERR_INVALID_INDEX,
          MPI_T_category_get_info(index, text, &room, NULL, NULL, NULL, NULL, NULL));
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_cvars(index, 2, places));
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_pvars(index, 2, places));
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_events(index, 2, places));
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_categories(index, 2, places));
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_num_events(index, &number));
    GIVES(MPI_T_ERR_INVALID_INDEX,
          MPI_T_event_get_info(index, text, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                               NULL));
    GIVES(MPI_T_ERR_INVALID_INDEX,
          MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &event));
    GIVES(MPI_T_ERR_INVALID_INDEX,
          MPI_T_source_get_info(index, text, &room, NULL, NULL, NULL, NULL, NULL, NULL));
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_source_get_timestamp(index, &time));
    EQUAL(number, -5);
}

static void handles(void)
{
    char text[8];
    int room = sizeof text, number;
    MPI_Count time;
    MPI_Info info;
    MPI_T_enum of_enum = MPI_T_ENUM_NULL;
    MPI_T_cvar_handle cvar = MPI_T_CVAR_HANDLE_NULL;
    MPI_T_event_registration event = (MPI_T_event_registration)0;
    MPI_T_event_instance instance = (MPI_T_event_instance)0;
    RULE("MPI-4.1 15.3.10: a handle of nothing");
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_enum_get_info(of_enum, &number, text, &room));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_enum_get_item(of_enum, 0, &number, text, &room));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_read(cvar, &number));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_write(cvar, &number));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_handle_free(&cvar));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_get_info(event, &info));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_set_info(event, MPI_INFO_NULL));
    GIVES(MPI_T_ERR_INVALID_HANDLE,
          MPI_T_event_register_callback(event, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL));
    GIVES(MPI_T_ERR_INVALID_HANDLE,
          MPI_T_event_callback_get_info(event, MPI_T_CB_REQUIRE_NONE, &info));
    GIVES(MPI_T_ERR_INVALID_HANDLE,
          MPI_T_event_callback_set_info(event, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_set_dropped_handler(event, NULL));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_free(event, NULL, NULL));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_read(instance, 0, &number));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_copy(instance, &number));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_get_timestamp(instance, &time));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_get_source(instance, &number));
}

static void variables_of(MPI_T_pvar_session session, int class, int by_handle, int by_index)
{
    MPI_T_pvar_handle none = MPI_T_PVAR_HANDLE_NULL, all = MPI_T_PVAR_ALL_HANDLES;
    int number;
    for (int k = 0; k < 2; k++) {
        MPI_T_pvar_handle handle = k == 0 ? none : all;
        GIVES(by_handle, MPI_T_pvar_read(session, handle, &number));
        GIVES(by_handle, MPI_T_pvar_readreset(session, handle, &number));
        GIVES(by_handle, MPI_T_pvar_write(session, handle, &number));
        GIVES(by_handle, MPI_T_pvar_handle_free(session, &handle));
    }
    GIVES(by_handle, MPI_T_pvar_start(session, none));
    GIVES(by_handle, MPI_T_pvar_stop(session, none));
    GIVES(by_handle, MPI_T_pvar_reset(session, none));
    GIVES(class, MPI_T_pvar_start(session, all));
    GIVES(class, MPI_T_pvar_stop(session, all));
    GIVES(class, MPI_T_pvar_reset(session, all));
    GIVES(by_index, MPI_T_pvar_handle_alloc(session, NO_INDEX, NULL, &none, &number));
}

static void sessions(void)
{
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL, freed;
    RULE("MPI-4.1 15.3.7: sessions");
    OK(MPI_T_pvar_session_create(&session));
    CHECK(session != MPI_T_PVAR_SESSION_NULL);
    freed = session;
    if (ours())
        variables_of(session, MPI_SUCCESS, MPI_T_ERR_INVALID_HANDLE, MPI_T_ERR_INVALID_INDEX);
    OK(MPI_T_pvar_session_free(&session));
    CHECK(session == MPI_T_PVAR_SESSION_NULL);
    if (ours()) {
        int class = MPI_T_ERR_INVALID_SESSION;
        variables_of(freed, class, class, class);
        variables_of(session, class, class, class);
        GIVES(class, MPI_T_pvar_session_free(&freed));
        GIVES(class, MPI_T_pvar_session_free(&session));
        GIVES(MPI_T_ERR_INVALID, MPI_T_pvar_session_create(NULL));
    }
}

static void everything(void)
{
    int provided;
    /* MPICH initialises it in MPI_Init, and takes a lock afterwards that it has destroyed. */
    if (ours())
        initialised_by_count();
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    numbers();
    names();
    sessions();
    if (ours()) {
        indices(-1);
        indices(NO_INDEX);
        handles();
    }
    OK(MPI_T_finalize());
    if (ours()) {
        int class = MPI_T_ERR_NOT_INITIALIZED;
        variables_of(MPI_T_PVAR_SESSION_NULL, class, class, class);
    }
}

int main(int argc, char **argv)
{
    everything();
    begin(&argc, &argv);
    everything();
    RULE("MPI-4.1 15.3.10: its errors have texts");
    CHECK(strlen(sentence(MPI_T_ERR_INVALID_INDEX)) > 8);
    int code = end();
    if (ours())
        everything();
    return code;
}
