//! Programs as text: one line each for what belongs together, so that a stored program can be read.

use crate::programs::layout::Layout;
use crate::programs::program::*;
use onesided::{Datatype, Op};
use std::fmt::{Debug, Write};

/// The program as text.
pub fn write(program: &Program) -> String {
    let mut text = String::new();
    let mut line = |line: String| writeln!(text, "{line}").expect("a string");
    line(format!("ranks {} {:?}", program.ranks, program.members));
    for window in &program.windows {
        line(format!("window {:?}", window.made));
        for Part { bytes, unit, private, skew } in &window.parts {
            line(format!("  part bytes {bytes} unit {unit} private {private} skew {skew}"));
        }
    }
    for phase in &program.phases {
        line(format!("phase {} {:?} asserts {}", phase.window, phase.sync, phase.asserts));
        for sessions in &phase.ranks {
            line("  rank".into());
            for session in sessions {
                line(format!("    session {}", access(&session.access)));
                session.acts.iter().for_each(|act| line(format!("      {}", write_act(act))));
            }
        }
    }
    text
}

fn access(access: &Access) -> String {
    let list = |ranks: Vec<String>| ranks.join(" ");
    match access {
        Access::Start(targets) => {
            format!("Start {}", list(targets.iter().map(u32::to_string).collect()))
        }
        Access::Locks(locks) => {
            let lock = |(target, exclusive): &(u32, bool)| {
                format!("{target}{}", if *exclusive { "x" } else { "s" })
            };
            format!("Locks {}", list(locks.iter().map(lock).collect()))
        }
        other => format!("{other:?}"),
    }
}

fn write_act(act: &Act) -> String {
    let Act { kind, datatype, target, disp, count, value, layout, own, completion } = act;
    let target = target.map_or("null".into(), |target| target.to_string());
    let datatype = datatype.name();
    format!(
        "{kind:?} {datatype} target {target} disp {disp} count {count} value {value} \
         to {layout:?} from {own:?} by {completion:?}"
    )
}

/// The program that a text describes.
pub fn read(text: &str) -> Result<Program, String> {
    let mut program = None;
    for (number, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() || words[0].starts_with('#') {
            continue;
        }
        read_line(&mut program, &words).ok_or(format!("line {}: {line}", number + 1))?;
    }
    program.ok_or("no program".into())
}

fn read_line(program: &mut Option<Program>, words: &[&str]) -> Option<()> {
    let number = |k: usize| words.get(k)?.parse::<u64>().ok();
    if words[0] == "ranks" {
        let members = named(&[Members::World, Members::Reversed, Members::Fewer], words.get(2)?)?;
        let (ranks, windows, phases) = (number(1)? as u32, Vec::new(), Vec::new());
        *program = Some(Program { ranks, members, windows, phases });
        return Some(());
    }
    let program = program.as_mut()?;
    match words[0] {
        "window" => {
            let mut made = vec![Made::Allocate, Made::Create, Made::Shared, Made::Dynamic];
            made.extend(Datatype::ALL.map(Made::Typed));
            let made = named(&made, words.get(1)?)?;
            program.windows.push(WindowSpec { made, parts: Vec::new() });
        }
        "part" => {
            let private = words.get(6)?.parse().ok()?;
            let part = Part { bytes: number(2)?, unit: number(4)?, private, skew: number(8)? };
            program.windows.last_mut()?.parts.push(part);
        }
        "phase" => {
            let sync = named(&[Sync::Fence, Sync::Pscw, Sync::Passive], words.get(2)?)?;
            let (window, asserts) = (number(1)? as usize, words.get(4)?.parse().ok()?);
            program.phases.push(Phase { window, sync, asserts, ranks: Vec::new() });
        }
        "rank" => program.phases.last_mut()?.ranks.push(Vec::new()),
        "session" => {
            let session = Session { access: read_access(&words[1..])?, acts: Vec::new() };
            program.phases.last_mut()?.ranks.last_mut()?.push(session);
        }
        _ => {
            let sessions = program.phases.last_mut()?.ranks.last_mut()?;
            sessions.last_mut()?.acts.push(read_act(words)?);
        }
    }
    Some(())
}

fn named<T: Debug + Clone>(all: &[T], name: &str) -> Option<T> {
    all.iter().find(|value| format!("{value:?}") == name).cloned()
}

fn read_access(words: &[&str]) -> Option<Access> {
    let (name, ranks) = words.split_first()?;
    let lock = |word: &&str| {
        let exclusive = word.ends_with('x');
        Some((word.trim_end_matches(['x', 's']).parse().ok()?, exclusive))
    };
    match *name {
        "Start" => {
            Some(Access::Start(ranks.iter().map(|r| r.parse().ok()).collect::<Option<_>>()?))
        }
        "Locks" => Some(Access::Locks(ranks.iter().map(lock).collect::<Option<_>>()?)),
        name => named(&[Access::Fence, Access::All, Access::Nothing], name),
    }
}

fn read_act(words: &[&str]) -> Option<Act> {
    let number = |k: usize| words.get(k)?.parse::<u64>().ok();
    let target = match *words.get(3)? {
        "null" => None,
        rank => Some(rank.parse().ok()?),
    };
    Some(Act {
        kind: named(&kinds(), words[0])?,
        datatype: Datatype::ALL.into_iter().find(|d| d.name() == words[1])?,
        target,
        disp: number(5)?,
        count: number(7)?,
        value: number(9)?,
        layout: read_layout(words, "to")?,
        own: read_layout(words, "from")?,
        completion: named(&Completion::ALL, words.last()?)?,
    })
}

/// The layout behind a word.
fn read_layout(words: &[&str], before: &str) -> Option<Layout> {
    let mut words = words.iter().skip_while(|word| **word != before).skip(1);
    let name = words.next()?;
    let words = words.take_while(|word| !["from", "by"].contains(word));
    let numbers = words.filter_map(|word| {
        word.trim_matches(|letter: char| !letter.is_ascii_digit() && letter != '-').parse().ok()
    });
    Layout::named(name, &numbers.collect::<Vec<i64>>())
}

/// Every kind of act.
pub fn kinds() -> Vec<Kind> {
    let flushes = [Flush::One, Flush::All, Flush::Local, Flush::LocalAll].map(Kind::Flush);
    let mut all = vec![
        Kind::Put,
        Kind::Get,
        Kind::CompareAndSwap,
        Kind::Guarded,
        Kind::Load,
        Kind::Store,
        Kind::DirectLoad,
        Kind::DirectStore,
    ];
    all.extend(flushes);
    all.extend(Mistake::ALL.map(Kind::Wrong));
    for op in Op::ALL {
        all.extend([Kind::Accumulate(op), Kind::GetAccumulate(op), Kind::FetchAndOp(op)]);
    }
    all
}
