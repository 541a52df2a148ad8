package guard

import "github.com/oklog/ulid/v2"

// Apart returns a client with a guard of its own for one process whose guard ended
// before: if this one ends too, nothing else ends with it. The guard does not outlive the
// client.
func (c *Client) Apart() *Client {
	o := c.opts
	o.MaxRunning, o.Grace, o.Folder = 1, 0, ""
	return begin(&Client{opts: o, startedAs: c.startedAs, refused: c.refused, enforces: c.enforces, token: c.opts.family() + ulid.Make().String()})
}
