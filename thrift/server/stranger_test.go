package server_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
)

// dialFrom returns the client's end of a new connection from an address.
func dialFrom(t testing.TB, p *servertest.Pipes, from string) *wire {
	t.Helper()
	c, err := p.DialFrom(context.Background(), net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 1024)))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return &wire{Conn: c, t: t}
}

// prove makes the call that proves a name, and returns its answer.
func (w *wire) prove(name string) string {
	w.t.Helper()
	w.send(proof(name)...)
	return string(w.receive())
}

// A caller that has proven nothing has seconds for its first call and for each further one; one that has proven
// its identity meanwhile has the time of all.
func TestStrangersHaveSeconds(t *testing.T) {
	timed(t, same, server.Options{Security: server.Security{Identifier: tokens{}}}, func(s *server.Server, p *servertest.Pipes) {
		begin := time.Now()
		silent, talking, alice := dialFrom(t, p, "192.0.2.1"), dialFrom(t, p, "192.0.2.1"), dialFrom(t, p, "192.0.2.1")
		if got := alice.prove("alice"); !strings.Contains(got, "alice") {
			t.Fatalf("alice was answered %q", got)
		}
		time.Sleep(5 * time.Second)
		talking.echo("one call")
		silent.closed()
		if got := time.Since(begin); got != 10*time.Second {
			t.Errorf("a caller without a call was disconnected after %v, want 10s", got)
		}
		talking.closed()
		if got := time.Since(begin); got != 15*time.Second {
			t.Errorf("a caller without a second call was disconnected after %v, want 15s", got)
		}
		time.Sleep(50 * time.Minute)
		alice.echo("still served")
		_ = alice.Close()
	})
}

// Callers that have proven nothing have half of the places, however many addresses they have: further ones take
// the places of those at the address that has most. Who proves its identity is served.
func TestStrangersShutNobodyOut(t *testing.T) {
	for name, from := range map[string]func(i int) string{
		"8 addresses":              func(i int) string { return fmt.Sprintf("192.0.2.%d", i%8) },
		"an address of the caller": func(int) string { return "198.51.100.1" },
		"a network of IPv6":        func(i int) string { return fmt.Sprintf("2001:db8::%x", i) },
		"addresses of one each":    func(i int) string { return fmt.Sprintf("203.0.113.%d", i) },
	} {
		t.Run(name, func(t *testing.T) {
			o := server.Options{MaxConns: 64, MaxConnsPerHost: 32, MaxConnsPerCaller: 16, Security: server.Security{Identifier: tokens{}}}
			timed(t, same, o, func(s *server.Server, p *servertest.Pipes) {
				var held []*wire
				for i := range 100 {
					held = append(held, dialFrom(t, p, from(i)))
				}
				for i := range 40 {
					name := fmt.Sprintf("user-%d", i)
					c := dialFrom(t, p, "198.51.100.1")
					if got := c.prove(name); !strings.Contains(got, name) {
						t.Fatalf("%s was answered %q", name, got)
					}
					c.echo("served")
					held = append(held, c)
					if i >= 30 { // more than an address may have, with its strangers
						_ = held[len(held)-1].Close()
						synctest.Wait()
					}
				}
				if open := s.Stats().Open; open > 30+32 {
					t.Errorf("%d connections are open, want 30 of users and at most 32 of others", open)
				}
				for _, c := range held {
					_ = c.Close()
				}
				synctest.Wait()
				if st := s.Stats(); st.Open != 0 {
					t.Errorf("stats %+v, want no connection open", st)
				}
			})
		})
	}
}

// A few connections from one address displace none of the many from another.
func TestTheLargestCrowdGivesWay(t *testing.T) {
	o := server.Options{MaxConns: 16, Security: server.Security{Identifier: tokens{}}}
	timed(t, same, o, func(s *server.Server, p *servertest.Pipes) {
		one := dialFrom(t, p, "192.0.2.1")
		var crowd []*wire
		for i := range 20 {
			crowd = append(crowd, dialFrom(t, p, fmt.Sprintf("2001:db8::%x", i)))
		}
		one.echo("the first of all")
		crowd[0].closed()
		crowd[19].echo("the last one")
		if st := s.Stats(); st.Open != 8 || st.Ended[server.Full] != 13 {
			t.Errorf("stats %+v, want 8 connections open and 13 ended for want of a place", st)
		}
		for _, c := range append(crowd, one) {
			_ = c.Close()
		}
	})
}

// Large messages of callers that have proven nothing take no memory, complete or not, and are refused with what
// is missing.
func TestLargeMessagesOfStrangers(t *testing.T) {
	timed(t, same, server.Options{Security: server.Security{Identifier: tokens{}}}, func(s *server.Server, p *servertest.Pipes) {
		large := request(strings.Repeat("x", 900<<10))
		var held []*wire
		for i := range 40 {
			c := dialFrom(t, p, fmt.Sprintf("192.0.2.%d", i))
			c.send(large[:len(large)-1]...)
			held = append(held, c)
		}
		synctest.Wait()
		if got := s.Stats().Memory; got != 0 {
			t.Errorf("%d bytes are held of messages whose callers have proven nothing", got)
		}
		held[0].send(large[len(large)-1:]...)
		if got := string(held[0].receive()); !strings.Contains(got, "more than 8188 bytes") || !strings.Contains(got, "--token-file") {
			t.Errorf("answered %q", got)
		}
		if got := held[0].prove("alice"); !strings.Contains(got, "alice") {
			t.Errorf("alice was answered %q", got)
		}
		held[0].send(large...)
		if got := held[0].receive(); len(got) < 900<<10 {
			t.Errorf("answered %d bytes", len(got))
		}
		for _, c := range held {
			_ = c.Close()
		}
	})
}
