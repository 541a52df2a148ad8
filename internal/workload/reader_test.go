package workload

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pigeon-sched/pigeon/internal/workload/tracetest"
)

func TestReadAcceptsAnyWhiteSpaceAndLineEnd(t *testing.T) {
	want := []Job{
		{Line: 1, Arrival: 0, Estimate: 2e9, Durations: []int64{1e9, 3e9}},
		{Line: 2, Arrival: 500_000_000, Estimate: 1e9, Durations: []int64{1e9}},
	}
	for name, text := range map[string]string{
		"LF":                   "0 2 2 1 3\n0.5 1 1 1\n",
		"CRLF":                 "0 2 2 1 3\r\n0.5 1 1 1\r\n",
		"tabs, runs of spaces": "\t0  2\t\t2 1\v3  \n 0.5 1 1 1 \f\n",
		"no line end":          "0 2 2 1 3\n0.5 1 1 1",
		"empty lines at end":   "0 2 2 1 3\n0.5 1 1 1\n\r\n \n",
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Read(iotest.OneByteReader(strings.NewReader(text)), "t")
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(w.Jobs, want) {
				t.Errorf("read %+v, want %+v", w.Jobs, want)
			}
		})
	}
}

func TestReadNamesThePlaceOfAFault(t *testing.T) {
	tests := []struct {
		name, text      string
		line, column    int
		found, expected string
	}{
		{"empty file", "", 1, 1, "the end of the file", "at least one job"},
		{"white space only", "\n  \n", 1, 1, "the end of the line", "at least one job"},
		{"letters", "0 1 1 1\n1 1 abc 1\n", 2, 5, `"abc"`, "the mean task duration, a decimal number"},
		{"NaN", "0 1 1 NaN\n", 1, 7, `"NaN"`, "the duration of task 1 of 1, a decimal number"},
		{"Inf", "0 2 1 1 +Inf\n", 1, 9, `"+Inf"`, "the duration of task 2 of 2, a decimal number"},
		{"negative duration", "0 1 1 -1\n", 1, 7, `"-1"`, "0 s or more"},
		{"negative time", "-3 1 1 1\n", 1, 1, `"-3"`, "the submit time, 0 s or more"},
		{"huge time", "1e300 1 1 1\n", 1, 1, `"1e300"`, "the submit time, at most 4000000000 s"},
		{"descending times", "5 1 1 1\r\n4.999 1 1 1\r\n", 2, 1, `"4.999"`, "at least 5 s"},
		{"too few tasks", "0 3 1 1 1\n", 1, 10, "the end of the line", "task 3 of 3"},
		{"too few tasks at the end", "0 3 1 1 1", 1, 10, "the end of the file", "task 3 of 3"},
		{"too many tasks", "0 1 1 1 7\n", 1, 9, `"7"`, "the end of the line after 1 task"},
		{"no mean", "0 1\n", 1, 4, "the end of the line", "the mean task duration"},
		{"no count", "0\n", 1, 2, "the end of the line", "the number of tasks"},
		{"no tasks", "0 0 1\n", 1, 3, `"0"`, "1 to 100000 tasks per job"},
		{"too wide", "0 100001 1 1\n", 1, 3, `"100001"`, "1 to 100000 tasks per job (the limit)"},
		{"far too wide", "0 99999999999999999999999 1 1\n", 1, 3, `"99999999999999999999999"`, "100000 tasks"},
		{"broken count", "0 1.5 1 1\n", 1, 3, `"1.5"`, "a whole number"},
		{"a hole", "0 1 1 1\n\n1 1 1 1\n", 2, 1, "the end of the line", "empty lines may only end"},
		{"too much work", "0 2 1 4e9 1e-9\n", 1, 11, `"1e-9"`, "at most 4000000000 s of work"},
		{"an endless number", "0 1 1 " + strings.Repeat("1", 1000), 1, 7, `"` + strings.Repeat("1", 24) + `"...`, "at most 128 characters"},
		{"binary", "\x00\x01\n", 1, 1, `"\x00\x01"`, "the submit time"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(tt.text), "some.tr")
			var fault *ParseError
			if !errors.As(err, &fault) {
				t.Fatalf("Read = %v, want a ParseError", err)
			}
			if fault.File != "some.tr" || fault.Line != tt.line || fault.Column != tt.column || fault.Found != tt.found {
				t.Errorf("fault at %s:%d:%d, found %s; want some.tr:%d:%d, %s",
					fault.File, fault.Line, fault.Column, fault.Found, tt.line, tt.column, tt.found)
			}
			if !strings.Contains(fault.Expected, tt.expected) {
				t.Errorf("expected %q, want it to contain %q", fault.Expected, tt.expected)
			}
		})
	}
}

func TestReadPassesOnReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	src := io.MultiReader(strings.NewReader("0 1 1 1\n3 1"), iotest.ErrReader(broken))
	_, err := Read(src, "some.tr")
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "some.tr: after line 1") {
		t.Errorf("Read = %v, want the disk's error after line 1", err)
	}
}

func TestPublishedTraces(t *testing.T) {
	tests := []struct {
		file        string
		jobs, tasks int
		workers     int
		load        float64
	}{
		{"ngo_50.tr", 5001, 10291, 120, 0.49727},
		{"ngo_90.tr", 5001, 10291, 120, 0.89509},
		{"nyh_70.tr", 5001, 100350, 330, 0.69882},
		{"exp_50.tr", 5000, 22675, 120, 0.44035},
		{"goog_sub.tr", 10000, 312558, 4703, 1.00018},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			w, err := Open(tracetest.Path(t, tt.file))
			if err != nil {
				t.Fatal(err)
			}
			if len(w.Jobs) != tt.jobs || w.Tasks() != tt.tasks {
				t.Errorf("%d jobs, %d tasks; want %d, %d", len(w.Jobs), w.Tasks(), tt.jobs, tt.tasks)
			}
			if got := w.Load(tt.workers); got < tt.load-1e-5 || got > tt.load+1e-5 {
				t.Errorf("load on %d workers = %.5f, want %.5f", tt.workers, got, tt.load)
			}
			again := rewritten(t, w)
			if !reflect.DeepEqual(again.Jobs, w.Jobs) {
				t.Error("writing and reading again changed the jobs")
			}
		})
	}
}

// TestOpenReadsWhatWriteWrote checks a file on disk and its name.
func TestOpenReadsWhatWriteWrote(t *testing.T) {
	made, err := Open("gen:ec2,jobs=300")
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/made.tr"
	var text bytes.Buffer
	if err := made.Write(&text); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if read.Name != path || !reflect.DeepEqual(read.Jobs, made.Jobs) {
		t.Errorf("read %q with %d jobs, want %q with the %d written", read.Name, len(read.Jobs), path, len(made.Jobs))
	}
}

func TestWritePassesOnErrors(t *testing.T) {
	w, err := Open("gen:exp,jobs=10000")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(full{}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("Write to a full disk = %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func rewritten(t *testing.T, w *Workload) *Workload {
	t.Helper()
	var text bytes.Buffer
	if err := w.Write(&text); err != nil {
		t.Fatal(err)
	}
	again, err := Read(&text, w.Name)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// FuzzRead: any input is either refused with an error that names the file, or
// is a workload that survives writing and reading.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"0 2 2 1 3\n0.5 1 1 1\n", "0 1 1e-9 .5\r\n", "0 1\n", "", "\n\n", "0 100000 1 1", "1 1 1 1\n0 1 1 1", "x",
		"4e9 1 4e9 4e9\n", "0 1 1 0.9999999995\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		w, err := Read(bytes.NewReader(text), "fuzz.tr")
		if err != nil {
			var fault *ParseError
			if !errors.As(err, &fault) || fault.Line < 1 || fault.Column < 1 || !strings.Contains(err.Error(), "fuzz.tr: line ") {
				t.Fatalf("the refusal %q does not name the place", err)
			}
			return
		}
		var last int64
		for i, job := range w.Jobs {
			if job.Line != i+1 || job.Arrival < last || len(job.Durations) == 0 || job.Estimate < 0 || job.Work() < 0 {
				t.Fatalf("job %d is no job: %+v", i, job)
			}
			last = job.Arrival
		}
		if again := rewritten(t, w); !reflect.DeepEqual(again.Jobs, w.Jobs) {
			t.Fatalf("rewriting changed %+v to %+v", w.Jobs, again.Jobs)
		}
	})
}

// BenchmarkRead reads a trace of the size of goog_sub (312,000 tasks).
func BenchmarkRead(b *testing.B) {
	w, err := Open("gen:uniform,jobs=10000,fanout=31,workers=5000")
	if err != nil {
		b.Fatal(err)
	}
	var text bytes.Buffer
	if err := w.Write(&text); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := Read(bytes.NewReader(text.Bytes()), "bench"); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleRead() {
	_, err := Read(strings.NewReader("0 1 2.5 2.5\n1 two 3 3\n"), "mine.tr")
	fmt.Println(err)
	// Output:
	// cannot read trace mine.tr: line 2, column 3: found "two", expected the number of tasks, a whole number; no job was run; correct that line: submit time (s, ascending), number of tasks, mean task duration (s), then each task's duration (s)
}

// A trace that is still compressed is named as one: no line of it can be corrected.
func TestCompressedTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tr.gz")
	var text bytes.Buffer
	w := gzip.NewWriter(&text)
	if _, err := w.Write([]byte("0 1 1 1\n")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), os.WriteFile(path, text.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "cannot read trace "+path+": it is compressed by gzip; no job was run; decompress it first: gunzip -c "+path) {
		t.Error(err)
	}
}
