// Package diskguard watches how much room is left for a data directory, and sees that there is some again.
//
// The log's store has no answer to a full disk but to end the process. So a host stops taking changes while there is
// still enough left for what is under way: below a low mark Guard returns an error, and above a somewhat higher one it
// returns nil again. Reads, and what frees room, go on all the time; of the log nothing is taken from other hosts.
// Meanwhile the guard has the log shrunk: snapshots are saved, and what they replace is dropped. For that it holds room
// in reserve, a file that it gives back when other programs have filled the disk, and takes again before changes are
// taken again.
package diskguard
