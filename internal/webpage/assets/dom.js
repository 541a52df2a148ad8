// Text from the cluster (ids, names, reasons) becomes text nodes, never markup.
export function el(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "style") Object.assign(e.style, value);
    else e.setAttribute(name, value === true ? "" : value);
  }
  put(e, ...children);
  return e;
}

// put replaces the children of an element. null and undefined are no child, as in el.
export function put(e, ...children) {
  e.replaceChildren(...children.filter(c => c !== null && c !== undefined).map(c => c instanceof Node ? c : String(c)));
}

// scrolledAcross returns how far the table in an element is scrolled across, for scrollAcross when the
// table has been drawn again.
export const scrolledAcross = e => e.querySelector(".scroll")?.scrollLeft || 0;

export function scrollAcross(e, to) {
  const table = e.querySelector(".scroll");
  if (table) table.scrollLeft = to;
}

export const byId = id => document.getElementById(id);

// setText changes an element only when its text is another one, so that readers are not told twice.
export function setText(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

// later calls a function once before the next picture, however often it was asked.
export function later(draw) {
  let waits = false;
  return () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => { waits = false; draw(); });
  };
}

// inView returns when the page can be seen: a hidden tab asks nothing, so that it costs the cluster nothing.
export async function inView() {
  while (document.visibilityState === "hidden") {
    await new Promise(done => document.addEventListener("visibilitychange", done, { once: true }));
  }
}

// get asks the server and returns its JSON; the error has the text of a refusal. It is final when the
// same question would be refused again: the job is not there, or the viewer may not see it.
export async function get(path, query = {}, signal = undefined) {
  const answer = await fetch(`page/${path}?${new URLSearchParams(query)}`, { cache: "no-store", signal });
  if (!answer.ok) throw Object.assign(new Error((await answer.text()).trim() || `status ${answer.status}`), { final: answer.status < 500 });
  return answer.json();
}
