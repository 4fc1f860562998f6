//! The JSON of the command `lathide`: what is in it, and how other programs read it.
//!
//! Every command that finds something out writes one JSON object with `--json`, and nothing else on standard output:
//!
//! ```text
//! lathide gain --json > gain.json
//! ```
//!
//! Times are in seconds (`_s`), sizes in bytes, rates in bytes per second, shares are parts of one. Of a repeated measurement `x` the
//! member `x` is the median, and `x_min` and `x_max` are the least and the greatest value. What could not be found out is
//! `null`. `schema` names the command and a version, which changes when a member changes its meaning or goes; members may
//! come.
//!
//! The name says of what type a value is: with `[]` it is a list, and `x[].y` is `y` in each of its rows; `is_x` and `differs` are true or
//! false; `x_s`, `x_bytes`, `gain`, `ratio` and other quantities are numbers, or `null`; `what`, `host`, `kind` and other names are
//! strings. A test runs the commands, compares what they write with the tables below, and looks at these types.
//!
//! # A reader in Python
//!
//! The layout of a result has its tables and curves. So one program draws the figures of all commands:
//! `python3 results.py gain.json` prints what was found out and the points of each curve, and
//! `python3 results.py gain.json gain.svg` also draws them, with matplotlib. It is `examples/results.py`:
//!
//! ```python
#![doc = include_str!("../../examples/results.py")]
//! ```
//!
//! A program that looks for one number takes it by its name: `max(point["gain"] for point in result["points"])`.
//!
//! # A page, pictures and tables
//!
//! `lathide report FILE... -o report.html` makes one page of what any command has saved, also of `run` (`--json`, `--report=FILE`,
//! `--trace FILE`) and `lab`. The page loads nothing from anywhere. On top stand each file's verdict and conclusion, in the words of the
//! terminal. A file that does not fit is named, on the page and on standard error, and skipped; the exit status is 1 if none fits.
//!
//! | figure | of |
//! | --- | --- |
//! | the curves and points of the layout, with least and greatest | every command |
//! | exchange, overlap and one-way time by fragments against size; message rate, latency under load, processor time | `link` |
//! | predicted against measured, errors by operation, overlap | `collectives` |
//! | pairs of runs with overlap off and on | `gain -- PROGRAM` |
//! | ratios of pairs with their intervals | all with `comparisons` |
//! | time by rank, by region, by rank and region | `run`, `gain -- PROGRAM` |
//! | the timeline, and some steps about its middle | `run --trace` |
//! | matrices of round trips and rates; a cross where one does not reach the other | `doctor` |
//!
//! A pointer over a mark or a bar shows its value with its unit. Series differ by the shape of their marks, not by colour alone; colours are
//! for any colour vision, light and dark. Every figure has a description for screen readers. Marks of several series at one place
//! stand some pixels beside each other. Tables are sorted by the numbers in front.
//!
//! `--csv DIR` saves every table and the values of every figure as comma-separated values (RFC 4180), with the members' names in the first
//! line and values as in JSON: seconds, bytes, parts of one. `--svg DIR` saves every figure as a picture of its own, on white.
//! Names are those of the file, a number, and the title: `link-008-exchange-a-message-each-way-against-its-size.svg`.
//!
//! # Members of all results
//!
//! Results of `gain`, `link`, `collectives`, `study`, `predict` and `doctor` have these.
//!
//! ## `all`
//!
//! | member | |
//! | --- | --- |
//! | `schema` | the command, and the version of its members |
//! | `lathide` | the version of the program |
//! | `title` | what was measured or predicted |
//! | `layout[]` | what is shown, from top to bottom: `{text}`, `{table}` or `{chart}` |
//! | `notes[]` | what was assumed |
//! | `conclusion` | what it means |
//! | `warnings[]` | when not to trust the numbers |
//!
//! A `table` has a `title`, `columns` (`key`, `title`, `form`, `has_range`) and `rows`: `{of: member}`, `{where: [member, key, value]}` or
//! `{here: [row]}`. A `chart` has axes `x` and `y` (`label`, `form`, `is_log`) and `series` (`name`, `look`: `solid`, `dotted` or
//! `points`, and `points`: `[x, y, least y, greatest y]`).
//!
//! Measured results also have:
//!
//! ## `measured`
//!
//! | member | |
//! | --- | --- |
//! | `link.spec`, `link.emulated`, `link.how` | the link as `--link` takes it, whether it was emulated, and in words |
//! | `machine.cores`, `machine.kernel`, `machine.congestion_control` | the launcher's machine |
//! | `repeats` | how often everything was measured |
//! | `verdict.kind`, `verdict.reasons[]` | `valid`, `disturbed`, `partial` or `impossible`, and why |
//! | `run.command_line[]`, `run.started`, `run.took_s`, `run.lathide` | how and when it was measured, how long that took, by which program |
//!
//! ## `samples`
//!
//! Results of `gain`, `link` and `collectives` also have these:
//!
//! | member | |
//! | --- | --- |
//! | `rounds[]` | all samples, in the order in which they were measured |
//! | `comparisons[].what`, `comparisons[].ratio`, `comparisons[].p`, `comparisons[].differs` | two things measured in turn, by the exact sign test; one row compares a thing with itself |
//! | `comparisons[].low`, `comparisons[].high`, `comparisons[].confidence` | the interval of the ratio |
//! | `comparisons[].ratio_of_medians`, `comparisons[].pairs` | the ratio of the medians, and the number of pairs |
//!
//! ## `hosts`
//!
//! Those of `gain`, `link`, `collectives` and `study`:
//!
//! | member | |
//! | --- | --- |
//! | `hosts[].host`, `hosts[].cpu_model`, `hosts[].cores_allowed[]`, `hosts[].kernel`, `hosts[].tcp_rmem[]` | each host that took part; `null` where the system does not tell ([measuring](super::measuring)) |
//! | `hosts[].cores_online`, `hosts[].ranks[].rank`, `hosts[].ranks[].core`, `hosts[].governor` | its processors, and which rank keeps to which |
//! | `hosts[].is_virtual`, `hosts[].product`, `hosts[].clock_source`, `hosts[].lathide` | what it is, and the version of the program there |
//! | `hosts[].congestion_control`, `hosts[].tcp_wmem[]`, `hosts[].interfaces[]`, `hosts[].round_trip_s` | its network |
//!
//! # By schema
//!
//! ## `lathide-gain-2`
//!
//! `lathide gain`. [Measuring](super::measuring) defines the columns.
//!
//! | member | |
//! | --- | --- |
//! | `points[].gamma`, `points[].gamma_wanted` | t_calc / t_com as measured, and as asked for |
//! | `points[].t_calc_s`, `points[].t_com_s` | calculation and communication of a step |
//! | `points[].t_i1_s`, `points[].t_i2_s`, `points[].t_i3_s` | a step of the three versions |
//! | `points[].gain`, `points[].gain_blocking` | T I.1 / T I.3 and T I.1 / T I.2 |
//! | `points[].gain_ideal`, `points[].gain_model`, `points[].gain_phases` | eq. (1); eq. (4) with f and Omega fitted, and as observed |
//! | `points[].gain_interval.low`, `points[].gain_interval.high`, `points[].gain_interval.confidence`, `points[].gain_interval.method` | of the median |
//! | `points[].gain_of_medians`, `points[].is_above_ideal`, `points[].is_disturbed`, `points[].repeats_calm` | the ratio of medians, and what the point is worth |
//! | `points[].f`, `points[].omega`, `points[].speedup_i3` | as observed; over one node |
//! | `points[].t_raw_exchange_s`, `points[].i1_over_raw_exchange` | the same over raw TCP |
//! | `f`, `omega`, `is_fitted` | of eq. (4), and whether they are fitted to the sweep |
//! | `f_measured`, `omega_measured` | as observed |
//! | `gain_at_1.gain`, `gain_at_1.interval`, `gain_at_1.from` | G at gamma = 1, from the fit or as measured |
//! | `model_error` | of eq. (4), cross-validated: `{median, p90}` |
//! | `max_gain`, `max_gain_gamma` | the greatest gain, and where |
//! | `rows`, `message_bytes`, `socket_buffer_bytes` | the message |
//! | `disturbed_max` | how much longer the same calculation took in a disturbed repetition |
//! | `extension` | how far the sweep was extended |
//! | `i1_over_raw_exchange` | of all points: I.1 over an exchange by raw TCP |
//! | `rounds[].sequence`, `rounds[].gamma_wanted`, `rounds[].counts`, `rounds[].calm` | which repetition, whether it counts, and whether it was calm |
//! | `rounds[].t_calc_s`, `rounds[].t_com_s`, `rounds[].t_i1_s`, `rounds[].t_i3_s` | its times |
//!
//! With several `--rows` or `--socket-buffer` it is the next one, with `--halo` the one after it.
//!
//! ## `lathide-gain-cases-1`
//!
//! | member | |
//! | --- | --- |
//! | `cases[].case`, `cases[].rows`, `cases[].message_bytes`, `cases[].socket_buffer_bytes` | each message with each buffer |
//! | `cases[].max_gain`, `cases[].max_gain_gamma`, `cases[].max_gain_blocking` | the greatest gain, and where; of a blocking write |
//! | `cases[].t_com_s`, `cases[].i1_over_raw_exchange`, `cases[].disturbed_max`, `cases[].buffers` | as of one case, and the buffers in words |
//! | `points[].case`, `points[].gamma`, `points[].gain`, `points[].gain_ideal` | as of one case, without what is fitted |
//! | `rounds[].case` | all repetitions |
//! | `steps` | of a measurement |
//!
//! ## `lathide-gain-halo-1`
//!
//! | member | |
//! | --- | --- |
//! | `halos[].halo`, `halos[].steps_per_exchange` | ghost columns, and the steps of an exchange |
//! | `halos[].t_i3_s`, `halos[].t_i1_s` | a step with and without hiding |
//! | `halos[].gain`, `halos[].gain_of_halo`, `halos[].gain_of_hiding` | of both, of the halo, of hiding; each also `_predicted` |
//! | `halos[].redundancy`, `halos[].error`, `halos[].error_i1` | work done twice; errors of the predictions |
//! | `t_calc_s`, `a_s`, `b_s_per_byte`, `exchanges[].time_s` | what is predicted from, and the exchanges it is fitted to |
//! | `t_i1_s`, `t_i1_predicted_s`, `t_i1_error` | I.1 with one ghost column |
//! | `best_measured`, `best_predicted`, `best_of_all`, `bound`, `max_gain` | the best halo, and the model's bound |
//! | `rows`, `columns`, `message_bytes`, `gamma`, `work`, `disturbed` | the strip, and how disturbed the run was |
//! | `rounds[].t_i1_s`, `rounds[].t_i1_again_s`, `rounds[].t_halos_s[]`, `rounds[].t_exchanges_s[]`, `rounds[].t_calc_s[]` | all repetitions: I.1 twice, and for each halo I.1 and I.3 |
//!
//! ## `lathide-gain-program-2`
//!
//! `lathide gain -- PROGRAM`.
//!
//! | member | |
//! | --- | --- |
//! | `gain`, `t_on_s`, `t_off_s` | the median of the ratios of pairs, and the times with overlap on and off |
//! | `gain_interval`, `gain_of_medians` | the interval of that median, and the ratio of the medians |
//! | `clock`, `region` | what of a run counts: `region`, and which; `joined`, from the last rank joining to the last one leaving; or `process`, all of it |
//! | `rounds[].t_off_s`, `rounds[].t_on_s` | the pairs |
//! | `gaining` | the part of the pairs in which overlap was faster |
//! | `command[]`, `ranks` | the program, and its ranks |
//! | `observed[]` | as of `lathide run`, of a run with overlap |
//! | `reports[].rank` | each rank's [`Report`](crate::Report), of the same run |
//! | `closing[]` | what the reports say together |
//!
//! ## `lathide-link-2`
//!
//! | member | |
//! | --- | --- |
//! | `latency[].bytes`, `latency[].lathide_s`, `latency[].raw_s`, `latency[].raw_polled_s`, `latency[].penalty` | one way |
//! | `latency[].lathide_p50_s`, `latency[].lathide_p99_s`, `latency[].lathide_greatest_s` | how single ones differ |
//! | `bandwidth[].bytes`, `bandwidth[].lathide_bytes_per_s`, `bandwidth[].raw_bytes_per_s`, `bandwidth[].ratio` | streams |
//! | `exchange[].pingpong_s`, `exchange[].simultaneous_s`, `exchange[].speedup` | both ways at once beside one after the other |
//! | `fragments[].fragment_bytes`, `fragments[].s` | the fragment sweep |
//! | `overlap[].overlap`, `overlap[].availability` | how much of a message a calculation hides, and what remains of the processor |
//! | `overlap[].overlap_osu`, `overlap[].overlap_imb` | as others define it |
//! | `exchange_overlap[].overlap` | the same of an exchange |
//! | `rounds[].order.kind`, `rounds[].mine[]` | what was measured, and by the first node |
//! | `message_rate.lathide_per_s` | short messages |
//! | `under_load.p50_s`, `under_load.p99_s` | a short message beside a long one |
//! | `processor.message` | processor time |
//! | `hyperbolic`, `segmented` | fitted: `a_s`, `b_s_per_byte` and errors; `null` with too few sizes |
//! | `cluster.o_s`, `cluster.g_s`, `cluster.l`, `cluster.g_r`, `cluster.o_r`, `cluster.u_r` | of the cluster model |
//! | `contention`, `sending` | with `--pairs` |
//! | `median_interval` | the probability of the intervals `_min` to `_max` |
//! | `probe.start_s`, `raw.nodelay`, `background_load` | the first look at the link, raw TCP's settings, what other programs had |
//!
//! ## `lathide-collectives-2`
//!
//! | member | |
//! | --- | --- |
//! | `points[].operation`, `points[].algorithm`, `points[].ranks`, `points[].bytes` | what was measured |
//! | `points[].measured_s`, `points[].predicted_s`, `points[].error` | its time, and the model's |
//! | `points[].chosen`, `points[].over_fastest` | whether the library selects it, and how much slower than the fastest it is |
//! | `parameters[].a_s`, `parameters[].b_s_per_byte`, `parameters[].overhead_s` | calibrated on the link |
//! | `errors[].operation`, `errors[].median`, `errors[].p90` | of the predictions |
//! | `median_interval` | the probability of the intervals `_min` to `_max` |
//! | `rounds[].times_s[]` | of each point |
//! | `choice.good`, `choice.points` | how often the selection is the fastest or close to it |
//! | `overlap[].overlap` | how much of a collective a calculation hides |
//! | `background_load` | what other programs had of the processors |
//!
//! ## `lathide-papers-1`
//!
//! `lathide collectives --papers`. [Measuring](super::measuring) has the members of the rows.
//!
//! | member | |
//! | --- | --- |
//! | `cluster`, `queue_bytes`, `network.a_w_s`, `network.b_w_s_per_byte`, `network.a_c_s`, `network.b_c_s_per_byte`, `network.a_l_s` | the parameters, measured |
//! | `pairs[].pairs`, `pairs[].a_s`, `pairs[].b_s_per_byte`, `messages[].bytes`, `messages[].time_s` | what the network's follow from |
//! | `gather[].ranks`, `gather[].bytes`, `gather[].simple_s`, `gather[].predicted_s`, `gather[].error` | the gather |
//! | `packets[].measured_s`, `packets[].postal_s`, `packets[].cluster_s` | the broadcast in packets |
//! | `broadcast[].form`, `broadcast[].measured_s`, `broadcast[].predicted_s` | the broadcast |
//! | `exchange[].neighbours`, `exchange[].measured_s`, `exchange[].printed_s`, `exchange[].rule_3_s` | the exchange |
//! | `errors[].what`, `errors[].mean`, `errors[].greatest`, `verdicts.packets`, `verdicts.exchange` | of the predictions, and which equation is right |
//! | `background_load` | what other programs had of the processors |
//!
//! ## `lathide-study-1`
//!
//! | member | |
//! | --- | --- |
//! | `command[]`, `versions[]`, `classes`, `per`, `contention`, `parameters.a_w_s`, `from.path` | what was run, and what is predicted from |
//! | `sending[].ranks`, `sending[].messages`, `sending[].bytes`, `sending[].alone_s`, `sending[].full_s` | messages of a unit of work, predicted |
//! | `sending[].native_s`, `sending[].native_error` | measured T_s, and the prediction's error |
//! | `receiving[].alone_s`, `receiving[].synchronised_s`, `receiving[].error` | the same of T_r |
//! | `gain[].gain`, `gain[].gain_model`, `gain[].hidden_s`, `gain[].native_s` | what hiding gains |
//! | `by_class[].class`, `by_class[].measured_s` | by class of messages |
//! | `errors.sending`, `errors.receiving` | of all predictions |
//!
//! ## `lathide-predict-2`
//!
//! | member | |
//! | --- | --- |
//! | `model`, `equation`, `parameters`, `from` | what was asked, and from what it is predicted |
//! | `points[]` | the answer, with the members of the model |
//!
//! Beside them stand the numbers of its conclusion.
//!
//! ## `lathide-run-1`
//!
//! `lathide run --json`, when the job has ended. It has no layout.
//!
//! | member | |
//! | --- | --- |
//! | `schema`, `program`, `size`, `link` | the job |
//! | `exit_status` | of `lathide run` |
//! | `joined_s`, `ended_s` | since the start |
//! | `ranks[].rank`, `ranks[].host`, `ranks[].status`, `ranks[].signal` | each rank's end |
//! | `ranks[].ended_s`, `ranks[].left_s`, `ranks[].lost`, `ranks[].blames`, `ranks[].told_to_end` | when and why |
//! | `first_failure` | the rank that failed first, its status and its last lines |
//! | `deadlock`, `join_failed`, `output_failed`, `lost_hosts[]`, `interrupted_by_signal`, `timed_out` | other causes |
//! | `reports[].rank` | with `--report`: each rank's [`Report`](crate::Report); a file of `--report=FILE` is this list |
//! | `reports[].regions[]`, `reports[].counted` | the regions that the program has named, and what counts of it ([`RegionReport`](crate::observe::RegionReport)) |
//! | `observed[].rank`, `observed[].region`, `observed[].time_s` | a row for each rank (`region` is `null`) and each of its regions: how long |
//! | `observed[].t_calc_s`, `observed[].t_wait_s`, `observed[].t_com_s`, `observed[].hidden` | calculation, waiting, communication, and the part of it that was hidden |
//! | `observed[].messages_sent`, `observed[].bytes_sent`, `observed[].messages_received`, `observed[].bytes_received` | messages to and from other ranks, of regions inside of it too |
//! | `closing[]` | what the reports say together |
//! | `trace` | the timeline's file |
//!
//! ## `lathide-lab-1`
//!
//! | member | |
//! | --- | --- |
//! | `schema`, `shared`, `exit_status` | whether all share one medium, and the command's status |
//! | `hosts[].host`, `hosts[].address`, `hosts[].delay_s`, `hosts[].loss` | each host's cable |
//! | `hosts[].sent`, `hosts[].received` | what it has carried |
//!
//! ## `lathide-doctor-2`
//!
//! | member | |
//! | --- | --- |
//! | `hosts[].host`, `hosts[].name`, `hosts[].version`, `hosts[].program_hash`, `hosts[].system`, `hosts[].cores` | each host, and the program there |
//! | `pairs[].from`, `pairs[].to`, `pairs[].reachable`, `pairs[].round_trip_s`, `pairs[].bytes_per_s` | each path |
//! | `troubles[]` | what keeps a job from running |
//!
//! ## `lathide-trace-1`
//!
//! The file of `--trace` ([observing](super::observing)).
//!
//! | member | |
//! | --- | --- |
//! | `displayTimeUnit`, `traceEvents[]` | as the Chrome trace format has them |
//! | `otherData.schema`, `otherData.lathide`, `otherData.one_way` | the version, and the one-way times of each link |
//! | `otherData.ranks[].rank`, `otherData.ranks[].hidden`, `otherData.ranks[].dropped`, `otherData.ranks[].complete` | of each rank |
//!
//! ## `lathide-report-1`
//!
//! | member | |
//! | --- | --- |
//! | `schema`, `output`, `bytes`, `files[]`, `csv`, `svg` | what was written, from which files |
//! | `shown[].file`, `shown[].title`, `shown[].verdict`, `shown[].meaning` | what the page shows |
//! | `skipped[].file`, `skipped[].why` | what does not fit |
