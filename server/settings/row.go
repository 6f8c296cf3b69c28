package settings

import (
	"reflect"
	"slices"
	"strings"
)

// row is a setting: its name in all sources, and its purpose. The setting fills the Settings field with the name as
// its tag.
type row struct {
	// name is the key in the file and the flag name. The variable name is derived from it.
	name  string
	group group
	// hint is the value placeholder in the help.
	hint string
	// help describes the setting, beginning with a capital letter and without a final full stop.
	help string
	// otherwise describes a default that depends on other settings or on the machine.
	otherwise string
	// clusterWide settings must be equal on all hosts in a cluster.
	clusterWide bool
	// own returns the value for a setting with a special form; nil if the field type determines the form.
	own func(*Settings) value
}

// field returns the setting's value in s: the field that has the setting's name as its tag.
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

// group is a heading for related settings in the help and docs.
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

// variable returns the environment variable name.
func (r *row) variable() string { return variableOf(r.name) }

func variableOf(name string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

const (
	variablePrefix = "SIGNALBOX_"
	// fileSetting names the settings file. fileSetting is not a row, because the file cannot name itself.
	fileSetting = "config"
	// joinTokenVariable contains the join token itself: a secret belongs neither in a flag nor in a settings file.
	joinTokenVariable = variablePrefix + "JOIN_TOKEN"
)

// fallback returns the default, in the form for the help and docs.
func (r *row) fallback() string {
	if r.otherwise != "" {
		return r.otherwise
	}
	s := Defaults()
	return r.field(&s).text()
}

// placeOf returns a setting's index in the table, -1 for an unknown setting.
func placeOf(name string) int {
	return slices.IndexFunc(table, func(r row) bool { return r.name == name })
}

// rowOf returns a setting's row. The row must exist.
func rowOf(name string) *row { return &table[placeOf(name)] }

func hasRow(name string) bool { return placeOf(name) >= 0 }

// suggest returns the likely meaning of an unknown name.
func suggest(name string) string {
	if near := nearest(name); near != "" {
		return "did you mean " + near + "?"
	}
	return "see docs/settings.md or signalbox serve --help for all settings"
}

// nearest returns the setting whose name differs by at most two letters, or one letter for a short name; empty if no
// name is that close.
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

// distance returns the number of letters to insert, delete or replace to turn a into b.
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
