import { el, get } from "./dom.js";

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
  let offset = 0, kept = "";
  while (!signal.aborted) {
    try {
      const piece = await get("log", { frontend: job.frontend, job: job.job, task: t.task, attempt: t.attempt, stream, offset }, signal);
      if (piece.missing) kept += `\n[${piece.missing} bytes are not kept: ${piece.why}]\n`;
      if (piece.text || piece.missing) {
        const end = text.scrollTop + text.clientHeight >= text.scrollHeight - 4;
        kept += piece.text;
        if (kept.length > MOST) kept = "…" + kept.slice(-MOST);
        text.textContent = kept;
        if (end) text.scrollTop = text.scrollHeight;
      }
      state.textContent = piece.ended ? `${piece.size} bytes, ended` : `${piece.size} bytes, followed`;
      const more = piece.next < piece.size && piece.next > offset;
      offset = piece.next;
      if (piece.ended) return;
      if (more) continue;
    } catch (e) {
      if (signal.aborted) return;
      state.textContent = e.message;
      return;
    }
    await new Promise(done => setTimeout(done, PAUSE));
  }
}
