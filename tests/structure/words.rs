//! Words that documents, comments and names do not use, because a stranger reads them twice.
//!
//! A word whose limit is zero is forbidden, and so is every word of the list in the folders of [`CLEAN`]. The count
//! of another word may only fall: a change that lowers the count also lowers the limit below.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A word or phrase, the words to use instead, and how often it may occur.
struct Word {
    text: &'static str,
    instead: &'static str,
    most: usize,
}

/// `#` stands for a digit. A capital letter stands for itself; a small one for either.
const WORDS: &[Word] = &[
    Word { text: "issue #", instead: "what is meant", most: 0 },
    Word {
        text: "seeds",
        instead: "the standard and its clause (random tests: seed numbers)",
        most: 0,
    },
    Word { text: "has yet to", instead: "has not ... yet", most: 0 },
    Word { text: "have yet to", instead: "have not ... yet", most: 0 },
    Word { text: "whoever", instead: "a rank (thread, caller) that", most: 0 },
    Word { text: "as far as", instead: "where, if, up to", most: 0 },
    Word { text: "so many", instead: "the number, or its name", most: 0 },
    Word { text: "there is not", instead: "does not exist", most: 0 },
    Word { text: "there are not", instead: "do not exist", most: 0 },
    Word { text: "goes by", instead: "uses", most: 0 },
    Word { text: "go by", instead: "use", most: 0 },
    Word { text: ", else", instead: "otherwise", most: 0 },
    Word { text: "; else", instead: "otherwise", most: 0 },
    Word { text: "Else", instead: "Otherwise", most: 0 },
    Word { text: "Who ", instead: "a rank (thread, caller) that", most: 0 },
    Word { text: "nobody", instead: "no rank, no thread", most: 0 },
    Word { text: "everybody", instead: "every rank, all ranks", most: 0 },
    Word { text: "somebody", instead: "a rank, a thread", most: 0 },
    Word { text: "anybody", instead: "any rank, any thread", most: 0 },
    Word { text: "says", instead: "records, reports, returns", most: 0 },
    Word { text: "said", instead: "recorded, reported", most: 0 },
    Word { text: "tells", instead: "notifies, wakes, reports", most: 0 },
    Word { text: "told", instead: "notified, given", most: 0 },
    Word { text: "As [`", instead: "the errors themselves", most: 0 },
    Word { text: "Like [`", instead: "the errors themselves", most: 0 },
];

/// Words that no identifier has, outside the names of tests (which are sentences): they are no words of the
/// standard or of operating systems. The count of each may only fall.
const IDENTIFIERS: &[(&str, usize)] = &[
    ("said", 0),
    ("say", 0),
    ("says", 0),
    ("told", 0),
    ("tell", 0),
    ("tells", 0),
    ("brought", 0),
    ("kept", 0),
    ("trouble", 0),
    ("nobody", 0),
    ("whoever", 0),
    ("favour", 0),
    ("owed", 0),
    ("duties", 0),
    ("apart", 0),
    ("beyond", 0),
    ("room", 0),
    ("lane", 0),
    ("meeting", 0),
    ("met", 0),
];

/// The most words of an identifier that is not a sentence.
const WORDS_OF_A_NAME: usize = 3;

/// Folders whose identifiers are checked.
const NAMED: &[&str] = &[
    "src/",
    "capi/src/",
    "capi/tests/",
    "launcher/",
    "tools/src/",
    "loom_tests/src/",
    "examples/",
    "benches/",
    "tests/",
];

/// Folders that have none of the words.
const CLEAN: &[&str] = &["tests/", "capi/tests/", "benches/", "docs/"];

/// Files whose prose is checked: Markdown, and the comments of Rust sources.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        // What a link leads to is looked at in its own place.
        if path.is_symlink() {
            continue;
        }
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                files(&path, found);
            }
        } else if (name.ends_with(".md") || name.ends_with(".rs")) && name != "words.rs" {
            found.push(path);
        }
    }
}

/// The prose of a line, without code spans; `None` for a line of code.
fn prose(line: &str, is_markdown: bool) -> Option<String> {
    let line = line.trim_start();
    let text = match line.find("//") {
        _ if is_markdown => line,
        Some(0) => line.trim_start_matches('/').trim_start_matches('!'),
        _ => return None,
    };
    // What `As [` begins is a link, so the code span behind it stays.
    if ["As [`", "Like [`"].iter().any(|link| text.trim_start().starts_with(link)) {
        return Some(text.to_owned());
    }
    Some(text.split('`').step_by(2).collect::<Vec<_>>().join("`"))
}

/// A source without comments and without the contents of strings.
fn code(text: &str) -> String {
    let (mut code, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(['/', '"', '\'', '\n']) {
        code.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = match rest.as_bytes() {
            [b'/', b'/', ..] => rest.find('\n').unwrap_or(rest.len()),
            [b'\'', b'"', b'\'', ..] => 3,
            [b'"', ..] if code.ends_with("r#") => {
                rest.find("\"#").map_or(rest.len(), |end| end + 2)
            }
            [b'"', ..] => string_end(rest),
            _ => {
                code.push_str(&rest[..1]);
                1
            }
        };
        // Lines keep their numbers.
        code.extend(rest[..end].matches('\n').filter(|_| end > 1));
        rest = &rest[end..];
    }
    code + rest
}

/// The length of the string literal that a text begins with.
fn string_end(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, letter)| {
        let ends = *letter == '"' && !is_escaped;
        is_escaped = *letter == '\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// The identifiers of a line of code.
fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
}

/// The words of an identifier, in small letters: `FreeMet` and `free_met` have the same two.
fn words(identifier: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_small = false;
    for letter in identifier.chars() {
        if letter == '_' || (letter.is_uppercase() && after_small) {
            words.push(String::new());
        }
        after_small = letter.is_lowercase();
        if letter != '_' {
            words.last_mut().unwrap().extend(letter.to_lowercase());
        }
    }
    words
}

/// Occurrences of a word in a text, as a whole word.
fn count(text: &str, word: &str) -> usize {
    let is_letter = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    };
    let exact = word.chars().any(char::is_uppercase);
    let matches = |at: usize| {
        let mut rest = text[at..].chars();
        let found = word.chars().all(|wanted| match (wanted, rest.next()) {
            ('#', Some(letter)) => letter.is_ascii_digit(),
            (_, Some(letter)) if exact => letter == wanted,
            (_, Some(letter)) => letter.to_lowercase().eq(wanted.to_lowercase()),
            (_, None) => false,
        });
        let ends = !word.ends_with(char::is_alphanumeric) || !is_letter(rest.next());
        let begins =
            !word.starts_with(char::is_alphanumeric) || !is_letter(text[..at].chars().next_back());
        found && ends && begins
    };
    text.char_indices().filter(|(at, _)| matches(*at)).count()
}

#[test]
fn documents_and_comments_use_usual_words() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = Vec::new();
    files(root, &mut sources);
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut wrong = String::new();
    for path in sources {
        let is_markdown = path.extension().is_some_and(|ending| ending == "md");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        for (number, line) in (1..).zip(text.lines()) {
            let Some(prose) = prose(line, is_markdown) else { continue };
            for word in WORDS {
                let places = found.entry(word.text).or_default();
                let here = format!("{name}:{number}: {}", line.trim());
                let times = count(&prose, word.text);
                if times > 0 && CLEAN.iter().any(|folder| name.starts_with(folder)) {
                    wrong += &format!("'{}'; write: {}\n  {here}\n", word.text, word.instead);
                }
                places.extend((0..times).map(|_| here.clone()));
            }
        }
    }
    for Word { text, instead, most } in WORDS {
        let places = &found[text];
        println!("{:4} of {most:4}  {text}", places.len());
        if places.len() > *most {
            let list = places.join("\n  ");
            let many = places.len();
            wrong +=
                &format!("'{text}' {many} times, at most {most}; write: {instead}\n  {list}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn identifiers_use_the_words_of_the_field() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = Vec::new();
    files(root, &mut sources);
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for path in sources {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        if !name.ends_with(".rs") || !NAMED.iter().any(|folder| name.starts_with(folder)) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        for (number, line) in (1..).zip(code(&text).lines()) {
            for identifier in identifiers(line) {
                let words = words(identifier);
                if words.len() > WORDS_OF_A_NAME {
                    continue;
                }
                for (word, _) in
                    IDENTIFIERS.iter().filter(|(word, _)| words.iter().any(|w| w == word))
                {
                    found.entry(word).or_default().push(format!("{name}:{number}: {identifier}"));
                }
            }
        }
    }
    let mut wrong = String::new();
    for (word, most) in IDENTIFIERS {
        let places = found.remove(word).unwrap_or_default();
        println!("{:4} of {most:4}  {word}", places.len());
        if places.len() > *most {
            let list = places.join("\n  ");
            wrong += &format!("'{word}' in {} names, at most {most}:\n  {list}\n", places.len());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn words_are_counted_as_whole_words() {
    assert_eq!(count("Whoever says so, says it", "says"), 2);
    assert_eq!(count("essays of issue 12", "says"), 0);
    assert_eq!(count("essays of issue 12", "issue #"), 1);
    assert_eq!((count("Else, or else", "Else"), count("a who Who is", "Who ")), (1, 1));
    assert_eq!(prose("let x = 1; // says", false), None);
    assert_eq!(prose("/// `says` this", false).as_deref(), Some(" ` this"));
    let source = code("let a_b = (\"told\\\"\\\n said\", '\"'); // said\nx");
    assert_eq!(source, "let a_b = (\n, ); \nx");
    assert_eq!(identifiers("let a_b = 1").filter(|i| !i.is_empty()).count(), 3);
    assert_eq!((words("FreeMet"), words("IS_TOLD")), (words("free_met"), words("is_told")));
}
