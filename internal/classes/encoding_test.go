package classes_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/classes"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// What was saved gives the same decisions, and is forgotten in the same order.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bounded := classes.Settings{Cutoff: sched.Second, MaxWorks: 8, MaxOverrun: 1} // overruns are saved apart
		l := classes.New(bounded)
		name := rapid.StringMatching("[a-m]")
		for range rapid.IntRange(1, 80).Draw(t, "jobs") {
			run(l, 0, job(name.Draw(t, "work")), sched.Time(rapid.Int64Range(0, 1<<40).Draw(t, "ran")))
		}
		saved := l.Save()
		loaded := classes.New(bounded)
		if err := loaded.Load(saved); err != nil || loaded.Works() != l.Works() || loaded.Changes() > 0 || string(loaded.Save()) != string(saved) {
			t.Fatalf("%d of %d works: %v", loaded.Works(), l.Works(), err)
		}
		for range 20 {
			work := name.Draw(t, "work")
			ran := sched.Time(rapid.Int64Range(0, 1<<40).Draw(t, "ran"))
			if a, b := run(l, 0, job(work), ran), run(loaded, 0, job(work), ran); a != b {
				t.Fatalf("%+v, and after loading %+v", a, b)
			}
		}
		if a, b := string(l.Save()), string(loaded.Save()); a != b {
			t.Fatal("they are saved differently")
		}
	})
}

// A damaged file is refused, wherever the damage is, and changes nothing.
func TestDamage(t *testing.T) {
	l := classes.New(settings)
	for i := range 9 {
		run(l, 0, job(fmt.Sprint(i)), sched.Second)
	}
	saved := l.Save()
	for i := range saved {
		for what, damaged := range map[string][]byte{
			"cut short":      saved[:i],
			"a wrong bit":    append(append(append([]byte{}, saved[:i]...), saved[i]^4), saved[i+1:]...),
			"a byte missing": append(append([]byte{}, saved[:i]...), saved[i+1:]...),
		} {
			if err := l.Load(damaged); err == nil || l.Works() != 9 {
				t.Fatalf("%s at %d: %v, %d works", what, i, err, l.Works())
			}
		}
	}
	if err := l.Load([]byte("another file, which is not as short as the header is")); err == nil || !strings.Contains(err.Error(), "does not begin") {
		t.Error(err)
	}
}

// A file with more works than are kept loses the least recently used ones.
func TestLoadIsBounded(t *testing.T) {
	l := classes.New(settings)
	for i := range 9 {
		run(l, 0, job(fmt.Sprint(i)), sched.Second)
	}
	small := classes.New(classes.Settings{Cutoff: sched.Second, MaxWorks: 2})
	if err := small.Load(l.Save()); err != nil || small.Works() != 2 {
		t.Fatalf("%d works: %v", small.Works(), err)
	}
	for i, want := range map[int]classes.Origin{6: classes.Undeclared, 7: classes.Learned, 8: classes.Learned} {
		if d := small.Decide(0, job(fmt.Sprint(i))); d.Origin != want {
			t.Errorf("%d: %+v", i, d)
		}
	}
}
