// Package raftlog is the log of shards on Raft: shard.Log on the engine github.com/lni/dragonboat/v4.
//
// A process opens one Host, which holds the log and the snapshots of all its shards in one data directory and reaches
// the other hosts through a transport. Start starts this host's replica of a shard and returns its end of the log; Join
// does the same for a replica that was added later.
//
// DESIGN.md explains how the log works, the decisions, and their price.
//
// Caveats:
//
//   - A state machine that returns an error from Apply or Restore stops the process. So does a disk that refuses the
//     log: the user of a Host must refuse work before the disk is full.
//   - Without TLS or a secret, any program that reaches the port can write to the log.
//   - A data directory belongs to one incarnation of a host and one host name of the machine for ever. In a container
//     that means a fixed host name.
//   - Close waits for the call of the state machine that is under way, and for callbacks. It must be called from
//     neither.
//   - The engine reads dragonboat-soft-settings.json and dragonboat-hard-settings.json from the working directory, if
//     they are there.
//   - The engine has one logger in a process, see Config.Logger.
//   - It needs flock(2), and so a Unix.
//
// Start reading at host.go and log.go. The way to the state machine is in machine.go, the messages between hosts are in
// package transport, and the files on the disk in packages logdb and wal.
package raftlog
