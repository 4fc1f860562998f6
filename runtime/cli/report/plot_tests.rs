use super::*;
use crate::report::WIDTH;
use crate::report::results::Form;
use lathide_models::gain;

/// The columns that are drawn on.
const COLUMNS: usize = WIDTH - MARGIN;

/// The chart where there is no terminal.
fn plain(chart: &Chart) -> String {
    render(chart, Screen::PLAIN)
}

fn empty() -> Chart {
    Chart::new(Axis::log("x", Form::Plain), Axis::linear("y", Form::Plain))
}

fn points(points: &[(f64, f64)]) -> Vec<[f64; 4]> {
    points.iter().map(|&(x, y)| [x, y, y, y]).collect()
}

fn sample() -> Chart {
    let gammas = || (0..=200).map(|step| 0.25 * 16f64.powf(f64::from(step) / 200.0));
    Chart::new(Axis::log("gamma = t_calc / t_com", Form::Plain), Axis::linear("G", Form::Plain))
        .curve("G by eq. (4)", Look::Solid, gammas().map(|g| (g, gain::with_overhead(1.0 / g, 0.94, 0.02).unwrap())))
        .curve("ideal, eq. (1)", Look::Dotted, gammas().map(|g| (g, gain::ideal(g).unwrap())))
        .points("I.3 measured", points(&[(0.25, 1.21), (1.0, 1.86), (4.0, 1.23)]))
        .points("I.2 blocking", points(&[(0.25, 1.0), (1.0, 1.05), (4.0, 1.02)]))
}

#[test]
fn fits_the_width_and_is_plain_without_colour() {
    for width in [40, 80, 100, 160] {
        let text = render(&sample(), Screen::of(width, false));
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest.is_some_and(|widest| widest <= width && widest + 6 > width), "not {width} wide:\n{text}");
    }
    let text = plain(&sample());
    assert!(!text.contains('\x1b'));
    assert!(text.lines().all(|line| line.trim_end() == line), "trailing blanks:\n{text}");
    for part in
        ["G by eq. (4)", "ideal, eq. (1)", "I.2 blocking", "I.3 measured", "gamma = t_calc / t_com", "0.25", "1.5"]
    {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    assert!(render(&sample(), Screen::of(WIDTH, true)).contains("\x1b[32m"));
}

#[test]
fn points_stand_where_they_belong() {
    let text = plain(&sample());
    let rows: Vec<(usize, Vec<usize>)> = text
        .lines()
        .take(1 + HEIGHT)
        .enumerate()
        .map(|(row, line)| (row, line.chars().enumerate().filter(|(_, sign)| *sign == '*').map(|(at, _)| at).collect()))
        .filter(|(_, at): &(usize, Vec<usize>)| !at.is_empty())
        .collect();
    let all: Vec<usize> = rows.iter().flat_map(|(_, at)| at.clone()).collect();
    assert_eq!(all.len(), 3, "every point is drawn:\n{text}");
    let left = LABEL + 2;
    assert!(all.contains(&left) && all.contains(&(left + COLUMNS - 1)), "first and last at the edges:\n{text}");
    // The one at gamma = 1 is the highest, and in the middle of the logarithmic axis.
    assert_eq!(rows[0].1.len(), 1);
    assert!(rows[0].1[0].abs_diff(left + COLUMNS / 2) <= 1, "{text}");
}

#[test]
fn odd_data_is_drawn_or_left_out() {
    assert_eq!(plain(&empty().curve("none", Look::Solid, [])), "(nothing to plot)");
    let bad = points(&[(f64::NAN, 1.0), (1.0, f64::INFINITY), (0.0, 1.0), (-1.0, 1.0)]);
    assert_eq!(plain(&empty().points("bad", bad)), "(nothing to plot)");
    for one in [(1.0, 1.0), (1e-12, 0.0), (1e9, -5e6)] {
        let text = plain(&empty().points("one", points(&[one])).curve("c", Look::Solid, [one]));
        assert!(text.lines().take(HEIGHT).any(|line| line.contains('*')), "{one:?}:\n{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{one:?}:\n{text}");
    }
}

#[test]
fn curves_go_straight_between_their_points() {
    let chart = |look| {
        let chart = empty().points("p", points(&[(0.125, 1.0), (2.0, 3.0)]));
        plain(&chart.curve("c", look, [(0.5, 1.0), (2.0, 3.0)]))
    };
    let columns_of = |text: &str, row: usize| -> Vec<usize> {
        let line: Vec<char> = text.lines().nth(1 + row).unwrap().chars().skip(LABEL + 2).collect();
        (0..line.len()).filter(|&column| ('\u{2801}'..='\u{28ff}').contains(&line[column])).collect()
    };
    for look in [Look::Solid, Look::Dotted] {
        let text = chart(look);
        let rows: Vec<Vec<usize>> = (0..HEIGHT).map(|row| columns_of(&text, row)).collect();
        let all = || rows.iter().flatten();
        assert!(all().all(|&column| column >= COLUMNS / 2 - 1), "not before its first point:\n{text}");
        // Half the way up it is at x = 1, three quarters of the way along.
        let middle = rows[HEIGHT / 2 - 1].iter().chain(&rows[HEIGHT / 2]);
        assert!(middle.clone().count() > 0 && middle.clone().all(|at| at.abs_diff(COLUMNS * 3 / 4) <= 3), "{text}");
        assert!(rows.iter().rev().flatten().is_sorted(), "it rises:\n{text}");
        if look == Look::Solid {
            assert!((COLUMNS / 2 + 1..COLUMNS - 1).all(|column| all().any(|&at| at == column)), "no gaps:\n{text}");
        }
    }
}

#[test]
fn axes_have_the_units_of_their_values() {
    let chart = Chart::new(Axis::log("bytes", Form::Bytes), Axis::log("time", Form::Seconds));
    let text = plain(&chart.curve("c", Look::Solid, [(8.0, 2e-6), (f64::from(1 << 24), 30e-3)]));
    for part in ["2K", "2M", " 8 ", " 1 us ┤", "100 ms ┤"] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
}
