//! A job of tasks that differ.

use proptest::prelude::*;

use super::*;
use crate::golden_tests::{any_number, is_number};

fn task() -> impl Strategy<Value = Task> {
    (0.0..10.0, 0.001..10.0)
        .prop_map(|(calculation_s, communication_s)| Task::new(calculation_s, communication_s).unwrap())
}

proptest! {
    #![proptest_config(crate::scale::cases(256))]

    #[test]
    fn equal_tasks_gain_as_one(task in task(), number in 1usize..9, f in 0.0..=1.0, omega in 0.0..2.0) {
        let job = job(&vec![task; number], f, omega).unwrap();
        prop_assert!((job.gain - task.gain(f, omega).unwrap()).abs() < 1e-9);
        prop_assert_eq!((job.slowest, job.slowest_hidden), (0, 0));
    }

    /// The job gains at least as much as the task that is the slowest with hiding, and at most as much as the one that
    /// is without.
    #[test]
    fn the_slowest_tasks_bound_the_gain(tasks in prop::collection::vec(task(), 1..9), f in 0.0..=1.0, omega in 0.0..2.0) {
        let job = job(&tasks, f, omega).unwrap();
        let gain = |place: usize| tasks[place].gain(f, omega).unwrap();
        prop_assert!(gain(job.slowest_hidden) <= job.gain + 1e-9 && job.gain <= gain(job.slowest) + 1e-9, "{job:?}");
        for task in &tasks {
            prop_assert!(task.step_s() <= job.step_s && task.hidden_s(f, omega).unwrap() <= job.hidden_s);
        }
    }

    /// gamma_j is gamma_s,j / (q gamma_h,j), and G_j eq. (4) with it.
    #[test]
    fn a_task_is_equation_4(instructions in 1.0..1e9, words in 1.0..1e6, q in 1.0..9.0, op_s in 1e-9..1e-6, word_s in 1e-8..1e-3, f in 0.0..=1.0) {
        let task = Task::new(instructions * op_s, q * words * word_s).unwrap();
        let (gamma_s, gamma_h) = (instructions / words, word_s / op_s);
        let x = communication_ratio(q, 0.0, gamma_h, gamma_s).unwrap();
        prop_assert!((task.gamma().unwrap() * x - 1.0).abs() < 1e-9);
        let (ours, of_x) = (task.gain(f, 0.1).unwrap(), with_overhead(x, f, 0.1).unwrap());
        prop_assert!((ours - of_x).abs() < 1e-9 * of_x);
        prop_assert!((task.step_s() / task.hidden_s(f, 0.1).unwrap() - of_x).abs() < 1e-9 * of_x);
    }
}

proptest! {
    #![proptest_config(crate::scale::cases(256))]

    /// Whatever is put in, a number comes out, or an error.
    #[test]
    fn no_task_gives_a_wrong_number(
        times in prop::collection::vec((any_number(), any_number()), 0..5), f in any_number(), omega in any_number(),
    ) {
        let tasks: Vec<Task> = times.iter().filter_map(|&(calculation_s, communication_s)| Task::new(calculation_s, communication_s).ok()).collect();
        for task in &tasks {
            prop_assert!(is_number(&task.gain(f, omega)) && is_number(&task.hidden_s(f, omega)));
            prop_assert!(task.gamma().is_none_or(f64::is_finite));
        }
        prop_assert!(is_number(&job(&tasks, f, omega).map(|job| job.gain)));
    }
}

#[test]
fn another_task_may_decide_with_hiding() {
    // 11 + 1 without hiding beside 6 + 5; 11 beside 6 with it. And one that hides what the other cannot.
    let tasks = [Task::new(6.0, 6.5).unwrap(), Task::new(11.0, 1.0).unwrap()];
    let job = job(&tasks, 1.0, 0.0).unwrap();
    assert_eq!((job.slowest, job.slowest_hidden), (0, 1));
    assert_eq!(job.gain, 12.5 / 11.0);
}

#[test]
fn ends_of_the_range() {
    let only_calculates = Task::new(2.0, 0.0).unwrap();
    assert_eq!((only_calculates.gamma(), only_calculates.gain(1.0, 0.0)), (None, Ok(1.0)));
    let only_communicates = Task::new(0.0, 2.0).unwrap();
    assert_eq!((only_communicates.gamma(), only_communicates.gain(0.5, 0.1)), (Some(0.0), Ok(1.0)));
    assert_eq!(job(&[], 1.0, 0.0).unwrap_err().name, "number of tasks");
    assert_eq!(Task::new(-1.0, 0.0).unwrap_err().name, "t_calc");
    assert_eq!(Task::new(0.0, f64::NAN).unwrap_err().name, "t_com");
    assert_eq!(Task::new(0.0, 0.0).unwrap_err().name, "t_calc + t_com");
    assert_eq!(Task::new(f64::MAX, f64::MAX).unwrap_err().name, "t_calc + t_com");
    assert_eq!(only_calculates.gain(2.0, 0.0).unwrap_err().name, "f");
    assert_eq!(only_communicates.gain(1.0, -1.0).unwrap_err().name, "Omega");
}
