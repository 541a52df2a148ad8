package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
)

// hidden stands for a secret where values are shown.
const hidden = "xxxxx"

// userInfo is the part before the host of a URL: a user with a password, or a token. A
// password may hold an @ that was not written as %40, so it reaches to the last one.
var userInfo = regexp.MustCompile(`://[^/\s,"'\]]+@`)

// WithoutSecrets returns a text without the users, passwords and tokens in its URLs. It is meant
// for texts that are printed or logged.
func WithoutSecrets(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return userInfo.ReplaceAllString(text, "://"+hidden+"@")
}

// shown returns the value of a field as it may be shown.
func (k Key) shown(field reflect.Value) reflect.Value {
	switch v := field.Interface().(type) {
	case string:
		return reflect.ValueOf(k.shownText(v))
	case []string:
		list := make([]string, len(v))
		for i, s := range v {
			list[i] = k.shownText(s)
		}
		if v == nil {
			list = nil
		}
		return reflect.ValueOf(list)
	}
	return field
}

// refusedUserInfo is userInfo in a text that was refused: it need not be a URL, nor a list of them,
// so that a quote or a space may be a part of the password.
var refusedUserInfo = regexp.MustCompile(`(?s)://.*@`)

// refused returns a value that was refused as an error shows it, with the text before it; nothing of
// the value of a key that hides some: where it was misread, nobody knows which part is the secret.
func (k Key) refused(before, text string) string {
	if k.hide {
		return ""
	}
	return fmt.Sprintf("%s%q", before, withoutRefusedSecrets(text))
}

func withoutRefusedSecrets(text string) string {
	return refusedUserInfo.ReplaceAllString(text, "://"+hidden+"@")
}

// RefusedFlag returns the value that a flag has refused as an error may show it; false: not at all.
func RefusedFlag(f *pflag.Flag, text string) (shown string, may bool) {
	if v, ours := f.Value.(*flagValue); ours && v.key.hide {
		return "", false
	}
	return withoutRefusedSecrets(text), true
}

func (k Key) shownText(text string) string {
	if name, _, given := strings.Cut(text, "="); k.hide && given {
		return name + "=" + hidden
	}
	return WithoutSecrets(text)
}
