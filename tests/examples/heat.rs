//! The heat equation on grids and pictures, good and bad.

use super::{fails, file, folder, succeeds};
use std::fs;
use std::path::Path;

/// Writes a picture of 8 bits per sample.
fn picture(folder: &Path, name: &str, colour: png::ColorType, width: u32, height: u32) -> String {
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
            let printed = succeeds(ranks, "heat", &[&size[..], &rest].concat());
            assert!(printed.contains("verified, bit by bit"), "{printed}");
            assert!(printed.contains(" per step, ") && printed.contains("residual "), "{printed}");
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
    fails(3, 1, "heat", &["--output", "no/such/folder.png"], &["cannot write no/such/folder.png"]);
}

#[test]
fn a_grid_too_small_is_an_error() {
    let small = ["--rows", "9", "--cols", "9"];
    fails(8, 1, "heat", &small, &["9 rows", "8 ranks need 10 or more"]);
    fails(2, 1, "heat", &["--rows", "9", "--cols", "2"], &["2 columns", "3 or more"]);
    let huge = ["--rows", "9", "--cols", "9999999999999999999"];
    fails(2, 1, "heat", &huge, &["no memory for a grid of 9 x 9999999999999999999"]);
}
