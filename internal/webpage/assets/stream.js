// The stream of events. It is open only while the page can be seen, so that a hidden tab costs
// the cluster nothing.
const FIRST_PAUSE = 500, MOST_PAUSE = 8000;

export function follow(onEvent, onState) {
  let stop = null, pause = FIRST_PAUSE, timer = 0;
  async function open() {
    const abort = new AbortController();
    stop = () => abort.abort();
    try {
      const answer = await fetch("page/events", { cache: "no-store", headers: { Accept: "text/event-stream" }, signal: abort.signal });
      if (!answer.ok) throw new Error((await answer.text()).trim());
      await read(answer.body.getReader(), e => { pause = FIRST_PAUSE; onEvent(e); onState("live"); });
      throw new Error("the stream ended");
    } catch (e) {
      if (abort.signal.aborted) return;
      onState("away", e.message);
      timer = setTimeout(open, pause);
      pause = Math.min(2 * pause, MOST_PAUSE);
    }
  }
  function look() {
    clearTimeout(timer);
    if (stop) stop();
    stop = null;
    if (document.visibilityState === "hidden") onState("paused");
    else open();
  }
  document.addEventListener("visibilitychange", look);
  look();
}

// read parses server-sent events; each has one line of data.
async function read(reader, onEvent) {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const line = text.slice(0, end);
      text = text.slice(end + 2);
      if (line.startsWith("data: ")) onEvent(JSON.parse(line.slice(6)));
    }
  }
}
