package pagetest

import (
	"testing"

	"github.com/pigeon-sched/pigeon/bench/chromiumtest"
)

// openStore opens a tab with a Store of the page and nothing else of it. The test answers its
// requests: answers has the jobs of each frontend, newest first, in pages of one job, and asked the
// frontends that were asked. tick is what the store does when some time has passed.
func openStore(t *testing.T) *chromiumtest.Tab {
	t.Helper()
	b := chromiumtest.Open(t, served(t, small())+"page/style.css", 400, 300)
	b.Text(`{
		window.answers = {}; window.asked = []; window.due = [];
		window.tick = () => due.forEach(f => f());
		window.setInterval = window.setTimeout = f => { due.push(f); };
		window.before = () => null; // what an answer waits for
		window.fetch = async url => {
			const q = new URL(url, location).searchParams, frontend = q.get("frontend"), after = q.get("after");
			asked.push(frontend);
			await before(after);
			const all = answers[frontend] || [], at = all.findIndex(j => j.job === after) + 1;
			return { ok: true, json: async () => ({ jobs: all.slice(at, at + 1), more: at + 1 < all.length }) };
		};
		window.job = (frontend, name, submitted, state) => ({ key: frontend + "/" + name, job: name, frontend, submitted, state });
		window.you = frontends => ({ newest: 2, frontends });
		window.states = () => [...store.jobs.values()].map(j => j.key + " " + j.state).sort().join(", ");
		import("/page/store.js").then(m => { window.store = new m.Store(() => {}); });
	}`)
	b.Await(`window.store`, `document.documentElement.outerHTML`)
	return b
}

// A job that runs when enough newer ones have come is not followed by the stream any more: the page
// asks for it, and for no jobs of frontends that have no such job.
func TestPageAsksForJobsThatTheStreamHasLeft(t *testing.T) {
	t.Parallel()
	b := openStore(t)
	b.Text(`store.apply({ time: 1, reset: true, you: you(["a", "b"]), jobs: [job("a", "1", 1, "running"), job("b", "1", 1, "running")] })`)
	b.Await(`store.fetching.size === 0`, `asked`)
	b.Text(`store.apply({ time: 2, jobs: [job("a", "2", 2, "running"), job("a", "3", 3, "running")] })
		answers = { a: [job("a", "3", 3, "running"), job("a", "2", 2, "running"), job("a", "1", 1, "completed")] }; asked = [];
		tick()`)
	b.Await(`states() === "a/1 completed, a/2 running, a/3 running, b/1 running"`, `states()`)
	if got := b.Text(`asked.join()`); got != "a,a,a" {
		t.Errorf("asked %s, want a page of a thrice", got)
	}
	b.Text(`asked = []; tick()`)
	if got := b.Text(`asked.join()`); got != "" {
		t.Errorf("asked %s although no job is left that the stream does not follow and that has not ended", got)
	}
}

// When the state is sent anew while older jobs are on their way, all of them are fetched anew: those
// that had come are dropped with the rest.
func TestPageFetchesOlderJobsAnewWithTheState(t *testing.T) {
	t.Parallel()
	b := openStore(t)
	b.Text(`answers = { a: [4, 3, 2, 1].map(n => job("a", String(n), n, "completed")) };
		before = after => after === "3" ? new Promise(done => { window.answer = done; }) : null;
		store.apply({ time: 1, reset: true, you: you(["a"]) })`)
	b.Await(`window.answer`, `asked`)
	b.Text(`before = () => null; store.apply({ time: 2, reset: true }); answer()`)
	b.Await(`store.fetching.size === 0`, `asked`)
	if got := b.Text(`states()`); got != "a/1 completed, a/2 completed, a/3 completed, a/4 completed" {
		t.Errorf("the page has %s, want all four jobs", got)
	}
}
