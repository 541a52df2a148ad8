// whileSeen asks again and again while an element and its page can be seen.
const EVERY = 5000;

export function whileSeen(host, store, ask) {
  let visible = false, timer = 0;
  async function next() {
    clearTimeout(timer);
    if (!visible || document.visibilityState === "hidden") return;
    if (store.you) await ask();
    clearTimeout(timer); // another one may have begun meanwhile
    timer = setTimeout(next, store.you ? EVERY : 200);
  }
  new IntersectionObserver(entries => {
    visible = entries[entries.length - 1].isIntersecting;
    if (visible) next();
  }).observe(host);
  document.addEventListener("visibilitychange", next);
}
