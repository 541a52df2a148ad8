package config

import (
	"reflect"
	"regexp"
	"strings"
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

func (k Key) shownText(text string) string {
	if name, _, given := strings.Cut(text, "="); k.hide && given {
		return name + "=" + hidden
	}
	return WithoutSecrets(text)
}
