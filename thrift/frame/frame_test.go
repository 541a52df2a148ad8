package frame

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/apache/thrift/lib/go/thrift"
)

// memory is a Link over two buffers.
type memory struct {
	frames [][]byte
	sent   bytes.Buffer
}

func (m *memory) Next() ([]byte, error) {
	if len(m.frames) == 0 {
		return Ended()
	}
	b := m.frames[0]
	m.frames = m.frames[1:]
	return b, nil
}

func (m *memory) Send(b []byte) error { m.sent.Write(b); return nil }

// readAll reads frames to the end of the stream as the server does.
func readAll(r *Reader) (frames [][]byte, err error) {
	for {
		if err := r.Wait(); err != nil {
			return frames, err
		}
		if _, err := r.Size(); err != nil {
			return frames, err
		}
		b, err := r.Body()
		if err != nil {
			return frames, err
		}
		frames = append(frames, bytes.Clone(b))
		r.Release()
	}
}

// Whatever is framed comes out as it went in, however the stream is cut.
func TestFramesSurviveAnyCutting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(
			rapid.IntRange(0, 20), rapid.IntRange(8180, 8200),
			rapid.IntRange(firstChunk-2, firstChunk+2), rapid.IntRange(0, 600<<10)), 0, 6).Draw(t, "sizes")
		var stream bytes.Buffer
		for i, n := range sizes {
			stream.Write(binary.BigEndian.AppendUint32(nil, uint32(n)))
			stream.Write(bytes.Repeat([]byte{byte('a' + i)}, n))
		}
		var src io.Reader = &stream
		if rapid.Bool().Draw(t, "halves") {
			src = iotest.HalfReader(src)
		}
		budget := NewBudget(2 << 20)
		got, err := readAll(NewReader(src, 1<<20, budget))
		if !errors.Is(err, io.EOF) || len(got) != len(sizes) {
			t.Fatalf("%d frames and %v, want %d and EOF", len(got), err, len(sizes))
		}
		for i, n := range sizes {
			if !bytes.Equal(got[i], bytes.Repeat([]byte{byte('a' + i)}, n)) {
				t.Fatalf("frame %d of %d bytes came back changed", i, n)
			}
		}
		if budget.Used() != 0 {
			t.Fatalf("%d bytes are still charged", budget.Used())
		}
	})
}

func TestAFrameCutShort(t *testing.T) {
	for _, n := range []int{1, 4, 5, 9000, 300_000} {
		whole := append(binary.BigEndian.AppendUint32(nil, 400_000), make([]byte, 400_000)...)
		budget := NewBudget(4 << 20)
		r := NewReader(bytes.NewReader(whole[:n]), 1<<20, budget)
		if _, err := readAll(r); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut after %d bytes: %v, want an unexpected EOF", n, err)
		}
		if r.Release(); budget.Used() != 0 {
			t.Errorf("cut after %d bytes: %d bytes are still charged", n, budget.Used())
		}
	}
}

func TestMemoryFollowsTheBytesThatArrived(t *testing.T) {
	claim := binary.BigEndian.AppendUint32(nil, 16<<20)
	for arrived, most := range map[int64]int64{0: firstChunk, firstChunk + 1: 2 * firstChunk, 1 << 20: 2 << 20} {
		budget := NewBudget(64 << 20)
		r := NewReader(io.MultiReader(bytes.NewReader(claim), io.LimitReader(zeros{}, arrived)), 16<<20, budget)
		_, _ = readAll(r)
		if got := budget.Used(); got == 0 || got > most {
			t.Errorf("%d bytes of 16 MiB arrived: %d charged, want at most %d", arrived, got, most)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestMessageBeyondTheLimitIsNotSent(t *testing.T) {
	var m memory
	tr := NewTransport(&m, 100)
	for name, write := range map[string]func(){
		"bytes":  func() { _, _ = tr.Write(make([]byte, 101)) },
		"string": func() { _, _ = tr.WriteString(strings.Repeat("x", 101)) },
		"a byte": func() {
			_, _ = tr.Write(make([]byte, 100))
			_ = tr.WriteByte(1)
		},
		"then something small": func() {
			_, _ = tr.Write(make([]byte, 101))
			_ = tr.WriteByte(1)
		},
	} {
		write()
		if err := tr.Flush(t.Context()); !errors.Is(err, ErrTooLarge) || m.sent.Len() != 0 {
			t.Errorf("%s: flushed with %v, sent %d bytes", name, err, m.sent.Len())
		}
	}
	_, _ = tr.Write(make([]byte, 100))
	if err := tr.Flush(t.Context()); err != nil || m.sent.Len() != HeaderSize+100 {
		t.Errorf("the next message: %v, %d bytes sent", err, m.sent.Len())
	}
}

// The library's framed transport reads what ours writes, and the other way round.
func TestSpeaksTheLibrarysFraming(t *testing.T) {
	var m memory
	ours := NewTransport(&m, 1<<20).Protocol(0)
	theirs := thrift.NewTMemoryBuffer()
	framed := thrift.NewTFramedTransportConf(theirs, nil)
	lib := thrift.NewTBinaryProtocolConf(framed, nil)
	for _, p := range []thrift.TProtocol{ours, lib} {
		if err := errors.Join(p.WriteMessageBegin(t.Context(), "echo", thrift.CALL, 7),
			p.WriteString(t.Context(), strings.Repeat("x", 9000)), p.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(m.sent.Bytes(), theirs.Bytes()) {
		t.Error("the bytes of a message differ from the library's")
	}
}

func TestHeader(t *testing.T) {
	strict := "\x80\x01\x00\x01\x00\x00\x00\x04echo\x00\x00\x00\x07rest"
	lenient := "\x00\x00\x00\x04echo\x01\x00\x00\x00\x07rest"
	for _, in := range []string{strict, lenient} {
		h, err := ParseHeader([]byte(in))
		if err != nil || string(h.Name) != "echo" || h.Type != thrift.CALL || h.Seq != 7 {
			t.Errorf("%q: %+v, %v", in, h, err)
		}
	}
	for _, in := range []string{"", "\x80\x01", strict[:14], lenient[:10], "\x80\x01\x00\x01\x00\xff\xff\xffecho"} {
		if h, err := ParseHeader([]byte(in)); err == nil {
			t.Errorf("%q was accepted as %+v", in, h)
		}
	}
}

// FuzzHeader holds ParseHeader against the library: the library reads what it
// accepts as the same.
func FuzzHeader(f *testing.F) {
	f.Add([]byte("\x80\x01\x00\x01\x00\x00\x00\x04echo\x00\x00\x00\x07"))
	f.Add([]byte("\x00\x00\x00\x04echo\x01\x00\x00\x00\x07"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseHeader(b)
		if err != nil {
			return
		}
		tr := NewTransport(&memory{frames: [][]byte{b}}, 1<<20)
		name, kind, seq, err := tr.Protocol(0).ReadMessageBegin(context.Background())
		if err != nil || name != string(h.Name) || kind != h.Type || seq != h.Seq {
			t.Fatalf("ParseHeader: %+v; the library: %q %v %d %v", h, name, kind, seq, err)
		}
	})
}

// FuzzReader: no stream makes the reader crash, invent bytes or leak memory.
func FuzzReader(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 'x', 0, 0, 0, 0, 0, 0, 0, 9})
	f.Add([]byte{0, 0, 0x40, 0, 'x'})
	f.Fuzz(func(t *testing.T, b []byte) {
		budget := NewBudget(1 << 20)
		r := NewReader(bytes.NewReader(b), 64<<10, budget)
		frames, _ := readAll(r)
		r.Release()
		total := 0
		for _, fr := range frames {
			total += HeaderSize + len(fr)
		}
		if total > len(b) || budget.Used() != 0 {
			t.Fatalf("%d bytes in, %d out, %d charged", len(b), total, budget.Used())
		}
	})
}
