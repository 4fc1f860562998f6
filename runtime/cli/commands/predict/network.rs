//! The hyperbolic model's network (Stoica, Sultan, Keyes 1994), from options or a measured link.

use lathide_models::BadParameter;
use lathide_models::hyperbolic::{Block, Network};

use super::answer::{Form, Parameter, parameter};
use super::problem::Problem;
use super::saved::{Contention, Saved};
use super::values;

/// The options.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct NetworkArgs {
    /// T(x; a, b) of a message alone: the time of the smallest [default: from --from link.json]
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    a: Option<f64>,
    /// T(x; a, b) of a message alone: the time of each byte of the largest [default: from --from link.json]
    #[arg(long, value_name = "TIME", value_parser = values::time_per, allow_hyphen_values = true)]
    b: Option<f64>,
    /// With a and b: whether all messages share one medium, b_C = b, or a switch keeps them apart, b_C = 0
    /// [default: with --from as lathide link --pairs measured it, or else as the link was; else switched]
    #[arg(long, value_name = "KIND")]
    medium: Option<Medium>,
    /// a_W, the workstation's time for the smallest message
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    a_w: Option<f64>,
    /// b_W, the workstation's time per byte
    #[arg(long, value_name = "TIME", value_parser = values::time_per, allow_hyphen_values = true)]
    b_w: Option<f64>,
    /// a_C, the network's time for the smallest message [default: as measured by lathide link --pairs]
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    a_c: Option<f64>,
    /// b_C, the network's time per byte. Without --a, --b and --from, a and b of workstation and network are those of
    /// the paper's SparcstationELC on Ethernet: 859.52us, 1.42us/B, 345.6us, 0.92us/B
    #[arg(long, value_name = "TIME", value_parser = values::time_per, allow_hyphen_values = true)]
    b_c: Option<f64>,
    /// a_L, a delay
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    a_l: Option<f64>,
}

/// What to say of a measured b of 0.
const DROWNED: &str = "what a byte takes, b, was measured as 0: it drowned in noise, and so does what follows from it; measure the \
                       link for longer, or give --b";

#[derive(Clone, Copy, PartialEq, Debug, clap::ValueEnum)]
enum Medium {
    Shared,
    Switched,
}

/// A network, how it is stated, and what was assumed.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) network: Network,
    pub(super) parameters: Vec<Parameter>,
    pub(super) notes: Vec<String>,
}

/// The five parameters, in s and s/byte.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Five {
    a_w: f64,
    b_w: f64,
    a_c: f64,
    b_c: f64,
    a_l: f64,
}

impl NetworkArgs {
    /// Whether any of them is given.
    pub(super) fn is_given(&self) -> bool {
        let values = [self.a, self.b, self.a_w, self.b_w, self.a_c, self.b_c, self.a_l];
        values.iter().any(Option::is_some) || self.medium.is_some()
    }

    /// Whether they say what a sender takes.
    pub(super) fn says_what_a_sender_takes(&self) -> bool {
        [self.a, self.b, self.a_w, self.b_w].iter().any(Option::is_some)
    }

    /// The network, from options first, then from `saved`, then from the paper.
    pub(super) fn network(&self, saved: Option<&Saved>) -> Result<Known, Problem> {
        let mut notes = Vec::new();
        let measured = saved.map(Saved::contention).transpose()?.flatten();
        let five = match self.message(saved, measured.as_ref())? {
            Some((a, b)) => {
                if b == 0.0 && self.b.is_none() {
                    notes.push(DROWNED.to_owned());
                }
                self.split(a, b, (saved, measured.as_ref()), &mut notes)
            }
            None if self.medium.is_some() => {
                return Err(Problem::new(
                    "--medium says how to take --a and --b (or --from) apart; give them, or --b-c",
                ));
            }
            None => self.of_the_paper(),
        };
        let Five { a_w, b_w, a_c, b_c, a_l } = five;
        let workstation = named(Block::new(a_w, b_w), "a_W", "b_W")?;
        let network = Network::new(workstation, named(Block::new(a_c, b_c), "a_C", "b_C")?, a_l)?;
        let parameters = vec![
            parameter("a_w_s", "a_W", Form::Seconds, a_w),
            parameter("b_w_s_per_byte", "b_W", Form::SecondsPerByte, b_w),
            parameter("a_c_s", "a_C", Form::Seconds, a_c),
            parameter("b_c_s_per_byte", "b_C", Form::SecondsPerByte, b_c),
            parameter("a_l_s", "a_L", Form::Seconds, a_l),
        ];
        Ok(Known { network, parameters, notes })
    }

    /// a and b of a message alone, if they are given.
    fn message(&self, saved: Option<&Saved>, measured: Option<&Contention>) -> Result<Option<(f64, f64)>, Problem> {
        let one = |option: Option<f64>, path: &str, name: &str, other: &str| match (option, saved) {
            (Some(value), _) => Ok(value),
            (None, Some(saved)) => saved.number(path, &format!("give {name}")),
            (None, None) => Err(Problem::new(format!("{other} needs {name}"))),
        };
        if self.a.is_none() && self.b.is_none() && saved.is_none() {
            return Ok(None);
        }
        // Of one fit with a_C and b_C, where these were measured.
        let a = one(self.a.or(measured.map(|it| it.a_s)), "hyperbolic.a_s", "--a", "--b")?;
        let b = one(self.b.or(measured.map(|it| it.b_s_per_byte)), "hyperbolic.b_s_per_byte", "--b", "--a")?;
        named(Block::new(a, b), "a", "b")?;
        Ok(Some((a, b)))
    }

    /// Who has which part of a and b: `a = 2 a_W + a_C + a_L`, `b = max(b_W, b_C)`. One message alone does not tell; several
    /// pairs at once do, if they were measured. Else this is an assumption, helped by what else is known of the link.
    fn split(
        &self,
        a: f64,
        b: f64,
        (saved, measured): (Option<&Saved>, Option<&Contention>),
        notes: &mut Vec<String>,
    ) -> Five {
        let shared_link = saved.is_some_and(Saved::is_shared);
        let of = |medium| if medium == Medium::Shared { b } else { 0.0 };
        let as_it_was = if shared_link { Medium::Shared } else { Medium::Switched };
        let said = self.b_c.or(self.medium.map(of));
        let b_c = said.or(measured.map(|it| it.network_b_s_per_byte)).unwrap_or(of(as_it_was));
        // A part of another a may be more than that.
        let a_c = self.a_c.or(measured.map(|it| it.network_a_s.min(a))).unwrap_or(0.0);
        match measured {
            Some(_) if said.is_some() && self.a_c.is_some() => {}
            Some(measured) => notes.push(measured.in_words()),
            None => notes.extend(self.unmeasured(shared_link)),
        }
        let (a_w, a_l, how) = self.fixed(a, a_c, saved);
        if self.a_w.is_none() {
            notes.push(format!(
                "a message alone does not tell the workstations from the delay; assumed: {how} (--a-w, --a-l say otherwise)"
            ));
        }
        Five { a_w, b_w: self.b_w.unwrap_or(b), a_c, b_c, a_l }
    }

    /// What is assumed of contention where nobody has measured it or said what it is.
    fn unmeasured(&self, shared_link: bool) -> Option<String> {
        let medium = match (self.b_c, self.medium) {
            (Some(_), _) | (_, Some(_)) => None,
            (None, None) if shared_link => Some("all messages share one medium, as the link was emulated, b_C = b"),
            (None, None) => Some("pairs are taken as independent, b_C = 0"),
        };
        let small = self.a_c.is_none().then_some("a_C = 0");
        let assumed: Vec<&str> = medium.into_iter().chain(small).collect();
        (!assumed.is_empty()).then(|| {
            format!(
                "the contention of this link was not measured: {}; lathide link --pairs measures it (--medium, --a-c, --b-c \
                 say otherwise)",
                assumed.join(" and ")
            )
        })
    }

    /// The workstation's part of a, the delay's, and how they were found.
    fn fixed(&self, a: f64, a_c: f64, saved: Option<&Saved>) -> (f64, f64, &'static str) {
        let halves = |a_l: f64| (a - a_c - a_l) / 2.0;
        // A stream of short messages keeps the workstation busy and nothing waits for the delay.
        let streamed = saved.and_then(Saved::short_messages_per_s).map(|rate| (1.0 / rate).min(halves(0.0)));
        let delay = saved.and_then(Saved::delay_s).map(|delay| delay.min(a - a_c));
        match (self.a_w, self.a_l, streamed, delay) {
            (Some(a_w), a_l, ..) => {
                let a_l = a_l.unwrap_or(a - a_c - 2.0 * a_w);
                (a_w, a_l, "a_L is the rest of a")
            }
            (None, Some(a_l), ..) => (halves(a_l), a_l, "both workstations have the rest of a"),
            (None, None, Some(a_w), _) => {
                (a_w, a - a_c - 2.0 * a_w, "a_W is the time of a message in a stream, a_L the rest of a")
            }
            (None, None, None, Some(a_l)) => {
                (halves(a_l), a_l, "a_L is the link's delay, both workstations have the rest of a")
            }
            (None, None, None, None) => (halves(0.0), 0.0, "both workstations have all of a"),
        }
    }

    fn of_the_paper(&self) -> Five {
        Five {
            a_w: self.a_w.unwrap_or(859.52e-6),
            b_w: self.b_w.unwrap_or(1.42e-6),
            a_c: self.a_c.unwrap_or(345.60e-6),
            b_c: self.b_c.unwrap_or(0.92e-6),
            a_l: self.a_l.unwrap_or(0.0),
        }
    }
}

/// A block's error in the names of whose block it is.
fn named(block: Result<Block, BadParameter>, a: &'static str, b: &'static str) -> Result<Block, BadParameter> {
    block.map_err(|bad| BadParameter { name: if bad.name == "a" { a } else { b }, ..bad })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::commands::predict::saved::tests::{contention, saved};

    #[test]
    fn without_options_it_is_the_paper_s() {
        let known = NetworkArgs::default().network(None).unwrap();
        assert_eq!(known.network, Network::SPARCSTATION);
        assert!(known.notes.is_empty());
    }

    #[test]
    fn a_measured_link_keeps_its_one_way_time() {
        let link =
            |spec: &str| saved(json!({"link": {"spec": spec}, "hyperbolic": {"a_s": 40e-6, "b_s_per_byte": 1e-9}}));
        for (spec, pairs_b) in [("rate=1gbit", 1e-9), ("rate=10mbit,shared", 4e-9)] {
            let known = NetworkArgs::default().network(Some(&link(spec))).unwrap();
            let one = known.network.point_to_point().unwrap();
            assert!((one.a_s() - 40e-6).abs() < 1e-18 && one.b_s_per_byte() == 1e-9, "{spec}: {one:?}");
            assert_eq!(known.network.pairs(4).unwrap().b_s_per_byte(), pairs_b, "{spec}");
            assert!(known.notes[0].contains("was not measured"), "{spec}: {:?}", known.notes);
            assert_eq!(known.notes.len(), 2, "{spec}");
        }
        let drowned = saved(json!({"link": {"spec": "lan"}, "hyperbolic": {"a_s": 40e-6, "b_s_per_byte": 0.0}}));
        let notes = |args: NetworkArgs| args.network(Some(&drowned)).unwrap().notes;
        assert!(notes(NetworkArgs::default()).contains(&DROWNED.to_owned()));
        assert!(!notes(NetworkArgs { b: Some(0.0), ..NetworkArgs::default() }).contains(&DROWNED.to_owned()));
        let delayed = NetworkArgs { a_c: Some(10e-6), a_l: Some(20e-6), ..NetworkArgs::default() };
        let one = delayed.network(Some(&link("lan"))).unwrap().network.point_to_point().unwrap();
        assert!((one.a_s() - 40e-6).abs() < 1e-18, "a stays what was measured: {one:?}");
    }

    #[test]
    fn measured_contention_is_used_and_options_come_before_it() {
        let link = |medium, b_c| {
            let alone = json!({"a_s": 50e-6, "b_s_per_byte": 1.2e-9});
            saved(json!({"hyperbolic": alone, "contention": contention(medium, b_c)}))
        };
        let near =
            |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-9, "{value} is not {expected}");
        let with = NetworkArgs::default;
        let known = with().network(Some(&link("shared", 1e-9))).unwrap();
        let (one, four) = (known.network.pairs(1).unwrap(), known.network.pairs(4).unwrap());
        near(one.a_s(), 40e-6);
        near(four.a_s(), 70e-6);
        near(four.b_s_per_byte(), 4e-9);
        assert!(known.notes[0].contains("measured with up to 4 pairs"), "{:?}", known.notes);
        let known = with().network(Some(&link("switched", 0.0))).unwrap();
        near(known.network.pairs(4).unwrap().b_s_per_byte(), 1e-9);
        assert!(known.notes[0].contains("b_C = 0"), "{:?}", known.notes);
        let said = NetworkArgs { medium: Some(Medium::Switched), a_c: Some(0.0), ..with() };
        let known = said.network(Some(&link("shared", 1e-9))).unwrap();
        near(known.network.pairs(4).unwrap().b_s_per_byte(), 1e-9);
        assert!(!known.notes.iter().any(|note| note.contains("contention")), "{:?}", known.notes);
        let short = NetworkArgs { a: Some(5e-6), b: Some(1e-9), ..with() };
        near(short.network(Some(&link("shared", 1e-9))).unwrap().network.point_to_point().unwrap().a_s(), 5e-6);
    }

    #[test]
    fn what_nobody_measured_or_said_is_named() {
        let note = |args: NetworkArgs| args.network(None).unwrap().notes.join(" ");
        let with = || NetworkArgs { a: Some(1e-3), b: Some(1e-6), a_w: Some(1e-4), ..NetworkArgs::default() };
        assert!(note(with()).contains("independent, b_C = 0 and a_C = 0; lathide link --pairs"));
        let said = note(NetworkArgs { medium: Some(Medium::Switched), ..with() });
        assert!(said.contains("not measured: a_C = 0;") && !said.contains("b_C = 0"), "{said}");
        assert_eq!(note(NetworkArgs { b_c: Some(0.0), a_c: Some(0.0), ..with() }), "");
    }

    /// What else is known of a link tells its delay from its ends.
    #[test]
    fn a_delay_is_nobody_s_work() {
        let link = |rate: Value, spec: &str| {
            let message = json!({"a_s": 26e-3, "b_s_per_byte": 1e-7});
            saved(json!({"link": {"spec": spec}, "message_rate": rate, "hyperbolic": message}))
        };
        let five = |saved: Saved, args: NetworkArgs| {
            let known = args.network(Some(&saved)).unwrap();
            let one = known.network.point_to_point().unwrap();
            assert!((one.a_s() - 26e-3).abs() < 1e-15, "{one:?}");
            let value = |key: &str| known.parameters.iter().find(|it| it.key == key).unwrap().value.clone();
            (value("a_w_s"), value("a_l_s"))
        };
        let none = NetworkArgs::default;
        let near = |(a_w, a_l): (Value, Value), expected: (f64, f64)| {
            let (Some(a_w), Some(a_l)) = (a_w.as_f64(), a_l.as_f64()) else { panic!("numbers") };
            assert!((a_w - expected.0).abs() < 1e-12 && (a_l - expected.1).abs() < 1e-12, "{a_w} {a_l}");
        };
        near(five(link(json!({"lathide_per_s": 1e5}), "delay=25ms"), none()), (1e-5, 26e-3 - 2e-5));
        near(five(link(json!({"lathide_per_s": 10.0}), "delay=25ms"), none()), (13e-3, 0.0));
        near(five(link(Value::Null, "delay=25ms"), none()), (0.5e-3, 25e-3));
        near(five(link(Value::Null, "delay=25s"), none()), (0.0, 26e-3));
        near(five(link(Value::Null, "loopback"), none()), (13e-3, 0.0));
        near(five(link(Value::Null, "delay=25ms"), NetworkArgs { a_w: Some(1e-3), ..none() }), (1e-3, 24e-3));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let refused = |args: NetworkArgs| args.network(None).unwrap_err().to_string();
        let with = NetworkArgs::default;
        assert!(refused(NetworkArgs { a_w: Some(-1.0), ..with() }).contains("a_W is -1"));
        assert!(refused(NetworkArgs { b_c: Some(f64::NAN), ..with() }).contains("b_C is NaN"));
        assert!(refused(NetworkArgs { a_l: Some(-1.0), ..with() }).contains("a_L is -1"));
        assert!(refused(NetworkArgs { a: Some(1.0), ..with() }).contains("--a needs --b"));
        assert!(refused(NetworkArgs { b: Some(1.0), ..with() }).contains("--b needs --a"));
        let long_delay = NetworkArgs { a: Some(1.0), b: Some(0.0), a_l: Some(2.0), ..with() };
        let long_work = NetworkArgs { a: Some(1.0), b: Some(0.0), a_w: Some(2.0), ..with() };
        assert!(refused(long_work).contains("a_L is -3"));
        assert!(refused(long_delay).contains("a_W is -0.5"));
        assert!(refused(NetworkArgs { medium: Some(Medium::Shared), ..with() }).contains("--medium"));
    }
}
