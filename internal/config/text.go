package config

import (
	"encoding/csv"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// expected returns what a value of a key's type looks like.
func (k Key) expected() string {
	switch k.Type {
	case "duration":
		return "a duration with its unit, such as 500us, 1s or 1h30m"
	case "list":
		return "a list of strings, in a file [a, b] and elsewhere a,b"
	case "entries":
		return k.entry.expected()
	case "bool":
		return "true or false"
	case "integer":
		return "a whole number"
	case "size":
		return "a whole number, 0 or more"
	case "number":
		return "a finite number"
	}
	return "text"
}

// parse reads a value written as text: a flag, an environment variable or a
// scalar of a file. The same rules hold for all three.
func (k Key) parse(text string) (any, error) {
	var v any
	var err error
	switch k.Type {
	case "duration":
		v, err = time.ParseDuration(text)
	case "list":
		return parseList(text)
	case "entries":
		return k.entry.parse(k.Path, text)
	case "bool":
		v, err = parseBool(text)
	case "integer":
		v, err = strconv.ParseInt(text, 0, 64)
	case "size":
		v, err = strconv.ParseUint(text, 0, 64)
	case "number":
		var f float64
		f, err = strconv.ParseFloat(text, 64)
		if err == nil && (math.IsNaN(f) || math.IsInf(f, 0)) {
			err = strconv.ErrRange
		}
		v = f
	default:
		return text, nil
	}
	if err != nil {
		return nil, fmt.Errorf("expected %s", k.expected())
	}
	return v, nil
}

// parseBool accepts true and false only: "yes", "1" and "on" mean different
// things in different tools.
func parseBool(text string) (bool, error) {
	switch text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, strconv.ErrSyntax
}

func parseList(text string) ([]string, error) {
	if text == "" {
		return []string(nil), nil
	}
	items, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil {
		return nil, fmt.Errorf("expected a comma-separated list: %w", err)
	}
	return items, nil
}

// textOf is the inverse of parse, for the defaults of flags and for written files;
// quoted puts strings in quotes.
func (k Key) textOf(v reflect.Value, quoted bool) string {
	switch k.Type {
	case "duration":
		return durationText(time.Duration(v.Int()))
	case "number":
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case "list":
		items := make([]string, v.Len())
		for i := range items {
			items[i] = strconv.Quote(v.Index(i).String())
		}
		if quoted {
			return "[" + strings.Join(items, ", ") + "]"
		}
		return listText(v)
	case "entries":
		if v.Len() == 0 && !quoted {
			return ""
		}
		return k.entry.text(v)
	case "string":
		if quoted {
			return strconv.Quote(v.String())
		}
		return v.String()
	}
	return fmt.Sprint(v.Interface())
}

func listText(v reflect.Value) string {
	items := make([]string, v.Len())
	for i := range items {
		items[i] = v.Index(i).String()
	}
	switch {
	case len(items) == 0:
		return ""
	case len(items) == 1 && items[0] == "":
		return `""` // the csv writer would write nothing, which is no item
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	// A strings.Builder never fails, and neither does a writer on top of it.
	_ = w.Write(items)
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// durationText writes 1m, not 1m0s, and us, which every keyboard has.
func durationText(d time.Duration) string {
	s := strings.Replace(d.String(), "µ", "u", 1)
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
