package identity

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Reasons for refusing a data directory. Every such error in this package wraps one of these sentinels, and says what
// to do.
var (
	// ErrInUse: another process uses the directory.
	ErrInUse = errors.New("the data directory is in use")
	// ErrForeign: the directory contains foreign files, and no identity.
	ErrForeign = errors.New("the directory is not a data directory")
	// ErrDamaged: the identity is unreadable, or does not match its checksum.
	ErrDamaged = errors.New("the identity of the data directory is damaged")
	// ErrNewer: the directory was written by a newer version.
	ErrNewer = errors.New("the data directory was written by a newer version")
	// ErrEarlier: the directory was written by an earlier version.
	ErrEarlier = errors.New("the data directory was written by an earlier build")
	// ErrMismatch: the directory belongs to another host, to another cluster, or to a cluster with different
	// bootstrap facts.
	ErrMismatch = errors.New("the data directory does not match the settings")
	// ErrLogLost: the host's log is missing.
	ErrLogLost = errors.New("the log in the data directory is missing")
	// ErrNone: the directory has no identity yet.
	ErrNone = errors.New("the data directory has no identity")
)

// Directory is a data directory claimed by the process. Methods are safe for concurrent use.
type Directory struct {
	path string
	lock *lock

	mu     sync.Mutex
	id     Identity // guarded by mu, like the files
	anchor anchor
	doubt  error       // about the anchor found by Load
	level  level.Level // the highest level recorded since Claim
}

// Expected contains a host's settings. HostName and Version are never empty.
type Expected struct {
	HostName string
	// Hosts are the names of the planned initial members, in order; nil if the settings have no list.
	Hosts []string
	// ClusterName may be empty.
	ClusterName string
	// Shards is the number of data shards; 0 accepts the directory's number.
	Shards int
	// Version is this program's version.
	Version string
}

// Claim creates the directory if it is missing, and locks other processes out until Release, or until the process
// ends.
func Claim(path string) (*Directory, error) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s: %w: it is a file; give a directory, or a path that can be created", path,
			ErrForeign)
	}
	made, err := makeDirectory(filepath.Clean(path), syncDirectory)
	if err != nil {
		return nil, fmt.Errorf("cannot create the data directory: %w; create %s for the user of this process, or "+
			"give another directory", err, path)
	}
	if !made {
		// Check before the lock leaves a file in the directory.
		if err := refuseForeign(path); err != nil {
			return nil, err
		}
	}
	lock, err := takeLock(filepath.Join(path, lockName))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Directory{path: path, lock: lock}, nil
}

// Release opens the directory to other processes.
func (d *Directory) Release() { d.lock.release() }

// LogPath returns the path of the log directory.
func (d *Directory) LogPath() string { return filepath.Join(d.path, LogName) }

// Identity returns the identity as last loaded or written.
func (d *Directory) Identity() Identity {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.id
}

// Load returns the directory's identity, and refuses an identity that differs from want. Load returns ErrNone for a
// directory without an identity.
func (d *Directory) Load(want Expected) (Identity, error) {
	found, err := Read(d.path)
	if err != nil {
		return Identity{}, err
	}
	if err := compare(d.path, &found, &want); err != nil {
		return Identity{}, err
	}
	if found.Started && !d.hasLog() {
		return Identity{}, d.logLost(&found)
	}
	a, doubt, err := d.checkAnchor(&found)
	if err != nil {
		return Identity{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.id, d.anchor, d.doubt = found, a, doubt
	return found, nil
}

// Make gives a new directory an identity: a name and an incarnation, and no cluster.
func (d *Directory) Make(want Expected) error {
	err := d.change(func(id *Identity) error {
		*id = Identity{
			HostName: want.HostName, Incarnation: drawIncarnation(), CreatedBy: want.Version,
			Created: time.Now().UTC().Truncate(time.Second),
		}
		return nil
	})
	if err == nil {
		holdRoom(d.path, AnchorName, 2*heldBytes) // one part for the first anchor, the other for the second
	}
	return err
}

// Begin begins a start. When Begin returns, the start number is stored in the directory, and no later start will get
// the same number. Begin also ties the directory to its location.
func (d *Directory) Begin() (start hosts.Start, err error) {
	if err := d.Anchor(d.LogEnd(), false); err != nil {
		return start, err
	}
	err = d.change(func(id *Identity) error {
		id.Starts++
		start = hosts.Start{Number: id.Starts, Draw: drawNumber()}
		return nil
	})
	return start, err
}

// Promise records that the host, which is in no cluster, will be bootstrapped with the given decider or not at all.
func (d *Directory) Promise(decider hosts.Incarnation) error {
	return d.change(func(id *Identity) error {
		id.Promise = decider
		return nil
	})
}

// Redraw turns a host without a cluster into a new host: the old incarnation's promises do not bind the new
// incarnation, and a cluster that relies on the old incarnation will never get the host.
func (d *Directory) Redraw() error {
	return d.change(func(id *Identity) error {
		if id.Bootstrapped() {
			return errors.New("the directory already belongs to a cluster")
		}
		id.Incarnation, id.Promise = drawIncarnation(), hosts.Incarnation{}
		return nil
	})
}

// Bootstrap puts the host into the new cluster, as the initial member with the host's name and incarnation.
func (d *Directory) Bootstrap(bootstrap Bootstrap) error {
	return d.bootstrap(bootstrap, Generation{}, false)
}

// BootstrapAlone creates a cluster from the local host, which is in no cluster. A promise to other hosts does not
// bind the host, because BootstrapAlone draws a new incarnation first.
func (d *Directory) BootstrapAlone(cluster string, shards int, raft string, closed bool) error {
	if d.Identity().Promise != (hosts.Incarnation{}) {
		if err := d.Redraw(); err != nil {
			return err
		}
	}
	id := d.Identity()
	b := NewBootstrap(cluster, shards, []InitialMember{{1, id.HostName, id.Incarnation, raft}})
	b.Closed = closed
	return d.Bootstrap(b)
}

// Restore makes the host, which is in no cluster, the first host in a restored cluster. The log already exists.
func (d *Directory) Restore(bootstrap Bootstrap, g Generation) error {
	return d.bootstrap(bootstrap, g, true)
}

func (d *Directory) bootstrap(bootstrap Bootstrap, g Generation, restored bool) error {
	return d.change(func(id *Identity) error {
		self := bootstrap.InitialMember(id.HostName)
		if id.Bootstrapped() || self == nil || self.Incarnation != id.Incarnation || restored != (g != Generation{}) {
			return errors.New("the directory is not prepared for a host of cluster " + bootstrap.Cluster)
		}
		id.HostID, id.Bootstrap, id.Generation, id.Started = self.ID, bootstrap, g, restored
		return nil
	})
}

// Admission is a cluster's answer to a joining host.
type Admission struct {
	Host       shard.HostID
	Bootstrap  Bootstrap
	Generation Generation
	// Hosts are the hosts in the cluster at the time, including the joining host.
	Hosts []InitialMember
}

// Join puts the host, which is in no cluster, into an existing cluster.
func (d *Directory) Join(a Admission) error {
	return d.change(func(id *Identity) error {
		if id.Bootstrapped() {
			return errors.New("the directory belongs to cluster " + id.Cluster)
		}
		id.HostID, id.Bootstrap, id.Generation, id.Hosts = a.Host, a.Bootstrap, a.Generation, a.Hosts
		if !id.Bootstrapped() {
			return errors.New("the host id and the cluster are missing")
		}
		return nil
	})
}

// KeepSecret stores the cluster secret in SecretName. Only the user that runs the host may read the file.
func (d *Directory) KeepSecret(secret []byte) error {
	if err := writeWhole(d.path, SecretName, append(slices.Clone(secret), '\n'), 0o600); err != nil {
		return fmt.Errorf("cannot write the cluster secret to %s: %w", d.path, err)
	}
	_ = os.Remove(filepath.Join(d.path, SecretName+temporarySuffix)) // remove the previous secret's copy
	return nil
}

// change replaces the identity with the changed identity, after a check.
func (d *Directory) change(to func(*Identity) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := d.id
	err := to(&id)
	if err == nil {
		err = id.check()
	}
	if err == nil {
		err = writeRecord(d.path, FileName, &id)
	}
	if err != nil {
		return fmt.Errorf("cannot write the identity of %s: %w", d.path, err)
	}
	d.id = id
	return nil
}

func drawIncarnation() (i hosts.Incarnation) {
	_, _ = rand.Read(i[:]) // never fails
	return i
}

func drawNumber() uint64 {
	var drawn [8]byte
	_, _ = rand.Read(drawn[:]) // never fails
	return binary.LittleEndian.Uint64(drawn[:])
}

// Started records that the log has been opened: from now on a directory without a log is refused.
func (d *Directory) Started() error {
	if id := d.Identity(); id.Started {
		return nil
	}
	return d.change(func(id *Identity) error {
		id.Started = true
		return nil
	})
}

// hasLog reports whether the log directory has entries.
func (d *Directory) hasLog() bool {
	entries, err := os.ReadDir(d.LogPath())
	return err == nil && len(entries) > 0
}

func (d *Directory) logLost(id *Identity) error {
	if len(id.InitialMembers) == 1 && !id.Joined() {
		return fmt.Errorf("%w: %s is missing; restore it from a backup, or move %s away to start "+
			"empty", ErrLogLost, d.LogPath(), d.path)
	}
	return fmt.Errorf("%w: %s is missing; bring back its disk. Without its log, host %s must not come back under "+
		"its name, because the log has entries that the host confirmed to other hosts; the other hosts continue "+
		"meanwhile",
		ErrLogLost, d.LogPath(), id.HostName)
}

// makeDirectory creates a directory with its missing parents, and reports whether the directory was missing. Every
// new directory's name is synced, so after a power failure the whole path or an upper part exists.
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

// refuseForeign refuses a directory that has entries but no identity.
func refuseForeign(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	stranger := ""
	for _, e := range entries {
		switch e.Name() {
		case FileName:
			return nil
		case lockName, FileName + temporarySuffix, "lost+found":
			// Left by an incomplete first start, or present at the root of a file system.
		default:
			stranger = e.Name()
		}
	}
	if stranger != "" {
		return fmt.Errorf("%s: %w: the directory contains %q but no %s; give an empty directory, or a path that "+
			"can be created",
			path, ErrForeign, stranger, FileName)
	}
	return nil
}
