// Where the nodes of each group are drawn: a tile for each, with its slots, apart from its neighbours, and above
// them its name and state while there is room for these. sizes has the slots of each node of each group.
const ROOM = 460, HEAD = 24, LABEL = 17, LABEL_WIDTH = 150, BETWEEN = 12;

export function tiles(sizes, width) {
  let layout = null;
  for (const label of [LABEL, 0]) {
    for (const size of label ? [24, 18, 14] : [24, 18, 14, 10, 7, 5, 3]) {
      layout = arrange(sizes, width, size, label);
      if (layout.height <= ROOM) return layout;
    }
  }
  return layout;
}

function arrange(sizes, width, size, label) {
  const n = sizes.length, columns = n <= 4 ? 1 : Math.max(1, Math.min(n, Math.ceil(Math.sqrt(n * width / 600))));
  const blockWidth = (width - BETWEEN * (columns - 1)) / columns, gap = size >= 10 ? 8 : 3;
  const blocks = [], list = [];
  let top = 0, lowest = 0;
  sizes.forEach((slots, k) => {
    if (k % columns === 0) top += lowest, lowest = 0;
    const left = (k % columns) * (blockWidth + BETWEEN);
    let x = 0, y = HEAD, line = 0;
    for (const count of slots) {
      const per = Math.max(1, Math.min(count <= 8 ? count : Math.ceil(Math.sqrt(3 * count)), Math.floor(blockWidth / size)));
      const w = Math.min(blockWidth, Math.max(per * size, label && LABEL_WIDTH)), h = label + Math.max(1, Math.ceil(count / per)) * size;
      if (x > 0 && x + w > blockWidth) x = 0, y += line + gap, line = 0;
      list.push({ x: left + x, y: top + y, w, h, per, count });
      x += w + gap;
      line = Math.max(line, h);
    }
    lowest = Math.max(lowest, y + line + BETWEEN);
    blocks.push({ x: left, y: top });
  });
  return {
    size, label, gap, blockWidth, blocks, tiles: list, height: top + lowest,
    // place returns where a slot of a tile is.
    place(tile, slot) {
      const t = list[tile];
      return { x: t.x + (slot % t.per) * size, y: t.y + label + Math.floor(slot / t.per) * size };
    },
    // at returns the tile and the slot at a point, null between them.
    at(x, y) {
      const tile = list.findIndex(t => x >= t.x && x < t.x + t.w && y >= t.y && y < t.y + t.h);
      if (tile < 0) return null;
      const t = list[tile], i = Math.floor((x - t.x) / size), slot = Math.floor((y - t.y - label) / size) * t.per + i;
      return i < t.per && slot >= 0 && slot < t.count && y >= t.y + label ? { tile, slot } : null;
    },
  };
}
