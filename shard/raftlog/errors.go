package raftlog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

var (
	// ErrHostClosed is returned by Start on a closed host.
	ErrHostClosed = errors.New("raftlog: the host is closed")
	// ErrShardStarted is returned by Start for a shard that already runs on the host.
	ErrShardStarted = errors.New("raftlog: the shard is running on this host")
	// ErrOtherReplica is returned by Join if the host has another replica of the shard, to be discarded first, or had a
	// replica with the same id before. A discarded replica never comes back.
	ErrOtherReplica = errors.New("raftlog: the host has another replica of the shard")
	// ErrGroup is returned by Regroup for a number that is not valid for a later group.
	ErrGroup = errors.New("raftlog: a later group's number is from 1 to 4294967295")

	// ErrDirectoryInUse is returned by Open while an open host has the data directory.
	ErrDirectoryInUse = errors.New("raftlog: the data directory is in use by another process")
	// ErrOtherHost is returned by Open for another host's data directory.
	ErrOtherHost = errors.New("raftlog: the data directory belongs to another host")
	// ErrOtherDeployment is returned by Open for another cluster's data directory.
	ErrOtherDeployment = errors.New("raftlog: the data directory belongs to another cluster")
	// ErrOtherIncarnation is returned by Open if the data directory has the host id, but a different incarnation.
	ErrOtherIncarnation = errors.New("raftlog: the data directory belongs to another incarnation of the host")
	// ErrInitialMembersChanged is returned by Open if the initial members differ from those in the data directory.
	ErrInitialMembersChanged = errors.New("raftlog: the hosts that the cluster began with changed")
	// ErrHostnameChanged is returned by Open when the machine has a new host name.
	ErrHostnameChanged = errors.New("raftlog: the machine's host name changed")
	// ErrWorkersChanged is returned by Open when Config.Workers has changed for a directory without a record.
	ErrWorkersChanged = errors.New("raftlog: the number of workers changed")
	// ErrFormat is returned by Open for a data directory in a format unknown to the program.
	ErrFormat = errors.New("raftlog: the data directory has a format that this version does not know")
)

// ErrSetBack is passed to Config.Damaged on a host that lacks entries confirmed to another host.
var ErrSetBack = errors.New("raftlog: the data directory is an older copy")

// engineOpenErrors are the engine's reasons for refusing a data directory. The engine does not export the values, so
// the text identifies a reason. claimDirectory refuses most bad directories first, with a better error; the engine's
// refusals matter for a directory that has lost its record.
var engineOpenErrors = []struct {
	text string
	err  error
	hint string
}{
	{"failed to lock data directory", ErrDirectoryInUse, "stop the process, or give this host a separate directory"},
	{"not the owner of the data directory", ErrOtherIncarnation, "give this host a separate directory"},
	{"hostname changed", ErrHostnameChanged, "restore the former host name for the machine or container"},
	{"deployment ID changed", ErrOtherDeployment, "give this host a separate directory"},
	{"hard setting changed", ErrWorkersChanged, "restore the former number of workers"},
	{"settings changed", ErrWorkersChanged,
		"restore the former number of workers, and remove dragonboat-hard-settings.json from the working directory"},
	{"logdb type changed", ErrFormat, moveAdvice},
	{"incompatible LogDB data format", ErrFormat, moveAdvice},
	{"malformed", ErrDamaged, repairAdvice},
	{"corrupt", ErrDamaged, repairAdvice},
	{"checksum", ErrDamaged, repairAdvice},
	{silentPanic, ErrDamaged, repairAdvice},
}

// explainOpen turns an engine error into an error with advice.
func explainOpen(c Config, err error) error {
	if d, ok := errors.AsType[*wal.DamageError](err); ok {
		err = damageOf(d)
	}
	if errors.Is(err, ErrDamaged) || NoRoom(err) {
		return fmt.Errorf("raftlog: open host %d in %s: %w", c.Host, c.DataDir, err)
	}
	for _, known := range engineOpenErrors {
		if strings.Contains(err.Error(), known.text) {
			return fmt.Errorf("%w: %s: %s (%w)", known.err, c.DataDir, known.hint, err)
		}
	}
	return fmt.Errorf("raftlog: open host %d in %s: %w", c.Host, c.DataDir, err)
}

// ErrDamaged is returned by Open for a data directory with a changed or missing file.
var ErrDamaged = errors.New("raftlog: a file of the data directory is damaged")

// moveAdvice is the advice for a directory from another version.
const moveAdvice = "use the version that wrote the directory; see docs/guides/rolling-upgrade.md"

const repairAdvice = "what it holds cannot be trusted; see \"Failure and repair\" in docs/guides/troubleshooting.md"

// damage is an ErrDamaged that names the file.
type damage struct {
	file  string
	at    int   // -1 if the file is missing
	cause error // the reader's error, or nil
}

// missingFile is the damage for a missing file.
func missingFile(name string) error { return &damage{file: name, at: -1} }

func damagedFile(name string, at int, cause error) error { return &damage{name, at, cause} }

// damageOf is the damage for a log file.
func damageOf(d *wal.DamageError) error {
	if d.Missing {
		return missingFile(d.File)
	}
	return damagedFile(d.File, int(d.Offset), nil)
}

// Error implements error.
func (d *damage) Error() string {
	if d.at < 0 {
		return fmt.Sprintf("%v: %s is missing: put it back; without it %s", ErrDamaged, d.file, repairAdvice)
	}
	text := fmt.Sprintf("%v: %s, from byte %d on: %s", ErrDamaged, d.file, d.at, repairAdvice)
	if d.cause != nil {
		text += fmt.Sprintf(" (%v)", d.cause)
	}
	return text
}

// Is makes a damage match ErrDamaged.
func (d *damage) Is(target error) bool { return target == ErrDamaged }
