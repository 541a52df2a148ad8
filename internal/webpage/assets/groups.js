import { el } from "./dom.js";
import { age, count, plural, seconds } from "./drawing/format.js";

// Cards of the groups: who leads, how busy they are, and their queues.
export function drawGroups(host, groups) {
  host.replaceChildren(...groups.map(group));
}

function group(g) {
  const title = el("h3", {}, `Group ${g.group}`);
  if (!g.epoch) return el("article", { class: "card", "data-group": g.group }, title, el("p", { class: "bad" }, `its master cannot be reached${g.master && g.master.reason ? ": " + g.master.reason : ""}`));
  const busy = g.busy_general + g.busy_reserved;
  return el("article", { class: "card", "data-group": g.group }, title,
    el("div", {}, `${count(busy)} of ${plural(g.workers, "worker")} busy`, el("span", { class: "soft" }, `, ${count(g.idle_general)} general and ${count(g.idle_reserved)} reserved idle`)),
    queue("short", g.queued_short, g.oldest_short, g.why_short), queue("long", g.queued_long, g.oldest_long, g.why_long),
    el("div", { class: "soft" }, `${plural(g.launches, "launch", "launches")}${g.lost ? `, ${count(g.lost)} lost` : ""}`));
}

function queue(name, depth, oldest, why) {
  return el("div", { class: `queue ${name}` }, el("b", {}, count(depth)), ` ${name} ${depth === 1 ? "task waits" : "tasks wait"}`,
    depth ? el("div", { class: "soft" }, `the oldest for ${seconds(oldest)}: ${why || ""}`) : null);
}

// drawDaemons lists the masters and which of them lead, and the frontends.
export function drawDaemons(host, groups) {
  const items = [], frontends = [], seen = new Set();
  for (const g of groups) {
    const m = g.master || {};
    if ((g.masters || []).length) {
      for (const each of g.masters) items.push(daemon(`Master of group ${g.group} at ${each.address}`, each.role === "leader" ? "leads" : each.role || "cannot be reached", each.role !== ""));
    } else {
      items.push(daemon(`Master of group ${g.group}${m.address ? " at " + m.address : ""}`, g.epoch ? "leads, epoch " + g.epoch : `${m.state || "cannot be reached"}${m.reason ? ": " + m.reason : ""}`, !!g.epoch, m.version));
    }
    for (const f of g.frontends || []) {
      if (seen.has(f.name)) continue;
      seen.add(f.name);
      frontends.push(daemon(`Frontend ${f.name} at ${f.address}`, f.state + (f.reason ? ": " + f.reason : ""), f.state === "up", f.version));
    }
  }
  host.replaceChildren(...items, ...frontends);
}

function daemon(name, state, good, version) {
  return el("li", {}, name, ": ", el("span", { class: good ? "good" : "bad" }, state), version ? el("span", { class: "soft" }, `, version ${version}`) : null);
}

// drawAway lists the nodes that are not up, and those that have gone.
export function drawAway(host, nodes, departed, now) {
  const list = [...[...nodes].filter(n => !n.up || n.state && n.state !== "up"), ...departed].sort((a, b) => b.since - a.since);
  const items = list.slice(0, 100).map(n => el("li", { "data-node": n.node },
    `${n.node}, group ${n.group}: `, el("span", { class: n.state === "draining" || n.state === "drained" ? "soft" : "bad" }, n.state || "unreachable"),
    ` for ${age(now - n.since)}`, n.reason ? el("span", { class: "soft" }, `: ${n.reason}`) : null));
  if (list.length > 100) items.push(el("li", { class: "soft" }, `and ${count(list.length - 100)} more`));
  if (!items.length) items.push(el("li", { class: "soft" }, "none"));
  host.replaceChildren(...items);
}
