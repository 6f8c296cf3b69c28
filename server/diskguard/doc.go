// Package diskguard watches the room left for a data directory, and makes the host free room when little is left.
//
// The log's store answers a full disk by ending the process. So a host stops taking changes while there is still
// enough room for the changes under way: below a low mark Guard returns an error, and above a somewhat higher mark
// Guard returns nil again. Reads, and requests that free room, go on all the time; the host takes no log entries from
// other hosts meanwhile. The guard has the log shrunk: snapshots are saved, and the entries replaced by a snapshot
// are dropped. For the snapshots the guard holds room in reserve, a file. The guard gives the reserve back when other
// programs have filled the disk, and holds the reserve again before changes are taken again.
package diskguard
