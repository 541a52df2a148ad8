// Numbers as people read them.
export const count = n => n.toLocaleString("en-US");
export const plural = (n, word, many = word + "s") => `${count(n)} ${n === 1 ? word : many}`;
// age is for times that are known to a second.
export const age = s => s < 99.5 ? `${Math.max(1, Math.round(s))} s` : seconds(s);
export function seconds(s) {
  if (s <= 0) return "0 s";
  if (s < 0.9995) return s < 0.001 ? `${(s * 1e6).toFixed(0)} µs` : `${(s * 1e3).toFixed(s < 0.01 ? 1 : 0)} ms`;
  if (s < 99.95) return `${s.toFixed(s < 9.995 ? 2 : 1)} s`;
  if (s < 7200) return `${count(Math.round(s))} s`;
  return `${(s / 3600).toFixed(1)} h`;
}
