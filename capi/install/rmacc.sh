#!/bin/sh
# @NAME@: compiles and links @LANGUAGE@ programs for onesided, by way of the compiler `@COMPILER@`.
# Another compiler: @OPTION@=COMPILER, or the variable @VARIABLE@. `@NAME@ --help` says more.

usage() {
    cat <<'TEXT'
usage: @NAME@ [OPTIONS] [ARGUMENTS OF THE COMPILER]

Compiles and links @LANGUAGE@ programs that use MPI: adds to the compiler's command line where mpi.h is
and, unless one of -c, -S, -E, -M, -MM, -fsyntax-only is there, the library libmpi_abi.

  @OPTION@=COMPILER         the compiler, instead of that named by @VARIABLE@, or `@COMPILER@`
  -race                 let `rmarun --check` see the program's own loads and stores, too; adds -g
  -show, -showme        print the command line and do not run it
  -compile-info         print the command line of compiling
  -link-info            print the command line of linking
  -showme:compile       print the flags for compiling alone
  -showme:link          print the flags for linking alone
  -showme:incdirs, -showme:libdirs, -showme:libs, -showme:command
                        print the folders of headers or of libraries, the names of the libraries, or
                        the compiler
  -showme:version       print the version
  -showme:help, --help  print this text

All of them also with two hyphens. The program finds the library by its own path (DT_RUNPATH), before
which LD_LIBRARY_PATH goes: with another MPI's libmpi_abi.so.1 there, the program runs under the
launcher of that MPI.
TEXT
}

# Prints words so that a shell reads them as they are.
words() {
    separator=
    for word in "$@"; do
        case $word in
        '' | *[!A-Za-z0-9_/.,:=+@%-]*)
            word="'$(printf '%s\n' "$word" | sed "s/'/'\\\\''/g")'"
            ;;
        esac
        printf '%s%s' "$separator" "$word"
        separator=' '
    done
    printf '\n'
}

self=$(readlink -f -- "$0")
prefix=$(dirname -- "$(dirname -- "$self")")
include=$prefix/include
lib=$prefix/lib
compiler=${@VARIABLE@:-@COMPILER@}
link=yes
show=no
race=no

# Every argument is taken from the front; those that are the compiler's are put back at the end.
[ "$#" -eq 1 ] && [ "$1" = -v ] && link=no
left=$#
while [ "$left" -gt 0 ]; do
    argument=$1
    shift
    left=$((left - 1))
    case $argument in
    @OPTION@=*) compiler=${argument#*=} ;;
    -show | --show | -showme | --showme) show=all ;;
    -compile-info | -compile_info | --compile-info) show=compile ;;
    -link-info | -link_info | --link-info) show=link ;;
    -showme:compile | --showme:compile) words "-I$include"; exit ;;
    -showme:link | --showme:link)
        words "-L$lib" "-Wl,-rpath,$lib" -Wl,--enable-new-dtags -lmpi_abi
        exit
        ;;
    -showme:incdirs | --showme:incdirs) words "$include"; exit ;;
    -showme:libdirs | --showme:libdirs) words "$lib"; exit ;;
    -showme:libs | --showme:libs) words mpi_abi; exit ;;
    -showme:command | --showme:command) show=command ;;
    -showme:version | --showme:version) echo '@NAME@: onesided @VERSION@, MPI 5.0 standard ABI 1.0'; exit ;;
    -showme:help | --showme:help | -help | --help) usage; exit ;;
    -race | --race) race=yes ;;
    -c | -S | -E | -M | -MM | -fsyntax-only)
        link=no
        set -- "$@" "$argument"
        ;;
    *) set -- "$@" "$argument" ;;
    esac
done

# The compiler may have arguments of its own (`ccache gcc`), but no patterns.
set -f
[ "$show" = command ] && { words $compiler; exit; }
case $show in
compile) link=no ;;
link) link=yes ;;
esac
[ "$link" = yes ] && set -- "$@" "-L$lib" "-Wl,-rpath,$lib" -Wl,--enable-new-dtags -lmpi_abi
if [ "$race" = yes ]; then
    # The compiler alone gets the option: the driver would link a runtime of its own for it.
    case $($compiler --version 2>/dev/null) in
    # clang has no line for calls that it merges. It leaves out the elements of an array on the stack, also of one whose address
    # other functions have, unless it looks for no uses of an address.
    *clang*)
        set -- -g -Xclang -fsanitize=thread -Xclang -mllvm -Xclang -simplifycfg-sink-common=false \
            -Xclang -mllvm -Xclang -enable-tail-merge=false \
            -Xclang -mllvm -Xclang -capture-tracking-max-uses-to-explore=0 "$@"
        ;;
    # gcc does not report the instructions that it has in place of calls of these functions. That it warns of fences
    # is for its own runtime.
    *)
        set -- -g -Wp,-fsanitize=thread -Wno-tsan -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset "$@"
        ;;
    esac
    # What the library has in the place of functions that copy memory or synchronise threads.
    wrapped="GOMP_atomic_end GOMP_atomic_start GOMP_barrier GOMP_barrier_cancel GOMP_critical_end
        GOMP_critical_name_end GOMP_critical_name_start GOMP_critical_start GOMP_doacross_post
        GOMP_doacross_ull_post GOMP_doacross_ull_wait GOMP_doacross_wait GOMP_loop_doacross_dynamic_start
        GOMP_loop_doacross_guided_start GOMP_loop_doacross_runtime_start GOMP_loop_doacross_start
        GOMP_loop_doacross_static_start GOMP_loop_end GOMP_loop_end_cancel GOMP_loop_ull_doacross_dynamic_start
        GOMP_loop_ull_doacross_guided_start GOMP_loop_ull_doacross_runtime_start GOMP_loop_ull_doacross_start
        GOMP_loop_ull_doacross_static_start GOMP_ordered_end GOMP_ordered_start GOMP_parallel
        GOMP_parallel_loop_dynamic GOMP_parallel_loop_guided GOMP_parallel_loop_maybe_nonmonotonic_runtime
        GOMP_parallel_loop_nonmonotonic_dynamic GOMP_parallel_loop_nonmonotonic_guided
        GOMP_parallel_loop_nonmonotonic_runtime GOMP_parallel_loop_runtime GOMP_parallel_loop_static
        GOMP_parallel_reductions GOMP_parallel_sections GOMP_sections_end GOMP_sections_end_cancel
        GOMP_single_copy_end GOMP_single_copy_start GOMP_task GOMP_taskgroup_end GOMP_taskloop GOMP_taskloop_ull
        GOMP_taskwait GOMP_taskwait_depend _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE
        _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE
        _ZNSt6thread4joinEv __cxa_guard_acquire __cxa_guard_release __kmpc_barrier __kmpc_cancel_barrier
        __kmpc_copyprivate __kmpc_critical __kmpc_critical_with_hint __kmpc_doacross_init __kmpc_doacross_post
        __kmpc_doacross_wait __kmpc_end_critical __kmpc_end_ordered __kmpc_end_reduce __kmpc_end_reduce_nowait
        __kmpc_end_serialized_parallel __kmpc_end_taskgroup __kmpc_flush __kmpc_fork_call __kmpc_fork_teams
        __kmpc_omp_target_task_alloc __kmpc_omp_task __kmpc_omp_task_alloc __kmpc_omp_task_begin_if0
        __kmpc_omp_task_complete_if0 __kmpc_omp_task_with_deps __kmpc_omp_taskwait __kmpc_omp_taskwait_deps_51
        __kmpc_omp_wait_deps __kmpc_ordered __kmpc_reduce __kmpc_reduce_nowait __kmpc_serialized_parallel
        __kmpc_taskloop __kmpc_taskloop_5 cnd_timedwait cnd_wait memcpy memmove memset mtx_lock mtx_timedlock
        mtx_trylock mtx_unlock omp_fulfill_event omp_set_lock omp_set_nest_lock omp_test_lock omp_test_nest_lock
        omp_unset_lock omp_unset_nest_lock pthread_barrier_destroy pthread_barrier_wait pthread_cond_clockwait
        pthread_cond_timedwait pthread_cond_wait pthread_create pthread_join pthread_mutex_clocklock
        pthread_mutex_destroy pthread_mutex_lock pthread_mutex_timedlock pthread_mutex_trylock
        pthread_mutex_unlock pthread_once pthread_rwlock_destroy pthread_rwlock_rdlock
        pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock pthread_rwlock_tryrdlock pthread_rwlock_trywrlock
        pthread_rwlock_unlock pthread_rwlock_wrlock pthread_spin_lock pthread_spin_trylock pthread_spin_unlock
        sem_clockwait sem_destroy sem_post sem_timedwait sem_trywait sem_wait thrd_create thrd_join"
    if [ "$link" = yes ]; then
        # No reference is left to a library of which the program calls such functions alone: `--as-needed` would leave it
        # out. Before what is there, for the libraries named; behind it, for the compiler's own.
        set -- -Wl,--no-as-needed "$@" -Wl,--no-as-needed
        for name in $wrapped; do set -- "$@" "-Wl,--wrap=$name"; done
    fi
fi
[ "$show" = link ] || set -- "-I$include" "$@"
set -- $compiler "$@"
[ "$show" = no ] || { words "$@"; exit; }
file=$(command -v -- "$1") || {
    echo "@NAME@: there is no compiler '$1'; name another one by @OPTION@=COMPILER or @VARIABLE@" >&2
    exit 127
}
[ "$(readlink -f -- "$file")" = "$self" ] && {
    echo "@NAME@: the compiler '$1' is @NAME@ itself; look at @OPTION@= and @VARIABLE@" >&2
    exit 126
}
exec "$@"
