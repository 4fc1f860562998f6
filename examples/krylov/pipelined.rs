//! Pipelined conjugate gradients (Ghysels and Vanroose 2014, algorithm 4): one sum in each iteration, behind the preconditioner and
//! the product with the matrix, and so behind the neighbours' rows too.
//!
//! Residuals and products with the matrix follow by recurrences, four more of them than plain CG has, and rounding grows in these.
//! So they are replaced by what they stand for every 50 iterations (`--replace`), as the paper proposes: four products with the
//! matrix. An iteration's residual is known in the pass after it, so there is one pass more than iterations.

use super::Outcome;
use super::matrix::dot;
use super::options::Stop;
use super::progress::{Progress, Solved};
use super::strip::{Phase, Strip};

/// Replaces after every `replace` iterations; never, if that is 0.
pub(crate) fn solve(strip: &Strip<'_>, stop: Stop, replace: usize) -> Outcome<Solved> {
    let mut vectors = Vectors::new(strip);
    let Vectors { r, u, w, .. } = &mut vectors;
    strip.factors.solve(r, u);
    strip.product(Phase::Setup, u, w)?;
    let [mut m, mut am] = std::array::from_fn(|_| strip.zeros());
    let (mut last_gamma, mut alpha) = (f64::INFINITY, 1.0);
    let (mut progress, mut passes) = (Progress::new(stop, strip.n), 0);
    loop {
        let _iteration = strip.iteration();
        let sums = strip.sums(Phase::Iteration, vectors.products())?;
        strip.factors.solve(&vectors.w, &mut m);
        strip.product(Phase::Iteration, &m, &mut am)?;
        let [gamma, delta, square] = sums.wait()?;
        passes += 1;
        if !progress.note(square)? {
            return Ok(progress.solved(vectors.x, passes));
        }
        let beta = gamma / last_gamma;
        alpha = gamma / (delta - beta * gamma / alpha);
        last_gamma = gamma;
        vectors.advance(alpha, beta, &m, &am);
        if replace > 0 && passes % replace == 0 {
            vectors.replace(strip)?;
        }
    }
}

/// The vectors that follow by recurrences; `r` is the residual, `p` the direction, M the preconditioner.
struct Vectors {
    x: Vec<f64>,
    r: Vec<f64>,
    /// M^-1 r.
    u: Vec<f64>,
    /// A u.
    w: Vec<f64>,
    p: Vec<f64>,
    /// A p.
    s: Vec<f64>,
    /// M^-1 s.
    q: Vec<f64>,
    /// A q.
    z: Vec<f64>,
}

impl Vectors {
    fn new(strip: &Strip<'_>) -> Self {
        let [x, u, w, p, s, q, z] = std::array::from_fn(|_| strip.zeros());
        Vectors { x, r: strip.right_side(), u, w, p, s, q, z }
    }

    fn products(&self) -> [f64; 3] {
        [dot(&self.r, &self.u), dot(&self.w, &self.u), dot(&self.r, &self.r)]
    }

    /// What the recurrences stand for.
    fn replace(&mut self, strip: &Strip<'_>) -> lathide::Result<()> {
        let Vectors { x, r, u, w, p, s, q, z } = self;
        strip.product(Phase::Replacement, x, r)?;
        r.iter_mut().zip(strip.right_side()).for_each(|(r, b)| *r = b - *r);
        strip.factors.solve(r, u);
        strip.product(Phase::Replacement, u, w)?;
        strip.product(Phase::Replacement, p, s)?;
        strip.factors.solve(s, q);
        strip.product(Phase::Replacement, q, z)
    }

    /// `m` is M^-1 w, and `am` A m.
    fn advance(&mut self, alpha: f64, beta: f64, m: &[f64], am: &[f64]) {
        let Vectors { x, r, u, w, p, s, q, z } = self;
        for i in 0..x.len() {
            z[i] = am[i] + beta * z[i];
            q[i] = m[i] + beta * q[i];
            s[i] = w[i] + beta * s[i];
            p[i] = u[i] + beta * p[i];
            x[i] += alpha * p[i];
            r[i] -= alpha * s[i];
            u[i] -= alpha * q[i];
            w[i] -= alpha * z[i];
        }
    }
}
