package sparktest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
)

// NodeStatus is the status of a node monitor, as far as tests use it.
type NodeStatus struct {
	Node  string `json:"node"`
	Slots []struct {
		Slot    int    `json:"slot"`
		App     string `json:"app"`
		Job     string `json:"job"`
		Attempt int    `json:"attempt"` // 0: idle
	} `json:"slots"`
	Memory struct {
		Total int64 `json:"total"` // MB
		Used  int64 `json:"used"`
	} `json:"memory"`
	Executors []struct {
		App      string `json:"app"`
		ID       string `json:"executor"`
		State    string `json:"state"`
		Exit     int    `json:"exit"`
		Reason   string `json:"reason"`
		Stdout   string `json:"stdout"` // URL
		Stderr   string `json:"stderr"`
		Attached bool   `json:"attached"` // it takes grants
	} `json:"executors"`
	Grants struct {
		Granted, Used, Declined, Unfit, Lost, Failed uint64
		Held, Waiting                                int
	} `json:"grants"`
}

// Busy returns the number of slots that run a task.
func (s *NodeStatus) Busy() (n int) {
	for i := range s.Slots {
		if s.Slots[i].Attempt != 0 {
			n++
		}
	}
	return n
}

// Status returns the status of a node monitor.
func (c *Cluster) Status(node int) (s NodeStatus, err error) {
	return s, c.Get(cluster.NodeMonitor, node, "/status", &s)
}

// Application is the status of an application at its frontend.
type Application struct {
	ID        string `json:"application"`
	Name      string `json:"name"`
	State     string `json:"state"`
	Wanted    int    `json:"wanted"`
	Failures  int    `json:"failures"`
	Executors []struct {
		ID     string `json:"executor"`
		Node   string `json:"node"`
		State  string `json:"state"`
		Reason string `json:"reason"`
	} `json:"executors"`
	Levels []struct {
		Level  string `json:"level"`
		Class  string `json:"class"`
		Why    string `json:"why"`
		Wanted int64  `json:"wanted"`
		Had    int64  `json:"had"`
	} `json:"levels"`
}

// Applications returns the applications that a frontend serves.
func (c *Cluster) Applications(frontend int) (list []Application, err error) {
	return list, c.Get(cluster.Frontend, frontend, "/applications", &list)
}

// Get reads a JSON page of number i of a role.
func (c *Cluster) Get(r cluster.Role, i int, page string, into any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.HTTP(r, i)+page, nil)
	if err != nil {
		return err
	}
	q.Close = true // calls are rare
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return fmt.Errorf("%s %d does not answer: %w", r, i, err)
	}
	defer answer.Body.Close() //nolint:errcheck // it is read
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %d answers %s to %s", r, i, answer.Status, page)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}
