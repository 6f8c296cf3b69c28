package settings

import "strings"

// row is one setting: what it is called everywhere, what it is for, and which field it fills.
type row struct {
	// name is the key in the file. The flag and the variable are made of it.
	name string
	// flag is the name of the flag where that is another one: a list in the file is a flag repeated.
	flag  string
	group group
	// hint stands for the value in the help.
	hint string
	// help says what the setting is for, beginning with a small letter and without a full stop.
	help string
	// otherwise says what holds where nothing is said, for a default that depends on something.
	otherwise string
	// whole: the same on all hosts of a cluster.
	whole bool
	field func(*Settings) value
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

// flagName is the name of the flag, without the dashes.
func (r *row) flagName() string {
	if r.flag != "" {
		return r.flag
	}
	return r.name
}

// variable is the name in the environment.
func (r *row) variable() string { return variableOf(r.name) }

func variableOf(name string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

const (
	variablePrefix = "SIGNALBOX_"
	// fileSetting names the file. It is no row: it cannot be in the file.
	fileSetting = "config"
)

// fallback is what holds where nothing is said, as the help and the docs show it.
func (r *row) fallback() string {
	if r.otherwise != "" {
		return r.otherwise
	}
	s := Defaults()
	return r.field(&s).text()
}

// rowOf returns the row of a setting. That there is one is for the caller to know.
func rowOf(name string) *row {
	for i := range table {
		if table[i].name == name {
			return &table[i]
		}
	}
	panic("settings: no setting is named " + name)
}

func hasRow(name string) bool {
	for i := range table {
		if table[i].name == name {
			return true
		}
	}
	return false
}
