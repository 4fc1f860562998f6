use super::*;
use lathide_models::gain;

fn sample() -> Chart {
    let gammas = || (0..=200).map(|step| 0.25 * 16f64.powf(f64::from(step) / 200.0));
    Chart::new("gamma = t_calc / t_com", "G")
        .curve("G by eq. (4)", Stroke::Solid, gammas().map(|g| (g, gain::with_overhead(1.0 / g, 0.94, 0.02).unwrap())))
        .curve("ideal, eq. (1)", Stroke::Dotted, gammas().map(|g| (g, gain::ideal(g).unwrap())))
        .points("I.2 blocking", 'o', [(0.25, 1.0), (1.0, 1.05), (4.0, 1.02)])
        .points("I.3 measured", '*', [(0.25, 1.21), (1.0, 1.86), (4.0, 1.23)])
}

#[test]
fn fits_the_width_and_is_plain_without_colour() {
    let text = sample().render(false);
    assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "too wide:\n{text}");
    assert!(!text.contains('\x1b'));
    assert!(text.lines().all(|line| line.trim_end() == line), "trailing blanks:\n{text}");
    for part in
        ["G by eq. (4)", "ideal, eq. (1)", "I.2 blocking", "I.3 measured", "gamma = t_calc / t_com", "0.25", "1.5"]
    {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    assert!(sample().render(true).contains("\x1b[32m"));
}

#[test]
fn points_stand_where_they_belong() {
    let text = sample().render(false);
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
    let empty = Chart::new("x", "y").curve("none", Stroke::Solid, []);
    assert_eq!(empty.render(false), "(nothing to plot)");
    let bad = Chart::new("x", "y").points("bad", '*', [(f64::NAN, 1.0), (1.0, f64::INFINITY), (0.0, 1.0), (-1.0, 1.0)]);
    assert_eq!(bad.render(false), "(nothing to plot)");
    for one in [(1.0, 1.0), (1e-12, 0.0), (1e9, -5e6)] {
        let text = Chart::new("x", "y").points("one", '*', [one]).curve("c", Stroke::Solid, [one]).render(false);
        assert!(text.lines().take(HEIGHT).any(|line| line.contains('*')), "{one:?}:\n{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{one:?}:\n{text}");
    }
}

#[test]
fn curves_are_interpolated() {
    let points = [(0.5, 1.0), (2.0, 3.0)];
    assert_eq!(interpolate(&points, 1.0), Some(2.0));
    assert_eq!(interpolate(&points, 0.4), None);
    assert_eq!(interpolate(&[], 1.0), None);
}

#[test]
fn sizes_are_written_as_such() {
    let chart = || Chart::new("bytes", "s").curve("c", Stroke::Solid, [(8.0, 1.0), (f64::from(1 << 24), 2.0)]);
    let text = chart().x_in_bytes().render(false);
    assert!(text.contains("2K") && text.contains("2M") && text.contains(" 8 "), "{text}");
    assert!(!chart().render(false).contains("2M"));
}
