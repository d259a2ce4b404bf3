//! What `--top` draws: a row for each rank, in an order that the user chooses.

use super::standing::{self, Row};
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::Stylize;
use ratatui::text::{Line, Span};
use ratatui::widgets::{self, Table};
use std::ops::Range;
use std::time::{Duration, Instant};

/// What all ranks do at one time, and have done until then.
pub struct Look {
    pub at: Instant,
    pub ranks: Vec<(Done, Row)>,
}

/// What a rank has done since it began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    pub processor: Option<Duration>,
    /// Where they are recorded.
    pub calls: Option<u64>,
    /// The bytes of its operations, where they are counted.
    pub bytes: Option<u64>,
}

/// What a rank does per second, between two looks.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    /// Processors that it keeps busy.
    processors: Option<f64>,
    calls: Option<f64>,
    bytes: Option<f64>,
}

/// What the rows are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Order {
    #[default]
    Rank,
    Processors,
    Calls,
    Bytes,
    Wait,
}

/// Each order, its key, and what the last line calls it.
const ORDERS: [(Order, char, &str); 5] = [
    (Order::Rank, 'r', "rank"),
    (Order::Processors, 'c', "CPU"),
    (Order::Calls, 'o', "calls"),
    (Order::Bytes, 'b', "bytes"),
    (Order::Wait, 'w', "time of waiting"),
];

const HEAD: [&str; 9] =
    ["rank", "pid", "CPU", "calls/s", "bytes/s", "is", "for", "waits for", "called at"];
/// Columns with numbers, which do not become narrower when the numbers do.
const NUMBERS: Range<usize> = 2..5;
const NUMBER_WIDTH: u16 = 7;
/// Between two columns.
const GAP: u16 = 2;
/// Rows that are scrolled past at once.
const PAGE: usize = 10;

/// What is on the screen.
#[derive(Default)]
pub struct Screen {
    last: Option<Look>,
    rates: Vec<Rates>,
    order: Order,
    /// How many rows have been scrolled past.
    first: usize,
}

impl Screen {
    /// Takes in a later look at the same ranks.
    pub fn update(&mut self, look: Look) {
        let before = self.last.take();
        let rates = |(at, (done, _)): (usize, &(Done, Row))| {
            let earlier = before.as_ref()?;
            let seconds = (look.at - earlier.at).as_secs_f64();
            Some(Rates::between(&earlier.ranks.get(at)?.0, done, seconds))
        };
        self.rates =
            look.ranks.iter().enumerate().map(|one| rates(one).unwrap_or_default()).collect();
        self.last = Some(look);
    }

    /// Does what a key asks for; `false` if the user leaves.
    pub fn pressed(&mut self, key: KeyEvent) -> bool {
        if key.kind == KeyEventKind::Release {
            return true;
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return false,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
            KeyCode::Char(letter) => {
                let chosen = ORDERS.iter().find(|(_, key, _)| *key == letter);
                self.order = chosen.map_or(self.order, |(order, ..)| *order);
            }
            KeyCode::Up => self.first = self.first.saturating_sub(1),
            KeyCode::Down => self.first += 1,
            KeyCode::PageUp => self.first = self.first.saturating_sub(PAGE),
            KeyCode::PageDown => self.first += PAGE,
            _ => {}
        }
        true
    }

    /// Draws a summary, the ranks from the first that has not been scrolled past on, and the keys.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let areas = [Constraint::Length(1), Constraint::Fill(1), Constraint::Length(1)];
        let [top, middle, bottom] = Layout::vertical(areas).areas(frame.area());
        frame.render_widget(self.summary(), top);
        let rows = self.rows();
        let head = cells_of(HEAD.map(str::to_owned)).bold().underlined();
        let visible = usize::from(middle.height.saturating_sub(1));
        self.first = self.first.min(rows.len().saturating_sub(visible));
        let widths = widths(&rows, middle.width);
        let shown = rows.into_iter().skip(self.first).map(cells_of);
        frame.render_widget(Table::new(shown, widths).header(head).column_spacing(GAP), middle);
        frame.render_widget(self.keys(), bottom);
    }

    fn summary(&self) -> Line<'static> {
        let ranks = self.last.as_ref().map_or(&[][..], |look| &look.ranks);
        let count = |is_one: fn(&Row) -> bool| ranks.iter().filter(|(_, row)| is_one(row)).count();
        let waiting = count(|row| row.waits_for.is_some());
        let outside = count(|row| standing::is_outside(&row.status));
        let left = count(|row| row.status.finished);
        format!(
            "{} ranks: {outside} outside the library, {waiting} asleep in a wait, {left} no longer in the job",
            ranks.len()
        )
        .into()
    }

    /// The cells of all ranks, in the chosen order.
    fn rows(&self) -> Vec<[String; 9]> {
        let ranks = self.last.as_ref().map_or(&[][..], |look| &look.ranks);
        let mut all: Vec<_> = ranks.iter().zip(&self.rates).collect();
        all.sort_by(|a, b| self.key(b).total_cmp(&self.key(a)));
        all.iter().map(|((_, row), rates)| cells(row, rates)).collect()
    }

    /// The largest comes first, and of equals the lower rank.
    fn key(&self, ((_, row), rates): &(&(Done, Row), &Rates)) -> f64 {
        let or_none = |value: Option<f64>| value.unwrap_or(-1.0);
        match self.order {
            Order::Rank => -f64::from(row.rank),
            Order::Processors => or_none(rates.processors),
            Order::Calls => or_none(rates.calls),
            Order::Bytes => or_none(rates.bytes),
            Order::Wait => {
                let waits = row.waits_for.is_some();
                or_none(row.nanoseconds.filter(|_| waits).map(|time| time as f64))
            }
        }
    }

    fn keys(&self) -> Line<'static> {
        let mut spans = vec![Span::raw("q: leave   order by  ")];
        for (order, key, name) in ORDERS {
            let text = format!("{key}: {name}");
            spans.push(if order == self.order { text.reversed() } else { text.into() });
            spans.push("  ".into());
        }
        spans.push(" arrows, page up and down: further ranks".into());
        spans.into()
    }
}

impl Rates {
    fn between(before: &Done, after: &Done, seconds: f64) -> Rates {
        let rate = |before: Option<u64>, after: Option<u64>| -> Option<f64> {
            Some(after?.saturating_sub(before?) as f64 / seconds)
        };
        let processors = before.processor.zip(after.processor);
        Rates {
            processors: processors
                .map(|(before, after)| after.saturating_sub(before).as_secs_f64() / seconds),
            calls: rate(before.calls, after.calls),
            bytes: rate(before.bytes, after.bytes),
        }
    }
}

fn cells(row: &Row, rates: &Rates) -> [String; 9] {
    let [rank, pid, is, lasts, waits_for, place] = standing::cells(row);
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let [processors, calls, bytes] = [
        or_none(rates.processors.map(|share| format!("{:.0} %", 100.0 * share))),
        or_none(rates.calls.map(short)),
        or_none(rates.bytes.map(short)),
    ];
    [rank, pid, processors, calls, bytes, is, lasts, waits_for, place]
}

/// A row of the table; numbers end where their column does.
fn cells_of(texts: [String; 9]) -> widgets::Row<'static> {
    widgets::Row::new(texts.into_iter().enumerate().map(|(column, text)| {
        let line = Line::from(text);
        if NUMBERS.contains(&column) { line.right_aligned() } else { line }
    }))
}

/// The width of each column for which there is room, which is that of its longest cell.
fn widths(rows: &[[String; 9]], all: u16) -> Vec<u16> {
    let mut left = all;
    let column_width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        let longest = cells.chain([HEAD[column].len()]).max().unwrap_or_default();
        let least = if NUMBERS.contains(&column) { NUMBER_WIDTH } else { 0 };
        let width = u16::try_from(longest).unwrap_or(all).max(least).min(left);
        left = left.saturating_sub(width + GAP);
        width
    };
    (0..HEAD.len()).map(column_width).take_while(|width| *width > 0).collect()
}

/// "12", "3.4 k", "120 M": at most five letters up to 999 P.
fn short(value: f64) -> String {
    let mut scaled = value;
    for unit in ["", " k", " M", " G", " T", " P"] {
        match scaled {
            _ if scaled < 9.95 && !unit.is_empty() => return format!("{scaled:.1}{unit}"),
            _ if scaled < 999.5 => return format!("{scaled:.0}{unit}"),
            _ => scaled /= 1000.0,
        }
    }
    format!("{value:.0e}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Call;
    use crate::launch::RankStatus;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    /// Rank `rank` has made that many calls; rank 1 sleeps in a wait, and its operations are counted.
    fn rank(rank: u32, calls: u64, processor: u64) -> (Done, Row) {
        let waits = rank == 1;
        let call = if waits { Call::Barrier } else { Call::None };
        let row = Row {
            rank,
            pid: Some(100 + rank),
            is_stopped: false,
            status: RankStatus {
                joined: true,
                finished: false,
                has_left: false,
                call,
                window: None,
                since: None,
            },
            waits_for: waits.then(|| "rank 0 to arrive".to_owned()),
            place: waits.then(|| "src/main.rs:7".to_owned()),
            nanoseconds: waits.then_some(2_500_000_000),
        };
        let processor = Some(Duration::from_millis(processor));
        (Done { processor, calls: Some(calls), bytes: waits.then_some(1000 * calls) }, row)
    }

    /// Two looks, two seconds apart.
    fn screen(ranks: u32) -> Screen {
        let (mut screen, at) = (Screen::default(), Instant::now());
        let look = |calls: u64, processor| {
            (0..ranks).map(move |k| rank(k, calls * u64::from(k + 1), processor))
        };
        screen.update(Look { at, ranks: look(5, 1000).collect() });
        screen.update(Look { at: at + Duration::from_secs(2), ranks: look(4005, 2500).collect() });
        screen
    }

    fn drawn(screen: &mut Screen, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| screen.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..height).map(|y| line(y).trim_end().to_owned()).collect()
    }

    fn press(screen: &mut Screen, code: KeyCode) -> bool {
        screen.pressed(code.into())
    }

    #[test]
    fn each_rank_has_a_row_with_its_rates() {
        let lines = drawn(&mut screen(2), 120, 6);
        assert_eq!(
            lines[..4],
            [
                "2 ranks: 1 outside the library, 1 asleep in a wait, 0 no longer in the job",
                "rank  pid      CPU  calls/s  bytes/s  is                   for     waits for         called at",
                "0     100     75 %    2.0 k        -  outside the library  -       -                 -",
                "1     101     75 %    4.0 k    4.0 M  in barrier           2.50 s  rank 0 to arrive  src/main.rs:7",
            ]
        );
        assert!(lines[5].starts_with("q: leave"), "{lines:?}");
    }

    #[test]
    fn keys_choose_the_order_and_the_first_rank() {
        let mut screen = screen(30);
        let first =
            |screen: &mut Screen| drawn(screen, 80, 10)[2].split(' ').next().unwrap().to_owned();
        assert_eq!(first(&mut screen), "0");
        for (key, rank) in [('o', "29"), ('w', "1"), ('b', "1"), ('c', "0"), ('r', "0"), ('x', "0")]
        {
            assert!(press(&mut screen, KeyCode::Char(key)));
            assert_eq!(first(&mut screen), rank, "{key}");
        }
        for (key, rank) in [
            (KeyCode::Down, "1"),
            (KeyCode::PageDown, "11"),
            // As many ranks as there is room for stay.
            (KeyCode::PageDown, "21"),
            (KeyCode::PageDown, "23"),
            (KeyCode::Up, "22"),
            (KeyCode::PageUp, "12"),
        ] {
            assert!(press(&mut screen, key));
            assert_eq!(first(&mut screen), rank, "{key:?}");
        }
        assert!(!press(&mut screen, KeyCode::Char('q')) && !press(&mut screen, KeyCode::Esc));
        let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert!(!screen.pressed(key));
    }

    #[test]
    fn a_small_terminal_has_the_first_columns() {
        let lines = drawn(&mut screen(2), 40, 4);
        assert!(lines[2].starts_with("0     100     75 %    2.0 k        -  o"), "{lines:?}");
        assert!(lines[1].starts_with("rank  pid      CPU  calls/s  bytes/s"), "{lines:?}");
        drawn(&mut screen(2), 1, 1);
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (12.4, "12"),
            (999.4, "999"),
            (999.6, "1.0 k"),
            (9_949.0, "9.9 k"),
            (9_960.0, "10 k"),
            (3.4e8, "340 M"),
            (1e19, "1e19"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
