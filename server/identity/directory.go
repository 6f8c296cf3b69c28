package identity

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// Why a data directory is refused. Every error that this package returns for that reason wraps one of
// them, and says what to do.
var (
	// ErrInUse: another process has the directory.
	ErrInUse = errors.New("the data directory is in use")
	// ErrForeign: there are other things in the directory, and no identity.
	ErrForeign = errors.New("the directory is not a data directory")
	// ErrDamaged: the identity cannot be read as it was written.
	ErrDamaged = errors.New("the identity of the data directory is damaged")
	// ErrNewer: a newer version has written the directory.
	ErrNewer = errors.New("the data directory is of a newer version")
	// ErrMismatch: the directory is of another host, of another cluster, or of one made otherwise.
	ErrMismatch = errors.New("the data directory does not fit the settings")
	// ErrLogLost: the log that the host had is gone.
	ErrLogLost = errors.New("the log of the data directory is gone")
	// ErrNone: the directory has no identity yet.
	ErrNone = errors.New("the data directory has no identity")
)

// Directory is a data directory that this process has claimed. It is used by one goroutine.
type Directory struct {
	path string
	lock *lock
	id   Identity
}

// Expected is the identity that the settings ask for. HostName, Hosts and Version are never empty.
type Expected struct {
	HostName string
	HostID   shard.HostID
	// Hosts are the first hosts, by id.
	Hosts []Host
	// ClusterName may be empty.
	ClusterName string
	// Shards is the number of data shards; zero for the one that the directory has, and ShardsOtherwise
	// in a new one.
	Shards, ShardsOtherwise int
	// Version is that of this program.
	Version string
}

// Claim makes the directory where there is none and keeps other processes out of it until Release, or
// until this process ends.
func Claim(path string) (*Directory, error) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("identity: %s: %w: it is a file; name a directory, or one that can be made", path,
			ErrForeign)
	}
	made, err := makeDirectory(filepath.Clean(path), syncDirectory)
	if err != nil {
		return nil, fmt.Errorf("identity: make the data directory: %w; "+
			"make %s yourself for the user that runs this, or name another one", err, path)
	}
	if !made {
		// Before the lock leaves its file there.
		if err := refuseForeign(path); err != nil {
			return nil, err
		}
	}
	lock, err := takeLock(filepath.Join(path, lockName))
	if err != nil {
		return nil, fmt.Errorf("identity: %s: %w", path, err)
	}
	return &Directory{path: path, lock: lock}, nil
}

// Release lets other processes have the directory.
func (d *Directory) Release() { d.lock.release() }

// LogPath is where the log of the directory is.
func (d *Directory) LogPath() string { return filepath.Join(d.path, LogName) }

// LoadOrCreate returns the identity of the directory, which must be as expected. A new directory gets
// the expected one.
func (d *Directory) LoadOrCreate(want Expected) (Identity, error) {
	found, err := Read(d.path)
	if errors.Is(err, ErrNone) {
		return d.create(want)
	}
	if err != nil {
		return Identity{}, err
	}
	if err := compare(d.path, &found, &want); err != nil {
		return Identity{}, err
	}
	if found.Started && !d.hasLog() {
		return Identity{}, d.logLost(&found)
	}
	d.id = found
	return found, nil
}

func (d *Directory) create(want Expected) (Identity, error) {
	shards := cmp.Or(want.Shards, want.ShardsOtherwise)
	id := Identity{
		Cluster: clusterID(want.ClusterName, want.Hosts, shards), ClusterName: want.ClusterName,
		HostID: want.HostID, HostName: want.HostName, Shards: shards,
		FirstHosts: want.Hosts, CreatedBy: want.Version, Created: time.Now().UTC().Truncate(time.Second),
	}
	if err := id.check(); err != nil {
		return Identity{}, fmt.Errorf("identity: make one for %s: %w", d.path, err)
	}
	if err := write(d.path, &id); err != nil {
		return Identity{}, fmt.Errorf("identity: write that of %s: %w", d.path, err)
	}
	d.id = id
	return id, nil
}

// Started notes that the log has been opened: from now on the directory is refused without it.
func (d *Directory) Started() error {
	if d.id.Started {
		return nil
	}
	id := d.id
	id.Started = true
	if err := write(d.path, &id); err != nil {
		return fmt.Errorf("identity: write that of %s: %w", d.path, err)
	}
	d.id = id
	return nil
}

// hasLog reports whether there is anything in the log's directory.
func (d *Directory) hasLog() bool {
	entries, err := os.ReadDir(d.LogPath())
	return err == nil && len(entries) > 0
}

func (d *Directory) logLost(id *Identity) error {
	if len(id.FirstHosts) == 1 {
		return fmt.Errorf("identity: %w: %s was there and is not any more; put it back from a backup, "+
			"or move %s away to begin with nothing", ErrLogLost, d.LogPath(), d.path)
	}
	return fmt.Errorf("identity: %w: %s was there and is not any more; put the disk back that had it. "+
		"Without its log host %s must not come back under this name: it would deny what it has confirmed to "+
		"the others, who go on without it meanwhile",
		ErrLogLost, d.LogPath(), id.HostName)
}

// makeDirectory makes a directory with those above it that are missing, and reports whether it was not there. Each name
// that it makes is synced, so that a power failure leaves all of them or those above one.
func makeDirectory(path string, sync func(dir string) error) (made bool, err error) {
	if _, err := os.Stat(path); err == nil {
		return false, nil
	}
	above := filepath.Dir(path)
	if above != path {
		if _, err := makeDirectory(above, sync); err != nil {
			return false, err
		}
	}
	if err := os.Mkdir(path, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	return true, sync(above)
}

// refuseForeign refuses a directory that has something in it and no identity.
func refuseForeign(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	stranger := ""
	for _, e := range entries {
		switch e.Name() {
		case FileName:
			return nil
		case lockName, temporaryName, "lost+found":
			// A first start that did not get far, and the top of a file system.
		default:
			stranger = e.Name()
		}
	}
	if stranger != "" {
		return fmt.Errorf("identity: %s: %w: there is %q in it and no %s; name an empty directory, or one that can "+
			"be made",
			path, ErrForeign, stranger, FileName)
	}
	return nil
}
