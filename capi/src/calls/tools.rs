//! The tool interface (MPI-4.1 §15.3): of a library without variables, categories, events and sources.
//!
//! Its functions may be called before `MPI_Init` and after `MPI_Finalize`. They return their errors and
//! call no error handler.

use crate::abi::*;
use crate::arguments::{Address, Function, Ptr, Text, TextBuffer};
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use crate::tool::{self, Session};
use std::ffi::c_int;

fn no_index(what: &str, index: c_int) -> Failure {
    Failure::new(MPI_T_ERR_INVALID_INDEX, format!("there is no {what} {index}; there are none"))
}

fn no_name(what: &str, name: Text) -> Outcome<Failure> {
    let why = format!("there is no {what} {:?}; there are none", name.read()?);
    Ok(Failure::new(MPI_T_ERR_INVALID_NAME, why))
}

/// What is done to all variables of a session, or to one: there are none.
fn all(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> Outcome {
    session.get()?;
    match handle.value() {
        MPI_T_PVAR_ALL_HANDLES => Ok(()),
        _ => match *handle.get()? {},
    }
}

/// `MPI_T_init_thread`
pub fn t_init_thread(required: c_int, provided: Ptr<c_int>) -> Outcome {
    if !(MPI_THREAD_SINGLE..=MPI_THREAD_MULTIPLE).contains(&required) {
        let why = format!("{required} is no level of thread support");
        return Err(Failure::new(MPI_T_ERR_INVALID, why));
    }
    provided.set(MPI_THREAD_MULTIPLE)?;
    tool::begin();
    Ok(())
}

/// `MPI_T_finalize`
pub fn t_finalize() -> Outcome {
    tool::end()
}

/// `MPI_T_category_changed`
pub fn t_category_changed(update_number: Ptr<c_int>) -> Outcome {
    tool::running()?;
    update_number.set(0)
}

/// `MPI_T_category_get_categories`
pub fn t_category_get_categories(cat_index: c_int, _len: c_int, _indices: Ptr<c_int>) -> Outcome {
    tool::running()?;
    Err(no_index("category", cat_index))
}

/// `MPI_T_category_get_cvars`
pub fn t_category_get_cvars(cat_index: c_int, _len: c_int, _indices: Ptr<c_int>) -> Outcome {
    tool::running()?;
    Err(no_index("category", cat_index))
}

/// `MPI_T_category_get_events`
pub fn t_category_get_events(cat_index: c_int, _len: c_int, _indices: Ptr<c_int>) -> Outcome {
    tool::running()?;
    Err(no_index("category", cat_index))
}

/// `MPI_T_category_get_index`
pub fn t_category_get_index(name: Text, _cat_index: Ptr<c_int>) -> Outcome {
    tool::running()?;
    Err(no_name("category", name)?)
}

/// `MPI_T_category_get_info`
pub fn t_category_get_info(
    cat_index: c_int,
    _name: TextBuffer,
    _name_len: Ptr<c_int>,
    _desc: TextBuffer,
    _desc_len: Ptr<c_int>,
    _num_cvars: Ptr<c_int>,
    _num_pvars: Ptr<c_int>,
    _num_categories: Ptr<c_int>,
) -> Outcome {
    tool::running()?;
    Err(no_index("category", cat_index))
}

/// `MPI_T_category_get_num`
pub fn t_category_get_num(num_cat: Ptr<c_int>) -> Outcome {
    tool::running()?;
    num_cat.set(0)
}

/// `MPI_T_category_get_num_events`
pub fn t_category_get_num_events(cat_index: c_int, _num_events: Ptr<c_int>) -> Outcome {
    tool::running()?;
    Err(no_index("category", cat_index))
}

/// `MPI_T_category_get_pvars`
pub fn t_category_get_pvars(cat_index: c_int, _len: c_int, _indices: Ptr<c_int>) -> Outcome {
    tool::running()?;
    Err(no_index("category", cat_index))
}

/// `MPI_T_cvar_get_index`
pub fn t_cvar_get_index(name: Text, _cvar_index: Ptr<c_int>) -> Outcome {
    tool::running()?;
    Err(no_name("control variable", name)?)
}

/// `MPI_T_cvar_get_info`
pub fn t_cvar_get_info(
    cvar_index: c_int,
    _name: TextBuffer,
    _name_len: Ptr<c_int>,
    _verbosity: Ptr<c_int>,
    _datatype: Ptr<MPI_Datatype>,
    _enumtype: Ptr<MPI_T_enum>,
    _desc: TextBuffer,
    _desc_len: Ptr<c_int>,
    _bind: Ptr<c_int>,
    _scope: Ptr<c_int>,
) -> Outcome {
    tool::running()?;
    Err(no_index("control variable", cvar_index))
}

/// `MPI_T_cvar_get_num`
pub fn t_cvar_get_num(num_cvar: Ptr<c_int>) -> Outcome {
    tool::running()?;
    num_cvar.set(0)
}

/// `MPI_T_cvar_handle_alloc`
pub fn t_cvar_handle_alloc(
    cvar_index: c_int,
    _obj_handle: Address,
    _handle: Ptr<MPI_T_cvar_handle>,
    _count: Ptr<c_int>,
) -> Outcome {
    tool::running()?;
    Err(no_index("control variable", cvar_index))
}

/// `MPI_T_cvar_handle_free`
pub fn t_cvar_handle_free(handle: Ptr<MPI_T_cvar_handle>) -> Outcome {
    tool::running()?;
    match *handle.get()?.get()? {}
}

/// `MPI_T_cvar_read`
pub fn t_cvar_read(handle: MPI_T_cvar_handle, _buf: Address) -> Outcome {
    tool::running()?;
    match *handle.get()? {}
}

/// `MPI_T_cvar_write`
pub fn t_cvar_write(handle: MPI_T_cvar_handle, _buf: Address) -> Outcome {
    tool::running()?;
    match *handle.get()? {}
}

/// `MPI_T_enum_get_info`
pub fn t_enum_get_info(
    enumtype: MPI_T_enum,
    _num: Ptr<c_int>,
    _name: TextBuffer,
    _name_len: Ptr<c_int>,
) -> Outcome {
    tool::running()?;
    match *enumtype.get()? {}
}

/// `MPI_T_enum_get_item`
pub fn t_enum_get_item(
    enumtype: MPI_T_enum,
    _indx: c_int,
    _value: Ptr<c_int>,
    _name: TextBuffer,
    _name_len: Ptr<c_int>,
) -> Outcome {
    tool::running()?;
    match *enumtype.get()? {}
}

/// `MPI_T_event_callback_get_info`
pub fn t_event_callback_get_info(
    event_registration: MPI_T_event_registration,
    _cb_safety: c_int,
    _info_used: Ptr<MPI_Info>,
) -> Outcome {
    tool::running()?;
    match *event_registration.get()? {}
}

/// `MPI_T_event_callback_set_info`
pub fn t_event_callback_set_info(
    event_registration: MPI_T_event_registration,
    _cb_safety: c_int,
    _info: MPI_Info,
) -> Outcome {
    tool::running()?;
    match *event_registration.get()? {}
}

/// `MPI_T_event_copy`
pub fn t_event_copy(event_instance: MPI_T_event_instance, _buffer: Address) -> Outcome {
    tool::running()?;
    match *event_instance.get()? {}
}

/// `MPI_T_event_get_index`
pub fn t_event_get_index(name: Text, _event_index: Ptr<c_int>) -> Outcome {
    tool::running()?;
    Err(no_name("event", name)?)
}

/// `MPI_T_event_get_info`
pub fn t_event_get_info(
    event_index: c_int,
    _name: TextBuffer,
    _name_len: Ptr<c_int>,
    _verbosity: Ptr<c_int>,
    _array_of_datatypes: Ptr<MPI_Datatype>,
    _array_of_displacements: Ptr<Aint>,
    _num_elements: Ptr<c_int>,
    _enumtype: Ptr<MPI_T_enum>,
    _info: Ptr<MPI_Info>,
    _desc: TextBuffer,
    _desc_len: Ptr<c_int>,
    _bind: Ptr<c_int>,
) -> Outcome {
    tool::running()?;
    Err(no_index("event", event_index))
}

/// `MPI_T_event_get_num`
pub fn t_event_get_num(num_events: Ptr<c_int>) -> Outcome {
    tool::running()?;
    num_events.set(0)
}

/// `MPI_T_event_get_source`
pub fn t_event_get_source(
    event_instance: MPI_T_event_instance,
    _source_index: Ptr<c_int>,
) -> Outcome {
    tool::running()?;
    match *event_instance.get()? {}
}

/// `MPI_T_event_get_timestamp`
pub fn t_event_get_timestamp(
    event_instance: MPI_T_event_instance,
    _event_timestamp: Ptr<Count>,
) -> Outcome {
    tool::running()?;
    match *event_instance.get()? {}
}

/// `MPI_T_event_handle_alloc`
pub fn t_event_handle_alloc(
    event_index: c_int,
    _obj_handle: Address,
    _info: MPI_Info,
    _event_registration: Ptr<MPI_T_event_registration>,
) -> Outcome {
    tool::running()?;
    Err(no_index("event", event_index))
}

/// `MPI_T_event_handle_free`
pub fn t_event_handle_free(
    event_registration: MPI_T_event_registration,
    _user_data: Address,
    _free_cb_function: Function,
) -> Outcome {
    tool::running()?;
    match *event_registration.get()? {}
}

/// `MPI_T_event_handle_get_info`
pub fn t_event_handle_get_info(
    event_registration: MPI_T_event_registration,
    _info_used: Ptr<MPI_Info>,
) -> Outcome {
    tool::running()?;
    match *event_registration.get()? {}
}

/// `MPI_T_event_handle_set_info`
pub fn t_event_handle_set_info(
    event_registration: MPI_T_event_registration,
    _info: MPI_Info,
) -> Outcome {
    tool::running()?;
    match *event_registration.get()? {}
}

/// `MPI_T_event_read`
pub fn t_event_read(
    event_instance: MPI_T_event_instance,
    _element_index: c_int,
    _buffer: Address,
) -> Outcome {
    tool::running()?;
    match *event_instance.get()? {}
}

/// `MPI_T_event_register_callback`
pub fn t_event_register_callback(
    event_registration: MPI_T_event_registration,
    _cb_safety: c_int,
    _info: MPI_Info,
    _user_data: Address,
    _event_cb_function: Function,
) -> Outcome {
    tool::running()?;
    match *event_registration.get()? {}
}

/// `MPI_T_event_set_dropped_handler`
pub fn t_event_set_dropped_handler(
    event_registration: MPI_T_event_registration,
    _dropped_cb_function: Function,
) -> Outcome {
    tool::running()?;
    match *event_registration.get()? {}
}

/// `MPI_T_pvar_get_index`
pub fn t_pvar_get_index(name: Text, _var_class: c_int, _pvar_index: Ptr<c_int>) -> Outcome {
    tool::running()?;
    Err(no_name("performance variable", name)?)
}

/// `MPI_T_pvar_get_info`
pub fn t_pvar_get_info(
    pvar_index: c_int,
    _name: TextBuffer,
    _name_len: Ptr<c_int>,
    _verbosity: Ptr<c_int>,
    _var_class: Ptr<c_int>,
    _datatype: Ptr<MPI_Datatype>,
    _enumtype: Ptr<MPI_T_enum>,
    _desc: TextBuffer,
    _desc_len: Ptr<c_int>,
    _bind: Ptr<c_int>,
    _readonly: Ptr<c_int>,
    _continuous: Ptr<c_int>,
    _atomic: Ptr<c_int>,
) -> Outcome {
    tool::running()?;
    Err(no_index("performance variable", pvar_index))
}

/// `MPI_T_pvar_get_num`
pub fn t_pvar_get_num(num_pvar: Ptr<c_int>) -> Outcome {
    tool::running()?;
    num_pvar.set(0)
}

/// `MPI_T_pvar_handle_alloc`
pub fn t_pvar_handle_alloc(
    session: MPI_T_pvar_session,
    pvar_index: c_int,
    _obj_handle: Address,
    _handle: Ptr<MPI_T_pvar_handle>,
    _count: Ptr<c_int>,
) -> Outcome {
    tool::running()?;
    session.get()?;
    Err(no_index("performance variable", pvar_index))
}

/// `MPI_T_pvar_handle_free`
pub fn t_pvar_handle_free(session: MPI_T_pvar_session, handle: Ptr<MPI_T_pvar_handle>) -> Outcome {
    tool::running()?;
    session.get()?;
    match *handle.get()?.get()? {}
}

/// `MPI_T_pvar_read`
pub fn t_pvar_read(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    _buf: Address,
) -> Outcome {
    tool::running()?;
    session.get()?;
    match *handle.get()? {}
}

/// `MPI_T_pvar_readreset`
pub fn t_pvar_readreset(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    _buf: Address,
) -> Outcome {
    tool::running()?;
    session.get()?;
    match *handle.get()? {}
}

/// `MPI_T_pvar_reset`
pub fn t_pvar_reset(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> Outcome {
    tool::running()?;
    all(session, handle)
}

/// `MPI_T_pvar_session_create`
pub fn t_pvar_session_create(session: Ptr<MPI_T_pvar_session>) -> Outcome {
    tool::running()?;
    session.set(Handle::new(Session))
}

/// `MPI_T_pvar_session_free`
pub fn t_pvar_session_free(session: Ptr<MPI_T_pvar_session>) -> Outcome {
    tool::running()?;
    session.get()?.remove()?;
    session.set(Handle::NULL)
}

/// `MPI_T_pvar_start`
pub fn t_pvar_start(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> Outcome {
    tool::running()?;
    all(session, handle)
}

/// `MPI_T_pvar_stop`
pub fn t_pvar_stop(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> Outcome {
    tool::running()?;
    all(session, handle)
}

/// `MPI_T_pvar_write`
pub fn t_pvar_write(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    _buf: Address,
) -> Outcome {
    tool::running()?;
    session.get()?;
    match *handle.get()? {}
}

/// `MPI_T_source_get_info`
pub fn t_source_get_info(
    source_index: c_int,
    _name: TextBuffer,
    _name_len: Ptr<c_int>,
    _desc: TextBuffer,
    _desc_len: Ptr<c_int>,
    _ordering: Ptr<c_int>,
    _ticks_per_second: Ptr<Count>,
    _max_ticks: Ptr<Count>,
    _info: Ptr<MPI_Info>,
) -> Outcome {
    tool::running()?;
    Err(no_index("source of events", source_index))
}

/// `MPI_T_source_get_num`
pub fn t_source_get_num(num_sources: Ptr<c_int>) -> Outcome {
    tool::running()?;
    num_sources.set(0)
}

/// `MPI_T_source_get_timestamp`
pub fn t_source_get_timestamp(source_index: c_int, _timestamp: Ptr<Count>) -> Outcome {
    tool::running()?;
    Err(no_index("source of events", source_index))
}
