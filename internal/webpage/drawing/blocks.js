// A block of cells for each group, so that all groups fit a width. The cells of a group are
// numbered row by row; head is the room above them.
export function layout(sizes, width, { head = 24, gap = 10, room = 380, largest = 40 } = {}) {
  const n = sizes.length, most = Math.max(1, ...sizes);
  const columns = n <= 4 ? 1 : Math.max(1, Math.min(n, Math.ceil(Math.sqrt(n * width / 600))));
  const rows = Math.ceil(n / columns), blockWidth = (width - gap * (columns - 1)) / columns;
  const tall = Math.max(46, room / Math.max(1, rows) - 30);
  const size = Math.max(3, Math.min(largest, Math.floor(Math.sqrt(blockWidth * tall / most))));
  const per = Math.max(1, Math.floor(blockWidth / size));
  const cell = { width: blockWidth / per, height: Math.min(size, blockWidth / per) };
  const block = head + Math.ceil(most / per) * cell.height + 8;
  const origin = group => ({ x: (group % columns) * (blockWidth + gap), y: Math.floor(group / columns) * block });
  return {
    columns, rows, blockWidth, per, cell, block, head, height: rows * block, origin,
    place(group, index) {
      const o = origin(group);
      return { x: o.x + (index % per) * cell.width, y: o.y + head + Math.floor(index / per) * cell.height };
    },
    // at returns the group and cell at a point; null between them.
    at(x, y) {
      const column = Math.floor(x / (blockWidth + gap)), group = Math.floor(y / block) * columns + column;
      if (column >= columns || group >= n || group < 0) return null;
      const o = origin(group), i = Math.floor((x - o.x) / cell.width), j = Math.floor((y - o.y - head) / cell.height);
      const index = j * per + i;
      return i < 0 || i >= per || j < 0 || index >= sizes[group] ? null : { group, index };
    },
  };
}

// pad is the space between cells.
export const pad = l => l.cell.height > 8 ? 1 : .5;

// fillCell draws one cell.
export function fillCell(g, l, at, color) {
  const p = pad(l);
  g.fillStyle = color;
  g.fillRect(at.x, at.y, l.cell.width - p, l.cell.height - p);
}
