// Package memguard keeps a host within its memory limit.
//
// Available finds out how much that is: the smaller of the container's limit and the machine's memory. Budget divides
// it among what a host holds. Guard measures what is held, as package diskguard measures the disk: above a high mark a
// host reports that its memory is nearly full, and the leaders of its shards refuse what grows. Reads, and requests
// that free memory, go on.
package memguard
