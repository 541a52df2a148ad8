package sparkhome

import (
	"slices"
	"strings"
)

// Schemes of a master URL of Pigeon. spark-submit refuses every scheme that it
// does not know and that does not begin with "spark", hence the second.
const (
	scheme      = "pigeon://"
	sparkScheme = "spark-pigeon://"
)

// IsPigeon reports whether a master URL is one of Pigeon.
func IsPigeon(master string) bool {
	return strings.HasPrefix(master, scheme) || strings.HasPrefix(master, sparkScheme)
}

// MasterOf returns the master URL of these frontends, as spark-submit accepts it.
func MasterOf(frontends []string) string { return sparkScheme + strings.Join(frontends, ",") }

// Translate returns a master URL of Pigeon as spark-submit accepts it; others stay.
func Translate(master string) string {
	if rest, ok := strings.CutPrefix(master, scheme); ok {
		return sparkScheme + rest
	}
	return master
}

// FrontendsOf returns the host:port list of a master URL of Pigeon, not checked.
func FrontendsOf(master string) []string {
	return strings.Split(strings.TrimSuffix(strings.TrimPrefix(Translate(master), sparkScheme), "/"), ",")
}

// Setting returns a setting as Spark will see it: an option's value, else --conf's,
// else the properties'. option is "" for a setting without its own option.
func (l *Arguments) Setting(option, key string, properties map[string]string) (value string, given bool) {
	if option != "" {
		if value, given = l.Value(option); given {
			return value, true
		}
	}
	if value, given = l.Conf(key); given {
		return value, true
	}
	value, given = properties[key]
	return value, given
}

// AddConf adds --conf KEY=VALUE before all others, so that the line's own count.
func (l *Arguments) AddConf(key, value string) {
	text := key + "=" + value
	l.words = slices.Insert(l.words, 0, word{"--conf", text, []string{"--conf", text}})
}

// AddJar adds a jar to those of the application, wherever they are set.
func (l *Arguments) AddJar(jar string, properties map[string]string) {
	if others, _ := l.Setting("--jars", "spark.jars", properties); others != "" {
		jar = others + "," + jar
	}
	l.Set("--jars", jar)
}

// Jars returns the jars that the driver will have by --jars and its class path.
func (l *Arguments) Jars(properties map[string]string) []string {
	named, _ := l.Setting("--jars", "spark.jars", properties)
	path, _ := l.Setting("--driver-class-path", "spark.driver.extraClassPath", properties)
	return append(strings.Split(named, ","), strings.Split(path, ":")...)
}
