package filestore_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/filestore"
)

// sized returns a file as somebody announces it who is wrong about its size.
func sized(content string, size int64) api.File {
	f := file(content)
	f.Size = size
	return f
}

// Who announces a wrong size, before or after the right one, keeps nobody from sending the file: it
// is whole where its hash is right.
func TestSizeThatIsAnnouncedWrongly(t *testing.T) {
	const content = "abcdef"
	for name, sizes := range map[string][]int64{
		"smaller, before": {1, 6}, "larger, before": {900, 6}, "smaller, after": {6, 1}, "larger, after": {6, 900}, "several": {7, 2, 6, 3, 900, 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir())
			for _, size := range sizes {
				if err := s.Expect(sized(content, size)); err != nil {
					t.Fatalf("%d bytes: %v", size, err)
				}
			}
			for have := int64(0); have < 6; have += 2 {
				if s.Has(file(content).SHA256) {
					t.Fatalf("it is here with %d bytes", have)
				}
				if n, err := s.Put(file(content).SHA256, have, []byte(content[have:have+2])); err != nil || n != have+2 {
					t.Fatal(n, err)
				}
			}
			if got := read(t, s, file(content).SHA256); got != content {
				t.Errorf("it reads as %q", got)
			}
			if err := s.Recount(nil); err != nil {
				t.Error(err)
			}
			if err := s.Expect(sized(strings.Repeat("x", 994), 994)); err != nil {
				t.Errorf("the room for the wrong size is not given back: %v", err)
			}
		})
	}
}

// Bytes that cannot be the file that somebody announces do not stay in its way: they may belong to
// a larger size that another one has announced.
func TestWrongBytesUnderALargerSize(t *testing.T) {
	s := open(t, t.TempDir())
	f := file("abc")
	if err := s.Expect(sized("abc", 900)); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Put(f.SHA256, 0, []byte("ABCD")); err != nil || n != 4 {
		t.Fatal(n, err)
	}
	if put(t, s, "abc"); read(t, s, f.SHA256) != "abc" {
		t.Error("it is not here")
	}
	// Likewise without bytes, which needs no piece.
	if err := s.Expect(sized("", 3)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(file("").SHA256, 0, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if empty := put0(t, s); !s.Has(empty) || s.Recount(nil) != nil {
		t.Errorf("the empty file is not here, or counts: %v", s.Recount(nil))
	}
}

// A file that grows is not begun again by a larger size, or by its own.
func TestAnnouncedAgainWhileItGrows(t *testing.T) {
	s := open(t, t.TempDir())
	f := file("abcdef")
	for _, size := range []int64{6, 6, 900, 6, 5} {
		if err := s.Expect(sized("abcdef", size)); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Put(f.SHA256, 0, []byte("abcd")); err != nil || n != 4 {
			t.Fatalf("after %d bytes were announced: %d, %v", size, n, err)
		}
	}
	if n, err := s.Put(f.SHA256, 4, []byte("ef")); err != nil || n != 6 || !s.Has(f.SHA256) {
		t.Fatal(n, err)
	}
}

// Whatever is announced, sent, dropped and damaged, the running sum is that of a recount.
func TestRunningSum(t *testing.T) {
	contents := []string{"", "a", "bb", strings.Repeat("c", 100), strings.Repeat("d", 300)}
	root := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		s := open(t, root)
		if err := s.Retain(func(string) bool { return false }); err != nil { // of the run before
			rt.Fatal(err)
		}
		var sending []*filestore.Incoming
		content := rapid.SampledFrom(contents)
		one := func() *filestore.Incoming { return sending[rapid.IntRange(0, len(sending)-1).Draw(rt, "sender")] }
		steps := map[string]func(*rapid.T){
			"announce": func(rt *rapid.T) {
				c := content.Draw(rt, "content")
				_ = s.Expect(sized(c, rapid.SampledFrom([]int64{int64(len(c)), 0, 1, 200}).Draw(rt, "size")))
			},
			"put": func(rt *rapid.T) {
				c := content.Draw(rt, "content")
				have, err := s.Put(file(c).SHA256, -1, nil)
				if err == nil && have < int64(len(c)) {
					_, _ = s.Put(file(c).SHA256, have, []byte(c)[have:rapid.Int64Range(have, int64(len(c))).Draw(rt, "to")])
				}
			},
			"put wrongly": func(rt *rapid.T) {
				sha := file(content.Draw(rt, "content")).SHA256
				have, _ := s.Put(sha, -1, nil)
				_, _ = s.Put(sha, have, []byte("wrong"))
			},
			"receive": func(rt *rapid.T) {
				if in, err := s.Receive(file(content.Draw(rt, "content"))); err == nil {
					sending = append(sending, in)
				}
			},
			"arrive": func(rt *rapid.T) {
				if len(sending) > 0 {
					_, _ = one().Put(0, []byte(content.Draw(rt, "content")))
				}
			},
			"give up": func(rt *rapid.T) {
				if len(sending) > 0 {
					_ = one().Drop()
				}
			},
			"damage": func(rt *rapid.T) {
				sha := file(content.Draw(rt, "content")).SHA256
				if s.Has(sha) {
					_ = os.WriteFile(s.Path(sha), []byte(fmt.Sprint("damaged", rapid.Int().Draw(rt, "by"))), 0o600)
					s.Has(sha)
				}
			},
			"drop": func(rt *rapid.T) {
				used := file(content.Draw(rt, "used")).SHA256
				drop := rapid.SampledFrom([]func(func(string) bool) error{s.Trim, s.Retain}).Draw(rt, "drop")
				_ = drop(func(sha string) bool { return sha == used })
			},
			"restart": func(*rapid.T) { s, sending = open(t, root), nil },
			"": func(rt *rapid.T) {
				if err := s.Recount(sending); err != nil {
					rt.Fatal(err)
				}
			},
		}
		rt.Repeat(steps)
	})
}

// Dropping files asks once for each that goes whether it is in use, however many there are.
func TestDropLooksAtEachFileOnce(t *testing.T) {
	s := open(t, t.TempDir())
	const many = 300
	for i := range many {
		put(t, s, fmt.Sprintf("%03d", i))
	}
	asked := 0
	if err := s.Trim(func(string) bool { asked++; return false }); err != nil || asked > many {
		t.Errorf("it asked %d times about %d files, %v", asked, many, err)
	}
	for i := range many {
		if late := i >= many-500/3; s.Has(file(fmt.Sprintf("%03d", i)).SHA256) != late {
			t.Fatalf("file %d of %d: it is here: %v, want the latest with 500 bytes", i, many, !late)
		}
	}
}
