//! Which part of the text a rank reads, and the words in it.
//!
//! A file is split at byte positions, moved to where no word can be in two pieces: position `p`
//! stands for the first place at or after `p` that is the start of the file, its end, or follows
//! an ASCII character that is no letter or digit. UTF-8 never uses ASCII inside a character, so
//! this is right for any text, well-formed or not, in which pieces of it are read.

use common::Failure;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Bytes read at once.
const BLOCK: u64 = 1 << 20;

/// A file to count.
pub struct Input {
    pub path: PathBuf,
    pub bytes: u64,
}

/// The bytes of a file from (the split point of) `from` to (that of) `to`.
pub struct Piece {
    path: PathBuf,
    from: u64,
    to: u64,
}

/// The sentence for a path that the system refuses.
pub fn cannot(path: &Path, error: io::Error) -> Failure {
    Failure::Here(format!("cannot read {}: {error}", path.display()))
}

/// The files that `paths` name, folders searched to the end, in an order that depends on nothing
/// but their names.
pub fn find(paths: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let mut inputs = Vec::new();
    for path in paths {
        let what = fs::metadata(path).map_err(|error| cannot(path, error))?;
        if what.is_dir() {
            search(path, &mut inputs)?;
        } else if what.is_file() {
            inputs.push(Input { path: path.clone(), bytes: what.len() });
        } else {
            let path = path.display();
            return Err(Failure::Here(format!("{path} is neither a file nor a folder")));
        }
    }
    Ok(inputs)
}

fn search(folder: &Path, inputs: &mut Vec<Input>) -> Result<(), Failure> {
    let entries = fs::read_dir(folder).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
    let mut entries = entries.map_err(|error| cannot(folder, error))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // Of the entry itself: a symbolic link is neither a folder nor a file.
        let what = entry.metadata().map_err(|error| cannot(&path, error))?;
        if what.is_dir() {
            search(&path, inputs)?;
        } else if what.is_file() {
            inputs.push(Input { path, bytes: what.len() });
        }
    }
    Ok(())
}

/// The inputs as bytes, to be broadcast.
pub fn encode(inputs: &[Input]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for Input { path, bytes: length } in inputs {
        let path = path.as_os_str().as_bytes();
        bytes.extend((path.len() as u64).to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(path);
    }
    bytes
}

/// The inputs that [`encode`] has written.
pub fn decode(mut bytes: &[u8]) -> Vec<Input> {
    let mut inputs = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<16>() {
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| head[at + i]));
        let (path, rest) = rest.split_at(number(0) as usize);
        inputs.push(Input { path: OsStr::from_bytes(path).into(), bytes: number(8) });
        bytes = rest;
    }
    inputs
}

/// What rank `rank` of `ranks` reads: as many bytes as every other, whatever the files' sizes.
pub fn share(inputs: &[Input], rank: u32, ranks: u32) -> Vec<Piece> {
    let total: u64 = inputs.iter().map(|input| input.bytes).sum();
    let bound = |rank: u32| (u128::from(total) * u128::from(rank) / u128::from(ranks)) as u64;
    let (from, to) = (bound(rank), bound(rank + 1));
    let mut pieces = Vec::new();
    let mut start = 0;
    for Input { path, bytes } in inputs {
        let end = start + bytes;
        if start < to && from < end {
            let (from, to) = (from.max(start) - start, to.min(end) - start);
            pieces.push(Piece { path: path.clone(), from, to });
        }
        start = end;
    }
    pieces
}

/// The words of some pieces, one at a time.
pub struct Words {
    pieces: std::vec::IntoIter<Piece>,
    reader: Option<Reader>,
    /// Whole words, and where the next one is searched.
    block: Vec<u8>,
    at: usize,
    word: Vec<u8>,
    /// Bytes read so far.
    pub bytes: u64,
}

impl Words {
    pub fn new(pieces: Vec<Piece>) -> Words {
        let (block, word) = (Vec::new(), Vec::new());
        Words { pieces: pieces.into_iter(), reader: None, block, at: 0, word, bytes: 0 }
    }

    /// The present word; empty before the first [`Words::advance`].
    pub fn word(&self) -> &[u8] {
        &self.word
    }

    /// Goes to the next word; false at the end of the last piece.
    pub fn advance(&mut self) -> Result<bool, Failure> {
        while !next_word(&self.block, &mut self.at, &mut self.word) {
            if !self.next_block()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn next_block(&mut self) -> Result<bool, Failure> {
        self.at = 0;
        loop {
            if let Some(reader) = &mut self.reader {
                let more = reader.block(&mut self.block);
                if more.map_err(|error| cannot(&reader.piece.path, error))? {
                    self.bytes += self.block.len() as u64;
                    return Ok(true);
                }
            }
            let Some(piece) = self.pieces.next() else { return Ok(false) };
            self.reader = Some(Reader::open(piece)?);
        }
    }
}

/// A piece that is being read.
struct Reader {
    piece: Piece,
    file: BufReader<File>,
    position: u64,
}

impl Reader {
    fn open(piece: Piece) -> Result<Reader, Failure> {
        let opened = File::open(&piece.path).and_then(|mut file| {
            // The byte before shows whether a word goes on into the piece.
            let mut position = piece.from.saturating_sub(1);
            file.seek(SeekFrom::Start(position))?;
            let mut file = BufReader::with_capacity(1 << 16, file);
            if piece.from > 0 {
                position += through_separator(&mut file, |_| ())?;
            }
            Ok((file, position))
        });
        let (file, position) = opened.map_err(|error| cannot(&piece.path, error))?;
        Ok(Reader { piece, file, position })
    }

    /// Reads the next whole words into `block`; false at the end of the piece.
    fn block(&mut self, block: &mut Vec<u8>) -> io::Result<bool> {
        block.clear();
        let rest = self.piece.to.saturating_sub(self.position);
        self.file.by_ref().take(rest.min(BLOCK)).read_to_end(block)?;
        if block.last().is_some_and(|last| !is_separator(last)) {
            through_separator(&mut self.file, |bytes| block.extend(bytes))?;
        }
        self.position += block.len() as u64;
        Ok(!block.is_empty())
    }
}

/// No word contains this byte, and no character but this one.
fn is_separator(byte: &u8) -> bool {
    byte.is_ascii() && !byte.is_ascii_alphanumeric()
}

/// Reads up to and including the next separator, or to the end; returns how many bytes that is.
fn through_separator(file: &mut impl BufRead, mut take: impl FnMut(&[u8])) -> io::Result<u64> {
    let mut bytes = 0;
    loop {
        let ahead = file.fill_buf()?;
        let separator = ahead.iter().position(is_separator);
        let taken = separator.map_or(ahead.len(), |at| at + 1);
        take(&ahead[..taken]);
        file.consume(taken);
        bytes += taken as u64;
        if separator.is_some() || taken == 0 {
            return Ok(bytes);
        }
    }
}

/// Puts the first word of `block` from `at` on into `word`, in lower case, and moves `at` behind
/// it; false if there is none.
fn next_word(block: &[u8], at: &mut usize, word: &mut Vec<u8>) -> bool {
    word.clear();
    while let Some(byte) = block.get(*at) {
        let before = word.len();
        if byte.is_ascii_alphanumeric() {
            word.push(byte.to_ascii_lowercase());
            *at += 1;
        } else if byte.is_ascii() {
            *at += 1;
        } else {
            *at += lower(&block[*at..], word);
        }
        if word.len() == before && before > 0 {
            return true;
        }
    }
    !word.is_empty()
}

/// Puts the first character of `text`, which is not ASCII, into `word` if words have it, bytes
/// that are no character in any case; returns how many bytes it is.
fn lower(text: &[u8], word: &mut Vec<u8>) -> usize {
    let chunk = text[..text.len().min(4)].utf8_chunks().next().expect("the text is not empty");
    let Some(character) = chunk.valid().chars().next() else {
        word.extend(chunk.invalid());
        return chunk.invalid().len();
    };
    if character.is_alphanumeric() {
        let lower = character.to_lowercase();
        lower.for_each(|c| word.extend(c.encode_utf8(&mut [0; 4]).bytes()));
    }
    character.len_utf8()
}
