import { el, later } from "./dom.js";

// A list of which only the rows that can be seen are elements, so that ten thousand cost what
// forty do. Arrow keys, Page, Home and End choose a row; Enter or a click opens it.
const HEIGHT = 32, SPARE = 6;

export class List {
  // columns: { title, cell(row) -> text or node, class, wide, ages: its cells change with the time }
  constructor(host, { label, columns, open, empty }) {
    this.columns = columns; this.open = open; this.empty = empty;
    this.rows = []; this.chosen = null; this.pool = [];
    this.head = el("div", { class: "head", role: "row" }, ...columns.map(c => el("span", { role: "columnheader", class: classOf(c) }, c.title)));
    this.space = el("div", { role: "presentation" });
    this.window = el("div", { class: "window", role: "rowgroup", tabindex: "-1" }, this.space);
    this.box = el("div", { class: "list", role: "grid", tabindex: "0", "aria-label": label, "aria-readonly": "true" }, el("div", { role: "rowgroup" }, this.head), this.window);
    host.append(this.box);
    this.id = host.id;
    this.draw = later(() => this.drawNow());
    this.window.addEventListener("scroll", this.draw, { passive: true });
    // The grid has the focus, since no other part of it may name the active row to screen readers. What scrolls
    // would be a second stop of the Tab key, and take the focus on a click.
    this.window.addEventListener("focus", () => this.box.focus({ preventScroll: true }));
    this.box.addEventListener("keydown", e => this.key(e));
    this.window.addEventListener("click", e => {
      const row = e.target.closest("[data-key]"); // its index may be that of another row, which is not drawn yet
      const at = row ? this.rows.findIndex(r => r.key === row.dataset.key) : -1;
      if (at < 0) return;
      this.choose(at);
      if (this.open) this.open(this.rows[at]);
    });
    new ResizeObserver(this.draw).observe(this.window);
  }

  // set shows other rows. What was scrolled to stays in its place when rows come or go above it.
  set(rows) {
    const w = this.window, top = Math.floor(w.scrollTop / HEIGHT), first = w.scrollTop > 0 ? this.rows[top] : undefined;
    this.rows = rows;
    const at = first ? rows.findIndex(r => r.key === first.key) : -1;
    if (at >= 0 && at !== top) {
      this.makeRoom();
      w.scrollTop += (at - top) * HEIGHT;
    }
    this.draw();
  }

  makeRoom() { this.space.style.height = `${Math.max(this.rows.length, 1) * HEIGHT}px`; }

  chosenIndex() { return this.chosen === null ? -1 : this.rows.findIndex(r => r.key === this.chosen); }

  choose(i) {
    const row = this.rows[Math.max(0, Math.min(this.rows.length - 1, i))];
    if (!row) return;
    this.chosen = row.key;
    const top = this.rows.indexOf(row) * HEIGHT, w = this.window;
    if (top < w.scrollTop) w.scrollTop = top;
    else if (top + HEIGHT > w.scrollTop + w.clientHeight) w.scrollTop = top + HEIGHT - w.clientHeight;
    this.draw();
  }

  key(e) {
    const page = Math.max(1, Math.floor(this.window.clientHeight / HEIGHT) - 1), at = this.chosenIndex();
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: this.rows.length - 1 }[e.key];
    if (to !== undefined) { e.preventDefault(); this.choose(to); }
    if (e.key === "Enter" && at >= 0 && this.open) { e.preventDefault(); this.open(this.rows[at]); }
  }

  drawNow() {
    const n = this.rows.length, w = this.window;
    this.makeRoom();
    this.box.setAttribute("aria-rowcount", n + 1);
    const first = Math.max(0, Math.floor(w.scrollTop / HEIGHT) - SPARE), last = Math.min(n, Math.ceil((w.scrollTop + w.clientHeight) / HEIGHT) + SPARE);
    while (this.pool.length < last - first) this.pool.push(this.make());
    let active = "";
    this.pool.forEach((slot, k) => {
      const i = first + k, row = i < last ? this.rows[i] : undefined;
      slot.row.hidden = !row;
      slot.row.style.display = row ? "" : "none";
      if (!row) return;
      slot.row.dataset.index = i;
      slot.row.dataset.key = row.key;
      slot.row.style.top = `${i * HEIGHT}px`;
      slot.row.setAttribute("aria-rowindex", i + 2);
      const chosen = row.key === this.chosen;
      slot.row.classList.toggle("active", chosen);
      slot.row.setAttribute("aria-selected", chosen);
      if (chosen) active = slot.row.id;
      this.columns.forEach((c, x) => { if (c.ages || slot.shown !== row) fill(slot.cells[x], c.cell(row)); });
      slot.shown = row;
    });
    if (active) this.box.setAttribute("aria-activedescendant", active); else this.box.removeAttribute("aria-activedescendant");
    if (!this.none) this.window.append(this.none = el("p", { class: "empty" }, this.empty));
    this.none.hidden = n > 0;
    this.space.hidden = n === 0;
  }

  make() {
    const cells = this.columns.map(c => el("span", { role: "gridcell", class: classOf(c) }));
    const row = el("div", { class: "row", role: "row", id: `${this.id}-row-${this.pool.length}` }, ...cells);
    this.window.append(row);
    return { row, cells, shown: null };
  }
}

const classOf = c => [c.class, c.wide && "wide"].filter(Boolean).join(" ") || undefined;

function fill(cell, content) {
  if (content instanceof Node) { cell.replaceChildren(content); cell.title = ""; return; }
  const text = String(content);
  if (cell.textContent !== text) cell.textContent = text;
  cell.title = text;
}
