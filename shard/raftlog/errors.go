package raftlog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

var (
	// ErrHostClosed is returned by Start on a host that was closed.
	ErrHostClosed = errors.New("raftlog: the host is closed")
	// ErrShardStarted is returned by Start for a shard that runs on this host already.
	ErrShardStarted = errors.New("raftlog: the shard is running on this host")
	// ErrOtherReplica is returned by Join where this host has another replica of the shard, which must be discarded
	// first, or had one with the id, which is never taken again.
	ErrOtherReplica = errors.New("raftlog: the host has another replica of the shard")

	// ErrDirectoryInUse is returned by Open when another open host has the data directory.
	ErrDirectoryInUse = errors.New("raftlog: the data directory is in use by another process")
	// ErrOtherHost is returned by Open for a data directory that another host filled.
	ErrOtherHost = errors.New("raftlog: the data directory belongs to another host")
	// ErrOtherDeployment is returned by Open for a data directory of another cluster.
	ErrOtherDeployment = errors.New("raftlog: the data directory belongs to another cluster")
	// ErrOtherIncarnation is returned by Open for a data directory of the same host id that was made at another time.
	ErrOtherIncarnation = errors.New("raftlog: the data directory belongs to another incarnation of the host")
	// ErrFoundersChanged is returned by Open when the founders are not those that the data directory was filled with.
	ErrFoundersChanged = errors.New("raftlog: the hosts that the cluster began with changed")
	// ErrHostnameChanged is returned by Open when the machine has another host name than before.
	ErrHostnameChanged = errors.New("raftlog: the machine's host name changed")
	// ErrWorkersChanged is returned by Open when Config.Workers is not what it was.
	ErrWorkersChanged = errors.New("raftlog: the number of workers changed")
	// ErrFormat is returned by Open for a data directory that this version cannot read.
	ErrFormat = errors.New("raftlog: the data directory has a format that this version does not know")
)

// ErrSetBack is what Config.Damaged is called with where this host lacks what it has confirmed to another one.
var ErrSetBack = errors.New("raftlog: the data directory is an older copy")

// engineOpenErrors are the engine's reasons for refusing a data directory. Its package does not export the values, so
// they are known by their text. claimDirectory refuses most of these directories first, with a better error; these
// remain where its record is lost.
var engineOpenErrors = []struct {
	text string
	err  error
	hint string
}{
	{"failed to lock data directory", ErrDirectoryInUse, "stop that process, or give this host a directory of its own"},
	{"not the owner of the data directory", ErrOtherIncarnation, "give this host a directory of its own"},
	{"hostname changed", ErrHostnameChanged, "give the machine or container its former host name back"},
	{"deployment ID changed", ErrOtherDeployment, "give this host a directory of its own"},
	{"hard setting changed", ErrWorkersChanged, "set the number of workers back"},
	{"settings changed", ErrWorkersChanged,
		"set the number of workers back, and remove dragonboat-hard-settings.json from the working directory"},
	{"logdb type changed", ErrFormat, moveAdvice},
	{"incompatible LogDB data format", ErrFormat, moveAdvice},
	{"malformed", ErrDamaged, repairAdvice},
	{"corrupt", ErrDamaged, repairAdvice},
	{"checksum", ErrDamaged, repairAdvice},
	{silentPanic, ErrDamaged, repairAdvice},
}

// explainOpen turns an error of the engine into one that says what to do.
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

// ErrDamaged is returned by Open for a data directory in which a file is not what was written.
var ErrDamaged = errors.New("raftlog: a file of the data directory is damaged")

// moveAdvice is what to do with a directory that another version filled.
const moveAdvice = "use the version that filled it; see \"Upgrading\" in docs/operating.md"

const repairAdvice = "what it holds cannot be trusted; see \"Failure and repair\" in docs/operating.md"

// damage is an ErrDamaged that names the file.
type damage struct {
	file  string
	at    int   // -1: it is missing
	cause error // the error of the reader, if there is one
}

// missingFile is the damage of a file that is not there.
func missingFile(name string) error { return &damage{file: name, at: -1} }

func damagedFile(name string, at int, cause error) error { return &damage{name, at, cause} }

// damageOf is the damage of a file of the log.
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

// Is makes it an ErrDamaged.
func (d *damage) Is(target error) bool { return target == ErrDamaged }
