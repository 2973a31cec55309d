use proptest::prelude::*;
use ratatui::style::Color;

use super::*;
use crate::tui::glyphs::GlyphSet;
use crate::tui::testing::dump;

fn plain(value: f64) -> String {
    format!("{value}")
}

/// Draws a graph that has no margins: the whole area is the plot.
fn render(set: GlyphSet, size: (u16, u16), series: &[GraphSeries], window_seconds: f64) -> Buffer {
    let (theme, glyphs) = (Theme::embedded(), Glyphs::new(set));
    let mut buffer = Buffer::empty(Rect::new(0, 0, size.0, size.1));
    Graph { series, window_seconds, gutter: 200, ..Graph::new(&plain, &theme, &glyphs) }
        .render(buffer.area, &mut buffer);
    buffer
}

fn rows(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width);
    buffer.content.chunks(width).map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>()).collect()
}

/// One point a second, the newest at the right edge.
fn seconds(values: impl IntoIterator<Item = Option<f64>>) -> Vec<(f64, Option<f64>)> {
    let values: Vec<_> = values.into_iter().collect();
    let last = values.len();
    (1..).zip(values).map(|(number, value): (u32, _)| (last as f64 - f64::from(number), value)).collect()
}

fn series(points: &[(f64, Option<f64>)], form: Form) -> GraphSeries<'_> {
    GraphSeries { points, style: Style::new(), label: "", form }
}

/// The rows of a graph without margins in which each point has a second of its own.
fn bare(set: GlyphSet, size: (u16, u16), points: &[(f64, Option<f64>)], form: Form) -> Vec<String> {
    rows(&render(set, size, &[series(points, form)], points.len() as f64))
}

#[test]
fn an_area_of_known_heights_in_each_set() {
    let ramp = seconds([0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(Some));
    // Scale 0 to 5; 6 columns; 2 rows.
    assert_eq!(bare(GlyphSet::Block, (6, 2), &ramp, Form::Area), ["   ▂▅█", "▁▄▇███"]);
    assert_eq!(bare(GlyphSet::Ascii, (6, 2), &ramp, Form::Area), ["   _:#", "_.####"]);
    // Braille has two columns a cell: 3 cells, 8 levels.
    assert_eq!(bare(GlyphSet::Braille, (3, 2), &ramp, Form::Area), [" ⢀⣾", "⣠⣿⣿"]);
}

#[test]
fn zero_is_drawn_and_a_gap_is_not() {
    let points = seconds([Some(0.0), None, Some(1.0), None, Some(0.0), Some(0.0)]);
    for form in [Form::Area, Form::Line] {
        let blank: Vec<bool> =
            bare(GlyphSet::Block, (6, 1), &points, form)[0].chars().map(|cell| cell == ' ').collect();
        assert_eq!(blank, [false, true, false, true, false, false], "{form:?}");
    }
    assert_eq!(bare(GlyphSet::Braille, (3, 1), &points, Form::Area), ["⡀⡇⣀"]);
}

#[test]
fn a_line_is_connected_and_a_burst_is_never_averaged_away() {
    let jump = seconds([Some(0.0), Some(5.0), Some(0.0), Some(0.0)]);
    assert_eq!(
        bare(GlyphSet::Braille, (2, 1), &jump, Form::Line),
        ["⡸⣆"],
        "up on the right of the first cell, down on the left of the second"
    );
    // Ten points in the first of two columns (the last has only begun), one of them a burst.
    let mut values = vec![Some(1.0); 20];
    values[12] = Some(50.0);
    let points = seconds(values);
    let first_column = |set, form| -> String {
        let drawn = rows(&render(set, (2, 4), &[series(&points, form)], 20.0));
        drawn.iter().filter_map(|row| row.chars().next()).collect()
    };
    assert_eq!(first_column(GlyphSet::Block, Form::Line), "·  ─", "the mean, and the burst above it");
    assert_eq!(first_column(GlyphSet::Ascii, Form::Line), "'  -");
    assert_eq!(first_column(GlyphSet::Block, Form::Area), "████");
}

#[test]
fn a_line_over_an_area_keeps_both() {
    let high = seconds([Some(10.0); 4]);
    let low = seconds([Some(5.0); 4]);
    let colours = [Style::new().cyan(), Style::new().yellow()];
    let both = [
        GraphSeries { style: colours[0], ..series(&high, Form::Area) },
        GraphSeries { style: colours[1], ..series(&low, Form::Line) },
    ];
    let buffer = render(GlyphSet::Block, (4, 3), &both, 4.0);
    assert_eq!(rows(&buffer), ["████", "────", "████"]);
    assert_eq!(buffer[(0, 1)].style().fg, Some(Color::Yellow));
    assert_eq!(buffer[(0, 1)].style().bg, Some(Color::Cyan), "the area goes on behind the line");
}

/// A picture with everything on it: two minutes of a ramp, a plateau, a gap, a burst; two series, ceiling, marks, cursor.
fn picture(set: GlyphSet, size: (u16, u16), ceiling: f64) -> String {
    let (theme, glyphs) = (Theme::embedded(), Glyphs::new(set));
    let sent = seconds((0..120).map(|second| match second {
        0..30 => Some(f64::from(second) * 2.8),
        30..60 => Some(84.1),
        60..75 => None,
        75..80 => Some(0.0),
        _ => Some(40.0 + f64::from(second % 5)),
    }));
    let received = seconds((0..120).map(|second| Some(if second == 100 { 70.0 } else { 20.0 })));
    let series = [
        GraphSeries { points: &sent, style: theme.series(0), label: "tx 44.0 Gb/s", form: Form::Area },
        GraphSeries { points: &received, style: theme.series(1), label: "rx 20.0 Gb/s", form: Form::Line },
    ];
    let graph = Graph {
        series: &series,
        ceiling: Some(Ceiling { value: ceiling, name: "100G at mtu 1024" }),
        cursor_seconds_ago: Some(20.0),
        marks: &[(50.0, "A"), (500.0, "B")],
        y_label: "Gb/s",
        legend: 14,
        ..Graph::new(&plain, &theme, &glyphs)
    };
    let mut buffer = Buffer::empty(Rect::new(0, 0, size.0, size.1));
    graph.render(buffer.area, &mut buffer);
    dump(&buffer)
}

#[test]
fn pictures_at_80_columns() {
    insta::assert_snapshot!("braille_80", picture(GlyphSet::Braille, (80, 8), 92.6));
    insta::assert_snapshot!("block_80", picture(GlyphSet::Block, (80, 8), 92.6));
    insta::assert_snapshot!("ascii_80", picture(GlyphSet::Ascii, (80, 8), 92.6));
}

#[test]
fn pictures_of_other_sizes() {
    insta::assert_snapshot!("braille_200x16", picture(GlyphSet::Braille, (200, 16), 92.6));
    insta::assert_snapshot!("ceiling_far_above", picture(GlyphSet::Braille, (80, 4), 4000.0));
    insta::assert_snapshot!("one_row", picture(GlyphSet::Braille, (60, 1), 92.6));
    insta::assert_snapshot!("narrow", picture(GlyphSet::Block, (12, 4), 92.6));
}

#[test]
fn the_ascii_picture_is_ascii() {
    assert!(picture(GlyphSet::Ascii, (200, 16), 92.6).is_ascii());
    assert!(picture(GlyphSet::Ascii, (80, 4), 4000.0).is_ascii());
}

#[test]
fn without_samples_there_is_a_sentence_and_no_scale() {
    let nothing = seconds([None, None]);
    let text = rows(&render(GlyphSet::Braille, (40, 3), &[series(&nothing, Form::Area)], 2.0)).concat();
    assert_eq!(text.trim(), "no samples in this window");
}

fn any_value() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        3 => (0.0..1e12).prop_map(Some),
        1 => Just(None),
        1 => Just(Some(0.0)),
        1 => any::<f64>().prop_map(Some),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn any_graph_of_any_size_stays_within_its_area(
        (width, height) in (0u16..=300, 0u16..=100).prop_map(|(width, height)| (width, if width > 60 { height % 20 } else { height })),
        (x, y) in (0u16..5, 0u16..5),
        values in proptest::collection::vec((any_value(), -5.0..200.0f64), 0..40),
        set in proptest::sample::select(GlyphSet::ALL.to_vec()),
        form in proptest::sample::select(vec![Form::Area, Form::Line]),
        window in prop_oneof![5 => 0.001..1e5f64, 1 => any::<f64>()],
        edge in prop_oneof![5 => 0.0..2e9f64, 1 => any::<f64>()],
        ceiling in any_value(),
        cursor in any_value(),
        marks in proptest::collection::vec("[A-Z]{0,3}", 0..5),
        (gutter, legend) in (0u16..=300, 0u16..=300),
    ) {
        let (theme, glyphs) = (Theme::embedded(), Glyphs::new(set));
        let mut points: Vec<(f64, Option<f64>)> = values.iter().map(|(value, ago)| (*ago, *value)).collect();
        points.sort_by(|left, right| right.0.total_cmp(&left.0));
        let series = [GraphSeries { points: &points, style: theme.series(2), label: "rx\u{1b}[2J", form }];
        let area = Rect::new(x, y, width, height);
        let whole = Rect::new(0, 0, x + width + 2, y + height + 2);
        let mut buffer = Buffer::filled(whole, ratatui::buffer::Cell::new("x"));
        for position in area.positions() {
            buffer[position].reset();
        }
        let marks: Vec<(f64, &str)> = marks.iter().map(|mark| (cursor.unwrap_or(1.0) / 2.0, mark.as_str())).collect();
        Graph {
            series: &series,
            window_seconds: window,
            right_edge_seconds: edge,
            ceiling: ceiling.map(|value| Ceiling { value, name: "line rate" }),
            cursor_seconds_ago: cursor,
            marks: &marks,
            y_label: "Gb/s",
            gutter,
            legend,
            ..Graph::new(&plain, &theme, &glyphs)
        }
        .render(area, &mut buffer);
        let outside = whole.positions().filter(|position| !area.contains(*position));
        prop_assert!(outside.into_iter().all(|position| buffer[position].symbol() == "x"));
        // A plot without any known value shows no dot and no bar.
        if values.iter().all(|(value, _)| value.is_none_or(|value| !value.is_finite())) {
            let drawn = |symbol: &str| symbol.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c) || ('▁'..='█').contains(&c));
            prop_assert!(!buffer.content.iter().any(|cell| drawn(cell.symbol())));
        }
    }
}
