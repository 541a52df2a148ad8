package access_test

import (
	"context"
	"errors"
	"strings"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/thrift/client"
)

// field is a field of a struct of Thrift, by its number.
type field struct {
	id    int16
	value any // string, bool, int8, int32, int64, []string, record
}

// record is the arguments of a call, or a struct in them. With it each method can be called as
// any program may call it, without the generated code.
type record []field

// Write implements thrift.TStruct.
func (r record) Write(ctx context.Context, p thrift.TProtocol) error {
	err := p.WriteStructBegin(ctx, "")
	for _, f := range r {
		err = errors.Join(err, f.write(ctx, p))
	}
	return errors.Join(err, p.WriteFieldStop(ctx), p.WriteStructEnd(ctx))
}

// Read implements thrift.TStruct.
func (r record) Read(ctx context.Context, p thrift.TProtocol) error {
	return p.Skip(ctx, thrift.STRUCT)
}

func (f field) write(ctx context.Context, p thrift.TProtocol) error {
	begin := func(kind thrift.TType) error { return p.WriteFieldBegin(ctx, "", kind, f.id) }
	switch v := f.value.(type) {
	case string:
		return errors.Join(begin(thrift.STRING), p.WriteString(ctx, v))
	case bool:
		return errors.Join(begin(thrift.BOOL), p.WriteBool(ctx, v))
	case int8:
		return errors.Join(begin(thrift.BYTE), p.WriteByte(ctx, v))
	case int32:
		return errors.Join(begin(thrift.I32), p.WriteI32(ctx, v))
	case int64:
		return errors.Join(begin(thrift.I64), p.WriteI64(ctx, v))
	case []string:
		err := errors.Join(begin(thrift.LIST), p.WriteListBegin(ctx, thrift.STRING, len(v)))
		for _, s := range v {
			err = errors.Join(err, p.WriteString(ctx, s))
		}
		return errors.Join(err, p.WriteListEnd(ctx))
	case tasks:
		err := errors.Join(begin(thrift.LIST), p.WriteListBegin(ctx, thrift.STRUCT, len(v)))
		for _, id := range v {
			err = errors.Join(err, record{{1, id}, {3, "message"}}.Write(ctx, p))
		}
		return errors.Join(err, p.WriteListEnd(ctx))
	case record:
		return errors.Join(begin(thrift.STRUCT), v.Write(ctx, p))
	}
	return errors.New("a value of this kind cannot be written")
}

// answer is the exception of an answer: its first text, or that of a published one.
type answer struct{ refusal string }

// Write implements thrift.TStruct.
func (*answer) Write(context.Context, thrift.TProtocol) error { return nil }

// Read implements thrift.TStruct.
func (a *answer) Read(ctx context.Context, p thrift.TProtocol) error {
	return eachField(ctx, p, func(kind thrift.TType, id int16) error {
		if kind != thrift.STRUCT || id != 1 {
			return p.Skip(ctx, kind)
		}
		return eachField(ctx, p, func(kind thrift.TType, id int16) (err error) {
			if kind == thrift.STRING && id == 1 {
				a.refusal, err = p.ReadString(ctx)
				return err
			}
			return p.Skip(ctx, kind)
		})
	})
}

func eachField(ctx context.Context, p thrift.TProtocol, read func(kind thrift.TType, id int16) error) error {
	if _, err := p.ReadStructBegin(ctx); err != nil {
		return err
	}
	for {
		_, kind, id, err := p.ReadFieldBegin(ctx)
		if err != nil {
			return err
		}
		if kind == thrift.STOP {
			return p.ReadStructEnd(ctx)
		}
		if err := errors.Join(read(kind, id), p.ReadFieldEnd(ctx)); err != nil {
			return err
		}
	}
}

// ask is call, repeated if the connection had ended: a server ends it after some refusals,
// which a caller may learn only by its next call.
func ask(ctx context.Context, pool *client.Pool, method string, args record) (sign, text string) {
	for range 3 {
		if sign, text = call(ctx, pool, method, args); sign != "?" {
			break
		}
	}
	return sign, text
}

// call calls a method and returns what was answered as a sign of the golden file, with the text
// of a refusal.
func call(ctx context.Context, pool *client.Pool, method string, args record) (sign, text string) {
	var a answer
	err := pool.Do(ctx, func(ctx context.Context, c thrift.TClient) error {
		_, err := c.Call(ctx, method, args, &a)
		return err
	})
	text = a.refusal
	if application := thrift.TApplicationException(nil); err != nil && !errors.As(err, &application) {
		return "?", err.Error() // no answer at all
	}
	if err != nil {
		text = err.Error()
	}
	return signOf(text), text
}

// signOf returns the sign of an answer.
func signOf(text string) string {
	for _, s := range []struct{ part, sign string }{
		{"the call is in the name of", "n"}, {"that is not its own", "o"}, {" may not ", "r"}, {"served to anybody here", "r"},
		{"expired", "p"}, {" ended at ", "p"}, {"revoked", "p"}, {"of the cluster", "p"},
	} {
		if strings.Contains(text, s.part) {
			return s.sign
		}
	}
	return "+"
}
