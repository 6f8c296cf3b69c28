// Package diskguard watches how much room is left for a data directory.
//
// The log's store has no answer to a full disk but to end the process, and a full disk leaves no room for
// the snapshot that would make room. So a host stops taking changes while there is still enough left for
// what is under way: below a low mark Guard returns an error, and above a somewhat higher one it returns nil
// again. Reads go on all the time.
package diskguard
