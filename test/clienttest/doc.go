// Package clienttest has what the tests of the client and its recipes share: an in-memory cluster with a client and a
// node, a check for leaked goroutines, and bugs planted in the source of a package.
package clienttest
