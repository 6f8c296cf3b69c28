// Package memguard keeps a host within its memory limit.
//
// Available determines the limit: the smaller of the container's limit and the machine's memory. Budget divides the
// limit among the host's components. Guard measures memory use, as package diskguard measures the disk: above a high
// mark, a host reports that its memory is nearly full, and the leaders of its shards reject growth. Reads, and
// requests that free memory, continue.
package memguard
