package config

import (
	"strings"

	"github.com/pigeon-sched/pigeon/internal/nearest"
)

// nearestPath returns the known key nearest to path. It prefers a key whose last part is exactly right, because a key in
// the wrong section is a commoner mistake than a distant misspelling.
func nearestPath(path string, known []string) string {
	leaf := path[strings.LastIndex(path, ".")+1:]
	for _, k := range known {
		if k[strings.LastIndex(k, ".")+1:] == leaf {
			return k
		}
	}
	return nearest.Word(path, known)
}
