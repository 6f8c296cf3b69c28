// Package clienttest contains shared support for tests of the client and its recipes: an in-memory cluster with a
// client and a node, a check for leaked goroutines, and bugs planted in a package's source.
package clienttest
