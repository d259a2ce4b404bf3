//! Temperatures from and to PNG pictures.

use common::Failure;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

/// A rectangle of temperatures, row by row.
pub struct Field {
    /// Its height.
    pub rows: usize,
    /// Its width.
    pub columns: usize,
    /// As many as both together, from 0 to 1.
    pub cells: Vec<f64>,
}

impl Field {
    /// A cold plate with hot spots and a ring, and a warm edge.
    pub fn example(rows: usize, columns: usize) -> Result<Field, Failure> {
        /// Column and row of the centre, outer and inner radius, as parts of the plate's shorter
        /// side from its middle; temperature.
        const SPOTS: [([f64; 4], f64); 4] = [
            ([-0.10, 0.05, 0.34, 0.27], 1.0),
            ([-0.10, 0.05, 0.10, 0.0], 0.75),
            ([0.33, -0.30, 0.12, 0.0], 0.9),
            ([0.34, 0.33, 0.06, 0.0], 1.0),
        ];
        let side = rows.min(columns) as f64;
        let temperature = |row: usize, column: usize| {
            let x = (column as f64 - columns as f64 / 2.0) / side;
            let y = (row as f64 - rows as f64 / 2.0) / side;
            let covers = |[cx, cy, outer, inner]: &[f64; 4]| {
                let distance = (x - cx).hypot(y - cy);
                (*inner..*outer).contains(&distance)
            };
            let spot = SPOTS.iter().find(|(spot, _)| covers(spot)).map(|(_, heat)| *heat);
            let edge = 0.8 * column as f64 / columns as f64;
            spot.unwrap_or(if row + 1 == rows { edge } else { 0.0 })
        };
        let mut cells = Vec::new();
        let fits = rows.checked_mul(columns).is_some_and(|n| cells.try_reserve_exact(n).is_ok());
        if !fits {
            let sentence = format!("there is no memory for a grid of {rows} x {columns} cells");
            return Err(Failure::Here(sentence));
        }
        for row in 0..rows {
            cells.extend((0..columns).map(|column| temperature(row, column)));
        }
        Ok(Field { rows, columns, cells })
    }

    /// The brightness of a PNG picture, from 0 to 1.
    pub fn read(path: &Path) -> Result<Field, Failure> {
        let file = File::open(path).map_err(|error| fault("cannot read", path, &error))?;
        let decoded = decode(file);
        decoded.map_err(|error| fault("cannot read", path, &format!("not a good PNG: {error}")))
    }
}

fn decode(file: File) -> Result<Field, png::DecodingError> {
    let mut decoder = png::Decoder::new(BufReader::new(file));
    // Grey or colour, 8 bits each, whatever the file has.
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info()?;
    let size = reader.output_buffer_size().ok_or(png::DecodingError::LimitsExceeded)?;
    let mut pixels = vec![0; size];
    let frame = reader.next_frame(&mut pixels)?;
    let brightness = |pixel: &[u8]| match *pixel {
        // The weights of ITU-R BT.709.
        [red, green, blue, ..] => {
            (0.2126 * f64::from(red) + 0.7152 * f64::from(green) + 0.0722 * f64::from(blue)) / 255.0
        }
        _ => f64::from(pixel[0]) / 255.0,
    };
    let pixels = pixels[..frame.buffer_size()].chunks_exact(frame.color_type.samples());
    let (rows, columns) = (frame.height as usize, frame.width as usize);
    Ok(Field { rows, columns, cells: pixels.map(brightness).collect() })
}

/// A picture that is to be written, opened before the work so that a wrong path is found then.
pub struct Output<'a> {
    path: &'a Path,
    file: File,
}

impl Output<'_> {
    /// An empty file.
    pub fn create(path: &Path) -> Result<Output<'_>, Failure> {
        let file = File::create(path).map_err(|error| fault("cannot write", path, &error))?;
        Ok(Output { path, file })
    }

    /// Writes the field, the coldest cell black, the hottest pale yellow.
    pub fn write(self, field: &Field) -> Result<(), Failure> {
        let coldest = field.cells.iter().copied().fold(f64::INFINITY, f64::min);
        let hottest = field.cells.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let range = if hottest > coldest { hottest - coldest } else { 1.0 };
        let colours = field.cells.iter().flat_map(|cell| colour((cell - coldest) / range));
        let pixels: Vec<u8> = colours.collect();
        let written = encode(&self.file, field, &pixels);
        written.map_err(|error| fault("cannot write", self.path, &error))
    }
}

fn encode(file: &File, field: &Field, pixels: &[u8]) -> Result<(), png::EncodingError> {
    let (width, height) = (field.columns as u32, field.rows as u32);
    let mut encoder = png::Encoder::new(BufWriter::new(file), width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()
}

/// Colours from cold to hot at equal steps, each brighter than the one before: black, violet, red,
/// orange, pale yellow.
const COLOURS: [[u8; 3]; 9] = [
    [0, 0, 4],
    [31, 12, 72],
    [85, 15, 109],
    [136, 34, 106],
    [186, 54, 85],
    [227, 89, 51],
    [249, 140, 10],
    [249, 201, 50],
    [252, 255, 164],
];

/// The colour of a temperature from 0 to 1.
fn colour(temperature: f64) -> [u8; 3] {
    let place = temperature.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64;
    let step = (place as usize).min(COLOURS.len() - 2);
    let part = place - step as f64;
    let (from, to) = (COLOURS[step], COLOURS[step + 1]);
    std::array::from_fn(|i| {
        (f64::from(from[i]) * (1.0 - part) + f64::from(to[i]) * part).round() as u8
    })
}

fn fault(what: &str, path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::Here(format!("{what} {}: {why}", path.display()))
}
