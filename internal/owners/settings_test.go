package owners_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/owners"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const example = `
half_life: 1h
shares:
  - owner: Team A
    weight: 2
    max: 0.5
    min: 0.1
  - {owner: Team A/Alice, weight: 3}
  - {owner: batch, max: 0.25}
quotas: [{owner: Team A, tasks: 1000}, {owner: batch, bytes: 1048576}]
default_tasks: 50
default_bytes: 4096
`

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "owners.yaml")
	write(t, path, example)
	f, err := owners.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	m := f.Shares.Message()
	if want := []sched.Share{{Owner: "Team A", Weight: 2, Max: 0.5, Min: 0.1}, {Owner: "Team A/Alice", Weight: 3}, {Owner: "batch", Weight: 1, Max: 0.25}}; m.Kind != sched.SetShares || !reflect.DeepEqual(m.More.Shares, want) || m.More.HalfLife != sched.Time(time.Hour) {
		t.Errorf("%+v", m.More)
	}
	if want := (owners.Quotas{Quotas: []owners.Quota{{Owner: "Team A", Tasks: 1000}, {Owner: "batch", Bytes: 1 << 20}}, DefaultTasks: 50, DefaultBytes: 4096}); !reflect.DeepEqual(f.Quotas, want) {
		t.Errorf("%+v", f.Quotas)
	}
}

// TestMistakes: impossible settings are refused, and the refusal names the entry or its owner.
func TestMistakes(t *testing.T) {
	deep := strings.Repeat("a/", 999) + "a"
	for _, c := range []struct {
		text string
		want []string
	}{
		{"shares: [{owner: a, wieght: 2}]", []string{"shares[1]", `"wieght"`, `"weight"`}},
		{"shares: [{owner: a}, {weight: 2}]", []string{"entry 2", "names no owner"}},
		{"shares: [{owner: a, weight: 0}]", []string{`"a"`, "weight"}},
		{"shares: [{owner: a, weight: -1}]", []string{`"a"`, "weight"}},
		{"shares: [{owner: a, weight: .nan}]", []string{"shares[1]", "weight", "finite"}},
		{"shares: [{owner: a, weight: .inf}]", []string{"shares[1]", "weight", "finite"}},
		{"shares: [{owner: a, weight: 1e999}]", []string{"shares[1]", "weight", "finite"}},
		{"shares: [{owner: a, min: 1.5}]", []string{`"a"`, "min"}},
		{"shares: [{owner: a, min: -0.5}]", []string{`"a"`, "min"}},
		{"shares: [{owner: a, max: 2}]", []string{`"a"`, "max"}},
		{"shares: [{owner: a, min: 0.5, max: 0.4}]", []string{`"a"`, "min", "max"}},
		{"shares: [{owner: a, min: 0.6}, {owner: b, min: 0.6}]", []string{`"b"`, "minima"}},
		{"shares: [{owner: a/x, min: 0.6}, {owner: a/y, min: 0.6}]", []string{`"a/y"`, "minima"}},
		{"shares: [{owner: a}, {owner: b}, {owner: a}]", []string{`"a"`, "two shares"}},
		{"shares: [{owner: a}, {owner: b//c}]", []string{"entry 2", `"b//c"`}},
		{"shares: [{owner: ' a'}]", []string{"entry 1", "space"}},
		{`shares: [{owner: "a\u0007"}]`, []string{"entry 1", "control"}},
		{"shares: [{owner: " + deep + "}]", []string{"entry 1"}},
		{"shares: &a [*a]", []string{"shares[1]", "alias"}},
		{"shares: [&a {owner: *a}]", []string{"shares[1]", "alias"}},
		{"shares: &a {b: *a}", []string{"shares", "list of entries"}},
		{"half_life: -1s", []string{"half_life", "0"}},
		{"half_life: 5", []string{"half_life", "unit"}},
		{"quotas: [{owner: a}]", []string{"entry 1", `"a"`, "limits nothing"}},
		{"quotas: [{tasks: 5}]", []string{"entry 1", "names no owner"}},
		{"quotas: [{owner: a, tasks: 1}, {owner: a, bytes: 1}]", []string{"entry 2", "entry 1", `"a"`}},
		{"quotas: [{owner: a, tasks: -1}]", []string{"entry 1", "tasks", "-1"}},
		{"quotas: [{owner: a, bytes: -1}]", []string{"entry 1", "bytes", "-1"}},
		{"quotas: [{owner: a, jobs: 1}]", []string{"quotas[1]", `"jobs"`}},
		{"quotas: [{owner: a/, tasks: 1}]", []string{"entry 1", `"a/"`}},
		{"default_tasks: -1", []string{"default_tasks"}},
		{"default_bytes: -1", []string{"default_bytes"}},
		{"share: []", []string{`"share"`, `"shares"`}},
	} {
		path := filepath.Join(t.TempDir(), "owners.yaml")
		write(t, path, c.text)
		_, err := owners.Load(path)
		if err == nil {
			t.Errorf("%.80s was accepted", c.text)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%.80s: the error lacks %q: %.300v", c.text, w, err)
			}
		}
	}
}

func TestBounds(t *testing.T) {
	var s owners.Shares
	var q owners.Quotas
	for i := range owners.MaxQuotas + 1 {
		s.Shares = append(s.Shares, owners.Share{Owner: fmt.Sprint(i), Weight: 1})
		q.Quotas = append(q.Quotas, owners.Quota{Owner: fmt.Sprint(i), Tasks: 1})
	}
	if fault := s.SharesFault(); !strings.Contains(fault, "10000") {
		t.Errorf("shares: %q", fault)
	}
	if fault := q.QuotasFault(); !strings.Contains(fault, "10000") {
		t.Errorf("quotas: %q", fault)
	}
	// A program may make settings that no file can have.
	if s = (owners.Shares{Shares: []owners.Share{{Owner: "a", Weight: math.NaN()}}}); s.SharesFault() == "" {
		t.Error("a weight that is no number was accepted")
	}
}

// A change of any setting is noticed when the settings are read again.
func TestEqual(t *testing.T) {
	shares := owners.Shares{Shares: []owners.Share{{Owner: "a", Weight: 1}}, HalfLife: time.Hour}
	for name, change := range map[string]func(*owners.Shares){
		"a weight": func(s *owners.Shares) { s.Shares = []owners.Share{{Owner: "a", Weight: 2}} }, "the half-life": func(s *owners.Shares) { s.HalfLife = time.Minute },
	} {
		other := shares
		if !shares.Equal(&other) {
			t.Error("shares differ from themselves")
		}
		if change(&other); shares.Equal(&other) {
			t.Errorf("a change of %s is not noticed", name)
		}
	}
	quotas := owners.Quotas{Quotas: []owners.Quota{{Owner: "a", Tasks: 1}}, DefaultTasks: 2, DefaultBytes: 3, Users: []owners.User{{Owner: "a", User: "u"}}}
	for name, change := range map[string]func(*owners.Quotas){
		"a quota": func(q *owners.Quotas) { q.Quotas = nil }, "default_tasks": func(q *owners.Quotas) { q.DefaultTasks = 0 },
		"default_bytes": func(q *owners.Quotas) { q.DefaultBytes = 0 }, "owner_users": func(q *owners.Quotas) { q.Users = nil },
	} {
		other := quotas
		if !quotas.Equal(&other) {
			t.Error("quotas differ from themselves")
		}
		if change(&other); quotas.Equal(&other) {
			t.Errorf("a change of %s is not noticed", name)
		}
	}
}
