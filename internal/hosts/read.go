package hosts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
)

// maxFile bounds a host inventory: ten thousand hosts of a hundred bytes are a tenth of it.
const maxFile = 10 << 20

// Read returns a host inventory that was checked. The error joins all mistakes found, each an
// *api.Error that names the line and the host.
func Read(path string) (*Inventory, error) {
	data, err := files.ReadText(path, maxFile)
	if err != nil && !errors.Is(err, files.ErrTooLong) {
		return nil, &api.Error{Problem: api.NotFound, What: "it cannot be read: " + err.Error(), Subject: path, Tried: "reading the host inventory", Next: "give the path of a file; docs/deploy.md has examples"}
	}
	return Parse(path, data)
}

// Parse is Read for text; file names it in errors.
func Parse(file string, text []byte) (*Inventory, error) {
	inv := &Inventory{file: file}
	if len(text) > maxFile {
		return nil, inv.Fault(nil, "", fmt.Sprintf("it has more than %d bytes, the limit of a host inventory", maxFile), "give the path of a host inventory")
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(inv); err != nil && !errors.Is(err, io.EOF) {
		return nil, inv.Fault(nil, "", "it cannot be understood: "+plainly(err), "correct it; docs/deploy.md has every key")
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, inv.Fault(nil, "", "a second document follows, or text that is not YAML", "keep one document in the file")
	}
	inv.note(text)
	if err := inv.expand(); err != nil {
		return nil, err
	}
	inv.complete()
	return inv, inv.check()
}

// plainly returns an error of the YAML library without the names of Go's types.
func plainly(err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n  ")
	return strings.NewReplacer(
		"in type hosts.Inventory", "among the keys of an inventory", "in type hosts.Host", "among the keys of a host", "in type hosts.SSH", "among the keys of ssh",
		"field ", "key ", "into hosts.Settings", "as settings, ROLE: {KEY: VALUE}", "into []hosts.Host", "as a list of hosts", "into []hosts.Role", "as a list of roles",
		"into int", "as a whole number", "into string", "as text", "into bool", "as true or false", "!!", "", "\n  ", "; ",
	).Replace(text)
}

// note remembers the lines of the keys, which the decoded values have not.
func (inv *Inventory) note(text []byte) {
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil || len(doc.Content) == 0 {
		return // an empty file: it has no hosts
	}
	inv.lines = linesOf(doc.Content[0])
	for i := 0; i+1 < len(doc.Content[0].Content); i += 2 {
		if doc.Content[0].Content[i].Value != "hosts" {
			continue
		}
		for k, item := range doc.Content[0].Content[i+1].Content {
			if k < len(inv.Hosts) {
				inv.Hosts[k].line, inv.Hosts[k].lines = item.Line, linesOf(item)
			}
		}
	}
}

// linesOf returns the line of each key of a mapping.
func linesOf(n *yaml.Node) map[string]int {
	lines := map[string]int{}
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			lines[n.Content[i].Value] = n.Content[i].Line
		}
	}
	return lines
}

// complete fills the defaults in.
func (inv *Inventory) complete() {
	inv.Cluster, inv.Policy = cmp.Or(inv.Cluster, "pigeon"), cmp.Or(inv.Policy, "pigeon-x")
	inv.Security, inv.ServiceManager = cmp.Or(inv.Security, TLS), cmp.Or(inv.ServiceManager, Systemd)
	for i := range inv.Hosts {
		h := &inv.Hosts[i]
		h.cluster = inv.Cluster
		h.Address = cmp.Or(h.Address, h.Name)
		h.Destination = cmp.Or(h.Destination, h.Address)
		h.ServiceManager = cmp.Or(h.ServiceManager, inv.ServiceManager)
		h.Prefix = strings.TrimRight(cmp.Or(h.Prefix, inv.Prefix), "/")
		if h.Has(Frontend) {
			h.ID = cmp.Or(h.ID, h.Name)
		}
	}
}

// Fault returns the error of a mistake at a key of a host, or at one of the top where h is nil.
func (inv *Inventory) Fault(h *Host, key, what, next string) error {
	return &api.Error{Problem: api.Invalid, What: what, Subject: inv.place(h, key), Tried: "reading the host inventory", Next: next}
}
