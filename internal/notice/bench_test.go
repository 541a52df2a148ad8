package notice

import "testing"

// BenchmarkOneWay is the time from Publish to the subscriber's function, with no
// other load.
func BenchmarkOneWay(b *testing.B) {
	for name, inProcess := range map[string]bool{"loopback": false, "in process": true} {
		b.Run(name, func(b *testing.B) {
			from, to := pair(b, inProcess)
			got := make(chan struct{}, 1)
			must(b, to.Subscribe("s", func([]byte) { got <- struct{}{} }))
			data := make([]byte, 200)
			b.ReportAllocs()
			for b.Loop() {
				must(b, from.Publish("s", data))
				<-got
			}
		})
	}
}

// BenchmarkStream is the cost of a notice in a stream.
func BenchmarkStream(b *testing.B) {
	from, to := pair(b, false)
	got := make(chan struct{}, 1<<16)
	must(b, to.Subscribe("s", func([]byte) { got <- struct{}{} }))
	data := make([]byte, 200)
	b.ReportAllocs()
	inFlight := 0
	for b.Loop() {
		must(b, from.Publish("s", data))
		if inFlight++; inFlight >= 1000 {
			<-got
			inFlight--
		}
	}
	for range inFlight {
		<-got
	}
}

func pair(b *testing.B, inProcess bool) (from, to *Conn) {
	b.Helper()
	e, err := StartEmbedded("127.0.0.1:0")
	must(b, err)
	b.Cleanup(func() { _ = e.Close() })
	o := Options{Access: Access{URL: e.URL()}}
	for _, c := range []**Conn{&from, &to} {
		conn, err := Connect(o)
		must(b, err)
		b.Cleanup(func() { _ = conn.Close() })
		*c = conn
	}
	return from, to
}
