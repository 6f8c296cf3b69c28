// Package clienttest is what the tests of the client and of its recipes share: a cluster in memory with a client
// and a node, a look at what goroutines are left behind, and bugs that are planted in the source of a package.
package clienttest
