package webpage

import (
	"bytes"
	"encoding/json"
)

// part is something that is sent to viewers as a whole when it has changed.
type part struct {
	text     json.RawMessage
	revision int64 // in which it changed
}

func (p *part) set(revision int64, value any) {
	if text := encode(value); !bytes.Equal(text, p.text) {
		p.text, p.revision = text, revision
	}
}

// encode returns a value as JSON; the values of this package can all be encoded.
func encode(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}

// row is one of many things, which is sent to viewers when it has changed.
type row[T any] struct {
	value    T
	text     json.RawMessage
	revision int64 // in which it changed
	seen     int64 // in which it was read last
}

// mostGone bounds the keys of rows that are gone; viewers that are further behind receive
// everything.
const mostGone = 2000

// rows are many things by their keys. The zero value has none.
type rows[T any] struct {
	all       map[string]*row[T]
	gone      map[string]int64 // revision in which each was dropped
	forgotten int64            // revision up to which keys of gone rows were forgotten
}

// set enters a thing that was read, and reports whether its key was known. same compares it with
// what is known of it, and text returns what is sent to viewers when it has changed.
func (r *rows[T]) set(revision int64, key string, value T, same func(a, b *T) bool, text func() any) (known bool) {
	if r.all == nil {
		r.all, r.gone = map[string]*row[T]{}, map[string]int64{}
	}
	old := r.all[key]
	if old != nil && same(&old.value, &value) {
		old.seen = revision
		return true
	}
	delete(r.gone, key)
	r.all[key] = &row[T]{value: value, text: encode(text()), revision: revision, seen: revision}
	return old != nil
}

// dropUnseen drops what was not read in a revision: it is gone.
func (r *rows[T]) dropUnseen(revision int64) {
	for key, each := range r.all {
		if each.seen != revision {
			delete(r.all, key)
			r.gone[key] = revision
		}
	}
	if len(r.gone) > mostGone {
		clear(r.gone)
		r.forgotten = revision
	}
}

// forget forgets what was read longest ago when there are more than most: it may well still be
// there, and is not gone.
func (r *rows[T]) forget(most int) {
	for oldest := r.oldest(); len(r.all) > most; oldest = r.oldest() {
		for key, each := range r.all {
			if each.seen == oldest {
				delete(r.all, key)
			}
		}
	}
}

func (r *rows[T]) oldest() (seen int64) {
	for _, each := range r.all {
		if seen == 0 || each.seen < seen {
			seen = each.seen
		}
	}
	return seen
}

// since returns the texts of what changed after a revision, all of it after 0, and the keys of
// what is gone since. text returns what is sent to a viewer about a row.
func (r *rows[T]) since(revision int64, text func(*row[T]) json.RawMessage) (list []json.RawMessage, gone []string) {
	for _, each := range r.all {
		if each.revision > revision {
			list = append(list, text(each))
		}
	}
	for key, when := range r.gone {
		if revision > 0 && when > revision {
			gone = append(gone, key)
		}
	}
	return list, gone
}
