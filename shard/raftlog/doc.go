// Package raftlog is the log of shards on Raft: shard.Log on the engine github.com/lni/dragonboat/v4.
//
// A process opens one Host, which holds the log and the snapshots of all its shards in one data
// directory and speaks to the other hosts over one port. Start starts this host's replica of a shard
// and gives its end of the log.
//
// DESIGN.md says how it works, what was decided and what it costs.
//
// Caveats:
//
//   - A state machine that returns an error from Apply or Restore stops the process. So does a disk that
//     refuses the log: whoever runs the host must refuse work before the disk is full.
//   - Whoever reaches the port can write to the log. Use TLS, or a network that only hosts are on.
//   - A data directory belongs to one host id, one set of addresses and one host name of the machine for
//     ever. In a container that means a fixed host name.
//   - Close waits for the call of the state machine that is under way, and for callbacks. It must be
//     called from neither.
//   - The engine reads dragonboat-soft-settings.json and dragonboat-hard-settings.json from the working
//     directory, where somebody has put them there.
//   - The engine has one logger in a process, see Config.Logger.
//   - It needs flock(2), and so a Unix.
package raftlog
