package notice

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// flushTimeout bounds how long Subscribe waits for the server to confirm.
const flushTimeout = 2 * time.Second

// subscription is made again on each connection of the library.
type subscription struct {
	subject string
	take    func(*nats.Msg)
	made    *nats.Subscription
	overrun int // dropped on made, when last counted
	before  int // dropped on former connections
}

// Subscribe calls take with the data of each notice on the subject, one at a
// time. When it returns, either the server has confirmed, or it is not reachable, or slow,
// and the subscription is made once it answers. take may keep data.
func (c *Conn) Subscribe(subject string, take func(data []byte)) error {
	return c.subscribeAll(func(m *nats.Msg) { take(m.Data) }, subject)
}

// SubscribeNamed is Subscribe for a subject that ends in the publisher's name, and for one without
// it: to where subject leads for [Anyone] and for "". take gets the token of the name as well, ""
// where there is none.
func (c *Conn) SubscribeNamed(subject func(publisher string) string, take func(publisher string, data []byte)) error {
	plain := subject("")
	return c.subscribeAll(func(m *nats.Msg) {
		take(strings.TrimPrefix(strings.TrimPrefix(m.Subject, plain), "."), m.Data)
	}, plain, subject(Anyone))
}

func (c *Conn) subscribeAll(take func(*nats.Msg), subjects ...string) error {
	for _, subject := range subjects {
		if err := c.subscribe(subject, take); err != nil {
			return fmt.Errorf("subscribing to %s: %w", subject, err)
		}
	}
	return c.confirm(subjects[0])
}

// confirm waits until the server has made the subscriptions so far; the error names the given one.
func (c *Conn) confirm(subject string) error {
	nc := c.nc.Load()
	if !nc.IsConnected() {
		return nil
	}
	// Without it the server may not know of the subscription yet. A server too slow to
	// confirm gets it all the same, later, and so does the one that is reached after it
	// was lost: only hints are lost meanwhile.
	if err := nc.FlushTimeout(flushTimeout); err != nil && c.isClosed() {
		return fmt.Errorf("confirming the subscription to %s: %w", subject, err)
	}
	return nil
}

func (c *Conn) subscribe(subject string, take func(*nats.Msg)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	s := &subscription{subject: subject, take: take}
	if err := c.subscribeOn(s, c.nc.Load()); err != nil && !errors.Is(err, nats.ErrConnectionClosed) && !errors.Is(err, nats.ErrBadSubscription) {
		return err
	}
	c.subs = append(c.subs, s) // where the connection was just closed for good, its replacement gets it
	return nil
}

// subscribeOn makes a subscription on a connection of the library. It needs the lock.
func (c *Conn) subscribeOn(s *subscription, on *nats.Conn) error {
	made, err := on.Subscribe(s.subject, func(m *nats.Msg) {
		c.received.Add(1)
		s.take(m)
	})
	if err != nil {
		return err
	}
	c.active.Add(1)
	ended := sync.OnceFunc(c.active.Done)
	made.SetClosedHandler(func(string) { ended() })
	if !made.IsValid() { // the library closed it meanwhile, and may not have seen the handler
		ended()
	}
	s.made = made
	return made.SetPendingLimits(c.opts.MaxPending, c.opts.MaxPendingBytes)
}

// dropped returns how many notices were dropped because take was too slow. It needs the lock.
func (s *subscription) dropped() int {
	if s.made != nil {
		if n, err := s.made.Dropped(); err == nil { // a closed one does not say
			s.overrun = n
		}
	}
	return s.before + s.overrun
}
