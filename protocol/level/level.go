// Package level defines a cluster's feature levels. All hosts agree on a level before any host uses the level's
// features. The meta shard stores the cluster's level, which rises once every host has reported support for the next
// level, and every shard's log repeats the level.
//
// Every command in a log has a level. A replica skips a command above its shard's level without decoding, and stops if
// a command at or below the shard's level is unknown. A later release that adds a command, a field or a rule declares
// the addition with the next level.
package level

import (
	"fmt"
	"strconv"
)

// Level is a feature level. Levels only rise.
type Level uint8

// First is a new cluster's level.
const First Level = 1

// latest is the newest level in this source.
const latest = "1"

// newest is Newest as text. The linker can replace it: with -ldflags "-X MODULE/protocol/level.newest=2" the program
// claims to support level 2. Rolling upgrade tests start hosts with such programs.
var newest = latest

// Newest is the highest level supported by the build. It never changes.
var Newest = parse(newest)

func parse(text string) Level {
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil || n == 0 {
		panic("level: the newest level of this build is not a level: " + text)
	}
	return Level(n)
}

// Mark is the version suffix for a program linked with a different newest level, and otherwise empty.
func Mark() string {
	if newest == latest {
		return ""
	}
	return fmt.Sprintf("+level%d", Newest)
}
