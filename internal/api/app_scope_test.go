package api_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// Whatever name an application gives itself, it still belongs to its user.
func TestAppScopes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.StringOf(rapid.SampledFrom([]rune("ab›/ ")))
		who, app := words.Draw(t, "who"), words.Draw(t, "app")
		other := words.Filter(func(s string) bool { return s != "" && s != "a" }).Draw(t, "other")
		scoped := api.ScopedApp(who, app)
		if who == "" || app == "" {
			if scoped != app {
				t.Fatalf("%q", scoped)
			}
			return
		}
		if api.PlainApp(scoped) != app || api.AppScope(scoped) == "" {
			t.Fatalf("%q of %q is %q", app, who, scoped)
		}
		if a := api.ScopedApp("a", app); a == api.ScopedApp(other, words.Draw(t, "other app")) && api.AppScope(a) != api.AppScope(api.ScopedApp(other, "x")) {
			t.Fatalf("%q and %q share %q", "a", other, a)
		}
	})
	if api.PlainApp("etl") != "etl" || api.AppScope("etl") != "" || api.ScopedApp("alice", "etl") != "alice›etl" {
		t.Error("plain names")
	}
}
