import { get } from "./dom.js";

// What the page knows of the cluster. Jobs older than those that the stream follows are fetched
// in pages, up to MOST_JOBS, and again while some of them have not ended.
export const MOST_JOBS = 10000;
const PAGE = 1000, REFRESH = 10000;
const ended = j => j.state === "completed" || j.state === "failed" || j.state === "cancelled";

export class Store {
  constructor(onChange) {
    this.onChange = onChange;
    this.time = 0; this.you = null; this.groups = []; this.departed = []; this.hour = []; this.problem = "";
    this.nodes = new Map(); this.jobs = new Map();
    this.truncated = false;
    this.fetching = new Set(); // frontends of which jobs are on the way
    setInterval(() => this.refresh(), REFRESH);
  }

  apply(e) {
    const changed = { time: true, groups: e.groups !== undefined, departed: e.departed !== undefined, hour: e.hour !== undefined, nodes: false, jobs: false };
    this.time = e.time;
    this.problem = e.problem || "";
    const shown = this.you ? this.you.frontends : [], added = e.you ? e.you.frontends.filter(f => !shown.includes(f)) : [];
    if (e.you) this.you = e.you;
    if (e.reset) {
      this.nodes.clear(); this.jobs.clear(); changed.nodes = changed.jobs = true;
      this.fetching = new Set(); // what is on the way continues after jobs that are no longer here
    }
    if (e.groups) this.groups = e.groups;
    if (e.departed) this.departed = e.departed;
    if (e.hour) this.hour = e.hour;
    for (const key of e.gone || []) { this.nodes.delete(key); changed.nodes = true; }
    for (const n of e.nodes || []) { this.nodes.set(n.key, n); changed.nodes = true; }
    for (const j of e.jobs || []) { this.jobs.set(j.key, j); changed.jobs = true; }
    this.onChange(changed);
    if (e.reset || e.gap) this.fetchOlder();
    else if (added.length) this.fetchOlder(added);
  }

  // newestFirst returns the jobs, at most MOST_JOBS.
  newestFirst() {
    const list = [...this.jobs.values()].sort((a, b) => b.submitted - a.submitted || (a.key < b.key ? -1 : 1));
    for (const j of list.slice(MOST_JOBS)) this.jobs.delete(j.key);
    this.truncated = this.truncated || list.length > MOST_JOBS;
    return list.slice(0, MOST_JOBS);
  }

  // elsewhere returns whether another frontend has a job, and the address of the page of that one.
  elsewhere(job) {
    const pages = this.you && this.you.pages || {};
    return Object.hasOwn(pages, job.frontend) ? { page: pages[job.frontend] } : null;
  }

  // named returns the job of a name, of which the newest counts when several frontends have one.
  named(name) {
    return this.newestFirst().find(j => j.job === name);
  }

  // fetchOlder fetches the jobs of some frontends, or of all, that the stream does not follow. One
  // that does not answer keeps none of the others; the stream says that it is away.
  async fetchOlder(frontends) {
    const fetching = this.fetching, of = (frontends || (this.you ? this.you.frontends : [])).filter(f => !fetching.has(f));
    await Promise.all(of.map(async f => {
      fetching.add(f);
      await this.fetchOf(f, fetching).catch(() => {});
      fetching.delete(f);
    }));
  }

  // refresh fetches the jobs again of each frontend that has an unfinished one which the stream does
  // not follow. Jobs leave those that it follows at any time: when enough newer ones have come.
  refresh() {
    if (!this.you || document.visibilityState === "hidden") return;
    const newer = new Map(), again = new Set();
    for (const j of this.newestFirst()) {
      const n = newer.get(j.frontend) || 0;
      newer.set(j.frontend, n + 1);
      if (n >= this.you.newest && !ended(j)) again.add(j.frontend);
    }
    this.fetchOlder([...again]);
  }

  async fetchOf(frontend, fetching) {
    let after = "";
    for (let n = 0; n < MOST_JOBS; n += PAGE) {
      const page = await get("jobs", { frontend, after, limit: PAGE });
      if (fetching !== this.fetching) return; // all jobs are fetched anew
      for (const j of page.jobs) this.jobs.set(j.key, j);
      if (page.jobs.length) this.onChange({ jobs: true });
      if (!page.more) return;
      after = page.jobs[page.jobs.length - 1].job;
    }
    this.truncated = true;
  }
}
