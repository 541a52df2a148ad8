package notice

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSubjects(t *testing.T) {
	for want, got := range map[string]string{
		"pigeon.dev.master.0.idle":                 IdleSubject("dev", 0, ""),
		"pigeon.a=2Eb=20c.master.12.idle":          IdleSubject("a.b c", 12, ""),
		"pigeon.dev.frontend.f-1.report":           ReportSubject("dev", "f-1", ""),
		"pigeon.dev.node.host=2Eexample=2Ecom.ack": AckSubject("dev", "host.example.com"),
		"pigeon.=.node.=2A=3E=3D=C3=A9.ack":        AckSubject("", "*>=é"),
		"pigeon.dev.master.0.idle.n=2E1":           IdleSubject("dev", 0, "n.1"),
		"pigeon.dev.frontend.f-1.report.*":         ReportSubject("dev", "f-1", Anyone),
		"pigeon.dev.node.n=0A.ack":                 AckSubject("dev", "n\n"),
	} {
		if got != want {
			t.Errorf("subject %q, want %q", got, want)
		}
	}
}

// Any name is one token that a server accepts, and two names never share one.
func TestTokensAreValidAndDiffer(t *testing.T) {
	name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a.=2E ]{0,8}`), rapid.StringN(150, 400, -1))
	rapid.Check(t, func(t *rapid.T) {
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		x, y := Token(a), Token(b)
		if x == "" || len(x) > maxToken || strings.ContainsAny(x, " \t\r\n.*>") {
			t.Fatalf("%q became %q", a, x)
		}
		if (a == b) != (x == y) {
			t.Fatalf("%q and %q became %q and %q", a, b, x, y)
		}
	})
}

// A subscriber to the notices of all gets those with a name and those without, and the token of
// the name.
func TestSubscribeNamed(t *testing.T) {
	c := &cluster{t: t}
	c.start()
	from, _ := c.connect(Options{})
	to, _ := c.connect(Options{})
	got := make(chan [2]string, 10)
	subject := func(node string) string { return IdleSubject("c", 1, node) }
	must(t, to.SubscribeNamed(subject, func(by string, data []byte) { got <- [2]string{by, string(data)} }))
	for _, name := range []string{"", "n.1", "n1"} {
		must(t, from.Publish(subject(name), []byte(name)))
	}
	seen := map[[2]string]bool{}
	for range 3 {
		seen[<-got] = true
	}
	for _, want := range [][2]string{{"", ""}, {"n=2E1", "n.1"}, {"n1", "n1"}} {
		if !seen[want] {
			t.Errorf("%v is missing among %v", want, seen)
		}
	}
}

// The real server delivers by these subjects and to no other.
func TestStrangeNamesThroughTheServer(t *testing.T) {
	c := &cluster{t: t}
	c.start()
	from, _ := c.connect(Options{})
	to, _ := c.connect(Options{})
	names := []string{"n.1", "n 1", "n=1", "n*", "n>", ">", "", "Ünïcode", strings.Repeat("long ", 200)}
	got := make([]chan string, len(names))
	for i, n := range names {
		ch, take := texts()
		got[i] = ch
		must(t, to.Subscribe(AckSubject("c.1", n), take))
	}
	for _, n := range names {
		must(t, from.Publish(AckSubject("c.1", n), []byte(n)))
	}
	for i, n := range names {
		await(t, "notice", got[i], n)
	}
	if s := to.Stats(); s.Received != uint64(len(names)) {
		t.Errorf("%d received, want one each", s.Received)
	}
}
