import { color } from "./drawing/canvas.js";

// Colours of owners: twelve that most people tell apart, by the order of the owners' names while
// there are that many, and repeated beyond. The legend and the text name each.
const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#b5a300", "#1b9e9e", "#a65628", "#e7298a", "#66a61e"];
const SIGNS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

export const NOBODY = "nobody in particular";

// slotsOf returns what is in each slot of a node: its class ("", "short", "long" or "busy"),
// whether it takes short tasks only, and the owner.
export function slotsOf(node) {
  const list = [], use = node.slot_use || "";
  for (let i = 0; i + 1 < use.length; i += 2) {
    const sign = use[i], at = SIGNS.indexOf(use[i + 1]);
    const reserved = sign === "_" || sign < "a" && sign !== ".";
    const kind = { ".": "", "_": "", s: "short", l: "long", b: "busy" }[reserved ? sign.toLowerCase() : sign] || "";
    const owner = at >= 0 ? (node.owners || [])[at] || "" : use[i + 1] === "+" ? "another owner" : "";
    list.push({ kind, reserved, owner });
  }
  for (let i = list.length; i < node.slots; i++) list.push({ kind: i < node.busy ? "busy" : "", reserved: false, owner: "" }); // of an earlier version
  return list;
}

export class Colors {
  constructor() { this.owners = []; this.read(); }

  // read reads the colours of the style, which change with the dark mode.
  read() {
    this.byName = Object.fromEntries(["short", "long", "busy", "idle", "reserved", "ink", "soft", "line", "bad", "focus"].map(n => [n, color(n)]));
  }

  // know sets the owners that can be seen.
  know(owners) { this.owners = [...owners].sort(); }

  owner(name) {
    const i = this.owners.indexOf(name);
    return name === "" || i < 0 ? this.byName.busy : PALETTE[i % PALETTE.length];
  }

  slot(s, by) {
    if (s.kind === "") return s.reserved ? this.byName.reserved : this.byName.idle;
    if (by === "owner") return this.owner(s.owner);
    return this.byName[s.kind] || this.byName.busy;
  }
}
