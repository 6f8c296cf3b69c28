// Package clienttest is what the tests of the client and of its recipes share: a cluster in memory with a client
// and a node, and a look at what goroutines are left behind.
package clienttest
