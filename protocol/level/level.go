// Package level names the feature levels of a cluster. A level is a number that all hosts agree on before any host uses
// the features of the level. The level is kept in the meta shard, rises after every host has reported that the host can
// follow, and stands in the log of every shard.
//
// Start with Rows: the only table of the features of each level. The state machines, their codecs and their snapshots
// look up in the table whether a command, a flag or a field exists at a level.
package level

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Level is a feature level. Levels only rise.
type Level uint8

// First is the level that clusters are born with: everything older than levels is at this level.
const First Level = 1

// latest is the newest level of this source.
const latest = "12"

// newest is Newest as a text, which the linker can replace: with -ldflags "-X MODULE/protocol/level.newest=N" for a
// lower level the program is, in the sight of a cluster, a program whose newest level is N. The tests of rolling
// upgrades start hosts of such programs.
var newest = latest

// Newest is the highest level that this build can follow. It never changes.
var Newest = parse(newest)

func parse(text string) Level {
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		panic("level: the newest level of this build is no number: " + text)
	}
	return Level(n)
}

// unsettled is a level that several builds in a row had as their newest level and wrote in different forms. The next
// level came with the last of the forms, which is the final form.
const unsettled Level = 4

// ErrUnsettled is wrapped where a build would have to read, or to write, a form of level 4 other than the final form.
var ErrUnsettled = errors.New("builds that could follow feature level 4 and none above wrote that level in other " +
	"forms: their hosts and directories do not go with those of this version, and there is no converter. Use that " +
	"build on them, or stop its hosts and begin with this version and empty directories")

// CheckBuild returns an ErrUnsettled where a host of a version, with a highest level, is of a build with an early form
// of level 4.
func CheckBuild(highest Level, version string) error {
	if highest == unsettled && !strings.HasSuffix(version, mark(unsettled)) {
		return fmt.Errorf("version %s: %w", version, ErrUnsettled)
	}
	return nil
}

// CheckForm returns an ErrUnsettled around the reason why a part of a cluster at a level could not be read, where the
// part may be in an early form of the level. CheckForm returns other errors unchanged.
func CheckForm(at Level, err error) error {
	if err == nil || at != unsettled {
		return err
	}
	return fmt.Errorf("%w (%w)", ErrUnsettled, err)
}

// Mark is the suffix of the version of a program that is linked for a lower level. The mark of all other programs is
// empty.
func Mark() string {
	if newest == latest {
		return ""
	}
	return mark(Newest)
}

func mark(l Level) string { return fmt.Sprintf("+level%d", l) }

// Kind is the kind of thing that a row of the table is about.
type Kind uint8

// The kinds of rows.
const (
	// Command is a command of a data shard, Flag a flag of a command, Field a field that a command may have in the log.
	Command Kind = 1 + iota
	Flag
	Field
	// Record is a field of the state of a data shard: the field stands in snapshots and counts in digests.
	Record
	// Rule is a rule that changes what commands of a data shard do from its level on.
	Rule
	// MetaCommand, MetaRecord and MetaRule are the same for the meta shard.
	MetaCommand
	MetaRecord
	MetaRule
	// MessageField is a new field of a record in messages between clients and hosts, or of an older message. The level
	// of a message stands in the table of messages, protocol/operations.go.
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

// Row names one thing and the level that brought the thing.
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

// Of returns the level that brought a thing. The thing must be in the table.
func Of(k Kind, name string) Level {
	l, ok := bySubject[subject{k, name}]
	if !ok {
		panic(fmt.Sprintf("level: %v %s has no row: say in table.go which level brings it", k, name))
	}
	return l
}

// Rows returns the table: the things of each level, the first level first.
func Rows() []Row {
	var list []Row
	for _, r := range rows {
		for _, name := range r.names {
			list = append(list, Row{Level: r.level, Kind: r.kind, Name: name})
		}
	}
	return list
}
