package client_test

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
)

// BenchmarkCall is one call over loopback with one caller.
func BenchmarkCall(b *testing.B) {
	s := servertest.Start(b, servertest.Echo(same), server.Options{})
	for name, size := range map[string]int{"100B": 100, "10KiB": 10 << 10, "512KiB": 512 << 10} {
		b.Run(name, func(b *testing.B) {
			p := pool(b, client.Options{Address: s.Addr().String()})
			text := strings.Repeat("x", size)
			b.ReportAllocs()
			for b.Loop() {
				must(b, p, text)
			}
		})
	}
}

// BenchmarkCallStock is the same call over the library's own client and
// transports, which reuse nothing and guard nothing.
func BenchmarkCallStock(b *testing.B) {
	s := servertest.Start(b, servertest.Echo(same), server.Options{})
	conf := &thrift.TConfiguration{}
	tr, err := thrift.NewTFramedTransportFactoryConf(thrift.NewTBufferedTransportFactory(8192), conf).
		GetTransport(thrift.NewTSocketConf(s.Addr().String(), conf))
	if err != nil {
		b.Fatal(err)
	}
	if err := tr.Open(); err != nil {
		b.Fatal(err)
	}
	defer tr.Close()
	proto := thrift.NewTBinaryProtocolConf(tr, conf)
	c := thrift.NewTStandardClient(proto, proto)
	text := strings.Repeat("x", 100)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := servertest.Call(context.Background(), c, text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCallParallel is many callers over a pool of 16.
func BenchmarkCallParallel(b *testing.B) {
	s := servertest.Start(b, servertest.Echo(same), server.Options{})
	p := pool(b, client.Options{Address: s.Addr().String()})
	b.SetParallelism(8)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			must(b, p, "x")
		}
	})
}
