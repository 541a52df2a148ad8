package doctor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"
)

// natsWait bounds the wait for a server's greeting; natsGreeting its length.
const (
	natsWait     = time.Second
	natsGreeting = 4096
)

// tryListen reports whether an address can be listened on.
func tryListen(ctx context.Context, address string) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}

func loopback(ctx context.Context, nodes []string) Finding {
	for _, ip := range nodes {
		if err := tryListen(ctx, net.JoinHostPort(ip, "0")); err != nil {
			return Finding{
				Status: Warn, Found: fmt.Sprintf("%s cannot be bound: %v", ip, err),
				Advice: "each node of a local cluster of processes has a loopback address of its own; use --isolation goroutine, or add the addresses (on macOS: sudo ifconfig lo0 alias " + ip + ")",
			}
		}
	}
	return Finding{Status: Good, Found: "could bind " + strings.Join(nodes, ", ")}
}

func ports(ctx context.Context, wanted []Port) Finding {
	var free, taken []string
	for _, p := range wanted {
		err := tryListen(ctx, p.Address)
		switch {
		case err == nil:
			free = append(free, p.Address)
		case errors.Is(err, syscall.EADDRINUSE):
			taken = append(taken, fmt.Sprintf("%s (%s) is in use", p.Address, p.Use))
		default:
			taken = append(taken, fmt.Sprintf("%s (%s): %v", p.Address, p.Use, err))
		}
	}
	if len(taken) == 0 {
		return Finding{Status: Good, Found: "free: " + strings.Join(free, ", ")}
	}
	return Finding{
		Status: Warn, Found: strings.Join(taken, "; "),
		Advice: "if that is Pigeon, all is well; else 'ss -ltnp' shows the process: stop it, or give the daemon another address",
	}
}

// nats reads the greeting of a server: "INFO {json}".
func nats(ctx context.Context, address string) Finding {
	ctx, cancel := context.WithTimeout(ctx, natsWait)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return Finding{Status: Good, Found: fmt.Sprintf("no server at %s; a local cluster brings its own, and scheduling works without one", address)}
	}
	defer func() { _ = conn.Close() }() // nothing was written
	stranger := Finding{
		Status: Warn, Found: fmt.Sprintf("what listens at %s does not greet like NATS", address),
		Advice: "stop it, or run NATS at another address and configure that one",
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetReadDeadline(deadline); err != nil {
			return stranger
		}
	}
	line, err := bufio.NewReader(io.LimitReader(conn, natsGreeting)).ReadString('\n')
	if err != nil {
		return stranger
	}
	var info struct {
		Version string `json:"version"`
	}
	greeting, isInfo := strings.CutPrefix(line, "INFO ")
	if !isInfo || json.Unmarshal([]byte(greeting), &info) != nil || info.Version == "" {
		return stranger
	}
	return Finding{Status: Good, Found: fmt.Sprintf("nats-server %.40s at %s", info.Version, address)}
}
