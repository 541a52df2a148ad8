import { el, get, scrolledAcross, scrollAcross } from "./dom.js";
import { count } from "./drawing/format.js";
import { whileSeen } from "./watched.js";

// How slots are shared between owners, summed over all groups; asked for while the section can be seen.
const MOST = 200;

export class Shares {
  constructor(host, store) {
    this.host = host; this.store = store;
    whileSeen(host, store, () => this.ask());
  }

  async ask() {
    try {
      this.draw(await get("shares", { frontend: this.store.you.frontends[0] }));
    } catch (e) {
      this.host.replaceChildren(el("p", { class: "soft" }, e.message));
    }
  }

  draw(s) {
    const rows = [], across = scrolledAcross(this.host);
    rows.push(...s.sum || []);
    const away = (s.Groups || []).filter(g => !g.reachable).map(g => g.group);
    const head = ["Owner", "Weight", "Entitled", "Has", "Waiting", "Used short", "Used long"];
    const table = el("table", {}, el("thead", {}, el("tr", {}, ...head.map(t => el("th", { scope: "col" }, t)))),
      el("tbody", {}, ...rows.slice(0, MOST).map(o => el("tr", { "data-owner": o.owner },
        ...[o.owner || "all", o.weight, o.entitled.toFixed(1), o.running_short + o.running_long, o.queued_short + o.queued_long, `${o.used_short.toFixed(1)} s`, `${o.used_long.toFixed(1)} s`].map(v => el("td", {}, v))))));
    this.host.replaceChildren(el("div", { class: "scroll" }, table),
      away.length ? el("p", { class: "bad" }, `without ${away.length === 1 ? "group" : "groups"} ${away.join(", ")}, which did not answer`) : "",
      rows.length > MOST ? el("p", { class: "soft" }, `and ${count(rows.length - MOST)} more; pigeon shares lists them`) : "");
    scrollAcross(this.host, across);
  }
}
