import { el } from "./dom.js";
import { seconds } from "./drawing/format.js";

// Chart is a Gantt chart of the attempts of a job: a bar for each, on one scale of time that
// begins with the submission of the job.
export class Chart {
  constructor(status, attempts) {
    this.submitted = status.submitted;
    this.end = Math.max(0, status.completion || 0, ...attempts.filter(a => a.started).map(a => this.begin(a) + (a.elapsed || 0)));
  }

  // begin returns when an attempt began, in seconds after the submission. Clocks of nodes may be late.
  begin(attempt) { return Math.max(0, attempt.started - this.submitted); }

  title() { return this.end > 0 ? `When, in ${seconds(this.end)}` : "When"; }

  // bar returns the bar of an attempt, null where nobody knows when it began.
  bar(attempt) {
    if (!attempt.started || this.end <= 0) return null;
    const begin = this.begin(attempt), took = attempt.elapsed || 0, part = t => `${(100 * t / this.end).toFixed(3)}%`;
    const text = `from ${seconds(begin)} to ${seconds(begin + took)} after the submission${attempt.state === "running" ? ", and runs" : ""}`;
    return el("span", { class: "timeline", role: "img", "aria-label": text, title: text }, el("i", { class: attempt.state, style: { marginLeft: part(begin), width: part(took) } }));
  }
}
