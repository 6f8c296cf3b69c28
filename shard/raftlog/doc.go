// Package raftlog replicates shard logs with Raft: it implements shard.Log on the engine github.com/lni/dragonboat/v4.
//
// A process opens one Host, which keeps the log and the snapshots for all its shards in one data directory and connects
// to the other hosts through a transport. Start starts this host's replica of a shard and returns a Log; Join does the
// same for a replica that was added later.
//
// DESIGN.md explains how the log works, the decisions, and their costs.
//
// Caveats:
//
//   - A state machine that returns an error from Apply or Restore stops the process. So does a disk that fails a log
//     write: the user of a Host must refuse work before the disk is full.
//   - Without TLS or a secret, any program that can connect to the port can write to the log.
//   - A data directory belongs permanently to one host incarnation and one machine host name. In a container, use a
//     fixed host name.
//   - Close waits for state machine calls in progress, and for callbacks. It must not be called from either.
//   - The engine reads dragonboat-soft-settings.json and dragonboat-hard-settings.json from the working directory, if
//     they exist.
//   - The engine has one logger per process, see Config.Logger.
//   - The package needs flock(2), and so a Unix.
//
// Start reading at host.go and log.go. machine.go connects the log to the state machine, package transport has the
// messages between hosts, and packages logdb and wal have the files on disk.
package raftlog
