// context sizes a canvas for the screen and returns its 2D context and its width; one unit is
// a CSS pixel.
export function context(canvas, height) {
  const ratio = globalThis.devicePixelRatio || 1, width = canvas.clientWidth;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  return [g, width];
}

// color returns a colour of the page's style.
export const color = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const FONT = "system-ui, 'Liberation Sans', sans-serif";
