// Package twin is a second, naive implementation of the data shard machine, written from shard/DESIGN.md alone. Tests
// run it and the fast machine with the same random commands; a difference is a bug in one of them or in the page.
//
// The package also holds what such a test needs: Check, which finds states that cannot exist,
// a Generator of commands that aim at what is there, and the text forms in which a failure is shown.
//
// Nothing here is fast, and nothing outside of tests may import it.
package twin
