package settings

import (
	"reflect"
	"slices"
	"strings"
)

// row is a setting: its name in all sources, and its purpose. The setting fills the field of Settings with the name.
type row struct {
	// name is the key in the file and the name of the flag. The variable is made of it.
	name  string
	group group
	// hint stands for the value in the help.
	hint string
	// help describes the setting, beginning with a capital letter and without a full stop at the end.
	help string
	// otherwise describes a default that depends on other settings or on the machine.
	otherwise string
	// clusterWide: equal on all hosts of a cluster.
	clusterWide bool
	// own makes the value of a setting with a form of its own; nil where the type of the field decides.
	own func(*Settings) value
}

// field is the value of the setting in some settings: of the field that has the name of the setting as its tag.
func (r *row) field(s *Settings) value {
	if r.own != nil {
		return r.own(s)
	}
	for field, v := range reflect.ValueOf(s).Elem().Fields() {
		if field.Tag.Get("yaml") == r.name {
			return valueOf(v.Addr().Interface())
		}
	}
	panic("settings: no field is named " + r.name)
}

// group is a heading under which settings stand together in the help and in the docs.
type group string

const (
	groupHost    group = "Host and cluster"
	groupClients group = "Clients"
	groupRaft    group = "Between hosts"
	groupAdmin   group = "Health, metrics, status"
	groupLimits  group = "Limits"
	groupLog     group = "Log"
	groupSafety  group = "Safety"
)

var groups = []group{groupHost, groupClients, groupRaft, groupAdmin, groupLimits, groupLog, groupSafety}

// variable is the name in the environment.
func (r *row) variable() string { return variableOf(r.name) }

func variableOf(name string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

const (
	variablePrefix = "SIGNALBOX_"
	// fileSetting names the file. fileSetting is no row, because the file cannot name itself.
	fileSetting = "config"
	// joinTokenVariable has the join token itself: a secret stands in no flag and in no file of settings.
	joinTokenVariable = variablePrefix + "JOIN_TOKEN"
)

// fallback is the default, in the form for the help and the docs.
func (r *row) fallback() string {
	if r.otherwise != "" {
		return r.otherwise
	}
	s := Defaults()
	return r.field(&s).text()
}

// placeOf is the place of a setting in the table, -1 for an unknown setting.
func placeOf(name string) int {
	return slices.IndexFunc(table, func(r row) bool { return r.name == name })
}

// rowOf returns the row of a setting. The row must exist.
func rowOf(name string) *row { return &table[placeOf(name)] }

func hasRow(name string) bool { return placeOf(name) >= 0 }

// suggest returns the likely meaning of an unknown name.
func suggest(name string) string {
	if near := nearest(name); near != "" {
		return "did you mean " + near + "?"
	}
	return "docs/settings.md and signalbox serve --help list all of them"
}

// nearest returns the setting whose name is at most two letters away, or a single letter for a short name; empty if
// no name is near.
func nearest(name string) string {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	best, least := "", 3
	if len(name) <= 5 {
		least = 2
	}
	for i := range table {
		r := &table[i]
		if d := distance(name, r.name); d < least {
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
