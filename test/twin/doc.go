// Package twin is a second, naive implementation of the data shard machine, written from shard/DESIGN.md alone. Tests
// run it and the fast machine with the same random commands; a difference is a bug in one of them or in the page.
//
// The package also contains test support: Check, which finds impossible states, a Generator of commands aimed at
// existing objects, and text forms for failures.
//
// Nothing here is fast. Only tests may import it.
package twin
