import { el, byId, put, setText, later } from "./dom.js";
import { context, FONT } from "./drawing/canvas.js";
import { tiles } from "./tiles.js";
import { plural, count } from "./drawing/format.js";
import { Colors, slotsOf, NOBODY } from "./colors.js";

// The slots of all nodes as one picture, apart by node. Its text alternatives are its label, what the chosen
// node is, and the list of nodes below it.
export class SlotMap {
  constructor(host, store, open) {
    this.store = store; this.open = open;
    this.colors = new Colors();
    this.by = "class";
    this.chosen = -1; // index in cells
    this.cells = [];  // of all nodes: { tile, node, slot, state }
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
      this.canvas.title = c ? `${c.node.node} (${stateOf(c.node)}), slot ${c.slot}${c.state.job ? `, job ${c.state.job}` : ""}` : "";
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
      byGroup.get(node.group).push({ node, slots: slotsOf(node) });
    }
    this.groups = [...byGroup.entries()];
    this.nodes = this.groups.flatMap(([, list]) => list);
    const chosen = this.cells[this.chosen];
    this.cells = [];
    this.nodes.forEach((each, tile) => {
      each.first = this.cells.length;
      each.slots.forEach((state, slot) => {
        if (state.kind !== "" && state.owner !== "") owners.add(state.owner);
        this.cells.push({ tile, node: each.node, slot, state });
      });
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
    const l = this.layout = tiles(this.groups.map(([, list]) => list.map(n => n.slots.length)), this.canvas.clientWidth);
    const [g] = context(this.canvas, Math.max(40, l.height)), c = this.colors.byName, pad = l.size >= 7 ? 1 : .5;
    this.pad = pad;
    g.textBaseline = "middle";
    this.groups.forEach(([group, list], k) => {
      const o = l.blocks[k], slots = list.flatMap(n => n.slots), busy = slots.filter(s => s.kind !== "").length;
      g.font = `600 12px ${FONT}`;
      g.fillStyle = c.ink;
      g.fillText(`group ${group}`, o.x, o.y + 11, l.blockWidth);
      if (l.blockWidth > 200) {
        g.font = `12px ${FONT}`;
        g.fillStyle = c.soft;
        g.fillText(`${count(busy)} of ${plural(slots.length, "slot")} busy`, o.x + 80, o.y + 11, l.blockWidth - 80);
      }
    });
    this.nodes.forEach(({ node }, i) => this.drawNode(g, l.tiles[i], node));
    for (const cell of this.cells) {
      const at = l.place(cell.tile, cell.slot), width = l.size - pad;
      g.fillStyle = this.colors.slot(cell.state, this.by);
      g.fillRect(at.x, at.y, width, width);
      if (this.by === "owner" && cell.state.kind === "long" && l.size >= 5) {
        g.fillStyle = c.ink;
        g.fillRect(at.x, at.y + width * .7, width, width * .3);
      }
    }
    const chosen = this.cells[this.chosen];
    if (chosen) {
      const at = l.place(chosen.tile, chosen.slot);
      g.strokeStyle = c.focus;
      g.lineWidth = 2;
      g.strokeRect(at.x, at.y, l.size - pad, l.size - pad);
    }
    this.drawn = (this.drawn || 0) + 1;
    this.canvas.dataset.drawn = this.drawn;
  }

  // drawNode draws the name and state of a node, and a frame around one that is not up.
  drawNode(g, tile, node) {
    const l = this.layout, c = this.colors.byName, state = stateOf(node), drains = state.startsWith("drain"), color = drains ? c.soft : c.bad;
    if (l.label) {
      g.font = `11px ${FONT}`;
      const room = tile.w - g.measureText(state).width - 8;
      g.fillStyle = c.ink;
      g.fillText(clipped(g, node.node, room), tile.x, tile.y + l.label / 2);
      g.textAlign = "right";
      g.fillStyle = state === "up" ? c.soft : color;
      g.fillText(state, tile.x + tile.w, tile.y + l.label / 2);
      g.textAlign = "left";
    }
    if (state === "up") return;
    const width = l.size >= 7 ? 2 : 1;
    g.strokeStyle = color;
    g.lineWidth = width;
    g.strokeRect(tile.x - width, tile.y + l.label - width, Math.min(tile.per, Math.max(1, tile.count)) * l.size - this.pad + 2 * width, tile.h - l.label - this.pad + 2 * width);
  }

  cellAt(e) {
    const at = this.layout && this.layout.at(e.offsetX, e.offsetY);
    return at ? this.nodes[at.tile].first + at.slot : -1;
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
    if (this.chosen < 0) this.say(`Node ${was.node.node} has no slot ${was.slot} any more.`, "", "");
    this.describe();
  }

  // describe says in words what the chosen slot is.
  describe() {
    const c = this.cells[this.chosen];
    if (!c) return;
    const n = c.node, s = c.state;
    const what = s.kind === "" ? "idle" : `runs a ${s.kind === "busy" ? "" : s.kind + " "}task of ${s.owner || NOBODY}`;
    this.say(`Node ${n.node}, group ${n.group}, slot ${c.slot}: ${what}`, s.job,
      `${s.reserved ? "; it takes short tasks only" : ""}. ${n.busy} of ${n.slots} slots of the node are busy; it is ${stateOf(n)}${n.reason ? " (" + n.reason + ")" : ""}.`);
  }

  // say says what a slot is, with a link to its job, which stays the same element while the text does.
  say(before, job, after) {
    const known = job && this.store.named(job), name = known && known.name ? `${known.name} (${job})` : job, key = [before, name, after].join();
    if (key === this.said) return;
    this.said = key;
    if (!job) return put(byId("chosen"), before + after);
    const link = el("a", { href: `#job=${encodeURIComponent(job)}` }, name);
    link.addEventListener("click", e => {
      e.preventDefault();
      this.openJob(job);
    });
    put(byId("chosen"), before, ", job ", link, after);
  }

  openJob(job) {
    if (job && this.store.you) this.open(this.store.named(job) || { job, frontend: this.store.you.frontends[0] });
  }

  key(e) {
    const last = this.cells.length - 1, at = this.chosen;
    if (e.key === "Enter" && at >= 0) this.openJob(this.cells[at].state.job);
    const to = { Home: () => 0, End: () => last, ArrowRight: () => Math.min(last, at + 1), ArrowLeft: () => Math.max(0, at - 1), ArrowDown: () => this.nearest(1), ArrowUp: () => this.nearest(-1) }[e.key]?.() ?? -1;
    if (to < 0) return;
    e.preventDefault();
    this.choose(to);
  }

  // nearest returns the slot above or below the chosen one; itself where there is none.
  nearest(way) {
    if (this.chosen < 0) return 0;
    const place = c => this.layout.place(c.tile, c.slot), from = place(this.cells[this.chosen]);
    let best = this.chosen, least = Infinity;
    this.cells.forEach((c, i) => {
      const at = place(c), down = way * (at.y - from.y), far = down + 4 * Math.abs(at.x - from.x);
      if (down > 1 && far < least) best = i, least = far;
    });
    return best;
  }

  legend() {
    const c = this.colors, entry = (fill, text) => el("span", { title: text }, el("i", { style: { background: fill } }), text);
    const list = [entry(c.byName.idle, "idle"), entry(c.byName.reserved, "idle, for short tasks only"), frame("bad", "node not reached"), frame("soft", "node that drains")];
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

const stateOf = n => n.state || (n.up ? "up" : "unreachable");

const frame = (color, text) => el("span", { title: text }, el("i", { style: { border: `2px solid var(--${color})` } }), text);

// clipped returns as much of a text as has room.
function clipped(g, text, room) {
  if (g.measureText(text).width <= room) return text;
  let n = text.length;
  while (n > 1 && g.measureText(text.slice(0, n) + "…").width > room) n--;
  return text.slice(0, n) + "…";
}
