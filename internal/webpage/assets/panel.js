import { el, byId, get, inView, put, setText, scrolledAcross, scrollAcross } from "./dom.js";
import { count, seconds, plural } from "./drawing/format.js";
import { drawLog } from "./log.js";
import { Chart } from "./chart.js";

// The panel explains a job: why it waits or how it ended, where its tasks are, what they print.
const REFRESH = 2000;

export class Panel {
  constructor(store) {
    this.store = store;
    this.dialog = byId("panel");
    this.dialog.addEventListener("close", () => { if (!this.dialog.open) this.end(); }); // the event comes late: it may have been opened again
  }

  open(job) {
    this.end();
    this.abort = new AbortController();
    byId("panel-title").textContent = title(job);
    this.why = el("div", { id: "why" }, el("p", { class: "soft" }, "asking"));
    this.log = el("div", { id: "log" });
    byId("panel-body").replaceChildren(this.why, this.log);
    if (!this.dialog.open) this.dialog.showModal();
    const elsewhere = this.store.elsewhere(job);
    if (elsewhere) this.drawElsewhere(job, elsewhere.page);
    else this.ask(job, this.abort.signal);
  }

  // drawElsewhere shows what is known of a job of another frontend, and where it is explained.
  drawElsewhere(job, page) {
    const there = page ? el("a", { id: "elsewhere", href: `${page}#job=${encodeURIComponent(job.job)}`, rel: "noopener noreferrer" }, `the page of frontend ${job.frontend}`) : null;
    put(this.why,
      el("p", { class: "soft" }, facts(job)),
      el("p", {}, `Frontend ${job.frontend} has this job, and this page shows the names and states of its jobs only. It is explained by `, there, there ? " and by: " : "", `pigeon explain ${job.job}`));
  }

  end() {
    if (this.abort) this.abort.abort();
    this.abort = null;
    this.logged = "";
  }

  // ask explains the job, again and again until it has ended or the viewer is refused. A frontend that does
  // not answer once may be starting again.
  async ask(job, signal) {
    let again = true;
    await inView();
    if (signal.aborted) return;
    try {
      const e = await get("explain", { frontend: job.frontend, job: job.job }, signal);
      if (!this.selected()) {
        this.draw(job, e, signal);
        again = !e.status.ended;
      }
    } catch (e) {
      again = !e.final;
      if (!signal.aborted) this.refused(e.message);
    }
    if (again && !signal.aborted) setTimeout(() => signal.aborted || this.ask(job, signal), REFRESH);
  }

  // refused shows an error, once: a screen reader would read it out each time that it is drawn.
  refused(text) {
    if (this.why.querySelector("[role=alert]")?.textContent !== text) put(this.why, el("p", { class: "bad", role: "alert" }, text));
  }

  // draw shows an explanation where the one before was. The reader stays at the same place of the panel
  // and of the table, with the same button focused.
  draw(job, e, signal) {
    const s = e.status, held = this.why.contains(document.activeElement) ? document.activeElement.dataset.task : undefined;
    const across = scrolledAcross(this.why);
    const done = e.completed_tasks || [], tasks = [...(e.tasks || []), ...done].sort((a, b) => a.task - b.task || a.attempt - b.attempt);
    const chart = new Chart(s, tasks), more = done.length > 0 && done.length < s.completed;
    setText(byId("panel-title"), title(s)); // the address names the id only
    put(this.why,
      el("p", { class: "soft" }, facts(s)), command(s),
      el("h3", {}, heading(s)), el("ul", { class: "why" }, ...(e.why || []).map(w => el("li", {}, w))),
      tasks.length ? el("h3", {}, "Attempts") : null,
      more ? el("p", { class: "soft" }, `Of the ${count(s.completed)} completed tasks, the first ${count(done.length)} are shown.`) : null,
      tasks.length ? el("div", { class: "scroll" }, el("table", {},
        el("thead", {}, el("tr", {}, ...["Task", "Attempt", "State", "Node", chart.title(), "Took", "Why", "Output"].map(t => el("th", { scope: "col" }, t)))),
        el("tbody", {}, ...tasks.map(t => this.attempt(job, t, chart, signal))))) : null,
      s.tasks > 0 ? el("p", {}, this.output(job, { task: 0, attempt: 0 }, signal, "Output of task 0")) : null);
    if (held !== undefined) this.why.querySelector(`[data-task="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
    scrollAcross(this.why, across);
  }

  // selected returns whether text of the explanation is selected, such as to copy it. Then nothing new is drawn.
  selected() {
    const s = getSelection();
    return !s.isCollapsed && s.containsNode(this.why, true);
  }

  attempt(job, t, chart, signal) {
    return el("tr", {}, el("td", {}, t.task), el("td", {}, t.attempt), el("td", { class: t.state }, t.state), el("td", { class: "node" }, t.node || ""), el("td", { class: "when" }, chart.bar(t)),
      el("td", {}, t.elapsed ? seconds(t.elapsed) : ""), el("td", { class: "reason" }, t.reason || t.code || (t.exit ? `exit ${t.exit}` : "")),
      el("td", {}, this.output(job, t, signal, "Show")));
  }

  output(job, t, signal, text) {
    const b = el("button", { type: "button", "data-task": `${t.task}/${t.attempt}`, "aria-label": `Show the output of task ${t.task}${t.attempt ? `, attempt ${t.attempt}` : ""}` }, text);
    b.addEventListener("click", () => {
      if (this.reading) this.reading.abort();
      this.reading = new AbortController();
      signal.addEventListener("abort", () => this.reading.abort());
      drawLog(this.log, job, t, this.reading.signal);
      this.log.scrollIntoView({ block: "nearest" }); // it may be far below the button
    });
    return b;
  }
}

const title = s => s.name ? `${s.name} (${s.job})` : s.job;
const command = s => s.command ? el("p", { id: "command" }, el("code", {}, s.command)) : null;

// heading names what an explanation is about: only a job of which tasks wait is told why.
function heading(s) {
  if (s.ended) return "How it ended";
  return s.running + s.completed + s.failed < s.tasks ? "Why it waits" : "Where it stands";
}

// facts says in words what is known of every job.
function facts(s) {
  return [`${s.state}, ${s.class}`, plural(s.tasks, "task"), `${s.completed} completed, ${s.failed} failed, ${s.running} running`,
    s.owner ? `owner ${s.owner}` : "", s.submitter ? `submitted by ${s.submitter}` : "", `at ${new Date(s.submitted * 1e3).toLocaleString("en-GB")}`].filter(Boolean).join("; ");
}
