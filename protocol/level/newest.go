package level

import "strconv"

// newest is Newest as a text, which the linker can replace: with -ldflags "-X MODULE/protocol/level.newest=N" for one
// level less the program is what it was before the newest level came, as far as a cluster can see. The tests of rolling
// upgrades start such hosts.
var newest = "4"

// Newest is the highest level that this build can follow. It never changes.
var Newest = parse(newest)

func parse(text string) Level {
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		panic("level: the newest level of this build is no number: " + text)
	}
	return Level(n)
}
