//! Messages and exit codes.

use super::*;

fn status(joined: bool, finished: bool, call: Call, window: Option<&str>) -> RankStatus {
    RankStatus {
        joined,
        finished,
        has_left: false,
        call,
        window: window.map(str::to_owned),
        since: None,
    }
}

fn end(how: How, status: RankStatus) -> RankEnd {
    RankEnd { rank: 3, pid: 1234, how, status, out_of_memory: false }
}

fn sentence(how: How, status: RankStatus, joined: usize) -> String {
    Cause::of(&end(how, status)).expect("a failure").sentence("./app", joined, 4)
}

#[test]
fn a_killed_rank_is_named_with_its_call_and_window() {
    assert_eq!(
        sentence(How::Killed(9), status(true, false, Call::Fence, Some("halo")), 4),
        "rank 3 (./app, pid 1234) was killed by signal 9 (SIGKILL) in fence on window 'halo'; \
         job ended, exit code 137"
    );
    assert_eq!(
        sentence(How::Killed(35), status(true, false, Call::None, None), 4),
        "rank 3 (./app, pid 1234) was killed by signal 35 outside the library; job ended, exit \
         code 163"
    );
}

#[test]
fn a_lack_of_memory_is_mentioned() {
    let plain = status(false, false, Call::None, None);
    let end = RankEnd { out_of_memory: true, ..end(How::Killed(9), plain) };
    let text = Cause::Rank(end).sentence("./app", 0, 4);
    assert!(text.contains("signal 9 (SIGKILL) (perhaps for lack of memory); job"), "{text}");
}

#[test]
fn an_exit_code_is_passed_on() {
    let plain = status(false, false, Call::None, None);
    assert_eq!(
        sentence(How::Exited(3), plain.clone(), 0),
        "rank 3 (./app, pid 1234) exited with code 3; job ended, exit code 3"
    );
    assert!(sentence(How::Exited(3), plain, 2).contains("code 3 before it joined the job;"));
    let finished = status(true, true, Call::None, None);
    assert!(sentence(How::Exited(3), finished.clone(), 4).contains("exited with code 3; job"));
    assert!(sentence(How::Killed(9), finished, 4).contains("after it had left the job;"));
    let barrier = status(true, false, Call::Barrier, None);
    assert!(sentence(How::Exited(3), barrier, 4).contains("code 3 in barrier;"));
}

#[test]
fn leaving_without_finalize_is_a_failure() {
    let text = sentence(How::Exited(0), status(true, false, Call::None, None), 4);
    assert!(text.contains("without leaving the job") && text.ends_with("exit code 125"), "{text}");
}

#[test]
fn what_strict_forbids_is_a_failure_unless_there_is_another() {
    let left = || RankStatus { has_left: true, ..status(true, true, Call::None, None) };
    let text = sentence(How::Exited(0), left(), 4);
    assert!(text.contains("rank 3 (./app, pid 1234) left the job before"), "{text}");
    assert!(text.ends_with("error under --strict; job ended, exit code 18"), "{text}");
    let text = sentence(How::Exited(1), left(), 4);
    assert!(text.contains("exited with code 1; job"), "{text}");
}

#[test]
fn an_end_in_good_order_is_no_cause() {
    for status in [status(true, true, Call::None, None), status(false, false, Call::None, None)] {
        assert!(Cause::of(&end(How::Exited(0), status)).is_none());
    }
}

#[test]
fn no_cause_has_code_zero() {
    let joined = || status(true, false, Call::None, None);
    let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
    let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
    let system = |errno: Errno| io::Error::from(errno);
    let program = |error| Refusal::Program { program: "x".into(), error };
    let causes = [
        (Cause::Rank(end(How::Exited(255), joined())), 255),
        (Cause::Rank(end(How::Killed(15), joined())), 143),
        (Cause::Rank(end(How::Killed(64), joined())), 192),
        (Cause::NotFinished(end(How::Exited(0), joined())), 125),
        (Cause::NotJoined(end(How::Exited(0), joined())), 125),
        (Cause::HasLeft(end(How::Exited(0), joined())), 18),
        (Cause::Signal(Signal::SIGINT), 130),
        (Cause::GuardDied, 137),
        (Cause::Output("standard output", broken()), 141),
        (Cause::Output("standard output", denied()), 125),
        (Cause::Refused(Refusal::Launcher("x".into())), 125),
        (Cause::Refused(program(denied())), 126),
        (Cause::Refused(program(system(Errno::ENOEXEC))), 126),
        (Cause::Refused(Refusal::rank(1, 2, Need::of(2, 2), system(Errno::EMFILE))), 125),
        (Cause::Refused(program(system(Errno::ENOENT))), 127),
    ];
    for (cause, code) in causes {
        assert_eq!(cause.code(), code, "{cause:?}");
        assert!(cause.sentence("x", 1, 2).ends_with(&format!("exit code {code}")), "{cause:?}");
    }
}
