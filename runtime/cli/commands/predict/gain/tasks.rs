//! `lathide predict gain --tasks`: gamma and gain of each task, and of the job (Strumpen 1994, section 2.2).

use std::path::Path;

use lathide::launcher::quantity::TIME;
use lathide_models::gain::{self, Job, Task};
use serde_json::{Map, json};

use crate::commands::predict::answer::{Answer, Form, column, parameter, row};
use crate::commands::predict::curve::{chart_over, dense};
use crate::commands::predict::input;
use crate::commands::predict::problem::Problem;
use crate::report::format;
use crate::report::results::Look;

/// More are no table any more.
const FILE_MAX: u64 = 65_536;

const EQUATION: &str = "Strumpen 1994, section 2.2 and eq. (4) for each task: G_j = (1 + x_j) / ((1 - f) + max(f + \
                        Omega, x_j)), x_j = 1/gamma_j = t_com,j/t_calc,j; a step of the job takes as long as that of \
                        its slowest task";

/// The answer for tasks in a list, or in the file behind an @.
pub(super) fn answer(text: &str, f: f64, omega: f64) -> Result<Answer, Problem> {
    let tasks = match text.strip_prefix('@') {
        Some(path) => {
            let name = if path == "-" { "standard input" } else { path };
            in_file(name, &input::read(&format!("--tasks {name}"), Path::new(path), FILE_MAX)?)?
        }
        None => in_list(text)?,
    };
    let job = gain::job(&tasks, f, omega)?;
    let columns = vec![
        column("task", "task", Form::Count),
        column("t_calc_s", "t_calc", Form::Seconds),
        column("t_com_s", "t_com", Form::Seconds),
        column("gamma", "gamma", Form::Number),
        column("gain", "G\neq. 4", Form::Fixed(3)),
        column("step_s", "step", Form::Seconds),
        column("hidden_s", "step\nwith hiding", Form::Seconds),
        column("idle_s", "waits for\nthe slowest", Form::Seconds),
    ];
    let mut rows = Vec::new();
    for (number, task) in tasks.iter().enumerate() {
        let hidden_s = task.hidden_s(f, omega)?;
        rows.push(row![
            number + 1,
            task.calculation_s(),
            task.communication_s(),
            task.gamma(),
            task.gain(f, omega)?,
            task.step_s(),
            hidden_s,
            job.hidden_s - hidden_s
        ]);
    }
    let gammas: Vec<f64> = tasks.iter().filter_map(Task::gamma).collect();
    let axes = (("gamma = t_calc / t_com", Form::Plain), ("G", Form::Plain));
    let chart = chart_over(gammas.iter().copied(), axes.0, axes.1).map(|chart| {
        let model = |gamma: f64| Some((gamma, gain::with_overhead(1.0 / gamma, f, omega).ok()?));
        let points = tasks.iter().filter_map(|task| Some((task.gamma()?, task.gain(f, omega).ok()?)));
        chart
            .curve("eq. 4", Look::Solid, dense(gammas.iter().copied()).filter_map(model))
            .points("tasks", points.map(|(x, y)| [x, y, y, y]).collect())
    });
    let parameters = vec![parameter("f", "f", Form::Plain, f), parameter("omega", "Omega", Form::Plain, omega)];
    let findings = Map::from_iter([(
        "job".to_owned(),
        json!({
            "gain": job.gain,
            "step_s": job.step_s,
            "hidden_s": job.hidden_s,
            "slowest_task": job.slowest + 1,
            "slowest_task_with_hiding": job.slowest_hidden + 1,
        }),
    )]);
    Ok(Answer { parameters, chart, findings, ..Answer::new(EQUATION, columns, rows, verdict(&job)) })
}

fn verdict(job: &Job) -> String {
    let (before, after) = (job.slowest + 1, job.slowest_hidden + 1);
    let slowest = if before == after {
        format!("Task {before} is the slowest, with hiding and without.")
    } else {
        format!("Without hiding task {before} is the slowest, with it task {after}.")
    };
    let (hidden, step) = (format::seconds(job.hidden_s), format::seconds(job.step_s));
    format!("The job gains G = {:.3}: a step takes {hidden} instead of {step}. {slowest}", job.gain)
}

fn in_list(text: &str) -> Result<Vec<Task>, Problem> {
    let task = |(at, task): (usize, &str)| {
        let wrong = |why: String| Problem::new(format!("--tasks: task {}, {task:?}: {why}", at + 1));
        let (calculation, communication) = task.split_once(':').ok_or_else(|| {
            wrong("this is t_calc:t_com of a task, such as 10ms:5ms,20ms:5ms, or @FILE with a task on each line".into())
        })?;
        one(calculation, communication).map_err(wrong)
    };
    text.split(',').enumerate().map(task).collect()
}

/// A task on each line, with a colon or a space between its times; # begins a comment.
fn in_file(name: &str, text: &str) -> Result<Vec<Task>, Problem> {
    let mut tasks = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let wrong = |why: String| Problem::new(format!("--tasks {name}, line {}: {why}", number + 1));
        let code = line.split('#').next().unwrap_or_default().replace(':', " ");
        match code.split_whitespace().collect::<Vec<_>>()[..] {
            [] => {}
            [calculation, communication] => tasks.push(one(calculation, communication).map_err(wrong)?),
            _ => return Err(wrong("a line has t_calc and t_com of a task, such as 10ms 5ms".into())),
        }
    }
    if tasks.is_empty() {
        return Err(Problem::new(format!(
            "--tasks {name}: there is no task in it; a line is 10ms 5ms, t_calc and t_com"
        )));
    }
    Ok(tasks)
}

fn one(calculation: &str, communication: &str) -> Result<Task, String> {
    Task::new(TIME.one(calculation)?, TIME.one(communication)?).map_err(|bad| bad.to_string())
}

#[cfg(fuzzing)]
pub(crate) fn fuzz(text: &str) {
    for tasks in [in_list(text), in_file("it", text)].into_iter().flatten() {
        let _ = gain::job(&tasks, 0.9, 0.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_files_are_the_same_tasks() {
        let list = in_list("10ms:5ms, 0.02:5ms").unwrap();
        assert_eq!(list, [Task::new(0.01, 0.005).unwrap(), Task::new(0.02, 0.005).unwrap()]);
        assert_eq!(in_file("x", "# two\n10ms 5ms\n\n20ms:5ms # the slow one\n").unwrap(), list);
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        let cases = [
            ("10ms", "task 1, \"10ms\": this is t_calc:t_com"),
            ("10ms:5ms,", "task 2, \"\": this is t_calc:t_com"),
            ("10ms:5ms,1:x", "task 2, \"1:x\": this is a time"),
            ("-1:1", "task 1, \"-1:1\": t_calc is -1"),
            ("0:0", "t_calc + t_com is 0"),
        ];
        for (text, words) in cases {
            let problem = in_list(text).unwrap_err().to_string();
            assert!(problem.contains(words), "{text}: {problem}");
        }
        for (text, words) in [
            ("", "there is no task in it"),
            ("1 1\n1 2 3", "--tasks x, line 2: a line has t_calc and t_com"),
            ("1 nan", "line 1: t_com is NaN"),
            ("\n1 soon", "line 2: this is a time"),
        ] {
            let problem = in_file("x", text).unwrap_err().to_string();
            assert!(problem.contains(words), "{text}: {problem}");
        }
    }
}
