import { el, get, scrolledAcross, scrollAcross } from "./dom.js";
import { count } from "./drawing/format.js";
import { whileSeen } from "./watched.js";

// The applications that are registered with the frontends of this page, asked for while the section can be seen.
const MOST = 200;

export class Applications {
  constructor(host, store) {
    this.host = host; this.store = store;
    whileSeen(host, store, () => this.ask());
  }

  async ask() {
    const here = this.store.you.frontends.filter(frontend => !this.store.elsewhere({ frontend }));
    const lists = await Promise.all(here.map(frontend => get("applications", { frontend }).catch(e => e)));
    this.draw(lists.flatMap(l => l instanceof Error ? [] : l), lists.filter(l => l instanceof Error).map(e => e.message));
  }

  draw(apps, problems) {
    const across = scrolledAcross(this.host);
    const table = el("table", {}, el("thead", {}, el("tr", {}, ...["Name", "Id", "Owner", "Executors", "Slot-seconds", "State", "Page"].map(t => el("th", { scope: "col" }, t)))),
      el("tbody", {}, ...apps.slice(0, MOST).map(a => el("tr", { "data-application": a.application }, ...[a.name || "", a.application, a.owner || "", count(a.running || 0), used(a), a.state, link(a)].map(v => el("td", {}, v))))));
    this.host.replaceChildren(...problems.map(p => el("p", { class: "bad" }, p)),
      apps.length ? el("div", { class: "scroll" }, table) : el("p", { class: "soft" }, "No application is registered with the frontends of this page."),
      apps.length > MOST ? el("p", { class: "soft" }, `and ${count(apps.length - MOST)} more`) : "");
    scrollAcross(this.host, across);
  }
}

// used returns the slot-seconds that an application has used, by owner.
const used = a => Object.entries(a.slot_seconds || {}).map(([owner, n]) => `${owner} ${count(Math.round(n))}`).join(", ");

// link leads to an application's own page, such as that of a Spark driver. It states the address itself.
function link(a) {
  if (!/^https?:\/\//i.test(a.page || "")) return "";
  return el("a", { href: a.page, rel: "noopener noreferrer", target: "_blank" }, "open");
}
