package clusters

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
)

// readyPoll is the time between two questions whether a daemon is ready, and answerTime how long
// one answer may take.
const readyPoll, answerTime = 100 * time.Millisecond, 2 * time.Second

// maxAnswer bounds how much of an answer is read.
const maxAnswer = 1 << 20

// AwaitReady asks a URL until it answers 200. The error has its last answer.
func AwaitReady(ctx context.Context, url string, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		_, _, err := get(ctx, url)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return &api.Error{Problem: api.NotReady, What: err.Error(), Subject: url, Tried: fmt.Sprintf("waiting %v until it is ready", wait), Next: "look at the daemon's log"}
		}
	}
}

// Process returns the number of the process that serves a URL of this host, "" where it does not
// say so: NATS servers and earlier versions do not.
func Process(ctx context.Context, url string) (string, error) {
	_, header, err := get(ctx, url)
	return header.Get(telemetry.ProcessHeader), err
}

// get returns what a URL answers with status 200.
func get(ctx context.Context, url string) (string, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", nil, err
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", nil, err
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	_ = answer.Body.Close() // it was read
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %s: %s", answer.Status, strings.TrimSpace(string(text[:min(len(text), 500)])))
	}
	return string(text), answer.Header, err
}

// Metric returns the value of a metric without labels on a page of metrics, "" when it is not
// there.
func Metric(ctx context.Context, url, name string) (string, error) {
	text, _, err := get(ctx, url)
	if err != nil {
		return "", err
	}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if key, value, found := strings.Cut(lines.Text(), " "); found && key == name {
			return value, nil
		}
	}
	return "", nil
}
