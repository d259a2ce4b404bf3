//! Under which heading a name stands in the header.

/// A heading, and the functions below it: a name, or, with a star, how names begin.
pub struct Group {
    pub heading: &'static str,
    functions: &'static [&'static str],
}

/// In the order of the header; a function stands under the first heading that names it.
pub const FUNCTIONS: &[Group] = &[
    Group {
        heading: "One-sided communication",
        functions: &[
            "Put",
            "Rput",
            "Get",
            "Rget",
            "Accumulate",
            "Raccumulate",
            "Get_accumulate",
            "Rget_accumulate",
            "Fetch_and_op",
            "Compare_and_swap",
            "Win_*",
        ],
    },
    Group {
        heading: "Beginning, end and environment",
        functions: &[
            "Init",
            "Init_thread",
            "Initialized",
            "Finalize",
            "Finalized",
            "Abort",
            "Query_thread",
            "Is_thread_main",
            "Session_*",
            "Get_version",
            "Get_library_version",
            "Abi_*",
            "Get_processor_name",
            "Get_hw_resource_info",
            "Alloc_mem",
            "Free_mem",
            "Wtime",
            "Wtick",
            "Pcontrol",
        ],
    },
    Group {
        heading: "Errors",
        functions: &["Errhandler_*", "Error_*", "Add_error_*", "Remove_error_*"],
    },
    Group {
        heading: "Groups and communicators",
        functions: &["Group_*", "Comm_*", "Intercomm_*", "Attr_*", "Keyval_*"],
    },
    Group {
        heading: "Topologies",
        functions: &["Cart*", "Graph*", "Dist_graph_*", "Dims_create", "Topo_test"],
    },
    Group {
        heading: "Datatypes, packing and addresses",
        functions: &["Type_*", "Pack*", "Unpack*", "Get_address", "Aint_*", "Register_datarep"],
    },
    Group { heading: "Operations", functions: &["Op_*"] },
    Group { heading: "Hints", functions: &["Info_*"] },
    Group {
        heading: "Requests and statuses",
        functions: &[
            "Wait*",
            "Test*",
            "Request_*",
            "Cancel",
            "Status_*",
            "Get_count",
            "Get_elements*",
            "Grequest_*",
            "Start*",
            "Pready*",
            "Parrived",
        ],
    },
    Group {
        heading: "Point-to-point communication",
        functions: &[
            "Send*",
            "Bsend*",
            "Ssend*",
            "Rsend*",
            "Psend_init",
            "Isend*",
            "Ibsend",
            "Issend",
            "Irsend",
            "Recv*",
            "Irecv",
            "Precv_init",
            "Probe",
            "Iprobe",
            "Mprobe",
            "Improbe",
            "Mrecv",
            "Imrecv",
            "Message_*",
            "Buffer_*",
        ],
    },
    Group {
        heading: "Collective communication",
        functions: &[
            "Barrier*",
            "Ibarrier",
            "Bcast*",
            "Ibcast",
            "Gather*",
            "Igather*",
            "Scatter*",
            "Iscatter*",
            "Allgather*",
            "Iallgather*",
            "Alltoall*",
            "Ialltoall*",
            "Reduce*",
            "Ireduce*",
            "Allreduce*",
            "Iallreduce",
            "Scan*",
            "Iscan",
            "Exscan*",
            "Iexscan",
            "Neighbor_*",
            "Ineighbor_*",
        ],
    },
    Group {
        heading: "Processes that find each other by name",
        functions: &["Open_port", "Close_port", "Publish_name", "Unpublish_name", "Lookup_name"],
    },
    Group { heading: "Files", functions: &["File_*"] },
    Group { heading: "The tool interface", functions: &["T_*"] },
];

/// The headings of the numbered constants, each before the first that it covers.
pub const ENUMERATORS: &[(&str, &str)] = &[
    ("F_STATUS_SIZE", "A status as Fortran has it, in integers"),
    ("SUCCESS", "Error classes"),
    ("MODE_APPEND", "How files are opened"),
    ("MODE_NOCHECK", "Assertions of the synchronising calls of windows"),
    ("ANY_SOURCE", "Ranks and tags with a meaning of their own"),
    ("THREAD_SINGLE", "Levels of thread support"),
    ("ORDER_C", "Orders and distributions of arrays"),
    ("COMBINER_NAMED", "How a datatype was made"),
    ("TYPECLASS_INTEGER", "Classes of datatypes"),
    ("IDENT", "Results of comparisons"),
    ("CART", "Kinds of topologies"),
    ("COMM_TYPE_SHARED", "What communicators are split by"),
    ("LOCK_EXCLUSIVE", "Kinds of locks"),
    ("WIN_FLAVOR_CREATE", "Flavours of windows"),
    ("WIN_UNIFIED", "Memory models of windows"),
    ("SEEK_CUR", "Where an offset in a file counts from"),
    ("KEYVAL_INVALID", "Keys of attributes: of communicators"),
    ("WIN_BASE", "Keys of attributes: of windows"),
    ("T_VERBOSITY_USER_BASIC", "Tool interface: for whom a variable is"),
    ("T_BIND_NO_OBJECT", "Tool interface: what a variable belongs to"),
    ("T_SCOPE_CONSTANT", "Tool interface: where a variable is to be changed"),
    ("T_PVAR_CLASS_STATE", "Tool interface: classes of performance variables"),
];

/// What the standard keeps but advises against, without `MPI_`, and since which edition.
pub const DEPRECATED: &[(&str, &str)] = &[
    ("Attr_delete", "MPI-2.0"),
    ("Attr_get", "MPI-2.0"),
    ("Attr_put", "MPI-2.0"),
    ("Keyval_create", "MPI-2.0"),
    ("Keyval_free", "MPI-2.0"),
    ("Copy_function", "MPI-2.0"),
    ("Delete_function", "MPI-2.0"),
    ("NULL_COPY_FN", "MPI-2.0"),
    ("DUP_FN", "MPI-2.0"),
    ("NULL_DELETE_FN", "MPI-2.0"),
    ("Info_get", "MPI-4.0"),
    ("Info_get_valuelen", "MPI-4.0"),
    ("T_ERR_INVALID_ITEM", "MPI-4.0"),
    ("HOST", "MPI-4.1"),
    ("Get_elements_x", "MPI-4.1"),
    ("Status_set_elements_x", "MPI-4.1"),
    ("Type_get_extent_x", "MPI-4.1"),
    ("Type_get_true_extent_x", "MPI-4.1"),
    ("Type_size_x", "MPI-4.1"),
];

/// The number of the group that a function, named without `MPI_`, belongs to.
pub fn of(function: &str) -> Option<usize> {
    let plain = function.strip_suffix("_c").unwrap_or(function);
    let names = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(begin) => plain.starts_with(begin),
        None => plain == *pattern,
    };
    FUNCTIONS.iter().position(|group| group.functions.iter().any(names))
}
