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
fn curves_go_straight_between_their_points() {
    let chart = |stroke| {
        let points = Chart::new("x", "y").points("p", '*', [(0.125, 1.0), (2.0, 3.0)]);
        points.curve("c", stroke, [(0.5, 1.0), (2.0, 3.0)]).render(false)
    };
    let columns_of = |text: &str, row: usize| -> Vec<usize> {
        let line: Vec<char> = text.lines().nth(1 + row).unwrap().chars().skip(LABEL + 2).collect();
        (0..line.len()).filter(|&column| ('\u{2801}'..='\u{28ff}').contains(&line[column])).collect()
    };
    for stroke in [Stroke::Solid, Stroke::Dotted] {
        let text = chart(stroke);
        let rows: Vec<Vec<usize>> = (0..HEIGHT).map(|row| columns_of(&text, row)).collect();
        let all = || rows.iter().flatten();
        assert!(all().all(|&column| column >= COLUMNS / 2 - 1), "not before its first point:\n{text}");
        // Half the way up it is at x = 1, three quarters of the way along.
        let middle = rows[HEIGHT / 2 - 1].iter().chain(&rows[HEIGHT / 2]);
        assert!(middle.clone().count() > 0 && middle.clone().all(|at| at.abs_diff(COLUMNS * 3 / 4) <= 3), "{text}");
        assert!(rows.iter().rev().flatten().is_sorted(), "it rises:\n{text}");
        if stroke == Stroke::Solid {
            assert!((COLUMNS / 2 + 1..COLUMNS - 1).all(|column| all().any(|&at| at == column)), "no gaps:\n{text}");
        }
    }
}

#[test]
fn sizes_are_written_as_such() {
    let chart = || Chart::new("bytes", "s").curve("c", Stroke::Solid, [(8.0, 1.0), (f64::from(1 << 24), 2.0)]);
    let text = chart().x_in_bytes().render(false);
    assert!(text.contains("2K") && text.contains("2M") && text.contains(" 8 "), "{text}");
    assert!(!chart().render(false).contains("2M"));
}
