package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Messages counts what the cores of all daemons sent to each other since their start,
// as the papers do: a batch of k tasks counts k. Processes report it by HTTP, which
// the spec must enable; those that do not run are left out.
func (c *Cluster) Messages(ctx context.Context) (uint64, error) { return c.body.messages(ctx) }

func (p *inProcess) messages(context.Context) (sum uint64, err error) {
	for _, d := range p.daemons {
		sum += d.Messages()
	}
	return sum, nil
}

func (p *processes) messages(ctx context.Context) (sum uint64, err error) {
	if !p.c.spec.HTTP {
		return 0, errors.New("the daemons' messages are not known: the cluster was started without HTTP")
	}
	for r, list := range p.members {
		for _, m := range list {
			if r == NATS || !m.running() {
				continue
			}
			n, err := MessagesOf(ctx, m.http)
			if err != nil {
				return 0, fmt.Errorf("%s does not report how many messages it sent: %w", m.command.Name, err)
			}
			sum += n
		}
	}
	return sum, nil
}

// counter ends the name of the metric that every daemon has.
const counter = "_core_messages_total"

// MessagesOf reads from the metrics of one daemon, at host:port, how many core messages it has sent.
func MessagesOf(ctx context.Context, at string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	q.Close = true // requests are rare
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close() //nolint:errcheck // it is read
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if !ok || !strings.HasSuffix(name, counter) {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		return uint64(n), err
	}
	return 0, errors.Join(fmt.Errorf("its metrics at %s have none that ends in %s", at, counter), lines.Err())
}
