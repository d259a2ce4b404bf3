//! The most frequent words, and the same count made by one process.

use crate::table::Table;
use crate::text::{Input, cannot};
use common::Failure;
use onesided::{Comm, Op, Rank};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write;

/// A count and its word.
type Line = (u64, Vec<u8>);

/// The `top` most frequent words, equally frequent ones in the order of their bytes; on rank 0.
///
/// Collective: every rank offers its own best; rank 0 gets the words of those one-sidedly.
pub fn most_frequent(
    world: &Comm,
    table: &mut Table,
    top: usize,
) -> Result<Option<Vec<Line>>, Failure> {
    let own = table.own_slots()?;
    let mut open = table.open()?;
    let mut lines = Vec::with_capacity(own.len());
    for (entry, count) in own {
        lines.push((Reverse(count), open.word(entry)?, entry));
    }
    // Closed before any call that waits: a rank that still reads its own slots keeps others out,
    // and would wait for this rank's lock as this rank for it.
    drop(open);
    lines.sort_unstable();
    // All ranks offer equally many; an entry of 0 is none.
    let most = world.allreduce(&[lines.len().min(top) as u64], Op::Max)?[0];
    let mut offer = vec![0; 2 * most as usize];
    for (place, (Reverse(count), _, entry)) in offer.chunks_exact_mut(2).zip(&lines) {
        place.copy_from_slice(&[*entry, *count]);
    }
    let Some(offers) = world.gather(&offer, Rank(0))? else { return Ok(None) };
    let mut open = table.open()?;
    let mut lines = Vec::new();
    for offer in offers.chunks_exact(2).filter(|offer| offer[0] != 0) {
        lines.push((offer[1], open.word(offer[0])?));
    }
    lines.sort_unstable_by(|(a, x), (b, y)| b.cmp(a).then_with(|| x.cmp(y)));
    lines.truncate(top);
    Ok(Some(lines))
}

/// One line per word: its count, and the word.
pub fn lines(lines: &[Line]) -> String {
    let width = lines.first().map_or(0, |(count, _)| count.to_string().len());
    let mut text = String::new();
    for (count, word) in lines {
        let _ = writeln!(text, "{count:width$} {}", String::from_utf8_lossy(word));
    }
    text
}

/// Compares the whole table with what this process counts alone. For one rank.
pub fn verify(inputs: &[Input], table: &mut Table) -> Result<(), Failure> {
    let expected = count_alone(inputs)?;
    let mut open = table.open()?;
    let taken = open.taken()?;
    if taken != expected.len() as u64 {
        let alone = expected.len();
        let sentence = format!("{taken} different words were found, but {alone} by one process");
        return Err(Failure::Here(sentence));
    }
    for (word, alone) in &expected {
        let count = open.count(word)?;
        if count != *alone {
            let word = String::from_utf8_lossy(word);
            let sentence =
                format!("'{word}' was counted {count} times, but {alone} by one process");
            return Err(Failure::Here(sentence));
        }
    }
    Ok(())
}

/// Counts without ranks, windows, pieces and blocks, in the most obvious way.
fn count_alone(inputs: &[Input]) -> Result<HashMap<Vec<u8>, u64>, Failure> {
    let mut counts = HashMap::new();
    for Input { path, .. } in inputs {
        let text = std::fs::read(path).map_err(|error| cannot(path, error))?;
        let mut word = Vec::new();
        for chunk in text.utf8_chunks() {
            for character in chunk.valid().chars() {
                if character.is_alphanumeric() {
                    word.extend(character.to_lowercase().to_string().bytes());
                } else if !word.is_empty() {
                    *counts.entry(std::mem::take(&mut word)).or_default() += 1;
                }
            }
            word.extend(chunk.invalid());
        }
        if !word.is_empty() {
            *counts.entry(word).or_default() += 1;
        }
    }
    Ok(counts)
}
