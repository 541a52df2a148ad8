import { byId, el } from "./dom.js";
import { count } from "./drawing/format.js";

// Lines of the last hour, up to now. Where more than two points are missing, the line has a gap.
const HOUR = 3600, GAP = 100, WIDTH = 300, HEIGHT = 56;

export function drawHour(host, points, groups, now) {
  const sum = (...keys) => groups.reduce((n, g) => n + keys.reduce((m, k) => m + (g[k] || 0), 0), 0);
  const all = [...points, { time: now, queued: sum("queued_short", "queued_long"), busy: sum("busy_general", "busy_reserved"), launches: -1 }].filter(p => p.time > now - HOUR);
  const known = points.length && points[points.length - 1].launches >= 0 ? points[points.length - 1].launches : null;
  host.replaceChildren(
    line("queued", "Queued tasks", all, all[all.length - 1].queued, now),
    line("launches", "Launches a minute", all, known, now),
    line("busy", "Busy slots", all, all[all.length - 1].busy, now, sum("workers")));
}

const shown = v => v === null ? "not known yet" : count(v < 10 ? Math.round(10 * v) / 10 : Math.round(v));

// line returns one of the lines with its scale, which ends at the most that there was, or at the given most.
function line(key, title, points, last, now, most = 0) {
  const top = Math.max(1, most, ...points.map(p => p[key]));
  const x = p => WIDTH * (1 - (now - p.time) / HOUR), y = p => HEIGHT - 2 - (HEIGHT - 4) * p[key] / top;
  let d = "", before = null;
  for (const p of points) {
    if (p[key] < 0) continue;
    d += `${!before || p.time - before.time > GAP ? "M" : "L"}${x(p).toFixed(1)} ${y(p).toFixed(1)}h.1`;
    before = p;
  }
  const svg = byId("hour-line").content.firstElementChild.cloneNode(true);
  const text = `${title} of the last hour: ${shown(last)} now, between 0 and ${count(Math.ceil(top))}`;
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("aria-label", text);
  svg.firstElementChild.setAttribute("d", d);
  return el("article", { class: "card", "data-line": key }, el("h3", {}, `${title}: `, el("span", {}, shown(last))), el("div", { class: "hour" }, svg, el("span", { class: "soft top" }, count(Math.ceil(top)))),
    el("div", { class: "axis soft", "aria-hidden": "true" }, el("span", {}, "an hour ago"), el("span", {}, "now")));
}
