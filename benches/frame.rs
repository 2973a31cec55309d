//! What a frame costs: six graphs of ten minutes on a screen of 200 x 50 cells, all scrolling, from the points to the bytes
//! that go to the terminal. After the benchmarks the percentiles of 2,000 frames are printed; the 99th must stay below 3 ms.

use std::io::sink;
use std::time::{Duration, Instant};

use ratatui::layout::{Constraint, Layout, Size};
use rdmascope::tui::screen::Screen;
use rdmascope::tui::widget::{Ceiling, Form, Graph, GraphSeries};
use rdmascope::tui::{GlyphSet, Glyphs, Theme};

/// The longest that one frame in a hundred may take.
const GOAL: Duration = Duration::from_millis(3);

fn main() {
    divan::main();
    percentiles();
}

/// Six graphs with two series each, as they are at some second.
struct Panel {
    theme: Theme,
    glyphs: Glyphs,
    second: f64,
}

impl Panel {
    fn new(set: GlyphSet) -> Self {
        Self { theme: Theme::embedded(), glyphs: Glyphs::new(set), second: 1_000_000.0 }
    }

    fn points(&self, phase: f64) -> Vec<(f64, Option<f64>)> {
        (0..600u32)
            .map(|number| {
                let ago = 599.0 - f64::from(number);
                let at = self.second - ago + phase;
                ((at % 97.0) < 90.0)
                    .then(|| 50.0 + 30.0 * (at / 7.0).sin() + 10.0 * (at * 1.7).sin())
                    .map_or((ago, None), |value| (ago, Some(value)))
            })
            .collect()
    }

    fn draw(&mut self, screen: &mut Screen) {
        self.second += 1.0;
        let panel = &*self;
        screen
            .draw(|frame| {
                let rows = Layout::vertical([Constraint::Fill(1); 6]).split(frame.area());
                for (number, row) in (0u32..).zip(rows.iter()) {
                    let points = [panel.points(f64::from(number)), panel.points(f64::from(number) + 31.0)];
                    let series = [
                        GraphSeries {
                            points: &points[0],
                            style: panel.theme.series(0),
                            label: "tx 84.1 Gb/s",
                            form: Form::Area,
                        },
                        GraphSeries {
                            points: &points[1],
                            style: panel.theme.series(1),
                            label: "rx 83.8 Gb/s",
                            form: Form::Line,
                        },
                    ];
                    let format = |value: f64| format!("{value} Gb/s");
                    let graph = Graph {
                        series: &series,
                        window_seconds: 600.0,
                        right_edge_seconds: panel.second,
                        ceiling: Some(Ceiling { value: 92.6, name: "100 Gb/s at mtu 1024" }),
                        cursor_seconds_ago: Some(120.0),
                        marks: &[(200.0, "A")],
                        legend: 16,
                        ..Graph::new(&format, &panel.theme, &panel.glyphs)
                    };
                    frame.render_widget(graph, *row);
                }
            })
            .expect("a frame is bytes in memory");
        screen.write_to(&mut sink()).expect("a sink takes all");
    }
}

fn screen() -> Screen {
    Screen::new(Size::new(200, 50), true).expect("no terminal is touched")
}

#[divan::bench(args = ["braille", "block", "ascii"])]
fn six_graphs_scroll(bencher: divan::Bencher, set: &str) {
    let mut panel = Panel::new(GlyphSet::ALL.into_iter().find(|known| known.name() == set).expect("a set"));
    let mut screen = screen();
    bencher.bench_local(|| panel.draw(&mut screen));
}

#[divan::bench]
fn six_graphs_redrawn_whole(bencher: divan::Bencher) {
    let mut panel = Panel::new(GlyphSet::Braille);
    let mut screen = screen();
    bencher.bench_local(|| {
        screen.start_over().expect("no terminal is touched");
        panel.draw(&mut screen);
    });
}

#[expect(clippy::print_stdout, reason = "a benchmark reports to whoever ran it")]
fn percentiles() {
    let mut panel = Panel::new(GlyphSet::Braille);
    let mut screen = screen();
    let mut times: Vec<Duration> = (0..2_000)
        .map(|_| {
            let before = Instant::now();
            panel.draw(&mut screen);
            before.elapsed()
        })
        .collect();
    times.sort_unstable();
    let [half, most, worst] = [times[times.len() / 2], times[times.len() * 99 / 100], times[times.len() - 1]];
    println!("six graphs at 200 x 50: p50 {half:?}, p99 {most:?}, worst {worst:?}; the goal is a p99 below {GOAL:?}");
    if !cfg!(debug_assertions) {
        assert!(most < GOAL, "the 99th percentile is {most:?}");
    }
}
