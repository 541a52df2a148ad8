package jetstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// joinWait is how long servers of a cluster may be fewer than the replicas: those that start
// join it one after another.
const joinWait = 15 * time.Second

// The oldest version whose JetStream Pigeon is tested with.
const leastMajor, leastMinor = 2, 11

// description is what a server reports about itself, by its monitoring and by NATS alike.
type description struct {
	Server struct {
		Name    string `json:"name"`
		ID      string `json:"id"`
		Version string `json:"ver"`
	} `json:"server"`
	Data settings `json:"data"`
}

type settings struct {
	ID       string `json:"server_id"`
	Disabled bool   `json:"disabled"`
	Config   struct {
		SyncAlways   bool          `json:"sync_always"`
		SyncInterval time.Duration `json:"sync_interval"`
	} `json:"config"`
	Meta *struct {
		Size int `json:"cluster_size"`
	} `json:"meta_cluster"`
}

// checkServers checks versions, JetStream, the sync interval and the number of servers.
func (s *Store) checkServers(ctx context.Context) error {
	if v := s.nc.ConnectedServerVersion(); old(v) {
		return s.tooOld(s.nc.ConnectedServerName(), v)
	}
	asking, cancel := context.WithTimeout(ctx, answersWait)
	defer cancel()
	_, err := s.js.AccountInfo(asking)
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		if time.Since(s.opened) < answersMost { // a server that stops answers so until it closes the connection
			return err
		}
		return s.refuse("JetStream is not switched on: "+err.Error(), "checking the servers", "start the servers with JetStream (pigeon nats --jetstream), and allow it to the user's account; a server whose disk was full has switched it off, and starts with it again")
	case err != nil:
		return err
	}
	found, err := s.describe(ctx, s.opts.Log)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return s.unseen()
	}
	// A server whose disk is full has switched JetStream off, and knows nothing of the others.
	found = slices.DeleteFunc(found, func(d description) bool { return d.Data.Disabled })
	if len(found) == 0 {
		return errors.New("only servers with JetStream switched off have told their settings yet")
	}
	size, grows := 1, false
	for _, d := range found {
		if d.Server.Version != "" && old(d.Server.Version) {
			return s.tooOld(d.Server.Name, d.Server.Version)
		}
		if d.Data.Meta != nil {
			size, grows = max(size, d.Data.Meta.Size), true
		}
		if !d.Data.Config.SyncAlways {
			return s.refuse(fmt.Sprintf("server %s has sync_interval %v: what it acknowledges is lost with its machine's power until then", d.Server.Name, d.Data.Config.SyncInterval),
				"checking the servers", "set sync_interval: always in its jetstream section (pigeon nats has it by default), and start it again")
		}
	}
	if s.opts.Replicas > size {
		if grows && time.Since(s.opened) < joinWait {
			return fmt.Errorf("%d of %d servers have joined their cluster", size, s.opts.Replicas)
		}
		return s.refuse(fmt.Sprintf("%d replicas are configured, and the servers are %d", s.opts.Replicas, size), "checking the servers",
			"start a cluster of three servers (pigeon nats --cluster-name), or set nats_replicas: 1 and lose what is kept with its machine")
	}
	if len(found) <= size/2 {
		return fmt.Errorf("%d of %d servers have told their settings", len(found), size)
	}
	return nil
}

// unseen is the answer when no server reports the sync interval.
func (s *Store) unseen() error {
	switch {
	case s.opts.Monitor != "":
		return fmt.Errorf("no server has answered at nats_monitor (%s)", s.opts.Monitor)
	case s.opts.SyncAlways:
		return nil
	case time.Since(s.opened) < answersMost:
		return errors.New("no server has told its settings yet")
	}
	return s.refuse("nothing tells whether the servers have sync_interval: always, without which they lose acknowledged writes with a machine's power", "checking the servers",
		"set nats_monitor to the URLs of their monitoring (http://n1:8222,http://n2:8222,http://n3:8222), or state it by nats_sync_always: true")
}

// old reports whether a version is too old for Pigeon; one that it cannot parse is not.
func old(version string) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	if err1 != nil || err2 != nil {
		return false
	}
	return major < leastMajor || major == leastMajor && minor < leastMinor
}

// describe asks all servers, by their monitoring if that is configured; log is written where that
// does not answer. No answer at all is no error.
func (s *Store) describe(ctx context.Context, log *slog.Logger) ([]description, error) {
	if s.opts.Monitor != "" {
		return s.monitored(ctx, log), nil
	}
	return s.answered(ctx)
}

// answersWait bounds the wait for one answer, which normally comes within some milliseconds; a
// cluster without a leader gives none.
const answersWait = 500 * time.Millisecond

// answersMost is how long no answer at all, or that JetStream is off, is taken for that of
// servers that are busy, stop or have just started. Servers other than those of pigeon nats never answer.
const answersMost = 5 * time.Second

// answered asks by NATS, which servers of pigeon nats answer every client.
func (s *Store) answered(ctx context.Context) (found []description, err error) {
	inbox := s.nc.NewRespInbox()
	sub, err := s.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone, and the subscription with it
	if err := s.nc.PublishRequest("$SYS.REQ.SERVER.PING.JSZ", inbox, nil); err != nil {
		return nil, err
	}
	for {
		next, cancel := context.WithTimeout(ctx, answersWait)
		m, err := sub.NextMsgWithContext(next)
		cancel()
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return found, nil // no server answers that, or no further one
		}
		var d description
		if json.Unmarshal(m.Data, &d) == nil && d.Server.ID != "" {
			found = append(found, d)
			if !d.Data.Disabled && (d.Data.Meta == nil || len(found) >= d.Data.Meta.Size) {
				return found, nil
			}
		}
	}
}

// monitorAnswer bounds how much of an answer is read.
const monitorAnswer = 1 << 20

// monitored asks the monitoring of each server; one that does not answer is left out.
func (s *Store) monitored(ctx context.Context, log *slog.Logger) (found []description) {
	for base := range strings.SplitSeq(s.opts.Monitor, ",") {
		base = strings.TrimSuffix(strings.TrimSpace(base), "/")
		d := description{}
		d.Server.Name = base
		if err := get(ctx, base+"/jsz", &d.Data); err != nil {
			log.Warn("the monitoring of a NATS server does not answer", "url", base, "error", err)
			continue
		}
		var about struct {
			Version string `json:"version"`
			Name    string `json:"server_name"`
		}
		if err := get(ctx, base+"/varz", &about); err == nil {
			d.Server.Name, d.Server.Version = about.Name, about.Version
		}
		if !slices.ContainsFunc(found, func(other description) bool { return other.Data.ID == d.Data.ID }) {
			found = append(found, d)
		}
	}
	return found
}

func get(ctx context.Context, url string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answersWait)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return json.NewDecoder(io.LimitReader(response.Body, monitorAnswer)).Decode(into)
}
