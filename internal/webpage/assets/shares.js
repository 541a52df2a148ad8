import { el, get, scrolledAcross, scrollAcross } from "./dom.js";
import { count } from "./drawing/format.js";

// How slots are shared between owners, asked for while the section can be seen.
const EVERY = 5000, MOST = 200;

export class Shares {
  constructor(host, store) {
    this.host = host; this.store = store;
    this.visible = false;
    new IntersectionObserver(entries => {
      this.visible = entries[entries.length - 1].isIntersecting;
      if (this.visible) this.ask();
    }).observe(host);
    document.addEventListener("visibilitychange", () => this.ask());
  }

  async ask() {
    clearTimeout(this.timer);
    if (!this.visible || document.visibilityState === "hidden") return;
    if (this.store.you) {
      try {
        this.draw(await get("shares", { frontend: this.store.you.frontends[0] }));
      } catch (e) {
        this.host.replaceChildren(el("p", { class: "soft" }, e.message));
      }
    }
    this.timer = setTimeout(() => this.ask(), this.store.you ? EVERY : 200);
  }

  draw(s) {
    const rows = [], across = scrolledAcross(this.host);
    for (const g of s.Groups || []) for (const o of g.owners || []) rows.push([g, o]);
    const head = ["Group", "Owner", "Weight", "Entitled", "Has", "Waiting", "Used short", "Used long"];
    const table = el("table", {}, el("thead", {}, el("tr", {}, ...head.map(t => el("th", { scope: "col" }, t)))),
      el("tbody", {}, ...rows.slice(0, MOST).map(([g, o]) => el("tr", { "data-owner": o.owner },
        ...[g.group, o.owner || "all", o.weight, o.entitled.toFixed(1), o.running_short + o.running_long, o.queued_short + o.queued_long, `${o.used_short.toFixed(1)} s`, `${o.used_long.toFixed(1)} s`].map(v => el("td", {}, v))))));
    this.host.replaceChildren(el("div", { class: "scroll" }, table),
      rows.length > MOST ? el("p", { class: "soft" }, `and ${count(rows.length - MOST)} more; pigeon shares lists them`) : "");
    scrollAcross(this.host, across);
  }
}
