package tokens

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// Order is what a new token is for.
type Order struct {
	User string
	Role identity.Role
	// Lifetime is how long it is good; 0: until it is revoked.
	Lifetime time.Duration
}

// check refuses what no token can be.
func (o Order) check() error {
	e := &api.Error{Problem: api.Invalid, Subject: fmt.Sprintf("token for %q", o.User), Tried: "making it"}
	switch {
	case !identity.IsName(o.User):
		e.What, e.Next = fmt.Sprintf("%q is no name", o.User), identity.NameRule
	case !o.Role.IsPerson():
		var roles []string
		for _, r := range identity.People {
			roles = append(roles, string(r))
		}
		e.What, e.Next = fmt.Sprintf("%q is no role of a person", o.Role), "the roles are "+strings.Join(roles, ", ")+"; daemons have certificates ('pigeon pki issue')"
	case o.Lifetime < 0:
		e.What, e.Next = fmt.Sprintf("a lifetime of %v ends before it begins", o.Lifetime), "give --ttl above zero, such as 90d, or 0 for a token that ends when it is revoked"
	default:
		return nil
	}
	return e
}

// Create adds a token to a file, which is made if it is not there, and returns it: its text
// cannot be recovered later. Tokens that ended a month ago are removed.
func Create(path string, o Order, now time.Time) (text string, t Token, err error) {
	if err := o.check(); err != nil {
		return "", t, err
	}
	err = edit(path, true, func(list []Token) ([]Token, error) {
		list = slices.DeleteFunc(list, func(t Token) bool { return t.endedBefore(now.Add(-kept)) })
		if len(list) >= MaxTokens {
			return nil, &api.Error{
				Problem: api.Busy, What: fmt.Sprintf("it has the limit of %d tokens", MaxTokens), Subject: path, Tried: "adding one for " + o.User,
				Next: "revoke tokens that nobody uses; those that ended are removed after 30 days",
			}
		}
		var expires time.Time
		if o.Lifetime > 0 {
			expires = now.Add(o.Lifetime)
		}
		for again := true; again; {
			text, t = draw(o.User, o.Role, now, expires)
			again = slices.ContainsFunc(list, func(other Token) bool { return other.ID == t.ID })
		}
		return append(list, t), nil
	})
	if err != nil {
		return "", Token{}, err
	}
	return text, t, nil
}

// endedBefore reports whether a token has been expired or revoked since before then.
func (t *Token) endedBefore(then time.Time) bool {
	return t.Revoked != 0 && t.Revoked < then.Unix() || t.Expires != 0 && t.Expires < then.Unix()
}

// Revoke revokes tokens by their ids, and returns them. When one is not there, nothing changes. One
// that was revoked before stays as it is.
func Revoke(path string, ids []string, now time.Time) (revoked []Token, err error) {
	err = edit(path, false, func(list []Token) ([]Token, error) {
		for _, id := range ids {
			i := slices.IndexFunc(list, func(t Token) bool { return t.ID == id })
			if i < 0 {
				return nil, &api.Error{
					Problem: api.NotFound, What: "it is not in the file " + path, Subject: fmt.Sprintf("token %.80q", withoutSecret(id)), Tried: "revoking it; nothing was changed",
					Next: "'pigeon token list' shows the ids",
				}
			}
			if list[i].Revoked == 0 {
				list[i].Revoked = now.Unix()
			}
			revoked = append(revoked, list[i])
		}
		return list, nil
	})
	if err != nil {
		return nil, err
	}
	return revoked, nil
}

// withoutSecret returns the id where the user has given the whole token instead.
func withoutSecret(text string) string {
	if id, is := idOf(text); is {
		return id
	}
	return text
}

// Lasts reports whether a token is one of a file, and is good until then at least.
func Lasts(path, text string, until time.Time) bool {
	list, err := Load(path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(list, func(t Token) bool { return t.matches(text) && t.State(until) == "good" })
}
