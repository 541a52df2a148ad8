import { color } from "./drawing/canvas.js";

// Colours of owners: twelve that most people tell apart, first by the order of the owners' names. An
// owner keeps its colour while others come and go. When more than twelve can be seen at a time, colours
// are repeated. The legend and the text name each.
const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#b5a300", "#1b9e9e", "#a65628", "#e7298a", "#66a61e"];
const SIGNS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

// MOST_KNOWN bounds the owners whose colours are remembered.
const MOST_KNOWN = 1000;

export const NOBODY = "nobody in particular";

// slotsOf returns what is in each slot of a node: its class ("", "short", "long" or "busy"),
// whether it takes short tasks only, the owner, and the job
// where that is known by name.
export function slotsOf(node) {
  const list = [], use = node.slot_use || "";
  for (let i = 0; i + 1 < use.length; i += 2) {
    const sign = use[i], at = SIGNS.indexOf(use[i + 1]);
    const reserved = sign === "_" || sign < "a" && sign !== ".";
    const kind = { ".": "", "_": "", s: "short", l: "long", b: "busy" }[reserved ? sign.toLowerCase() : sign] || "";
    const owner = at >= 0 ? (node.owners || [])[at] || "" : use[i + 1] === "+" ? "another owner" : "";
    list.push({ kind, reserved, owner, job: (node.slot_jobs || [])[i / 2] || "" });
  }
  for (let i = list.length; i < node.slots; i++) list.push({ kind: i < node.busy ? "busy" : "", reserved: false, owner: "", job: "" }); // of an earlier version
  return list;
}

export class Colors {
  constructor() { this.owners = []; this.places = new Map(); this.read(); } // places of owners in the palette

  // read reads the colours of the style, which change with the dark mode.
  read() {
    this.byName = Object.fromEntries(["short", "long", "busy", "idle", "reserved", "ink", "soft", "line", "bad", "focus"].map(n => [n, color(n)]));
  }

  // know sets the owners that can be seen. One that has come takes the colour that it had, else one that
  // nobody has had, else one of those that can no longer be seen.
  know(owners) {
    const before = new Set(this.owners), all = [...PALETTE.keys()];
    this.owners = [...owners].sort();
    const taken = new Set(this.owners.filter(o => before.has(o)).map(o => this.places.get(o)));
    for (const o of this.owners.filter(o => !before.has(o))) {
      let place = this.places.get(o);
      if (place === undefined || taken.has(place)) {
        const had = new Set(this.places.values());
        place = all.find(i => !had.has(i)) ?? all.find(i => !taken.has(i)) ?? place ?? this.places.size % PALETTE.length;
      }
      this.places.set(o, place);
      taken.add(place);
    }
    if (this.places.size > MOST_KNOWN) this.places = new Map(this.owners.map(o => [o, this.places.get(o)]));
  }

  owner(name) {
    const i = this.places.get(name);
    return name === "" || i === undefined ? this.byName.busy : PALETTE[i];
  }

  slot(s, by) {
    if (s.kind === "") return s.reserved ? this.byName.reserved : this.byName.idle;
    if (by === "owner") return this.owner(s.owner);
    return this.byName[s.kind] || this.byName.busy;
  }
}
