import { el, get, inView } from "./dom.js";

// The output of a task, followed while it runs. The end of it is kept, up to MOST characters.
const MOST = 200000, PAUSE = 1000;

export function drawLog(host, job, t, signal) {
  const streams = ["stdout", "stderr"].map(stream => {
    const text = el("pre", { tabindex: "0", "aria-label": stream, "data-stream": stream });
    const state = el("span", { class: "soft" }, "reading");
    follow(job, t, stream, text, state, signal);
    return el("div", {}, el("h3", {}, `${stream} of task ${t.task}${t.attempt ? `, attempt ${t.attempt}` : ""} `, state), text);
  });
  host.replaceChildren(...streams);
}

async function follow(job, t, stream, text, state, signal) {
  let offset = 0, kept = "", attempt = 0;
  const show = more => {
    const end = text.scrollTop + text.clientHeight >= text.scrollHeight - 4;
    kept += more;
    if (kept.length > MOST) kept = "…" + kept.slice(-MOST);
    text.textContent = kept;
    if (end) text.scrollTop = text.scrollHeight;
  };
  while (!signal.aborted) {
    try {
      const piece = await get("log", { frontend: job.frontend, job: job.job, task: t.task, attempt: t.attempt, stream, offset }, signal);
      const other = attempt > 0 && piece.attempt > 0 && piece.attempt !== attempt;
      attempt = piece.attempt || attempt;
      if (other) { // the task was started again
        if (kept) show(`\n[the output of attempt ${attempt} follows, from its beginning]\n`);
        offset = 0;
        continue;
      }
      if (piece.missing) show(`\n[${piece.missing} bytes are not kept: ${piece.why}]\n`);
      if (piece.text) show(piece.text);
      state.textContent = piece.ended ? `${piece.size} bytes, ended` : `${piece.size} bytes, followed`;
      const more = piece.next < piece.size && piece.next > offset;
      offset = piece.next;
      if (piece.ended) return;
      if (more) continue;
    } catch (e) {
      if (signal.aborted) return;
      state.textContent = e.message;
      if (e.final) return;
    }
    await new Promise(done => setTimeout(done, PAUSE));
    await inView();
  }
}
