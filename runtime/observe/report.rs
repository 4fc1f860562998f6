//! A summary of what a node has observed, beside the models. Pure.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::advice::Advice;
use super::figures::{Figures, Spent};
use super::links::{Count, Link};
use super::phases::Times;
use super::regions::{RegionReport, Visited};
use super::transfer::{self, LinkReport, Time, Traffic, messages};
use crate::collective::{ChangeReport, CollectiveReport};
use crate::ids::Rank;

/// What one node has observed so far ([`crate::Node::report`]). Times are in seconds, summed over all threads that make
/// calls.
///
/// The names are those of Strumpen 1994, section 2. Unknown values are `None`, and `notes` say why.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// The node's rank.
    pub rank: Rank,
    /// The number of ranks in the job.
    pub size: u32,
    /// Whether messages moved while the program computed.
    pub overlap: bool,
    /// From the moment when the node had joined until now, or until its finalize.
    pub elapsed_s: f64,
    /// Threads that have made calls.
    pub threads: usize,
    /// Calculation: time outside lathide's calls.
    pub t_calc_s: f64,
    /// Time in `initread` and `initwrite`.
    pub t_post_s: f64,
    /// Time in waits.
    pub t_wait_s: f64,
    /// Communication that is not hidden: of `t_wait_s`, for each wait at most the transfer time of its message. The
    /// rest was waiting for partners that had not sent yet.
    pub t_exposed_s: f64,
    /// Communication: the transfer time of all messages, one by one in each direction of a link, both directions at
    /// once. It comes from samples, and for sizes without samples from the fitted eq. (3) of Stoica, Sultan, Keyes.
    pub t_com_s: Option<f64>,
    /// Processor time of the kernel's thread.
    pub t_kernel_s: Option<f64>,
    /// `t_calc / t_com`.
    pub gamma: Option<f64>,
    /// The fraction of the calculation with communication behind it: between the posting of an operation that was not over by that
    /// (as a short write may be) and its wait, or as much as what was hidden needs.
    pub f: Option<f64>,
    /// The overhead of hiding, relative to the calculation: `(t_post + t_kernel) / t_calc`.
    pub omega: Option<f64>,
    /// The fraction of the communication that was hidden: `1 - t_exposed / t_com`.
    pub hidden: Option<f64>,
    /// `(t_calc + t_com) / (t_calc + t_post + t_exposed)`: the time of the same work without overlap, over the observed
    /// time.
    pub gain_observed: Option<f64>,
    /// The measured G: the time of a run with overlap off over that of this run. `None` unless set by a program that
    /// made both runs, such as `lathide gain -- PROGRAM`.
    pub gain_measured: Option<f64>,
    /// G by eq. (4), with the gamma, f and Omega observed.
    pub gain_model: Option<f64>,
    /// G by eq. (1): everything hidden at no cost.
    pub gain_ideal: Option<f64>,
    /// The links that have carried messages.
    pub links: Vec<LinkReport>,
    /// The collectives that were called, and how their algorithms were selected.
    #[serde(default)]
    pub collectives: Vec<CollectiveReport>,
    /// Algorithms that have changed by what was observed, in order. At most 64.
    #[serde(default)]
    pub changes: Vec<ChangeReport>,
    /// The regions that the program has named ([`Node::region`](crate::Node::region)), and the messages that were posted in them.
    #[serde(default)]
    pub regions: Vec<RegionReport>,
    /// What counts of the program, if it has named regions: its region `solve` if it has one, and else all of its regions but
    /// `barrier`, `setup`, `start`, `check` and `result`, as one.
    #[serde(default)]
    pub counted: Option<RegionReport>,
    /// What limits the node, and what would improve it.
    pub advice: Advice,
    /// What could not be determined, and why.
    pub notes: Vec<String>,
}

/// What a report is made of.
pub(crate) struct Facts<'a> {
    pub(crate) rank: Rank,
    pub(crate) size: u32,
    pub(crate) overlap: bool,
    pub(crate) elapsed_s: f64,
    pub(crate) threads: usize,
    pub(crate) times: Times,
    pub(crate) kernel_s: Option<f64>,
    pub(crate) links: &'a [(Rank, Link)],
    /// The regions that the program has named, and what counts of them.
    pub(crate) regions: &'a Visited,
}

impl Report {
    pub(crate) fn new(facts: &Facts<'_>) -> Report {
        let Facts { rank, size, overlap, elapsed_s, threads, times, kernel_s, links, regions } = *facts;
        let mut notes = Vec::new();
        let traffic = |link: &Link| -> Traffic { [link.sent, link.received] };
        let is_used = |link: &Link| messages(&traffic(link)) > 0 || link.downs.cuts > 0;
        let used = links.iter().filter(|(peer, link)| *peer != rank && is_used(link));
        let (links, services) = transfer::reports(used.clone(), (elapsed_s * 1e9) as u64);
        if kernel_s.is_none() {
            notes.push("the processor time of the kernel's thread is not known; Omega is without it".to_owned());
        }
        let figures = |traffic: &[(Rank, Traffic)], times: Times, kernel_s: Option<f64>| {
            let all = traffic.iter().filter(|(peer, _)| *peer != rank);
            let messages = [0, 1].map(|way| {
                all.clone().map(|(_, traffic)| Link::total(&traffic[way])).fold(Count::default(), Count::plus)
            });
            let (t_com_s, unseen) = services.communication_s(all.map(|(peer, traffic)| (*peer, traffic)));
            (Figures::new(&Spent { size, overlap, messages, times, kernel_s, t_com_s }), unseen)
        };
        let all: Vec<(Rank, Traffic)> = used.map(|(peer, link)| (*peer, traffic(link))).collect();
        let (whole, unseen) = figures(&all, times, kernel_s);
        if !unseen.is_empty() && whole.t_com_s.is_some() {
            let unseen: Vec<String> = unseen.iter().map(Rank::to_string).collect();
            let ranks = unseen.join(", ");
            notes.push(format!("links to ranks {ranks} have shown no times and are taken to be like others"));
        }
        let (regions, counted) = regions.reports(|traffic, times, kernel_s| figures(traffic, times, kernel_s).0);
        let Figures { t_com_s, t_kernel_s, gamma, f, omega, hidden, gain_observed, gain_model, gain_ideal, .. } = whole;
        Report {
            rank,
            size,
            overlap,
            elapsed_s,
            threads,
            t_calc_s: whole.t_calc_s,
            t_post_s: whole.t_post_s,
            t_wait_s: whole.t_wait_s,
            t_exposed_s: whole.t_exposed_s,
            t_com_s,
            t_kernel_s,
            gamma,
            f,
            omega,
            hidden,
            gain_observed,
            gain_measured: None,
            gain_model,
            gain_ideal,
            links,
            collectives: Vec::new(),
            changes: Vec::new(),
            regions,
            counted,
            advice: whole.advice.unwrap_or_else(Advice::unknown),
            notes,
        }
    }

    /// The figures of the whole program.
    pub fn figures(&self) -> Figures {
        let sum = |of: fn(&LinkReport) -> u64| self.links.iter().map(of).fold(0, u64::saturating_add);
        Figures {
            t_calc_s: self.t_calc_s,
            t_post_s: self.t_post_s,
            t_wait_s: self.t_wait_s,
            t_exposed_s: self.t_exposed_s,
            t_com_s: self.t_com_s,
            t_kernel_s: self.t_kernel_s,
            gamma: self.gamma,
            f: self.f,
            omega: self.omega,
            hidden: self.hidden,
            gain_observed: self.gain_observed,
            gain_model: self.gain_model,
            gain_ideal: self.gain_ideal,
            messages_sent: sum(|link| link.messages_sent),
            bytes_sent: sum(|link| link.bytes_sent),
            messages_received: sum(|link| link.messages_received),
            bytes_received: sum(|link| link.bytes_received),
            advice: Some(self.advice.clone()),
        }
    }
}

impl Report {
    /// Leaves out all links but those with the most bytes, and says so.
    pub(crate) fn keep_busiest_links(&mut self, most: usize) {
        if self.links.len() > most {
            self.notes.push(format!("only the {most} busiest of {} links are shown", self.links.len()));
            self.links.sort_by_key(|link| std::cmp::Reverse(link.bytes_sent.saturating_add(link.bytes_received)));
            self.links.truncate(most);
            self.links.sort_by_key(|link| link.peer);
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { rank, size, elapsed_s, t_calc_s, t_post_s, t_wait_s, t_exposed_s, .. } = self;
        write!(f, "rank {rank} of {size}, {}: t_calc {}", Time(*elapsed_s), Time(*t_calc_s))?;
        if let Some(t_com_s) = self.t_com_s {
            write!(f, ", t_com {}", Time(t_com_s))?;
        }
        write!(f, ", posts {}, waits {}", Time(*t_post_s), Time(*t_wait_s))?;
        writeln!(f, " (of them {} for messages under way)", Time(*t_exposed_s))?;
        if let (Some(gamma), Some(share), Some(omega)) = (self.gamma, self.f, self.omega) {
            writeln!(
                f,
                "  gamma = t_calc/t_com = {gamma:.3}, f = {share:.3}, Omega = (t_post + t_kernel)/t_calc = {omega:.4}"
            )?;
        }
        if let Some(hidden) = self.hidden {
            write!(f, "  {:.0} % of the communication was hidden (1 - t_exposed/t_com)", 100.0 * hidden)?;
        }
        if let (Some(observed), Some(model), Some(ideal)) = (self.gain_observed, self.gain_model, self.gain_ideal) {
            write!(f, "; G = {observed:.2} as observed, {model:.2} by eq. (4), {ideal:.2} by eq. (1)")?;
        }
        if let Some(measured) = self.gain_measured {
            write!(f, "; G = {measured:.2} measured (off/on)")?;
        }
        if self.hidden.is_some() || self.gain_measured.is_some() {
            writeln!(f)?;
        }
        self.links.iter().try_for_each(|link| writeln!(f, "  {link}"))?;
        self.collectives.iter().try_for_each(|collective| writeln!(f, "  {collective}"))?;
        self.changes.iter().try_for_each(|change| writeln!(f, "  changed at {change}"))?;
        self.regions.iter().try_for_each(|region| writeln!(f, "  {region}"))?;
        self.notes.iter().try_for_each(|note| writeln!(f, "  note: {note}"))?;
        write!(f, "  {}", self.advice.words)
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
