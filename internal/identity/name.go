package identity

import "regexp"

var nameShape = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9._@+-]{0,62}[A-Za-z0-9_-])?$`)

// IsName reports whether a certificate or a token can be for that name.
func IsName(name string) bool { return nameShape.MatchString(name) }

// NameRule describes the names that IsName accepts. 64 is the longest common name that a
// certificate may have.
const NameRule = "use 1 to 64 letters, digits, dots, dashes, underscores, plus and at signs, none of . + @ - first and none of . + @ last"
