//! Every example, as its users run it: on several ranks, on real input, and on bad input.
#![cfg(feature = "launcher")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::Outcome;

/// The program that Cargo has built for an example, in the same profile as this test.
fn program(example: &str) -> PathBuf {
    let this = std::env::current_exe().expect("the test's own path");
    let profile = this.parent().and_then(Path::parent).expect("tests are in <profile>/deps");
    let program = profile.join("examples").join(example);
    assert!(program.exists(), "{program:?} is missing: run 'cargo build --examples' first");
    program
}

/// Runs an example on `ranks` ranks to its end.
fn run(ranks: u32, example: &str, arguments: &[&str]) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rmarun"));
    command.args(["-n", &ranks.to_string(), "--require-join"]).args(support::segment());
    command.arg("--").arg(program(example)).args(arguments);
    support::run(&mut command, example)
}

/// Runs an example that must succeed; returns its output.
#[track_caller]
fn succeeds(ranks: u32, example: &str, arguments: &[&str]) -> String {
    let Outcome { status, output } = run(ranks, example, arguments);
    assert!(status.success(), "{ranks} x {example} {arguments:?}, {status}:\n{output}");
    output
}

/// Runs an example that must fail with `code`, one rank alone saying why: in one line that begins
/// with the example's name and has all of `words` in it.
#[track_caller]
fn fails(ranks: u32, code: i32, example: &str, arguments: &[&str], words: &[&str]) {
    let Outcome { status, output } = run(ranks, example, arguments);
    let shown = format!("{ranks} x {example} {arguments:?}, {status}:\n{output}");
    assert_eq!(status.code(), Some(code), "{shown}");
    let start = format!("{example}: ");
    let said: Vec<&str> = output.lines().filter(|line| line.starts_with(&start)).collect();
    assert_eq!(said.len(), 1, "{shown}");
    assert!(words.iter().all(|word| said[0].contains(word)), "not all of {words:?} in {shown}");
}

/// A new empty folder for the files of one test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("examples").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder for temporary files is writable");
    folder
}

/// Writes a file into a folder; returns its path.
fn file(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    fs::write(&path, content).expect("the folder is writable");
    path.to_str().expect("the path is text").to_owned()
}

/// A file of this repository.
fn ours(path: &str) -> String {
    format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// The lines of words that wordcount has printed, without what follows them.
fn counts(output: &str) -> Vec<(u64, &str)> {
    let lines = output.lines().map_while(|line| line.trim_start().split_once(' '));
    let counts = lines.map_while(|(count, word)| Some((count.parse().ok()?, word)));
    counts.collect()
}

#[test]
fn hello_adds_up() {
    for (ranks, sum) in [(1, "1 ranks add up to 1\n"), (8, "8 ranks add up to 36\n")] {
        assert_eq!(succeeds(ranks, "hello", &[]), sum);
    }
}

#[test]
fn examples_run_without_the_launcher_on_one_rank() {
    let mut command = Command::new(program("gups"));
    let Outcome { status, output } = support::run(command.args(["--log-size", "4"]), "gups");
    assert!(status.success() && output.contains(" by 1 rank "), "{status}:\n{output}");
}

#[test]
fn help_names_every_option_once() {
    let options: [(&str, &[&str]); 8] = [
        ("hello", &["--help"]),
        (
            "wordcount",
            &["--top <K>", "--verify", "--slots <N>", "--hash-bits", "<PATH>...", "lower"],
        ),
        ("heat", &["--rows", "--cols", "--steps", "--image", "--sync", "--output", "--verify"]),
        ("gups", &["--log-size", "--updates", "--verify", "four per word"]),
        ("mutex", &["--times", "--words", "--verify"]),
        ("queue", &["--tasks", "--capacity", "--verify"]),
        ("counter", &["--below", "--chunk", "--verify"]),
        ("notify", &["--blocks", "--length", "--verify"]),
    ];
    for (example, options) in options {
        let help = succeeds(3, example, &["--help"]);
        for text in options.iter().chain(&["Usage:", "Examples:"]) {
            assert!(help.contains(text), "no {text} in:\n{help}");
        }
        assert_eq!(help.matches("Usage:").count(), 1, "one rank speaks for all:\n{help}");
    }
}

#[test]
fn wrong_options_are_told_once() {
    for (example, arguments) in [
        ("wordcount", &["--top", "3"][..]),
        ("wordcount", &["--slots", "0", "src"]),
        ("heat", &["--image", "x.png", "--rows", "7"]),
        ("heat", &["--sync", "barrier"]),
        ("gups", &["--log-size", "64"]),
        ("mutex", &["--words", "0"]),
        ("queue", &["--capacity", "0"]),
        ("counter", &["--chunk", "0"]),
        ("notify", &["--length", "0"]),
        ("hello", &["loudly"]),
    ] {
        let Outcome { status, output } = run(3, example, arguments);
        assert_eq!(status.code(), Some(2), "{output}");
        assert_eq!(output.matches("error: ").count(), 1, "{output}");
    }
}

mod wordcount {
    use super::*;

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
        let text =
            b"Stra\xc3\x9fe STRASSE stra\xc3\x9fe \xc3\x89t\xc3\xa9 \xc3\xa9t\xc3\xa9, caf\xe9 \
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
}

mod heat {
    use super::*;

    /// Writes a picture of 8 bits per sample.
    fn picture(
        folder: &Path,
        name: &str,
        colour: png::ColorType,
        width: u32,
        height: u32,
    ) -> String {
        let mut encoded = Vec::new();
        let mut encoder = png::Encoder::new(&mut encoded, width, height);
        encoder.set_color(colour);
        let pixels = (width * height) as usize * colour.samples();
        let pixels: Vec<u8> = (0..pixels).map(|i| (i * i % 251) as u8).collect();
        encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
        file(folder, name, encoded)
    }

    /// Width, height and samples of a picture.
    fn samples(path: &str) -> (u32, u32, Vec<u8>) {
        let file = std::io::BufReader::new(fs::File::open(path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut pixels).unwrap();
        (frame.width, frame.height, pixels)
    }

    #[test]
    fn any_ranks_and_either_synchronisation_compute_the_same_picture() {
        let folder = folder("same_picture");
        let output = folder.join("output.png");
        let output = output.to_str().unwrap();
        let mut pictures = Vec::new();
        for sync in ["fence", "pscw"] {
            for ranks in [1, 3, 8] {
                let size = ["--rows", "37", "--cols", "50", "--steps", "60"];
                let rest = ["--sync", sync, "--verify", "--output", output];
                let said = succeeds(ranks, "heat", &[&size[..], &rest].concat());
                assert!(said.contains("verified, bit by bit"), "{said}");
                assert!(said.contains(" per step, ") && said.contains("residual "), "{said}");
                pictures.push(samples(output));
            }
        }
        assert_eq!((pictures[0].0, pictures[0].1), (50, 37));
        assert!(pictures.iter().all(|picture| *picture == pictures[0]));
    }

    #[test]
    fn one_row_for_each_rank_is_enough() {
        let size = ["--rows", "10", "--cols", "3", "--steps", "9", "--verify"];
        succeeds(8, "heat", &[&size[..], &["--sync", "fence"]].concat());
        succeeds(8, "heat", &[&size[..], &["--sync", "pscw"]].concat());
        succeeds(3, "heat", &["--rows", "5", "--cols", "5", "--steps", "0", "--verify"]);
    }

    #[test]
    fn a_picture_of_any_kind_is_a_start() {
        use png::ColorType::{Grayscale, GrayscaleAlpha, Rgb, Rgba};
        let folder = folder("pictures");
        let output = folder.join("output.png");
        let output = output.to_str().unwrap();
        for (name, colour) in
            [("grey", Grayscale), ("grey-a", GrayscaleAlpha), ("rgb", Rgb), ("rgba", Rgba)]
        {
            let input = picture(&folder, name, colour, 31, 20);
            let arguments = ["--image", &input, "--steps", "5", "--verify", "--output", output];
            succeeds(3, "heat", &arguments);
            let (width, height, _) = samples(output);
            assert_eq!((width, height), (31, 20), "{name}");
        }
    }

    #[test]
    fn bad_pictures_are_errors() {
        let folder = folder("bad_pictures");
        let whole = fs::read(picture(&folder, "whole", png::ColorType::Rgb, 40, 40)).unwrap();
        let cut = file(&folder, "cut", &whole[..whole.len() / 2]);
        let text = file(&folder, "text", "no picture");
        for path in [cut, text] {
            fails(3, 1, "heat", &["--image", &path], &["cannot read", &path, "not a good PNG"]);
        }
        fails(3, 1, "heat", &["--image", "missing.png"], &["cannot read missing.png", "No such"]);
        fails(
            3,
            1,
            "heat",
            &["--output", "no/such/folder.png"],
            &["cannot write no/such/folder.png"],
        );
    }

    #[test]
    fn a_grid_too_small_is_an_error() {
        let small = ["--rows", "9", "--cols", "9"];
        fails(8, 1, "heat", &small, &["9 rows", "8 ranks need 10 or more"]);
        fails(2, 1, "heat", &["--rows", "9", "--cols", "2"], &["2 columns", "3 or more"]);
        let huge = ["--rows", "9", "--cols", "9999999999999999999"];
        fails(2, 1, "heat", &huge, &["no memory for a grid of 9 x 9999999999999999999"]);
    }
}

#[test]
fn what_does_not_fit_the_memory_is_told_once() {
    let text = ours("Cargo.toml");
    let needed = ["bytes are needed"];
    fails(3, 1, "wordcount", &["--slots", "1099511627776", &text], &needed);
    fails(3, 1, "gups", &["--log-size", "40"], &needed);
}

#[test]
fn gups_loses_no_update() {
    for ranks in [1, 2, 3, 8] {
        let output = succeeds(ranks, "gups", &["--log-size", "12", "--verify"]);
        assert!(output.contains("16,384 updates of 4,096 words"), "{output}");
        assert!(output.contains(" GUP/s\n") && output.contains("no word is wrong"), "{output}");
    }
    // More ranks than words, all of them at the same two words.
    let crowded = ["--log-size", "1", "--updates", "100000", "--verify"];
    succeeds(8, "gups", &crowded);
}

#[test]
fn a_mutex_keeps_a_record_whole() {
    for ranks in [1, 2, 3, 8] {
        let output = succeeds(ranks, "mutex", &["--times", "200", "--words", "5", "--verify"]);
        assert!(output.contains("critical sections by"), "{output}");
        assert!(output.contains("nothing was lost or torn"), "{output}");
    }
}

#[test]
fn a_farm_does_every_task() {
    for (ranks, capacity) in [(1, "1"), (2, "1"), (3, "64"), (8, "5")] {
        let arguments = ["--tasks", "500", "--capacity", capacity, "--verify"];
        let output = succeeds(ranks, "queue", &arguments);
        assert!(output.contains("500 tasks by") && output.contains("longest: 143\n"), "{output}");
        assert!(output.contains("every task was done"), "{output}");
    }
    succeeds(3, "queue", &["--tasks", "0", "--verify"]);
}

#[test]
fn tickets_schedule_a_loop() {
    for (ranks, chunk) in [(1, "1"), (2, "7"), (3, "100000"), (8, "50")] {
        let arguments = ["--below", "10000", "--chunk", chunk, "--verify"];
        let output = succeeds(ranks, "counter", &arguments);
        assert!(output.contains("1,229 primes below 10000"), "{output}");
        assert!(output.contains("no prime is missing"), "{output}");
    }
    succeeds(3, "counter", &["--below", "0", "--verify"]);
}

#[test]
fn a_pipeline_loses_no_block() {
    for (ranks, length) in [(1, "3"), (2, "1"), (3, "1000"), (8, "64")] {
        let arguments = ["--blocks", "200", "--length", length, "--verify"];
        let output = succeeds(ranks, "notify", &arguments);
        assert!(output.contains("200 blocks of") && output.contains(" GB/s, sum "), "{output}");
        assert!(output.contains("the sum is right"), "{output}");
    }
    succeeds(3, "notify", &["--blocks", "0", "--verify"]);
}
