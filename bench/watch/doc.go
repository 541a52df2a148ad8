// Package watch turns histories into one HTML file that plays them: workers as a
// grid coloured by class, where tasks wait, and a slider for time. It shows in a
// minute why Sparrow's short tasks wait behind long ones and Pigeon's do not.
//
//	history (JSON Lines) ─Read─▶ Recording ─Write─▶ page.html: data in base64, script and style inline
//
// A history has the events of each task, simulated or live, and no policy. The rest of
// the picture is derived from it:
//
//   - The class of a job: short when the mean time its tasks ran is at most the
//     cutoff. For a live history that is the time as run, with the overhead of a
//     launch and of a report.
//   - The group of a worker: that of the master that launched a task there, or the
//     number in a node's name as pigeon-bench replay makes them (node-GROUP-NUMBER).
//   - Where a task waited: at its group's master, when that launched it shortly
//     before it started; else at the worker where it started. With late binding
//     that is where the reservation waited that brought it to run. A live history
//     has no launches: there tasks count as waiting at their group's
//     master, unless the caller makes them wait at workers.
//
// # Failures and bounds
//
// A history that cannot be read, that has no run of a task, or that has more than
// MaxRuns of them is refused, with the limit named. Times are rounded to a
// millionth of the whole, so that a run of a task takes about a dozen bytes.
package watch
