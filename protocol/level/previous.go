//go:build previouslevel

package level

// Newest is one level below that of an ordinary build: with the tag previouslevel the program is what it was before the
// newest level came, as far as a cluster can see. The tests of rolling upgrades start such hosts.
const Newest Level = 3
