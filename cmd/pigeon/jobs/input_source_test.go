package jobs

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// readFrom reads a source from an offset to its end.
func readFrom(t *testing.T, in stdinSource, offset int64) ([]byte, error) {
	t.Helper()
	var all []byte
	for {
		data, last, err := in.at(t.Context(), offset+int64(len(all)), await.Limit)
		if all = append(all, data...); last || err != nil {
			return all, err
		}
		if len(data) == 0 || len(data) > wire.MaxInput {
			t.Fatalf("a piece has %d bytes", len(data))
		}
	}
}

// A file is read from where it was given to this program, as often as it is needed, and its
// giver finds its offset unchanged.
func TestStdinFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in")
	text := someInput(3 * wire.MaxInput)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // only read
	if _, err := f.Seek(10, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	in, err := new(stdinFlags).open(f, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []int64{0, 5, 0, int64(len(text) - 10)} {
		if got, err := readFrom(t, in, from); err != nil || !bytes.Equal(got, text[10+from:]) {
			t.Errorf("from %d: %d bytes, %v", from, len(got), err)
		}
	}
	if at, err := f.Seek(0, io.SeekCurrent); at != 10 || err != nil {
		t.Errorf("it was moved to %d, %v", at, err)
	}
}

// The last read and the first MiB of a pipe can be read again; the rest cannot, which is an
// error.
func TestStdinStream(t *testing.T) {
	for _, size := range []int{0, 1, wire.MaxInput, keptInput, keptInput + 3*wire.MaxInput} {
		text := someInput(size)
		in := &stdinStream{r: iotest.HalfReader(bytes.NewReader(text))}
		got, err := readFrom(t, in, 0)
		if err != nil || !bytes.Equal(got, text) {
			t.Fatalf("%d bytes: %d, %v", size, len(got), err)
		}
		again, last, err := in.at(t.Context(), int64(size), await.Limit)
		if err != nil || len(again) > 0 || !last {
			t.Errorf("%d bytes, at the end: %d, %v, %v", size, len(again), last, err)
		}
		got, err = readFrom(t, in, 0)
		if size <= keptInput && (err != nil || !bytes.Equal(got, text)) {
			t.Errorf("%d bytes, again: %d, %v", size, len(got), err)
		}
		if size > keptInput && (err == nil || !strings.Contains(err.Error(), "1245184 bytes were read, which can be read once only, and the first 1048576 are kept")) {
			t.Errorf("%d bytes, again: %d, %v", size, len(got), err)
		}
	}
	broken := errors.New("disk on fire")
	if _, err := readFrom(t, &stdinStream{r: iotest.ErrReader(broken)}, 0); !errors.Is(err, broken) {
		t.Error(err)
	}
	short := &stdinStream{r: strings.NewReader("abc")}
	if _, _, err := short.at(t.Context(), 5, await.Limit); err == nil || !strings.Contains(err.Error(), "has 3 bytes, and its task was given 5 before") {
		t.Error(err)
	}
}

// An input that is not to be passed on is not read.
func TestWhichStandardInput(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }() // only read
	closed, err := os.Open(os.DevNull)
	if err != nil || closed.Close() != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = read.Close(), write.Close() }() // nothing is in it
	for _, c := range []struct {
		name    string
		flags   stdinFlags
		in      *os.File
		used    bool
		is      bool
		refusal string
	}{
		{"a pipe", stdinFlags{}, read, false, true, ""},
		{"a pipe, -n", stdinFlags{none: true}, read, false, false, ""},
		{"a pipe, --env-file -", stdinFlags{}, read, true, false, ""},
		{"a pipe, -i --env-file -", stdinFlags{forward: true}, read, true, false, "--env-file"},
		{"both", stdinFlags{true, true}, read, false, false, "leave one out"},
		{"nothing", stdinFlags{}, null, false, false, ""},
		{"closed", stdinFlags{}, closed, false, false, ""},
		{"closed, -i", stdinFlags{forward: true}, closed, false, false, "cannot be read"},
	} {
		in, err := c.flags.open(c.in, c.used)
		if (in != nil) != c.is || (err != nil) != (c.refusal != "") || err != nil && !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%s: %v, %v", c.name, in, err)
		}
	}
}

// someInput returns bytes that differ wherever a mistake of an offset would show.
func someInput(n int) []byte {
	text := make([]byte, n)
	for i := range text {
		text[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return text
}
