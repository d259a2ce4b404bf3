//! The words of texts of every kind, counted.

use super::{fails, file, folder, ours, succeeds};

/// The lines of words that wordcount has printed, without what follows them.
fn counts(output: &str) -> Vec<(u64, &str)> {
    let lines = output.lines().map_while(|line| line.trim_start().split_once(' '));
    let counts = lines.map_while(|(count, word)| Some((count.parse().ok()?, word)));
    counts.collect()
}

#[test]
fn any_number_of_ranks_counts_the_same() {
    let paths = [ours("src"), ours("launcher"), ours("Cargo.toml")];
    let [one, three, eight] = [1, 3, 8].map(|ranks| {
        let mut arguments = vec!["--verify", "--top", "50"];
        arguments.extend(paths.iter().map(String::as_str));
        let output = succeeds(ranks, "wordcount", &arguments);
        assert!(output.contains("verified by one process"), "{output}");
        let counts = counts(&output);
        counts.into_iter().map(|(n, word)| (n, word.to_owned())).collect::<Vec<_>>()
    });
    assert_eq!(one.len(), 50);
    assert!(one.iter().any(|(_, word)| word == "window"), "{one:?}");
    assert_eq!((&one, &one), (&three, &eight));
}

#[test]
fn letters_of_any_script_and_of_none() {
    let folder = folder("letters");
    let text = b"Stra\xc3\x9fe STRASSE stra\xc3\x9fe \xc3\x89t\xc3\xa9 \xc3\xa9t\xc3\xa9, caf\xe9 \
                 Caf\xe9 \xff\xfe\xfd \xe2\x80\x9cin quotes\xe2\x80\x9d 42nd it's";
    let path = file(&folder, "text", text);
    for ranks in [1, 8] {
        let output = succeeds(ranks, "wordcount", &["--verify", &path]);
        let expected = [
            (2, "caf\u{fffd}"),
            (2, "stra\u{df}e"),
            (2, "\u{e9}t\u{e9}"),
            (1, "42nd"),
            (1, "in"),
            (1, "it"),
            (1, "quotes"),
            (1, "s"),
            (1, "strasse"),
            (1, "\u{fffd}\u{fffd}\u{fffd}"),
        ];
        assert_eq!(counts(&output), expected, "{output}");
    }
}

#[test]
fn no_word_is_cut_where_two_ranks_meet() {
    let folder = folder("cuts");
    // Words of all lengths and scripts, so that every boundary between ranks hits one.
    let words = ["a", "bc", "d\u{e9}f", "\u{4e16}\u{754c}", "\u{1f600}x", "longerword9"];
    let text: String = (0..5000).map(|i| format!("{} ", words[i * i % 6])).collect();
    file(&folder, "many words", &text);
    file(&folder, "one word", "x".repeat(300_000));
    file(&folder, "no space", "\u{4e16}\u{3002}".repeat(20_000));
    file(&folder, "not text", (0..=255).cycle().take(10_000).collect::<Vec<u8>>());
    file(&folder, "nothing", "");
    for ranks in [1, 3, 8] {
        succeeds(ranks, "wordcount", &["--verify", folder.to_str().unwrap()]);
    }
}

#[test]
fn fewer_words_than_ranks() {
    let folder = folder("few");
    let two = file(&folder, "two", "one two");
    let output = succeeds(8, "wordcount", &["--verify", &two, &two]);
    assert_eq!(counts(&output), [(2, "one"), (2, "two")]);
    assert_eq!(counts(&succeeds(2, "wordcount", &["--top", "0", &two])), []);
    let nothing = file(&folder, "nothing", "");
    let output = succeeds(3, "wordcount", &["--verify", "--top", "999999999999", &nothing]);
    assert!(output.contains("0 words, 0 of them different, in 1 file "), "{output}");
}

/// `n` different words, each twice, far apart.
fn different(n: usize) -> String {
    (0..2 * n).map(|i| format!("w{}\n", i * 7919 % n)).collect()
}

#[test]
fn the_table_grows() {
    let path = file(&folder("growth"), "text", different(20_000));
    for ranks in [1, 3, 8] {
        let output = succeeds(ranks, "wordcount", &["--verify", "--top", "1", &path]);
        assert!(output.contains("20,000 of them different"), "{output}");
        assert!(!output.contains("after 0 growths"), "{output}");
    }
}

#[test]
fn words_that_collide_are_told_apart() {
    let path = file(&folder("collisions"), "text", different(400));
    let output = succeeds(3, "wordcount", &["--verify", "--hash-bits", "2", &path]);
    assert!(output.contains("400 of them different"), "{output}");
}

#[test]
fn a_full_table_is_an_error_that_names_the_remedy() {
    let path = file(&folder("full"), "text", different(64));
    for ranks in [1, 2, 8] {
        succeeds(ranks, "wordcount", &["--verify", "--slots", "64", &path]);
        // A multiple of every number of ranks, which share the slots out evenly.
        let words = ["56 slots are all taken", "--slots a larger number", "leave it out"];
        fails(ranks, 1, "wordcount", &["--slots", "56", &path], &words);
    }
}

#[test]
fn a_path_that_cannot_be_read_is_an_error() {
    let folder = folder("unreadable");
    let missing = folder.join("missing");
    let dangling = folder.join("dangling");
    std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
    for path in [missing, dangling] {
        let path = path.to_str().unwrap();
        fails(3, 1, "wordcount", &[&ours("src"), path], &["cannot read", path, "No such file"]);
    }
    fails(3, 1, "wordcount", &["/dev/null"], &["/dev/null is neither a file nor a folder"]);
}
