package sparkhome

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/files"
)

// maxProperties bounds a properties file, in bytes.
const maxProperties = 1 << 20

// Properties returns the settings in the properties files of this command line, as
// Spark reads them: the file of --properties-file, and spark-defaults.conf of the
// folder conf when there is none (or with --load-spark-defaults). A missing
// file is reported by Spark.
func (l *Arguments) Properties(conf string) (map[string]string, error) {
	all := map[string]string{}
	file, given := l.Value("--properties-file")
	if !given || l.Has("--load-spark-defaults") {
		if err := readProperties(filepath.Join(conf, "spark-defaults.conf"), all); err != nil {
			return nil, err
		}
	}
	if given {
		if err := readProperties(file, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func readProperties(path string, into map[string]string) error {
	text, err := files.ReadText(path, maxProperties)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, files.ErrTooLong):
		return fmt.Errorf("the properties file %s is larger than %d bytes", path, maxProperties)
	case err != nil:
		return fmt.Errorf("the properties file %s cannot be read: %w", path, err)
	}
	maps.Copy(into, parseProperties(string(text)))
	return nil
}

// parseProperties reads Java's properties: "key value", "key=value", "key: value",
// comments of # and !, lines continued by a backslash, and backslash escapes.
// Spark trims the values.
func parseProperties(text string) map[string]string {
	all := map[string]string{}
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimLeft(lines[i], " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continued(line) {
			line = line[:len(line)-1]
			if i+1 == len(lines) {
				break
			}
			i++
			line += strings.TrimLeft(lines[i], " \t\f")
		}
		key, value := splitProperty(line)
		all[key] = strings.TrimSpace(value)
	}
	return all
}

// continued reports whether line ends in an odd number of backslashes.
func continued(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// splitProperty splits at the first separator that no backslash precedes.
func splitProperty(line string) (key, value string) {
	end := len(line)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
		} else if strings.IndexByte(" \t\f=:", line[i]) >= 0 {
			end = i
			break
		}
	}
	value = strings.TrimLeft(line[end:], " \t\f")
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], " \t\f")
	}
	return unescape(line[:end]), unescape(value)
}

// unescape handles the escapes that occur in paths and URLs. \uXXXX is left as it
// is: the settings read here cannot contain it.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) || s[i+1] == 'u' {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
