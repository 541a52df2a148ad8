package nearest

import (
	"testing"

	"pgregory.net/rapid"
)

func TestWord(t *testing.T) {
	words := []string{"frontend", "master", "nodemonitor", "nodes"}
	for word, want := range map[string]string{
		"fronted": "frontend", "mastre": "master", "node": "nodes", "NODES": "nodes", "nodemon": "nodes", "nodemonitr": "nodemonitor",
	} {
		if got := Word(word, words); got != want {
			t.Errorf("Word(%q) = %q, want %q", word, got, want)
		}
	}
	if got := Word("x", nil); got != "" {
		t.Errorf("without candidates: %q", got)
	}
}

func TestClose(t *testing.T) {
	words := []string{"--class", "--key", "--sleep"}
	for word, want := range map[string]string{"--calss": "--class", "--slep": "--sleep", "--bogus": "", "--k": "--key", "": "", "x": ""} {
		if got := Close(word, words); got != want {
			t.Errorf("Close(%q) = %q, want %q", word, got, want)
		}
	}
	if got := Close("--class", nil); got != "" {
		t.Errorf("without candidates: %q", got)
	}
}

// TestDistance checks the clever routine against its definition.
func TestDistance(t *testing.T) {
	letters := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := letters.Draw(t, "a"), letters.Draw(t, "b")
		if got, want := distance(a, b), slowDistance(a, b); got != want {
			t.Fatalf("distance(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}

func slowDistance(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	x, y := a[:len(a)-1], b[:len(b)-1]
	cost := 1
	if a[len(x)] == b[len(y)] {
		cost = 0
	}
	best := min(slowDistance(x, b)+1, slowDistance(a, y)+1, slowDistance(x, y)+cost)
	if len(x) > 0 && len(y) > 0 && a[len(x)] == b[len(y)-1] && a[len(x)-1] == b[len(y)] {
		best = min(best, slowDistance(x[:len(x)-1], y[:len(y)-1])+1)
	}
	return best
}
