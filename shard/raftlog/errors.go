package raftlog

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrHostClosed is returned by Start on a host that was closed.
	ErrHostClosed = errors.New("raftlog: the host is closed")
	// ErrShardStarted is returned by Start for a shard that runs on this host already.
	ErrShardStarted = errors.New("raftlog: the shard is running on this host")

	// ErrDirectoryInUse is returned by Open when another open host has the data directory.
	ErrDirectoryInUse = errors.New("raftlog: the data directory is in use by another process")
	// ErrOtherHost is returned by Open for a data directory that another host filled.
	ErrOtherHost = errors.New("raftlog: the data directory belongs to another host")
	// ErrOtherDeployment is returned by Open for a data directory of another cluster.
	ErrOtherDeployment = errors.New("raftlog: the data directory belongs to another cluster")
	// ErrMembersChanged is returned by Open when members, or their addresses, are not those that the
	// data directory was filled with.
	ErrMembersChanged = errors.New("raftlog: the members of the cluster or their addresses changed")
	// ErrHostnameChanged is returned by Open when the machine has another host name than before.
	ErrHostnameChanged = errors.New("raftlog: the machine's host name changed")
	// ErrWorkersChanged is returned by Open when Config.Workers is not what it was.
	ErrWorkersChanged = errors.New("raftlog: the number of workers changed")
	// ErrFormat is returned by Open for a data directory that this version cannot read.
	ErrFormat = errors.New("raftlog: the data directory has a format that this version does not know")
)

// engineOpenErrors are the engine's reasons for refusing a data directory. Its package keeps the values
// to itself, so they are known by their text. claimDirectory has better words for most; these are
// met where its record was lost.
var engineOpenErrors = []struct {
	text string
	err  error
	hint string
}{
	{"failed to lock data directory", ErrDirectoryInUse, "stop that process, or give this host a directory of its own"},
	{"not the owner of the data directory", ErrMembersChanged, "give this host the address back that it had"},
	{"hostname changed", ErrHostnameChanged, "give the machine or container its former host name back"},
	{"deployment ID changed", ErrOtherDeployment, "give this host a directory of its own"},
	{"hard setting changed", ErrWorkersChanged, "set the number of workers back"},
	{"settings changed", ErrWorkersChanged, "set the number of workers back, and remove dragonboat-hard-settings.json from the working directory"},
	{"logdb type changed", ErrFormat, "use the version that filled the directory"},
	{"incompatible LogDB data format", ErrFormat, "use the version that filled the directory"},
	{"using new LogDB on existing Raft Log", ErrFormat, "use the version that filled the directory"},
	{"is damaged", ErrDamaged, repairAdvice},
	{"malformed", ErrDamaged, repairAdvice},
	{"corrupt", ErrDamaged, repairAdvice},
	{"checksum", ErrDamaged, repairAdvice},
	{silentPanic, ErrDamaged, repairAdvice},
}

// explainOpen says what an error of the engine means for the one who started the host.
func explainOpen(c Config, err error) error {
	if errors.Is(err, ErrDamaged) {
		return fmt.Errorf("raftlog: open host %d in %s: %w", c.Host, c.DataDir, err)
	}
	for _, known := range engineOpenErrors {
		if strings.Contains(err.Error(), known.text) {
			return fmt.Errorf("%w: %s: %s (%w)", known.err, c.DataDir, known.hint, err)
		}
	}
	return fmt.Errorf("raftlog: open host %d in %s, listening on %s: %w", c.Host, c.DataDir, c.listenAddress(), err)
}
