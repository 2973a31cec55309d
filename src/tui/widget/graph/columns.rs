//! From points in time to columns of dots. A column covers the same moments for as long as it is on the screen, so a curve
//! scrolls without changing its shape.

/// The time axis of a plot.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    right_edge: f64,
    window: f64,
    seconds_per_column: f64,
    /// Columns of dots.
    count: u32,
    per_cell: u16,
    /// True if columns stay where they are and the newest one goes round.
    sweeps: bool,
}

impl Axis {
    /// `None` if no time is shown.
    pub fn new(right_edge: f64, window: f64, cells: u16, columns_per_cell: u16) -> Option<Self> {
        let count = u32::from(cells) * u32::from(columns_per_cell);
        let seconds_per_column = window / f64::from(count);
        let possible = window.is_finite() && right_edge.is_finite() && seconds_per_column > 0.0;
        (possible && count > 0).then_some(Self {
            right_edge,
            window,
            seconds_per_column,
            count,
            per_cell: columns_per_cell,
            sweeps: false,
        })
    }

    /// The same axis on which columns stay where they are and the newest one goes round.
    pub fn sweeping(self) -> Self {
        Self { sweeps: true, ..self }
    }

    /// By how many columns a sweeping axis is turned to the right.
    fn turn(self) -> usize {
        if !self.sweeps {
            return 0;
        }
        let last = (self.right_edge / self.seconds_per_column).floor();
        self.index((last + 1.0).rem_euclid(f64::from(self.count))).unwrap_or(0)
    }

    /// How many columns are blank between the newest and the oldest one of a sweeping axis: a whole cell and the rest of
    /// the one that the newest is in, so that the edge is seen in a plot of any width.
    fn blank(self) -> usize {
        let per_cell = usize::from(self.per_cell.max(1));
        if self.sweeps { per_cell + (per_cell - self.turn() % per_cell) % per_cell } else { 0 }
    }

    /// The column of a moment some seconds before the right edge: 0 is the oldest; outside of the window it is negative or
    /// beyond the last.
    fn column(self, ago: f64) -> f64 {
        let moment = ((self.right_edge - ago) / self.seconds_per_column).floor();
        let last = (self.right_edge / self.seconds_per_column).floor();
        moment - last + f64::from(self.count - 1)
    }

    fn index(self, column: f64) -> Option<usize> {
        let inside = column >= 0.0 && column < f64::from(self.count);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within the columns, checked above"
        )]
        inside.then_some(column as usize)
    }

    /// The cell of a moment some seconds before the right edge; `None` outside of the window.
    pub fn cell(self, ago: f64) -> Option<u16> {
        let column = self.column(ago);
        // The window's very first moment may lie in the column before the first one.
        let column = if (0.0..=self.window).contains(&ago) { column.max(0.0) } else { column };
        let index = self.index(column)?;
        if index < self.blank() {
            return None;
        }
        let count = usize::try_from(self.count).ok()?;
        let cell = (index + self.turn()) % count / usize::from(self.per_cell);
        u16::try_from(cell).ok()
    }
}

/// What is known of the moments of one column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// The mean of its points.
    pub mean: f64,
    /// The highest of its points.
    pub highest: f64,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    count: f64,
    total: f64,
    highest: f64,
}

/// The columns of a series; `None` where there is nothing to draw. Columns between two known points that are no further
/// apart than `gap` seconds are on the straight line between them.
pub fn columns(points: &[(f64, Option<f64>)], axis: Axis, gap: f64) -> Vec<Option<Column>> {
    let count = usize::try_from(axis.count).unwrap_or(0);
    let mut sums = vec![Sum::default(); count];
    let mut between: Vec<Option<f64>> = vec![None; count];
    let mut before: Option<(f64, f64)> = None;
    for (ago, value) in points {
        let known = value.filter(|value| value.is_finite() && ago.is_finite()).map(|value| value.max(0.0));
        if let Some(value) = known {
            if let Some(sum) = axis.index(axis.column(*ago)).and_then(|index| sums.get_mut(index)) {
                sum.count += 1.0;
                sum.total += value;
                sum.highest = sum.highest.max(value);
            }
            if let Some(older) = before.filter(|(older, _)| older - ago <= gap) {
                connect(&mut between, axis, older, (*ago, value));
            }
        }
        before = known.map(|value| (*ago, value));
    }
    let joined = sums.into_iter().zip(between);
    let mut columns: Vec<Option<Column>> = joined
        .map(|(sum, between)| if sum.count > 0.0 { Some(sum.column()) } else { between.map(Column::single) })
        .collect();
    for column in columns.iter_mut().take(axis.blank()) {
        *column = None;
    }
    columns.rotate_right(axis.turn());
    columns
}

impl Sum {
    fn column(self) -> Column {
        let mean = self.total / self.count;
        Column { mean: if mean.is_finite() { mean } else { self.highest }, highest: self.highest }
    }
}

impl Column {
    fn single(value: f64) -> Self {
        Self { mean: value, highest: value }
    }
}

/// Fills the columns strictly between two points.
fn connect(between: &mut [Option<f64>], axis: Axis, older: (f64, f64), newer: (f64, f64)) {
    let (from, to) = (axis.column(older.0), axis.column(newer.0));
    let first = (from + 1.0).max(0.0);
    let last = (to - 1.0).min(f64::from(axis.count) - 1.0);
    let mut column = first;
    while column <= last {
        if let Some(slot) = axis.index(column).and_then(|index| between.get_mut(index)) {
            let part = (column - from) / (to - from);
            *slot = Some(older.1 * (1.0 - part) + newer.1 * part);
        }
        column += 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(right_edge: f64, window: f64, cells: u16) -> Axis {
        Axis::new(right_edge, window, cells, 1).expect("an axis")
    }

    fn means(points: &[(f64, Option<f64>)], axis: Axis, gap: f64) -> Vec<Option<f64>> {
        columns(points, axis, gap).into_iter().map(|column| column.map(|column| column.mean)).collect()
    }

    #[test]
    fn points_fall_into_their_columns_the_newest_at_the_right() {
        let points = [(3.0, Some(1.0)), (2.0, Some(2.0)), (0.0, Some(4.0))];
        assert_eq!(means(&points, axis(0.0, 4.0, 4), 1.0), [Some(1.0), Some(2.0), None, Some(4.0)]);
    }

    #[test]
    fn several_points_of_a_column_give_mean_and_highest() {
        let points = [(1.5, Some(9.0)), (1.2, Some(3.0)), (1.1, None), (0.5, Some(1.0))];
        let found = columns(&points, axis(0.9, 2.0, 2), 9.0);
        assert_eq!(found, [Some(Column { mean: 6.0, highest: 9.0 }), Some(Column { mean: 1.0, highest: 1.0 })]);
    }

    #[test]
    fn close_points_are_connected_and_gaps_are_not() {
        let line = means(&[(4.0, Some(0.0)), (0.0, Some(4.0))], axis(0.0, 5.0, 5), 4.0);
        assert_eq!(line, [Some(0.0), Some(1.0), Some(2.0), Some(3.0), Some(4.0)]);
        let far = means(&[(4.0, Some(0.0)), (0.0, Some(4.0))], axis(0.0, 5.0, 5), 3.0);
        assert_eq!(far, [Some(0.0), None, None, None, Some(4.0)]);
        let broken = means(&[(4.0, Some(0.0)), (2.0, None), (0.0, Some(4.0))], axis(0.0, 5.0, 5), 9.0);
        assert_eq!(
            broken,
            [Some(0.0), None, None, None, Some(4.0)],
            "a gap that is told breaks the line at any distance"
        );
        let not_a_number = means(&[(2.0, Some(1.0)), (1.0, Some(f64::NAN)), (0.0, Some(1.0))], axis(0.0, 3.0, 3), 9.0);
        assert_eq!(not_a_number, [Some(1.0), None, Some(1.0)]);
    }

    #[test]
    fn a_line_enters_the_window_from_before_it() {
        assert_eq!(means(&[(4.0, Some(2.0)), (0.0, Some(2.0))], axis(0.0, 3.0, 3), 4.0), [Some(2.0); 3]);
    }

    #[test]
    fn columns_keep_their_points_while_time_goes_on() {
        // One point every second in columns of 2.5 s; the edge moves by a second. Whatever stays in sight keeps its value.
        let series = |now: f64| -> Vec<(f64, Option<f64>)> {
            (0..100).map(f64::from).filter(|at| *at <= now).map(|at| (now - at, Some((at * 7.0) % 11.0))).collect()
        };
        let shown = |now: f64| means(&series(now), axis(now, 25.0, 10), 9.0);
        let (early, late) = (shown(60.0), shown(61.0));
        assert_eq!(early[..9], late[..9], "within one column nothing moves but the newest");
        let later = shown(62.5);
        assert_eq!(early[1..9], later[..8], "then all moves by one");
    }

    #[test]
    fn a_sweeping_axis_changes_the_newest_column_and_the_blank_one_only() {
        let series = |now: f64| -> Vec<(f64, Option<f64>)> {
            (0..100).map(f64::from).filter(|at| *at <= now).map(|at| (now - at, Some((at * 7.0) % 11.0))).collect()
        };
        for per_cell in [1, 2] {
            let sweep = |now: f64| Axis::new(now, 20.0, 20 / per_cell, per_cell).expect("an axis").sweeping();
            let shown = |now: f64| means(&series(now), sweep(now), 9.0);
            for second in 40..80_u32 {
                let now = f64::from(second);
                let (before, after) = (shown(now), shown(now + 1.0));
                let changed: Vec<usize> = (0..20).filter(|at| before[*at] != after[*at]).collect();
                assert!(changed.len() <= 1 + usize::from(per_cell), "{now}: {changed:?}");
                let place = (second as usize + 1) % 20;
                assert_eq!(after[place], Some(((now + 1.0) * 7.0) % 11.0), "the newest stands at {place}");
                let next_cell = (place / usize::from(per_cell) + 1) * usize::from(per_cell) % 20;
                assert!((0..usize::from(per_cell)).all(|at| after[next_cell + at].is_none()), "{now}: {after:?}");
                assert_eq!(sweep(now + 1.0).cell(0.0).map(usize::from), Some(place / usize::from(per_cell)));
            }
        }
    }

    #[test]
    fn moments_of_a_sweeping_axis_stay_where_they_are() {
        let at = |now: f64| Axis::new(now, 20.0, 20, 1).expect("an axis").sweeping().cell(now - 50.0);
        assert_eq!([at(50.0), at(55.0), at(68.0)], [Some(10), Some(10), Some(10)]);
        assert_eq!([at(69.0), at(75.0)], [None, None], "swept away");
    }

    #[test]
    fn cells_of_moments() {
        let axis = Axis::new(0.0, 10.0, 10, 2).expect("an axis");
        assert_eq!([axis.cell(0.0), axis.cell(5.0), axis.cell(10.0)], [Some(9), Some(4), Some(0)]);
        assert_eq!([axis.cell(-2.0), axis.cell(11.0), axis.cell(f64::NAN)], [None, None, None]);
        assert!(
            Axis::new(0.0, 0.0, 10, 2).is_none()
                && Axis::new(0.0, f64::NAN, 10, 2).is_none()
                && Axis::new(0.0, 1.0, 0, 2).is_none()
        );
    }
}
