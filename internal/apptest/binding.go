package apptest

import (
	"encoding/json"
	"net"
	"slices"
	"time"
)

// accept accepts the connections of executors.
func (d *Driver) accept() {
	for {
		c, err := d.listener.Accept()
		if err != nil {
			return
		}
		d.mu.Lock()
		d.conns[c] = ""
		d.mu.Unlock()
		d.goroutines.Go(func() { d.serveExecutor(c) })
	}
}

// serveExecutor binds the grants of one executor until it is gone; the pieces that
// ran there wait again.
func (d *Driver) serveExecutor(c net.Conn) {
	defer func() { _ = c.Close() }() // it is gone
	from, to := json.NewDecoder(c), json.NewEncoder(c)
	id := ""
	for {
		var l message
		if from.Decode(&l) != nil {
			break
		}
		if l.Executor != "" {
			id = l.Executor
			d.mu.Lock()
			d.conns[c], d.pids[id] = id, l.Pid
			d.mu.Unlock()
			continue
		}
		if answer, ok := d.bind(id, l); ok && to.Encode(answer) != nil {
			break
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.conns, c)
	for _, l := range d.levels {
		for grant, executor := range l.running {
			if executor == id {
				delete(l.running, grant)
				l.waiting++
			}
		}
	}
	d.changed()
}

// bind returns the answer to a grant, or records the end of a piece of work.
func (d *Driver) bind(executor string, l message) (answer message, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	answer = message{Grant: l.Grant, Level: l.Level, Run: -1}
	at := slices.IndexFunc(d.levels, func(v *level) bool { return v.Name == l.Level })
	if at < 0 {
		d.declined++
		return answer, true
	}
	v := d.levels[at]
	defer d.changed()
	if l.Ended {
		if v.running[l.Grant] == executor {
			delete(v.running, l.Grant)
			v.ended++
			if c := d.endWaiters[v.Name]; c != nil {
				close(c)
				delete(d.endWaiters, v.Name)
			}
		}
		return message{}, false
	}
	v.Had++
	if v.waiting == 0 {
		d.declined++
		return answer, true
	}
	v.waiting--
	d.waits = append(d.waits, time.Since(v.since))
	v.running[l.Grant] = executor
	answer.Run = v.work
	return answer, true
}
