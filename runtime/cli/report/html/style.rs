//! Colours and rules. A page has its colours as variables, for light and dark; a picture of its own has the light ones.

/// A colour: its name, on light and on dark paper.
type Colour = (&'static str, &'static str, &'static str);

/// Inks and papers, and the colours of series: after Okabe and Ito, which people with any colour vision tell apart; darker on
/// light paper and lighter on dark paper, so that each stands out from it.
pub(super) const COLOURS: [Colour; 12] = [
    ("paper", "#ffffff", "#14181e"),
    ("ink", "#1c2430", "#dde3ea"),
    ("dim", "#565f6c", "#a3adba"),
    ("rule", "#d5dae1", "#333c48"),
    ("s0", "#0072b2", "#62c4ff"),
    ("s1", "#d55e00", "#f0803c"),
    ("s2", "#009e73", "#2caf80"),
    ("s3", "#b8689c", "#dc9cc4"),
    ("s4", "#6b4e00", "#f8ea58"),
    ("s5", "#20242e", "#dfe6ee"),
    ("warn", "#b03a00", "#ff9a5c"),
    ("good", "#00704f", "#5fd6ab"),
];

/// Colours of series, and shapes of their marks.
pub(super) const SERIES: usize = 6;

/// The rules of the page.
pub(super) fn of_page() -> String {
    let variables = |pick: fn(&Colour) -> &'static str| -> String {
        COLOURS.iter().map(|colour| format!(" --{}: {};", colour.0, pick(colour))).collect()
    };
    let (light, dark) = (variables(|colour| colour.1), variables(|colour| colour.2));
    format!(
        ":root {{ color-scheme: light dark;{light} }}\n@media (prefers-color-scheme: dark) {{ :root {{{dark} }} }}\n{PAGE}{FIGURE}"
    )
}

/// The rules of a picture of its own, on white. Not every program that shows one knows variables.
pub(super) fn of_figure() -> String {
    COLOURS.iter().fold(FIGURE.to_owned(), |rules, (name, light, _)| rules.replace(&format!("var(--{name})"), light))
}

const PAGE: &str = "\
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 1100px; margin: 1.5em auto;
  padding: 0 16px; overflow-wrap: break-word; }
h1 { font-size: 1.5em; margin: 0 0 .5em; } h2 { font-size: 1.25em; margin: 2.4em 0 .6em; padding-bottom: .2em; border-bottom: 1px solid var(--rule); }
p { max-width: 75ch; } a { color: var(--s0); }
.overview { list-style: none; padding: 0; } .overview li { margin: .5em 0; padding: .5em .8em; border: 1px solid var(--rule); border-radius: 6px; }
.overview p { margin: .2em 0 0; }
.file { color: var(--dim); font-size: .8em; font-weight: normal; }
.meaning { font-size: 1.05em; } .warning { border-left: 4px solid var(--warn); padding-left: .7em; }
.verdict { display: inline-block; border: 1.5px solid currentColor; border-radius: 999px; padding: 0 .7em; font-size: .85em; font-weight: 600; white-space: nowrap; }
.valid { color: var(--good); } .disturbed, .partial { color: var(--warn); } .impossible { color: var(--ink); background: var(--rule); }
.place { color: var(--dim); font-size: .9em; padding-left: 1.2em; }
figure { margin: 1.4em 0 1.8em; } figcaption { font-weight: 600; padding-bottom: .3em; } p.caption { margin: 1.4em 0 0; }
figure svg { display: block; width: 100%; height: auto; max-width: 720px; } figure svg.slim { display: none; max-width: 520px; }
@media (max-width: 759px) { figure svg.slim { display: block; } figure svg.wide { display: none; } }
figure svg.whole { max-width: none; }
.scroll { overflow-x: auto; max-width: 100%; margin: .4em 0 1.4em; } .scroll:focus-visible { outline: 2px solid var(--s0); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; white-space: nowrap; padding: .15em .8em; border-bottom: 1px solid var(--rule); }
th { font-weight: 600; color: var(--dim); vertical-align: bottom; } th:first-child, td:first-child { text-align: left; padding-left: 0; }
th.word, td.word { text-align: left; }
footer { margin: 3em 0 1em; color: var(--dim); font-size: .85em; }
@media print { .scroll { overflow: visible; } }
";

const FIGURE: &str = "\
svg text { font: 12px system-ui, sans-serif; fill: var(--dim); } svg text.ink { fill: var(--ink); }
svg text.over { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
svg .mid { text-anchor: middle; } svg .end { text-anchor: end; }
svg .grid { stroke: var(--rule); fill: none; } svg .axis { stroke: var(--dim); fill: none; } svg .back { fill: var(--paper); }
svg .line { fill: none; stroke: currentColor; stroke-width: 2; } svg .dotted { stroke-dasharray: 2 4; stroke-linecap: round; }
svg .range { fill: none; stroke: currentColor; stroke-width: 1.5; } svg .joint { stroke: var(--dim); stroke-width: 1.5; fill: none; }
svg .mark { fill: currentColor; stroke: var(--paper); stroke-width: .8; } svg .bar { fill: currentColor; }
svg .cell { fill: var(--s0); stroke: var(--rule); } svg .none { fill: none; stroke: var(--rule); } svg .cross { stroke: var(--warn); stroke-width: 2; fill: none; }
svg .s0 { color: var(--s0); } svg .s1 { color: var(--s1); } svg .s2 { color: var(--s2); } svg .s3 { color: var(--s3); }
svg .s4 { color: var(--s4); } svg .s5 { color: var(--s5); }
svg .t-compute { fill: var(--s2); } svg .t-initread { fill: var(--s4); } svg .t-initwrite { fill: var(--s3); } svg .t-wait { fill: var(--s1); }
svg .t-finalize, svg .t-other { fill: var(--dim); } svg .t-in { fill: var(--s0); } svg .t-out { fill: var(--s5); } svg .t-down { fill: var(--ink); }
";

#[cfg(test)]
mod tests {
    use super::*;

    /// Red, green and blue of a colour, linear, from 0 to 1.
    fn linear(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn luminance(of: [f64; 3]) -> f64 {
        0.2126 * of[0] + 0.7152 * of[1] + 0.0722 * of[2]
    }

    /// WCAG 2.2: 3 for what is drawn (1.4.11), 4.5 for text (1.4.3).
    #[test]
    fn everything_stands_out_from_its_paper() {
        for paper in [|colour: &Colour| colour.1, |colour: &Colour| colour.2] {
            let back = luminance(linear(paper(&COLOURS[0])));
            for colour in COLOURS.iter().filter(|(name, ..)| !["paper", "rule"].contains(name)) {
                let own = luminance(linear(paper(colour)));
                let contrast = (own.max(back) + 0.05) / (own.min(back) + 0.05);
                let least = if colour.0.starts_with('s') { 3.0 } else { 4.5 };
                assert!(contrast >= least, "{colour:?}: {contrast}");
            }
        }
    }

    /// As people without red, green or blue cones see them (Machado, Oliveira, Fernandes 2009, severity 1).
    #[test]
    fn series_can_be_told_apart_with_any_colour_vision() {
        const SIGHT: [[[f64; 3]; 3]; 3] = [
            [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
            [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
            [
                [1.255_528, -0.076_749, -0.178_779],
                [-0.078_411, 0.930_809, 0.147_602],
                [0.004_733, 0.691_367, 0.303_900],
            ],
        ];
        for paper in [|colour: &Colour| colour.1, |colour: &Colour| colour.2] {
            for sight in SIGHT {
                let seen = |colour: &Colour| {
                    let rgb = linear(paper(colour));
                    sight.map(|row| {
                        row.iter().zip(rgb).map(|(factor, part)| factor * part).sum::<f64>().clamp(0.0, 1.0).cbrt()
                    })
                };
                let series: Vec<&Colour> = COLOURS.iter().filter(|(name, ..)| name.len() == 2).collect();
                assert_eq!(series.len(), SERIES);
                for (at, one) in series.iter().enumerate() {
                    for other in &series[..at] {
                        let apart = seen(one).iter().zip(seen(other)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                        assert!(apart > 0.07, "{one:?} and {other:?}: {apart:.3}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_picture_of_its_own_has_no_variables() {
        assert!(!of_figure().contains("var(") && of_figure().contains("#0072b2"));
    }
}
