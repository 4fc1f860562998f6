//! A job from its beginning to its end: what it needs on this host, its rendezvous, its supervisor.

use std::os::fd::AsFd;

use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::job::Job;
use super::outcome::{Made, Outcome, Timeline};
use super::output::Sink;
use super::spawn::{self, Common};
use super::supervise::Supervisor;
use crate::launch::agent::hosts::Hosts;
use crate::launch::failed::{Failed, system};
use crate::launch::link::Relay;
use lathide::config::Key;
use lathide::launcher::JOIN;
use lathide::launcher::environment;
use lathide::launcher::interface;
use lathide::launcher::rendezvous::{self, Settings};
use lathide::launcher::timeline;
use lathide::launcher::{descriptors, discovery};

impl Job {
    /// Runs the job to its end on this thread. Signals that would end the launcher are passed on to the ranks; the
    /// handlers stay for the life of the process.
    ///
    /// # Errors
    /// [`Failed`] if it could not be started. A job that failed is an [`Outcome`].
    pub(crate) fn run(mut self, sink: Sink) -> Result<Outcome, Failed> {
        if self.size == 0 {
            return Err(Failed::usage("a job needs at least one rank"));
        }
        if let Some(trace) = &mut self.trace {
            *trace = timeline::prepare(trace, self.size)
                .map_err(system(format!("the timeline {} cannot be written", trace.display())))?;
        }
        let (trace, size) = (self.trace.clone(), self.size);
        let mut outcome = start(self, sink)?;
        outcome.trace = trace.map(|file| match timeline::merge(&file, size) {
            Ok(merged) => Timeline { file, made: Made::Merged(merged) },
            Err(error) => Timeline { file, made: Made::Error(error.to_string()) },
        });
        Ok(outcome)
    }
}

fn start(job: Job, sink: Sink) -> Result<Outcome, Failed> {
    let secret = spawn::new_key()?;
    let common = Common::new(&job, secret)?;
    let (more, what) = descriptors_needed(&job);
    descriptors::ensure(more, &what)
        .map_err(|why| Failed::launcher(format!("the launcher cannot run so many ranks: {why}")))?;
    // This thread starts the ranks and lives as long as they: their parent-death signal is tied to it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(system("the launcher cannot start"))?.block_on(async {
        let listener = listen(job.hosts.as_ref()).await.map_err(system("the rendezvous cannot listen"))?;
        let root = listener.local_addr().map_err(system("the rendezvous cannot listen"))?;
        let settings = Settings {
            size: job.size,
            key: Key::from_bytes(secret),
            // As the ranks, which have the launcher's environment. What is wrong there they say themselves.
            join_timeout: environment::join(&|name| std::env::var(name).ok()).unwrap_or(JOIN),
            launcher: true,
            hosts: job.hosts.as_ref().map(Hosts::names).unwrap_or_default(),
            rewrite: (!job.link.is_loopback()).then(|| relay(&job)),
        };
        // As long as the launcher lives, nobody is refused there: by that an agent whose connection was cut knows it.
        let _alive = listener.as_fd().try_clone_to_owned().map_err(system("the rendezvous cannot listen"))?;
        let (orders, received) = mpsc::channel(job.size as usize + 16);
        let (events, happened) = mpsc::channel(64);
        let server = tokio::spawn(rendezvous::serve(listener, settings, received, events));
        let outcome = Supervisor::supervise(&job, &common, root, secret, sink, orders, happened).await;
        server.abort();
        outcome
    })
}

/// How many descriptors the launcher opens, and for what.
fn descriptors_needed(job: &Job) -> (u64, String) {
    let ranks = u64::from(job.size);
    // Its connection; if its process is here, its output, its errors and the process itself.
    let (each, hosts) = job.hosts.as_ref().map_or((4, 0), |hosts| (1, 4 * hosts.places.len() as u64));
    // Both ends of each link pass through the relay.
    let links = if job.link.is_loopback() { 0 } else { ranks * ranks };
    (ranks * each + hosts + links, format!("{ranks} ranks"))
}

/// On all addresses if other hosts shall reach it.
async fn listen(hosts: Option<&Hosts>) -> std::io::Result<TcpListener> {
    match hosts {
        None => TcpListener::bind((interface::loopback(), 0)).await,
        Some(hosts) => discovery::bind_all(hosts.reach.ports.clone()).await.map_err(std::io::Error::other),
    }
}

/// Puts the emulated link between the ranks when their addresses are known. It lives as long as the rendezvous.
fn relay(job: &Job) -> rendezvous::Rewrite {
    let link = job.link.clone();
    Box::new(move |addresses| {
        let relay = Relay::start(&link, addresses)?;
        Ok((relay.addresses().to_vec(), Box::new(relay)))
    })
}
