package wire_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
)

// The tests of conformance speak the wire protocol by hand, from the table of
// published ids and types, so that a fault in the IDL cannot hide in generated
// code on both ends.

// fields is a struct on the wire: values by id.
type fields map[int16]any

// raw is how one client writes.
type raw struct {
	lenient  bool // without the version in the header, as old clients do
	backward bool // the highest id first
}

func (r raw) String() string { return fmt.Sprintf("lenient=%v backward=%v", r.lenient, r.backward) }

var rawClients = []raw{{}, {lenient: true}, {backward: true}, {lenient: true, backward: true}}

// message is one Thrift message without its frame.
func (r raw) message(t testing.TB, name string, kind thrift.TMessageType, f fields) []byte {
	t.Helper()
	strict := !r.lenient
	buf := thrift.NewTMemoryBuffer()
	p := thrift.NewTBinaryProtocolConf(buf, &thrift.TConfiguration{TBinaryStrictWrite: &strict})
	ctx := context.Background()
	must(t, p.WriteMessageBegin(ctx, name, kind, 77))
	r.write(t, p, f)
	must(t, p.WriteMessageEnd(ctx), p.Flush(ctx))
	return buf.Bytes()
}

func (r raw) write(t testing.TB, p thrift.TProtocol, v any) {
	t.Helper()
	ctx := context.Background()
	switch v := v.(type) {
	case bool:
		must(t, p.WriteBool(ctx, v))
	case int32:
		must(t, p.WriteI32(ctx, v))
	case int64:
		must(t, p.WriteI64(ctx, v))
	case float64:
		must(t, p.WriteDouble(ctx, v))
	case string:
		must(t, p.WriteString(ctx, v))
	case []fields:
		must(t, p.WriteListBegin(ctx, thrift.STRUCT, len(v)))
		for _, e := range v {
			r.write(t, p, e)
		}
	case []string:
		must(t, p.WriteListBegin(ctx, thrift.STRING, len(v)))
		for _, e := range v {
			r.write(t, p, e)
		}
	case fields:
		ids := slices.Sorted(maps.Keys(v))
		if r.backward {
			slices.Reverse(ids)
		}
		for _, id := range ids {
			must(t, p.WriteFieldBegin(ctx, "", typeOf(v[id]), id))
			r.write(t, p, v[id])
		}
		must(t, p.WriteFieldStop(ctx))
	default:
		t.Fatalf("no way to write a %T", v)
	}
}

func typeOf(v any) thrift.TType {
	switch v.(type) {
	case bool:
		return thrift.BOOL
	case int32:
		return thrift.I32
	case int64:
		return thrift.I64
	case float64:
		return thrift.DOUBLE
	case string:
		return thrift.STRING
	case fields:
		return thrift.STRUCT
	default:
		return thrift.LIST
	}
}

// parse reads one message without its frame into values by id.
func parse(t testing.TB, body []byte) (name string, kind thrift.TMessageType, seq int32, f fields) {
	t.Helper()
	if len(body) < 2 || body[0] != 0x80 || body[1] != 0x01 {
		t.Fatalf("the message does not begin with the version: %x", body)
	}
	p := thrift.NewTBinaryProtocolConf(&thrift.TMemoryBuffer{Buffer: bytes.NewBuffer(body)}, nil)
	name, kind, seq, err := p.ReadMessageBegin(context.Background())
	must(t, err)
	f, _ = read(t, p, thrift.STRUCT).(fields)
	return name, kind, seq, f
}

func read(t testing.TB, p thrift.TProtocol, of thrift.TType) (v any) {
	t.Helper()
	ctx := context.Background()
	var err error
	switch of {
	case thrift.BOOL:
		v, err = p.ReadBool(ctx)
	case thrift.I32:
		v, err = p.ReadI32(ctx)
	case thrift.I64:
		v, err = p.ReadI64(ctx)
	case thrift.DOUBLE:
		v, err = p.ReadDouble(ctx)
	case thrift.STRING:
		v, err = p.ReadString(ctx)
	case thrift.LIST:
		elem, n, e := p.ReadListBegin(ctx)
		list := make([]any, 0, n)
		for range n {
			list = append(list, read(t, p, elem))
		}
		v, err = list, e
	case thrift.STRUCT:
		f := fields{}
		for {
			_, kind, id, e := p.ReadFieldBegin(ctx)
			must(t, e)
			if kind == thrift.STOP {
				return f
			}
			f[id] = read(t, p, kind)
		}
	default:
		t.Fatalf("a value of type %v", of)
	}
	must(t, err)
	return v
}

// call makes one call over TCP and gives the kind and the fields of the reply.
func (r raw) call(t testing.TB, addr net.Addr, name string, args fields) (thrift.TMessageType, fields) {
	t.Helper()
	c, err := net.Dial("tcp", addr.String())
	must(t, err)
	defer func() { _ = c.Close() }()
	must(t, c.SetDeadline(time.Now().Add(10*time.Second)), writeFrame(c, r.message(t, name, thrift.CALL, args)))
	body, err := readFrame(c)
	must(t, err)
	got, kind, seq, f := parse(t, body)
	if got != name || seq != 77 {
		t.Fatalf("the reply is %q %d", got, seq)
	}
	return kind, f
}

func writeFrame(w io.Writer, body []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	return err
}

func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(r, body)
	return body, err
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// describe prints fields in order of their ids.
func describe(v any) string {
	switch v := v.(type) {
	case fields:
		parts := make([]string, 0, len(v))
		for _, id := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, fmt.Sprintf("%d:%s", id, describe(v[id])))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = describe(v[i])
		}
		return "[" + strings.Join(parts, " ") + "]"
	case string:
		return fmt.Sprintf("%q", v)
	default:
		return fmt.Sprintf("%v", v)
	}
}
