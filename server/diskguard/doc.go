// Package diskguard monitors the free disk space for a data directory, and makes the host free space when little is
// left.
//
// The log store ends the process if the disk is full. So a host rejects changes while enough space remains for the
// changes in progress: below a low mark Guard returns an error, and above a slightly higher mark Guard returns nil
// again. Reads, and requests that free space, continue at all times; meanwhile the host accepts no log entries from
// remote hosts. The guard triggers log compaction: snapshots are saved, and the log entries a snapshot replaces are
// dropped. The guard reserves space for the snapshots in a file. It releases the reserve if other programs have
// filled the disk, and refills the reserve before it accepts changes again.
package diskguard
