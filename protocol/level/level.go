// Package level defines the feature levels of a cluster. A level is a number that all hosts agree on before any host
// uses the features of the level. The meta shard keeps the cluster's level, which rises after every host has reported
// that it can follow, and the log of every shard repeats it.
//
// Every command in a log carries its level. A replica refuses a command above the level of its shard without decoding
// it, and stops if it does not know a command at or below that level. A later release that adds a command, a field or a
// rule gives it the next level where it is declared.
package level

import (
	"fmt"
	"strconv"
)

// Level is a feature level. Levels only rise.
type Level uint8

// First is the level of a new cluster.
const First Level = 1

// latest is the newest level of this source.
const latest = "1"

// newest is Newest as text. The linker can replace it: with -ldflags "-X MODULE/protocol/level.newest=2" other hosts
// see a program that can follow level 2. Tests of rolling upgrades start hosts of such programs.
var newest = latest

// Newest is the highest level that this build can follow. It never changes.
var Newest = parse(newest)

func parse(text string) Level {
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil || n == 0 {
		panic("level: the newest level of this build is not a level: " + text)
	}
	return Level(n)
}

// Mark is the version suffix of a program that is linked for another newest level. It is empty for all other programs.
func Mark() string {
	if newest == latest {
		return ""
	}
	return fmt.Sprintf("+level%d", Newest)
}
