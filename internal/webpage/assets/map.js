import { el, byId, setText, later } from "./dom.js";
import { context, FONT } from "./drawing/canvas.js";
import { layout, fillCell, pad } from "./drawing/blocks.js";
import { plural, count } from "./drawing/format.js";
import { Colors, slotsOf, NOBODY } from "./colors.js";

// The slots of all nodes as one picture. Its text alternatives are its label, what the chosen
// node is, and the list of nodes below it.
export class SlotMap {
  constructor(host, store) {
    this.store = store;
    this.colors = new Colors();
    this.by = "class";
    this.chosen = -1; // index in cells
    this.cells = [];  // of all groups: { group, index, node, slot }
    this.canvas = el("canvas", { id: "slots", tabindex: "0", role: "application", "aria-roledescription": "map of slots", "aria-describedby": "chosen" });
    host.append(this.canvas);
    this.draw = later(() => this.drawNow());
    this.changed = () => { this.stale = true; this.draw(); };
    for (const radio of document.querySelectorAll("input[name=colour]")) {
      radio.addEventListener("change", () => { this.by = radio.value; this.legend(); this.draw(); });
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.colors.read(); this.legend(); this.draw(); });
    new ResizeObserver(() => this.draw()).observe(host);
    this.canvas.addEventListener("pointerdown", e => this.choose(this.cellAt(e)));
    this.canvas.addEventListener("pointermove", e => {
      const c = this.cells[this.cellAt(e)];
      this.canvas.title = c ? `${c.node.node}, slot ${c.slot}` : "";
    });
    this.canvas.addEventListener("keydown", e => this.key(e));
  }

  // collect puts the slots of all nodes in order.
  collect() {
    const byGroup = new Map(), owners = new Set();
    for (const g of this.store.groups) byGroup.set(g.group, []);
    const nodes = [...this.store.nodes.values()].sort((a, b) => a.group - b.group || (a.node < b.node ? -1 : 1));
    for (const node of nodes) {
      if (!byGroup.has(node.group)) byGroup.set(node.group, []);
      const list = byGroup.get(node.group);
      slotsOf(node).forEach((s, slot) => {
        if (s.kind !== "" && s.owner !== "") owners.add(s.owner);
        list.push({ node, slot, state: s });
      });
    }
    this.groups = [...byGroup.entries()];
    const chosen = this.cells[this.chosen];
    this.cells = [];
    this.first = [];
    this.groups.forEach(([, list], group) => {
      this.first.push(this.cells.length);
      list.forEach((c, index) => this.cells.push({ ...c, group, index }));
    });
    this.find(chosen);
    this.busy = this.cells.reduce((n, c) => n + (c.state.kind !== ""), 0);
    this.colors.know(owners);
    this.stale = false;
    this.legend();
    setText(this.canvas, "");
    this.canvas.setAttribute("aria-label", `${plural(this.cells.length, "slot")} of ${plural(nodes.length, "node")}, ${count(this.busy)} busy. Arrow keys choose a slot; the list of nodes follows.`);
    this.canvas.dataset.cells = this.cells.length;
    this.canvas.dataset.busy = this.busy;
  }

  drawNow() {
    if (this.stale !== false) this.collect();
    const sizes = this.groups.map(([, list]) => list.length);
    const l = this.layout = layout(sizes, this.canvas.clientWidth, { room: 420, largest: 26 });
    const [g] = context(this.canvas, Math.max(40, l.height)), c = this.colors.byName, p = pad(l);
    g.textBaseline = "middle";
    this.groups.forEach(([group, list], k) => {
      const o = l.origin(k), busy = list.reduce((n, x) => n + (x.state.kind !== ""), 0);
      g.font = `600 12px ${FONT}`;
      g.fillStyle = c.ink;
      g.fillText(`group ${group}`, o.x, o.y + 11, l.blockWidth);
      if (l.blockWidth > 200) {
        g.font = `12px ${FONT}`;
        g.fillStyle = c.soft;
        g.fillText(`${count(busy)} of ${plural(list.length, "slot")} busy`, o.x + 80, o.y + 11, l.blockWidth - 80);
      }
    });
    for (const cell of this.cells) {
      const at = l.place(cell.group, cell.index);
      fillCell(g, l, at, this.colors.slot(cell.state, this.by));
      if (this.by === "owner" && cell.state.kind === "long" && l.cell.height >= 5) {
        g.fillStyle = c.ink;
        g.fillRect(at.x, at.y + (l.cell.height - p) * .7, l.cell.width - p, (l.cell.height - p) * .3);
      }
      if (!cell.node.up) {
        g.fillStyle = c.bad;
        g.fillRect(at.x, at.y, l.cell.width - p, Math.max(1, l.cell.height * .2));
      }
    }
    const chosen = this.cells[this.chosen];
    if (chosen) {
      const at = l.place(chosen.group, chosen.index);
      g.strokeStyle = c.focus;
      g.lineWidth = 2;
      g.strokeRect(at.x, at.y, l.cell.width - p, l.cell.height - p);
    }
    this.drawn = (this.drawn || 0) + 1;
    this.canvas.dataset.drawn = this.drawn;
  }

  cellAt(e) {
    const at = this.layout && this.layout.at(e.offsetX, e.offsetY);
    return at ? this.first[at.group] + at.index : -1;
  }

  choose(i) {
    if (i < 0 || i >= this.cells.length) return;
    this.chosen = i;
    this.describe();
    this.draw();
  }

  // find finds the slot that was chosen among the present ones, and says what is in it by now.
  find(was) {
    if (!was) return;
    this.chosen = this.cells.findIndex(c => c.node.key === was.node.key && c.slot === was.slot);
    if (this.chosen < 0) setText(byId("chosen"), `Node ${was.node.node} has no slot ${was.slot} any more.`);
    this.describe();
  }

  // describe says in words what the chosen slot is.
  describe() {
    const c = this.cells[this.chosen];
    if (!c) return;
    const n = c.node, s = c.state;
    const what = s.kind === "" ? "idle" : `runs a ${s.kind === "busy" ? "" : s.kind + " "}task of ${s.owner || NOBODY}`;
    setText(byId("chosen"), `Node ${n.node}, group ${n.group}, slot ${c.slot}: ${what}${s.reserved ? "; it takes short tasks only" : ""}. ${n.busy} of ${n.slots} slots of the node are busy; it is ${n.state || (n.up ? "up" : "unreachable")}${n.reason ? " (" + n.reason + ")" : ""}.`);
  }

  key(e) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.layout.per, ArrowUp: -this.layout.per }[e.key];
    const to = e.key === "Home" ? 0 : e.key === "End" ? this.cells.length - 1 : step === undefined ? -1 : this.chosen < 0 ? 0 : Math.max(0, Math.min(this.cells.length - 1, this.chosen + step));
    if (to < 0) return;
    e.preventDefault();
    this.choose(to);
  }

  legend() {
    const c = this.colors, entry = (fill, text) => el("span", { title: text }, el("i", { style: { background: fill } }), text);
    const list = [entry(c.byName.idle, "idle"), entry(c.byName.reserved, "idle, for short tasks only")];
    if (this.by === "class") list.unshift(entry(c.byName.short, "short task"), entry(c.byName.long, "long task"), entry(c.byName.busy, "just started"));
    else {
      list.unshift(entry(c.byName.busy, NOBODY), ...c.owners.slice(0, 12).map(o => entry(c.owner(o), o)));
      list.push(el("span", {}, "a dark foot: a long task"));
      if (c.owners.length > 12) list.push(el("span", { class: "all" }, `and ${count(c.owners.length - 12)} more owners, in the same colours again`));
    }
    const key = this.by + c.owners.join(" ") + c.byName.idle;
    if (key !== this.shown) byId("legend").replaceChildren(...list);
    this.shown = key;
  }
}
