package webpage

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// sent is an event as a viewer reads it.
type sent struct {
	Reset    bool
	Gap      bool
	Problem  string
	You      *viewer
	Groups   []groupRow
	Nodes    []nodeRow
	Gone     []string
	Jobs     []jobRow
	Departed []nodeRow
}

// changing is a source whose answers a test changes.
type changing struct {
	fakeSource
	mu    sync.Mutex
	nodes []api.Node
	list  []api.Status
}

func (c *changing) Nodes(context.Context) ([]api.MasterState, error) {
	c.requests.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	return []api.MasterState{{Group: 0, Epoch: 1, Workers: len(c.nodes), Nodes: append([]api.Node(nil), c.nodes...)}}, nil
}

func (c *changing) List(context.Context, int, string) ([]api.Status, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]api.Status(nil), c.list...), nil
}

// as serves a page to a principal.
func as(t *testing.T, p *Page, who identity.Principal) string {
	t.Helper()
	return from(t, p, who, "")
}

// from serves a page to a caller at an address, "" for the one that it has.
func from(t *testing.T, p *Page, who identity.Principal, address string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = cmp.Or(address, r.RemoteAddr)
		p.ServeHTTP(w, r.WithContext(identity.With(r.Context(), who)))
	}))
	t.Cleanup(s.Close)
	t.Cleanup(p.Close) // first
	return s.URL
}

// stream returns a function that reads the next event; it returns nil for a closed stream.
func stream(t *testing.T, address string) (next func() *sent, end func()) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/page/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", answer, err)
	}
	t.Cleanup(func() { end(); _ = answer.Body.Close() })
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	in := bufio.NewReader(answer.Body)
	return func() *sent {
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return nil
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				var e sent
				if err := json.Unmarshal([]byte(data), &e); err != nil {
					t.Fatal(err)
				}
				return &e
			}
		}
	}, end
}

// Viewers receive everything once, then what changed, and nothing is read while there is no
// viewer.
func TestStream(t *testing.T) {
	t.Parallel()
	c := &changing{nodes: []api.Node{{ID: "n-0", Slots: 1, SlotUse: ".-", Up: true}, {ID: "n-1", Slots: 1, SlotUse: ".-", Up: true}}, list: []api.Status{{Job: "j-0", Submitter: "alice", Command: "secret"}, {Job: "j-9", Submitter: "alice", Reason: "secret"}}}
	p := New(Place{Name: "f-0", Source: c})
	address := as(t, p, identity.Principal{Role: identity.Viewer, Name: "vera", Proof: identity.Token})
	if n := c.requests.Load(); n != 0 {
		t.Errorf("read %d times before anybody looked", n)
	}
	next, end := stream(t, address)
	e := next()
	if !e.Reset || len(e.Groups) != 1 || e.Groups[0].Nodes != nil || len(e.Nodes) != 2 || len(e.Jobs) != 2 || e.You == nil || e.You.Name != "vera" || e.You.Role != "viewer" || e.You.Frontends[0] != "f-0" {
		t.Errorf("first: %+v", e)
	}
	for _, j := range e.Jobs {
		if strings.Contains(j.Reason+j.Command, "secret") {
			t.Errorf("a viewer sees the reason or the command of another's job: %+v", j)
		}
	}
	c.mu.Lock()
	c.nodes = []api.Node{{ID: "n-1", Slots: 1, Busy: 1, SlotUse: "s-", Up: true}}
	c.list = append([]api.Status{{Job: "j-1"}}, c.list...)
	c.mu.Unlock()
	for e = next(); len(e.Nodes) == 0; e = next() {
	}
	if e.Reset || e.Gap || e.You != nil || len(e.Nodes) != 1 || e.Nodes[0].SlotUse != "s-" || len(e.Gone) != 1 || e.Gone[0] != "0/n-0" || len(e.Jobs) != 1 || e.Jobs[0].Job != "j-1" {
		t.Errorf("second: %+v", e)
	}
	end()
	await.Until(t, "nobody looks", func() bool { p.board.mu.Lock(); defer p.board.mu.Unlock(); return p.board.viewers == 0 })
	p.board.readers.Wait()
	before := c.requests.Load()
	next, _ = stream(t, address)
	if e = next(); !e.Reset || len(e.Nodes) != 1 || c.requests.Load() == before {
		t.Errorf("somebody who comes back is sent %+v", e)
	}
	p.Close()
	for e != nil {
		e = next()
	}
}

// One viewer more than the limit is refused, with the limit named.
func TestViewersAreBounded(t *testing.T) {
	p := New(Place{Name: "f-0", Source: &changing{}})
	address := as(t, p, identity.Self())
	for range MaxViewers {
		stream(t, address)
	}
	answer, err := http.Get(address + "/page/events") //nolint:noctx // of a test
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := bufio.NewReader(answer.Body).ReadString('\n')
	if answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, fmt.Sprintf("%d in all", MaxViewers)) {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}

// One user has a few of the viewers at most, whatever role it has, and so has one address, with all names that it
// uses; others still see the page, and the user does again when one of these viewers has ended.
func TestViewersOfOneCallerAreBounded(t *testing.T) {
	p := New(Place{Name: "f-0", Source: &changing{}})
	status := func(address string) (int, string) {
		answer, err := http.Get(address + "/page/events") //nolint:noctx // of a test
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := bufio.NewReader(answer.Body).ReadString('\n')
		return answer.StatusCode, text
	}
	var end func()
	for _, role := range []identity.Role{identity.User, identity.Admin, identity.Viewer} {
		alice := as(t, p, identity.Principal{Name: "alice-" + string(role), Role: role, Proof: identity.Token})
		for range mostOfUser {
			_, end = stream(t, alice)
		}
		if code, text := status(alice); code != http.StatusServiceUnavailable || !strings.Contains(text, fmt.Sprintf("%d of user alice-%s", mostOfUser, role)) {
			t.Errorf("alice: %d %s", code, text)
		}
		end()
		await.Until(t, "alice sees the page again", func() bool { code, _ := status(alice); return code == http.StatusOK })
	}
	anybody := identity.Principal{Role: identity.Superuser, Proof: identity.Insecure}
	for i := range mostOfAddress {
		stream(t, from(t, p, anybody, fmt.Sprintf("[2001:db8::%x]:1", i)))
	}
	if code, text := status(from(t, p, anybody, "[2001:db8::ffff]:1")); code != http.StatusServiceUnavailable || !strings.Contains(text, "from 2001:db8::/64") {
		t.Errorf("the network: %d %s", code, text)
	}
	if code, text := status(from(t, p, anybody, "192.0.2.1:1")); code != http.StatusOK {
		t.Errorf("another address: %d %s", code, text)
	}
}

// Rows that are gone are remembered up to a limit; a viewer that is further behind receives
// everything.
func TestRowsForget(t *testing.T) {
	var r rows[int]
	set := func(revision int64, key string) {
		r.set(revision, key, 0, func(a, b *int) bool { return *a == *b }, func() any { return key })
	}
	for i := range mostGone + 1 {
		set(1, fmt.Sprint(i))
	}
	set(2, "stays")
	r.dropUnseen(2)
	if list, gone := r.since(1, textOf); len(list) != 1 || len(gone) != 0 || r.forgotten != 2 {
		t.Errorf("%d rows, %d gone, forgotten %d", len(list), len(gone), r.forgotten)
	}
	set(3, "later")
	r.dropUnseen(3)
	if list, gone := r.since(2, textOf); len(list) != 1 || len(gone) != 1 || gone[0] != "stays" {
		t.Errorf("%d rows, %v gone", len(list), gone)
	}
	set(4, "x")
	r.forget(1)
	if _, ok := r.all["x"]; !ok || len(r.all) != 1 {
		t.Errorf("%v", r.all)
	}
}

// Jobs that come faster than they are read leave a gap, which is reported to viewers.
func TestGap(t *testing.T) {
	b := newBoard(nil)
	page := func(from int) *reading {
		s := &reading{places: []readPlace{{name: "f"}}}
		for i := range newest {
			s.places[0].jobs = append(s.places[0].jobs, api.Status{Job: fmt.Sprint(from + i)})
		}
		return s
	}
	b.apply(page(0))
	b.apply(page(newest - 1))
	if e, _, _ := b.since(1, identity.Self()); e.Gap || len(e.Jobs) != newest-1 {
		t.Errorf("%v, %d jobs", e.Gap, len(e.Jobs))
	}
	b.apply(page(5 * newest))
	if e, _, _ := b.since(2, identity.Self()); !e.Gap {
		t.Error("the gap is not told")
	}
	for i := range 10 {
		b.apply(page((10 + i) * newest))
	}
	if n := len(b.jobs.all); n > 2*newest {
		t.Errorf("%d jobs are kept", n)
	}
}

func TestWhy(t *testing.T) {
	for _, c := range []struct {
		queued, workers, idle, busy int
		reserved                    bool
		want                        string
	}{
		{0, 4, 0, 4, false, ""}, {1, 0, 0, 0, false, "no worker"}, {1, 4, 1, 3, false, "a limit"}, {1, 4, 0, 3, true, "reserved for short"}, {1, 4, 0, 4, false, "all 4 workers are busy"}, {1, 1, 0, 1, false, "only worker"},
		{1, 4, 0, 3, false, "all workers that take tasks are busy; the nodes of others drain"}, {1, 4, 0, 0, false, "no worker takes tasks: the nodes drain"}, {1, 1, 0, 0, false, "no worker takes tasks"},
	} {
		if got := why(&api.MasterState{Workers: c.workers, BusyGeneral: c.busy}, c.queued, c.idle, c.reserved); got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// The table of package access decides what a viewer may see of a job.
func TestAnswersAreForThoseWhoMay(t *testing.T) {
	s := &fakeSource{jobs: []api.Status{{Job: "j", Submitter: "alice"}}, output: "printed"}
	for _, c := range []struct {
		who   identity.Principal
		codes string // of explain, log, shares
	}{
		{identity.Principal{}, "403 403 200"}, // the server itself refuses callers without a role
		{identity.Principal{Role: identity.Viewer, Name: "alice"}, "403 403 200"},
		{identity.Principal{Role: identity.User, Name: "bob"}, "403 403 200"},
		{identity.Principal{Role: identity.User, Name: "alice"}, "200 200 200"},
		{identity.Principal{Role: identity.Operator, Name: "olga"}, "200 200 200"},
	} {
		address := as(t, New(Place{Name: "f-0", Source: s}), c.who)
		var codes []string
		for _, path := range []string{"/page/explain?job=j", "/page/log?job=j&task=0&attempt=0&offset=0&stream=stdout", "/page/shares"} {
			codes = append(codes, fetch(t, address+path, nil))
		}
		if got := strings.Join(codes, " "); got != c.codes {
			t.Errorf("%s: %s, want %s", c.who, got, c.codes)
		}
	}
	remote := as(t, New(Place{Name: "f-0", Source: s, Remote: true}), identity.Principal{Role: identity.User, Name: "alice"})
	if code := fetch(t, remote+"/page/shares", nil); code != "403" {
		t.Errorf("shares of a remote source: %s", code)
	}
	address := as(t, New(Place{Name: "f-0", Source: s}), identity.Self())
	for path, want := range map[string]string{
		"/page/explain?job=absent": "404", "/page/explain?job=j&frontend=f-9": "404", "/page/log?job=j": "400", "/page/log?job=j&task=0&attempt=0&offset=0&stream=disk": "400",
		"/page/log?job=j&task=0&attempt=0&offset=-1&stream=stdout": "400", "/page/jobs?after=&limit=" + url.QueryEscape("x"): "200",
	} {
		if code := fetch(t, address+path, nil); code != want {
			t.Errorf("%s: %s, want %s", path, code, want)
		}
	}
	var piece logPiece
	if fetch(t, address+"/page/log?job=j&task=0&attempt=3&offset=0&stream=stdout", &piece); piece.Text != "printed" || piece.Next != 7 || !piece.Ended || piece.Attempt != 3 {
		t.Errorf("%+v", piece)
	}
}

// The output of the newest attempt has ended when its job has: until then another attempt may follow.
func TestOutputOfTheNewestAttemptEndsWithItsJob(t *testing.T) {
	for state, want := range map[api.State]bool{api.StateRunning: false, api.StateCompleted: true} {
		s := &fakeSource{jobs: []api.Status{{Job: "j", State: state}}, output: "printed"}
		address := as(t, New(Place{Name: "f-0", Source: s}), identity.Self())
		var piece logPiece
		if fetch(t, address+"/page/log?job=j&task=0&attempt=0&offset=0&stream=stdout", &piece); piece.Text != "printed" || piece.Ended != want {
			t.Errorf("of a job that is %s: %+v, want ended %v", state, piece, want)
		}
	}
}

// fetch returns the status of an answer, and its JSON.
func fetch(t *testing.T, address string, into any) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if into != nil {
		if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprint(answer.StatusCode)
}

// A character that has only begun is left for the next piece.
func TestWholeCharacters(t *testing.T) {
	for in, want := range map[string]string{"": "", "a": "a", "aé": "aé", "a\xc3": "a", "€\xe2\x82": "€", "\xf0\x9f\x95": "", "a\xff": "a\xff", "\x80\x80\x80\x80": "\x80\x80\x80\x80"} {
		if got := string(whole([]byte(in), false)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if got := string(whole([]byte(in), true)); got != in {
			t.Errorf("%q at the end: %q", in, got)
		}
	}
}
