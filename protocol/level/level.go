// Package level names the feature levels of a cluster. A level is a number that all hosts agree on before anybody uses
// what came with it: it is kept in the meta shard, rises when every host has reported that it can follow, and stands in
// the log of every shard.
//
// Start with Rows: the one table of what each level brought. The state machines, their codecs and their snapshots look
// up there whether a command, a flag or a field exists at a level.
package level

import (
	"fmt"
	"strconv"
)

// Level is a feature level. Levels only rise.
type Level uint8

// First is the level that clusters are born with: all that there was when levels came.
const First Level = 1

// newest is Newest as a text, which the linker can replace: with -ldflags "-X MODULE/protocol/level.newest=N" for a
// lower level the program is what it was when that level was the newest, as far as a cluster can see. The tests of
// rolling upgrades start such hosts.
var newest = "5"

// Newest is the highest level that this build can follow. It never changes.
var Newest = parse(newest)

func parse(text string) Level {
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		panic("level: the newest level of this build is no number: " + text)
	}
	return Level(n)
}

// Kind says what a row of the table is about.
type Kind uint8

// The kinds of rows.
const (
	// Command is a command of a data shard, Flag one of its flags, Field one of the fields that it may carry in the
	// log.
	Command Kind = 1 + iota
	Flag
	Field
	// Record is a field of what a data shard keeps: it stands in snapshots and counts in digests.
	Record
	// Rule is a rule by which commands of a data shard do something else than they did at the level before.
	Rule
	// MetaCommand, MetaRecord and MetaRule are those of the meta shard.
	MetaCommand
	MetaRecord
	MetaRule
	// MessageField is a field of a record in messages between clients and hosts, or of a message that was there before.
	// The level of a message stands in the table of messages, protocol/operations.go.
	MessageField
	// Object is a kind of named objects of a data shard.
	Object

	kinds
)

var kindNames = [kinds]string{
	Command: "command", Flag: "flag", Field: "field", Record: "record", Rule: "rule", MetaCommand: "meta command",
	MetaRecord: "meta record", MetaRule: "meta rule", MessageField: "message field", Object: "object",
}

// String returns the kind as errors and tables write it.
func (k Kind) String() string { return kindNames[k] }

// Row says which level brought one thing.
type Row struct {
	Level Level
	Kind  Kind
	Name  string
}

type subject struct {
	kind Kind
	name string
}

var bySubject = func() map[subject]Level {
	m := make(map[subject]Level)
	for _, r := range rows {
		for _, name := range r.names {
			if _, twice := m[subject{r.kind, name}]; twice {
				panic(fmt.Sprintf("level: %v %s has two rows", r.kind, name))
			}
			m[subject{r.kind, name}] = r.level
		}
	}
	return m
}()

// Of returns the level that brought a thing. Everything that is asked for must be in the table.
func Of(k Kind, name string) Level {
	l, ok := bySubject[subject{k, name}]
	if !ok {
		panic(fmt.Sprintf("level: %v %s has no row: say in table.go which level brings it", k, name))
	}
	return l
}

// Rows returns the table: what each level brought, the first level first.
func Rows() []Row {
	var list []Row
	for _, r := range rows {
		for _, name := range r.names {
			list = append(list, Row{Level: r.level, Kind: r.kind, Name: name})
		}
	}
	return list
}
