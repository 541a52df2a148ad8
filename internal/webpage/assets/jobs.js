import { el, byId, setText, later } from "./dom.js";
import { count, plural, seconds } from "./drawing/format.js";
import { List } from "./list.js";
import { MOST_JOBS } from "./store.js";

// The list of jobs, with its filter.
export class Jobs {
  constructor(store, open) {
    this.store = store;
    this.list = new List(byId("job-list"), {
      label: "Jobs, the newest first", empty: "No job is like that. A job is submitted by: pigeon submit --sleep 2s --tasks 20", open,
      columns: [
        { title: "Job", cell: names },
        { title: "Command", cell: j => j.command || "", class: "command", wide: true },
        { title: "Owner", cell: j => j.owner || "", wide: true },
        { title: "State", cell: j => el("span", { class: j.state }, j.state) },
        { title: "Class", cell: j => j.class, wide: true },
        { title: "Tasks", cell: progress },
        { title: "Took", cell: j => j.ended ? seconds(j.completion || 0) : "", class: "number", wide: true },
        { title: "Submitted", cell: submitted, class: "number", wide: true },
      ],
    });
    this.changed = later(() => this.filter());
    byId("job-filter").addEventListener("input", this.changed);
    byId("job-state").addEventListener("change", this.changed);
  }

  filter() {
    const text = byId("job-filter").value.trim().toLowerCase(), state = byId("job-state").value;
    const all = this.store.newestFirst();
    const list = all.filter(j => (!state || j.state === state) && (!text || [j.job, j.name, j.command, j.owner, j.submitter, j.app, j.frontend].some(s => s && s.toLowerCase().includes(text))));
    this.list.set(list);
    const limit = this.store.truncated ? `; the newest ${count(MOST_JOBS)} are kept here, pigeon status lists more` : "";
    setText(byId("job-count"), list.length === all.length ? plural(all.length, "job") + limit : `${count(list.length)} of ${plural(all.length, "job")}${limit}`);
  }
}

// names returns the name of a job above its id, which is all that a job without a name has.
function names(j) {
  if (!j.name) return j.job;
  return el("span", { class: "names", title: `${j.name} (${j.job})` }, el("b", {}, j.name), el("span", {}, j.job));
}

// submitted returns when a job was submitted: the time of today, else the day too.
function submitted(j) {
  const at = new Date(j.submitted * 1e3);
  if (at.toDateString() === new Date().toDateString()) return at.toLocaleTimeString("en-GB");
  return at.toLocaleString("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}

function progress(j) {
  const part = (n, color) => n && j.tasks ? el("i", { style: { width: `${100 * n / j.tasks}%`, background: `var(--${color})` } }) : null;
  const text = `${count(j.completed + j.failed)} / ${count(j.tasks)}`;
  return el("span", { title: `${j.completed} completed, ${j.failed} failed, ${j.running} running of ${j.tasks}` },
    el("span", { class: "tasks" }, text), el("span", { class: "progress", "aria-hidden": "true" }, part(j.completed, "good"), part(j.failed, "bad"), part(j.running, "short")));
}
