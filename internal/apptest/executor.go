package apptest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Verb starts a test binary as an executor.
const Verb = "executor"

// message is one line between executor and driver, in either direction.
type message struct {
	Executor string        `json:"executor,omitempty"` // the executor's first message
	Pid      int           `json:"pid,omitempty"`
	Grant    string        `json:"grant,omitempty"` // received, or to be used
	Level    string        `json:"level,omitempty"`
	Ended    bool          `json:"ended,omitempty"` // the piece of work under the grant
	Run      time.Duration `json:"run,omitempty"`   // below zero: declined
}

// Main runs an executor. Its arguments are the verb, the driver's address, the node
// monitor's, application, executor, token and slots (0: it takes no grants). It
// returns the exit status.
func Main(args []string) int {
	if len(args) != 7 {
		fmt.Fprintln(os.Stderr, "an executor is started by a node monitor with seven arguments; these are", args)
		return 2
	}
	slots, err := strconv.Atoi(args[6])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	e := &executor{id: wire.ExecutorID{Application: args[3], Executor: args[4], Token: args[5]}}
	if err := e.run(args[1], args[2], slots); err != nil {
		fmt.Fprintln(os.Stderr, "executor", args[4], "ends:", err)
	}
	return 1
}

type executor struct {
	id     wire.ExecutorID
	node   *wire.GrantClient
	mu     sync.Mutex
	driver *json.Encoder
}

func (e *executor) run(driver, node string, slots int) error {
	c, err := net.Dial("tcp", driver)
	if err != nil {
		return err
	}
	e.driver = json.NewEncoder(c)
	e.send(message{Executor: e.id.Executor, Pid: os.Getpid()})
	failed := make(chan error, 2)
	go func() { failed <- e.runCommands(json.NewDecoder(c)) }()
	if slots > 0 {
		pool, err := client.New(client.Options{Name: "node monitor", Address: node})
		if err != nil {
			return err
		}
		e.node = wire.NewGrantClient(pool)
		if err := e.node.AttachExecutor(context.Background(), e.id, slots); err != nil {
			return err
		}
		go func() { failed <- e.pollGrants() }()
	}
	return <-failed
}

func (e *executor) send(l message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = e.driver.Encode(l) // runCommands sees that the driver is gone
}

// pollGrants relays grants to the driver.
func (e *executor) pollGrants() error {
	for after := int64(0); ; {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		g, err := e.node.AwaitGrants(ctx, e.id, after, 10*time.Second)
		cancel()
		if err != nil {
			return err
		}
		after = max(after, g.UpTo)
		for _, x := range g.Grants {
			e.send(message{Grant: x.ID, Level: x.Level})
		}
	}
}

// runCommands executes the driver's answer to each grant.
func (e *executor) runCommands(from *json.Decoder) error {
	for {
		var l message
		if err := from.Decode(&l); err != nil {
			return fmt.Errorf("the driver is gone: %w", err)
		}
		go e.work(l)
	}
}

func (e *executor) work(l message) {
	end := api.GrantEnd{ID: l.Grant, How: api.GrantUsed, Ran: 1, Used: l.Run}
	if l.Run < 0 {
		end.How, end.Ran, end.Used = api.GrantDeclined, 0, 0
	}
	time.Sleep(end.Used)
	if end.How == api.GrantUsed {
		e.send(message{Grant: l.Grant, Level: l.Level, Ended: true})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := e.node.EndGrants(ctx, e.id, []api.GrantEnd{end}); err != nil {
		fmt.Fprintln(os.Stderr, "ending a grant:", err)
	}
}
