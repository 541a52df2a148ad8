package tokens

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Unix(1_800_000_000, 0)

func create(t testing.TB, path string, o Order) string {
	t.Helper()
	text, _, err := Create(path, o, noon)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func reader(t testing.TB, path string, now func() time.Time) *Reader {
	t.Helper()
	r, err := open(path, slog.New(slog.DiscardHandler), time.Millisecond, now)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// denies checks that an error is a refusal in four parts that has none of the token's secret.
func denies(t *testing.T, err error, token string, want string) {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Problem != api.Denied || e.Next == "" || e.Tried == "" || !strings.Contains(err.Error(), want) {
		t.Errorf("%v does not say %q", err, want)
	}
	if len(token) == MaxLength && strings.Contains(fmt.Sprint(err), token[MaxLength-2*secretBytes:][:16]) {
		t.Errorf("the error has the secret: %v", err)
	}
}

// A token proves its user until it expires or is revoked, and what is nearly a token proves
// nothing.
func TestPrincipal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	token := create(t, path, Order{User: "alice", Role: identity.Operator, Lifetime: time.Hour})
	forever := create(t, path, Order{User: "bob", Role: identity.User})
	now := noon
	r := reader(t, path, func() time.Time { return now })
	id, _ := idOf(token)
	want := identity.Principal{Name: "alice", Role: identity.Operator, Proof: identity.Token, Credential: id, Expires: noon.Add(time.Hour)}
	if p, err := r.Principal(token); err != nil || p != want {
		t.Errorf("%+v, %v; want %+v", p, err, want)
	}
	now = noon.Add(time.Hour - time.Second)
	if _, err := r.Principal(token); err != nil {
		t.Error(err)
	}
	now = noon.Add(time.Hour)
	_, err := r.Principal(token)
	denies(t, err, token, "expired on 2027-01-15T09:00:00Z")
	denies(t, r.Check(id), token, "pigeon token create --user alice --role operator")
	now = noon.Add(100 * 365 * 24 * time.Hour)
	if p, err := r.Principal(forever); err != nil || p.Name != "bob" || !p.Expires.IsZero() {
		t.Errorf("%+v, %v", p, err)
	}
	now = noon
	for _, wrong := range []string{
		"", "x", Prefix, token[:len(token)-1], token + "0", " " + token, token + "\n", strings.ToUpper(token), "Pigeon" + token[6:],
		Prefix + id + "_" + strings.Repeat("0", 64), Prefix + "000000000000" + token[len(Prefix)+12:], strings.Repeat("a", 1<<20), hashOf(token),
		forever[:len(Prefix)+12] + token[len(Prefix)+12:],
	} {
		p, err := r.Principal(wrong)
		if p != (identity.Principal{}) {
			t.Errorf("%.100q is %v", wrong, p)
		}
		denies(t, err, wrong, "")
	}
}

// The content of the file cannot be used as a token, and only its owner can read it.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	token := create(t, path, Order{User: "alice", Role: identity.User})
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), token[len(Prefix)+13:]) {
		t.Error("the file has the secret")
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for mode, good := range map[fs.FileMode]bool{0o600: true, 0o640: true, 0o644: true, 0o620: false, 0o602: false, 0o666: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); (err == nil) != good || !good && !strings.Contains(err.Error(), "chmod 600 ") {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "absent"), slog.New(slog.DiscardHandler)); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "pigeon token create") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func line(t Token) string {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // it is a struct of strings and numbers
	}
	return string(text)
}

func TestDamagedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	_, good := draw("a", identity.User, noon, time.Time{})
	change := func(f func(*Token)) string {
		t := good
		f(&t)
		return line(t)
	}
	var many bytes.Buffer
	for i := range MaxTokens + 1 {
		fmt.Fprintln(&many, change(func(t *Token) { t.ID = fmt.Sprintf("%012x", i) }))
	}
	for _, c := range []struct{ text, want string }{
		{"x", "line 1"},
		{line(good) + "\n" + line(good), "line 2: the id " + good.ID + " is in line 1 too"},
		{line(good) + " " + line(good), "more than one"},
		{line(good)[:50], "line 1"},
		{`{"id":"` + good.ID + `","admin":true}`, "admin"},
		{change(func(t *Token) { t.ID = "" }), "the id"},
		{change(func(t *Token) { t.Hash = "0" }), "sha256"},
		{change(func(t *Token) { t.Hash = "" }), "sha256"},
		{change(func(t *Token) { t.User = "" }), "the user"},
		{change(func(t *Token) { t.User = "a\nb" }), "the user"},
		{change(func(t *Token) { t.Role = identity.Superuser }), "superuser"},
		{change(func(t *Token) { t.Role = identity.Node }), "node"},
		{change(func(t *Token) { t.Role = "" }), "the role"},
		{change(func(t *Token) { t.Created = -1 }), "1970"},
		{many.String(), "limit of 2500 tokens"},
		{strings.Repeat("\n", 1<<20+1), "limit of 1048576 bytes"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%.80q: %.300v", c.text, err)
		}
	}
}

func TestOrders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	for _, c := range []struct {
		o    Order
		want string
	}{
		{Order{User: "", Role: identity.User}, "64"},
		{Order{User: "a b", Role: identity.User}, `"a b"`},
		{Order{User: "a", Role: identity.Node}, "pigeon pki issue"},
		{Order{User: "a", Role: identity.Superuser}, "viewer, user, operator, admin"},
		{Order{User: "a", Role: identity.User, Lifetime: -1}, "--ttl"},
	} {
		if _, _, err := Create(path, c.o, noon); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was made: %v", err)
	}
	var full []Token
	for i := range MaxTokens {
		full = append(full, Token{ID: fmt.Sprintf("%012x", i), Hash: hashOf(""), User: "a", Role: identity.User, Created: 1, Expires: noon.Add(-kept).Unix()})
	}
	if err := save(path, full); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > maxFile {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
	if _, _, err := Create(path, Order{User: "a", Role: identity.User}, noon); err == nil || !strings.Contains(err.Error(), "limit of 2500") {
		t.Errorf("one too many: %v", err)
	}
	if _, _, err := Create(path, Order{User: "a", Role: identity.User}, noon.Add(time.Second)); err != nil {
		t.Error(err)
	}
	if list, err := Load(path); err != nil || len(list) != 1 {
		t.Errorf("%d are left, %v", len(list), err)
	}
}

// Whatever is created and revoked, by many at a time: exactly the tokens that were created and not
// revoked are good, each for its user.
func TestCreateAndRevoke(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(t.TempDir(), "tokens")
		n := rapid.IntRange(1, 6).Draw(rt, "tokens")
		made, failed := make([]string, n), make([]error, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				made[i], _, failed[i] = Create(path, Order{User: fmt.Sprint("u", i), Role: identity.People[i%4]}, noon)
			})
		}
		all.Wait()
		if err := errors.Join(failed...); err != nil {
			rt.Fatal(err)
		}
		revoked := map[int]bool{}
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 4).Draw(rt, "revoke") {
			id, _ := idOf(made[i])
			if list, err := Revoke(path, []string{id}, noon); err != nil || len(list) != 1 || list[0].Revoked != noon.Unix() {
				rt.Fatalf("%v, %v", list, err)
			}
			revoked[i] = true
		}
		r, err := Open(path, slog.New(slog.DiscardHandler))
		if err != nil {
			rt.Fatal(err)
		}
		for i, token := range made {
			p, err := r.Principal(token)
			if revoked[i] != (err != nil) || !revoked[i] && (p.Name != fmt.Sprint("u", i) || p.Role != identity.People[i%4]) {
				rt.Fatalf("token %d: %v, %v", i, p, err)
			}
		}
	})
}

func TestRevokeRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	token := create(t, path, Order{User: "a", Role: identity.User})
	id, _ := idOf(token)
	for _, wrong := range []string{"x", "000000000000", token} {
		_, err := Revoke(path, []string{id, wrong}, noon)
		if err == nil || !strings.Contains(err.Error(), "nothing was changed") || !strings.Contains(err.Error(), "pigeon token list") || strings.Contains(err.Error(), token) {
			t.Errorf("%v", err)
		}
	}
	if list, err := Load(path); err != nil || list[0].Revoked != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := Revoke(filepath.Join(t.TempDir(), "absent"), []string{id}, noon); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A daemon learns of new and revoked tokens from the file, keeps those it has when the file
// is damaged or gone, and logs why.
func TestReaderReadsAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	first := create(t, path, Order{User: "a", Role: identity.User})
	r := reader(t, path, func() time.Time { return noon })
	var running sync.WaitGroup
	ctx, cancel := contextOf(t)
	running.Go(func() { r.Run(ctx) })
	defer running.Wait()
	defer cancel()
	good := func(token string) bool { _, err := r.Principal(token); return err == nil }
	second := create(t, path, Order{User: "b", Role: identity.User})
	await.Until(t, "the second token is known", func() bool { return good(second) })
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func() error{
		"line 1": func() error { return replace(path, []byte("x")) }, "no such file": func() error { return os.Remove(path) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		await.Until(t, "the problem is known: "+what, func() bool { return strings.Contains(r.Problem(), what) })
		if !good(first) || !good(second) {
			t.Error("a damaged file took the tokens away")
		}
	}
	if err := replace(path, whole); err != nil {
		t.Fatal(err)
	}
	id, _ := idOf(first)
	if _, err := Revoke(path, []string{id}, noon); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the first token is revoked", func() bool { return !good(first) && r.Problem() == "" })
	denies(t, r.Check(id), first, "it was revoked on")
	if other, _ := idOf(second); !r.Revoked(id) || r.Revoked(other) || !r.Revoked("000000000000") {
		t.Error("Revoked differs from Check")
	}
	if !good(second) {
		t.Error("the second one is revoked too")
	}
}

// replace replaces a file at once: the reader of a test looks every few milliseconds, and could find
// one that is empty because it is being written.
func replace(path string, data []byte) error {
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func FuzzLoad(f *testing.F) {
	_, t := draw("a", identity.User, noon, noon)
	f.Add([]byte(line(t)))
	f.Add([]byte("{}\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := Load(path)
		for i := range list {
			if err != nil || !list[i].Role.IsPerson() || !identity.IsName(list[i].User) {
				t.Errorf("%+v, %v", list[i], err)
			}
		}
	})
}

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}

// A daemon's group may still read the file after its tokens were changed: a daemon that cannot goes
// on admitting a token that was revoked.
func TestChangesKeepReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	_, made, err := Create(path, Order{User: "a", Role: identity.User}, noon)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func() error{
		"create": func() error {
			_, _, err := Create(path, Order{User: "b", Role: identity.User}, noon)
			return err
		},
		"revoke": func() error {
			_, err := Revoke(path, []string{made.ID}, noon)
			return err
		},
	} {
		if err := change(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("after %s: %v, %v", name, info.Mode(), err)
		}
	}
}
