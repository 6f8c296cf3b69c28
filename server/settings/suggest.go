package settings

import (
	"slices"
	"strings"
)

// suggest says what somebody may have meant who wrote a name that is no setting's.
func suggest(name string) string {
	if near := nearest(name); near != "" {
		return "did you mean " + near + "?"
	}
	return "docs/settings.md and signalbox serve --help list all of them"
}

// nearest returns the setting whose name is at most two letters away, one for a short name; empty where
// none is.
func nearest(name string) string {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	best, least := "", 3
	if len(name) <= 5 {
		least = 2
	}
	for i := range table {
		r := &table[i]
		if d := min(distance(name, r.name), distance(name, r.flagName())); d < least {
			best, least = r.name, d
		}
	}
	return best
}

// distance is the number of letters to put in, take out or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		above := slices.Clone(row)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(above[j+1]+1, row[j]+1, above[j]+cost)
		}
	}
	return row[len(b)]
}
