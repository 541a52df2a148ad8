import { byId, later } from "./dom.js";
import { age } from "./drawing/format.js";
import { List } from "./list.js";
import { slotsOf, NOBODY } from "./colors.js";

// The list of nodes: the text of what the map of slots shows.
export class Nodes {
  constructor(store) {
    this.store = store;
    this.list = new List(byId("nodes"), {
      label: "Nodes", empty: "No node is like that.",
      columns: [
        { title: "Node", cell: n => n.node },
        { title: "Group", cell: n => n.group, wide: true },
        { title: "State", cell: n => `${n.state || (n.up ? "up" : "unreachable")} ${age(this.store.time - n.since)}`, ages: true },
        { title: "Busy", cell: n => `${n.busy} / ${n.slots}`, class: "number" },
        { title: "In its slots", cell: inSlots, wide: true },
      ],
    });
    this.changed = later(() => this.filter());
    this.older = () => this.list.draw();
    byId("node-filter").addEventListener("input", this.changed);
    byId("nodes-text").addEventListener("toggle", this.changed);
  }

  filter() {
    if (!byId("nodes-text").open) return;
    const text = byId("node-filter").value.trim().toLowerCase();
    this.list.set([...this.store.nodes.values()].filter(n => !text || [n.node, n.state, n.address, ...(n.owners || [])].some(s => s && s.toLowerCase().includes(text)))
      .sort((a, b) => a.group - b.group || (a.node < b.node ? -1 : 1)));
  }
}

// inSlots returns "2 short of team/alice, 1 long of nobody in particular".
function inSlots(n) {
  const counts = new Map();
  for (const s of slotsOf(n)) if (s.kind) {
    const what = `${s.kind} of ${s.owner || NOBODY}`;
    counts.set(what, (counts.get(what) || 0) + 1);
  }
  return [...counts].map(([what, k]) => `${k} ${what}`).join(", ");
}
