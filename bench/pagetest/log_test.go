package pagetest

import (
	"fmt"
	"testing"

	"github.com/pigeon-sched/pigeon/bench/chromiumtest"
)

// followLog opens a tab that follows the standard output of task 0, and nothing else of the page. Its
// questions are answered with answers, the expressions of a script, one after the other; the questions after
// these have no answer.
func followLog(t *testing.T, answers string) *chromiumtest.Tab {
	t.Helper()
	b := chromiumtest.Open(t, served(t, small())+"page/style.css", 400, 300)
	b.Text(fmt.Sprintf(`{
		const piece = p => ({ ok: true, json: async () => p }), refusal = (status, text) => ({ ok: false, status, text: async () => text });
		const answers = [%s];
		window.offsets = [];
		window.fetch = async url => {
			const q = new URL(url, location).searchParams;
			if (q.get("stream") === "stderr") return new Promise(() => {});
			offsets.push(q.get("offset"));
			return answers.length ? answers.shift()() : new Promise(() => {});
		};
		const later = setTimeout;
		window.setTimeout = f => later(f, 0);
		const host = document.createElement("div");
		document.documentElement.append(host);
		window.shown = () => host.querySelector("pre").textContent;
		window.state = () => host.querySelector("h3 .soft")?.textContent;
		import("/page/log.js").then(m => m.drawLog(host, { frontend: "f", job: "j" }, { task: 0, attempt: 0 }, new AbortController().signal));
	}`, answers))
	return b
}

// An output is followed although its task has not started yet, its frontend did not answer once, or
// the task was started again: then the output of the new attempt is shown from its beginning.
func TestPageFollowsAnOutput(t *testing.T) {
	t.Parallel()
	b := followLog(t, `
		() => refusal(503, "it has not started yet"),
		() => piece({ text: "one", next: 3, size: 3, attempt: 1 }),
		() => Promise.reject(new Error("the test has no network")),
		() => piece({ text: "o", next: 4, size: 4, attempt: 2 }),
		() => piece({ text: "two", next: 3, size: 4, attempt: 2 }),
		() => piece({ text: "o", next: 4, size: 4, attempt: 2, ended: true }),
	`)
	b.Await(`state() === "4 bytes, ended"`, `state()`)
	if got, want := b.Text(`shown()`), "one\n[the output of attempt 2 follows, from its beginning]\ntwoo"; got != want {
		t.Errorf("%q is shown, want %q", got, want)
	}
	if got := b.Text(`offsets.join()`); got != "0,0,3,3,0,3" {
		t.Errorf("asked for the output from %s, want 0,0,3,3,0,3", got)
	}
}

// An output that the viewer may not see, or that is not there, is asked for once.
func TestPageFollowsNoRefusedOutput(t *testing.T) {
	t.Parallel()
	b := followLog(t, `() => refusal(403, "you may not")`)
	b.Await(`state() === "you may not"`, `state()`)
	b.Text(`setTimeout(() => { window.later = true; })`)
	b.Await(`window.later`, `state()`)
	if got := b.Text(`offsets.length`); got != "1" {
		t.Errorf("asked %s times, want once", got)
	}
}
