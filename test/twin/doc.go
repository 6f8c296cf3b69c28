// Package twin is the machine of package shard a second time: slow, plain, and as close to the words
// of shard/DESIGN.md as code can be. It is written from that page alone. Tests drive it and the fast
// machine with the same random commands; where the two differ, one of them, or the page, is wrong.
//
// The package also holds what such a test needs: Check, which finds states that cannot exist,
// a Generator of commands that aim at what is there, and the text forms in which a failure is shown.
//
// Nothing here is fast, and nothing outside of tests may import it.
package twin
