package tokens

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/identity"
)

const (
	// Prefix begins every token, so that people and programs that look for misplaced secrets
	// recognise one.
	Prefix = "pigeon_"

	idBytes     = 6
	secretBytes = 32
	// MaxLength is the length of every token.
	MaxLength = len(Prefix) + 2*idBytes + 1 + 2*secretBytes
)

// Token is what the file keeps of one.
type Token struct {
	ID      string        `json:"id"`
	Hash    string        `json:"sha256"`            // of the whole token, hexadecimal
	User    string        `json:"user"`              // the name of the principal
	Role    identity.Role `json:"role"`              // viewer, user, operator or admin
	Created int64         `json:"created"`           // Unix seconds
	Expires int64         `json:"expires,omitempty"` // Unix seconds; 0: never
	Revoked int64         `json:"revoked,omitempty"` // Unix seconds; 0: not
}

// draw returns a new token, and what the file keeps of it.
func draw(user string, role identity.Role, now, expires time.Time) (string, Token) {
	random := make([]byte, idBytes+secretBytes)
	_, _ = rand.Read(random) // it never fails: the program ends instead
	id := hex.EncodeToString(random[:idBytes])
	text := Prefix + id + "_" + hex.EncodeToString(random[idBytes:])
	t := Token{ID: id, Hash: hashOf(text), User: user, Role: role, Created: now.Unix()}
	if !expires.IsZero() {
		t.Expires = expires.Unix()
	}
	return text, t
}

func hashOf(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

// idOf returns the id of a token; false for a text that is none.
func idOf(text string) (string, bool) {
	rest, ours := strings.CutPrefix(text, Prefix)
	id, secret, found := strings.Cut(rest, "_")
	return id, ours && found && isHex(id, idBytes) && isHex(secret, secretBytes)
}

// isHex reports whether s is that many bytes in lower-case hexadecimal digits.
func isHex(s string, bytes int) bool {
	return len(s) == 2*bytes && strings.Trim(s, "0123456789abcdef") == ""
}

// IsToken reports whether text has the form of a token.
func IsToken(text string) bool {
	_, is := idOf(text)
	return is
}

// matches reports whether text is the token, in a time that does not depend on how much of it
// is right.
func (t *Token) matches(text string) bool {
	return subtle.ConstantTimeCompare([]byte(hashOf(text)), []byte(t.Hash)) == 1
}

// State returns "good", "expired" or "revoked".
func (t *Token) State(now time.Time) string {
	switch {
	case t.Revoked != 0:
		return "revoked"
	case t.Expires != 0 && now.Unix() >= t.Expires:
		return "expired"
	}
	return "good"
}

// principal returns the principal that the token proves.
func (t *Token) principal() identity.Principal {
	p := identity.Principal{Name: t.User, Role: t.Role, Proof: identity.Token, Credential: t.ID}
	if t.Expires != 0 {
		p.Expires = time.Unix(t.Expires, 0)
	}
	return p
}
