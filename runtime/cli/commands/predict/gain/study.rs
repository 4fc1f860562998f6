//! `lathide predict gain --cg`: conjugate gradients, whose Omega depends on p (Strumpen 1994, section 4.3).

use lathide_models::gain::{ConjugateGradient, Costs};
use serde_json::json;

use crate::commands::predict::answer::{Answer, Form, column, given, parameter, row};
use crate::commands::predict::channel::channel;
use crate::commands::predict::problem::Problem;
use crate::commands::predict::saved::Saved;
use crate::commands::predict::values::{self, Counts};
use crate::report::format::plain;

/// The options of the study.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Study {
    /// Instead: conjugate gradients on a mesh, whose Omega grows with p (section 4.3, Fig. 24), beside eq. (6) with the
    /// same --omega for any p
    #[arg(long, group = "over_procs", conflicts_with_all = ["gamma", "gamma_h", "gamma_s", "lambda", "f", "q", "startup", "target"])]
    pub(super) cg: bool,
    /// n_z, what is not 0 in a row of the matrix, with --cg [default: 5, the paper's]
    #[arg(long, value_name = "N", value_parser = values::count, allow_hyphen_values = true, requires = "cg")]
    nonzeros: Option<u32>,
    /// a/b, with --cg [default: 7359, the paper's]
    #[arg(long, value_name = "R", value_parser = values::number, allow_hyphen_values = true, requires = "cg",
          conflicts_with = "unknowns")]
    ratio: Option<f64>,
    /// N, the rows of the matrix: with --cg and a/b of a machine
    #[arg(long, value_name = "N", value_parser = values::count, allow_hyphen_values = true, requires = "cg", requires = "t_fl")]
    unknowns: Option<u32>,
    /// t_fl, the time of a floating point operation, with --unknowns
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true, requires = "unknowns")]
    t_fl: Option<f64>,
    /// t_s, the start-up of a message, with --unknowns [default: 1500us, or a of --from link.json]
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true, requires = "unknowns")]
    t_s: Option<f64>,
    /// t_w, the time of a word of 8 bytes, with --unknowns [default: 5us, or from b of --from link.json]
    #[arg(long, value_name = "TIME", value_parser = values::time_per, allow_hyphen_values = true, requires = "unknowns")]
    t_w: Option<f64>,
}

const EQUATION: &str = "Strumpen 1994, section 4.3: T(p) = a/p + b sqrt(p), T_lh(p) = (1 - f) a/p + max(f a/p + \
                        omega, b sqrt(p)), f = 2 n_z / (9 + 4 n_z), omega = 4 b, Omega = omega p/a; S = T(1)/T(p), \
                        S_lh = T_lh(1)/T_lh(p), G = S_lh/S";
/// Of a double.
const WORD_BYTES: f64 = 8.0;

impl Study {
    /// Over the number of processors; `omega` is the constant one to compare with.
    pub(super) fn answer(&self, procs: Option<&Counts>, omega: f64, saved: Option<&Saved>) -> Result<Answer, Problem> {
        let study = self.study(saved)?;
        let constant = study.with_constant_omega(omega)?;
        let (best, best_s, best_hidden) =
            (study.best_for_gain()?, study.best_for_speedup()?, study.best_for_speedup_hidden()?);
        let best_constant = constant.best_for_gain()?;
        let procs = procs.cloned().unwrap_or_else(|| {
            let optima = [Some(best), Some(best_s), Some(best_hidden), best_constant];
            let mut procs: Counts = (0..=10).map(|power| 1 << power).chain(optima.into_iter().flatten()).collect();
            procs.sort_unstable();
            procs.dedup();
            procs
        });
        let columns = vec![
            given("procs", "p", Form::Count),
            column("omega", "Omega =\n4 p b/a", Form::Number),
            column("x", "x =\nt_com/t_calc", Form::Number),
            column("speedup", "S\nCG", Form::Number),
            column("speedup_hidden", "S_lh\nparCG", Form::Number),
            column("gain", "G =\nS_lh/S", Form::Fixed(3)),
            column("gain_of_times", "T/T_lh", Form::Fixed(3)),
            column("gain_constant_omega", "G, eq. 6,\nOmega constant", Form::Fixed(3)),
        ];
        let mut rows = Vec::new();
        for &p in &procs {
            rows.push(row![
                p,
                study.omega(p)?,
                constant.ratio(p)?,
                study.speedup(p)?,
                study.speedup_hidden(p)?,
                study.gain(p)?,
                study.gain_of_times(p)?,
                constant.gain(p)?
            ]);
        }
        let mut answer = Answer::new(EQUATION, columns, rows, verdict(&study, omega)?);
        answer.parameters = vec![
            parameter("lambda", "a/b", Form::Plain, study.lambda()),
            parameter("f", "f", Form::Plain, study.f()),
            parameter("constant_omega", "the constant Omega", Form::Plain, omega),
        ];
        for (key, value) in [
            ("best_gain", json!(study.gain(best)?)),
            ("best_procs_for_gain", json!(best)),
            ("best_procs_for_speedup", json!(best_s)),
            ("best_procs_for_speedup_hidden", json!(best_hidden)),
            ("best_procs_for_gain_constant_omega", json!(best_constant)),
        ] {
            answer.findings.insert(key.into(), value);
        }
        let curves = [("Omega of p", "gain"), ("Omega constant", "gain_constant_omega")];
        Ok(answer.drawn(&["procs"], "G", &curves))
    }

    fn study(&self, saved: Option<&Saved>) -> Result<ConjugateGradient, Problem> {
        let paper = ConjugateGradient::PAPER;
        let nonzeros = self.nonzeros.unwrap_or(PAPER_NONZEROS);
        let Some((unknowns, flop_s)) = self.unknowns.zip(self.t_fl) else {
            if saved.is_some() {
                return Err(Problem::new("with --cg, what is measured needs --unknowns and --t-fl beside it"));
            }
            return Ok(ConjugateGradient::from_ratio(nonzeros, self.ratio.unwrap_or(paper.lambda()))?);
        };
        let channel = channel(self.t_s, self.t_w, WORD_BYTES, saved)?;
        let costs = Costs { flop_s, startup_s: channel.start_up_s(), word_s: channel.word_s() };
        Ok(ConjugateGradient::on_machine(nonzeros, unknowns.into(), costs)?)
    }
}

/// Where the optima are, and why they are not those of a constant Omega.
fn verdict(study: &ConjugateGradient, omega: f64) -> Result<String, Problem> {
    let constant = study.with_constant_omega(omega)?;
    let (best, best_s, best_hidden) =
        (study.best_for_gain()?, study.best_for_speedup()?, study.best_for_speedup_hidden()?);
    let mut text = format!(
        "Hiding gains most at p = {best}, G = {:.3} (S = {:.1}, S_lh = {:.1}). S is greatest at p = {best_s}, {:.1}, and \
         S_lh at p = {best_hidden}, {:.1}.",
        study.gain(best)?,
        study.speedup(best)?,
        study.speedup_hidden(best)?,
        study.speedup(best_s)?,
        study.speedup_hidden(best_hidden)?
    );
    if let Some(other) = constant.best_for_gain()? {
        text += &format!(
            " Eq. (6) with Omega = {} for every p would have its greatest G, {:.3}, at p = {other}",
            plain(omega),
            constant.gain(other)?
        );
        text += &if other == best {
            ", too.".to_owned()
        } else {
            format!(
                ": G is greatest where x = f + Omega, and this Omega grows with p, to {} there and {} at p = {best}.",
                plain(study.omega(other)?),
                plain(study.omega(best)?)
            )
        };
    }
    Ok(text)
}

/// The only whole number that all that the paper prints allows.
const PAPER_NONZEROS: u32 = 5;
