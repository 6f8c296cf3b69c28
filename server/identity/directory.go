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

// Why a data directory is refused. Every such error of this package wraps a sentinel of the list, and says what to
// do.
var (
	// ErrInUse: another process holds the directory.
	ErrInUse = errors.New("the data directory is in use")
	// ErrForeign: the directory has foreign files, and no identity.
	ErrForeign = errors.New("the directory is not a data directory")
	// ErrDamaged: the identity is not readable, or differs from its checksum.
	ErrDamaged = errors.New("the identity of the data directory is damaged")
	// ErrNewer: a newer version has written the directory.
	ErrNewer = errors.New("the data directory is of a newer version")
	// ErrEarlier: an earlier version has written the directory.
	ErrEarlier = errors.New("the data directory is of an earlier build")
	// ErrMismatch: the directory is of another host, of another cluster, or of a cluster with different facts of
	// bootstrap.
	ErrMismatch = errors.New("the data directory does not fit the settings")
	// ErrLogLost: the log of the host is gone.
	ErrLogLost = errors.New("the log of the data directory is gone")
	// ErrNone: the directory has no identity yet.
	ErrNone = errors.New("the data directory has no identity")
)

// Directory is a data directory claimed by this process. Many goroutines at once may call the methods.
type Directory struct {
	path string
	lock *lock

	mu     sync.Mutex
	id     Identity // guarded by mu, as are the files
	anchor anchor
	doubt  error       // about the anchor found by Load
	level  level.Level // the highest level noted since Claim
}

// Expected is what the settings say of a host. HostName and Version are never empty.
type Expected struct {
	HostName string
	// Hosts are the names of the initial members planned for the cluster, in their order; nil if the settings have no
	// list.
	Hosts []string
	// ClusterName may be empty.
	ClusterName string
	// Shards is the number of data shards; zero accepts the number of the directory.
	Shards int
	// Version is the version of this program.
	Version string
}

// Claim makes a missing directory, and keeps other processes out of the directory until Release, or until this
// process ends.
func Claim(path string) (*Directory, error) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s: %w: it is a file; name a directory, or one that can be made", path,
			ErrForeign)
	}
	made, err := makeDirectory(filepath.Clean(path), syncDirectory)
	if err != nil {
		return nil, fmt.Errorf("make the data directory: %w; "+
			"make %s yourself for the user that runs this, or name another one", err, path)
	}
	if !made {
		// The check comes before the lock leaves a file in the directory.
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

// LogPath is the path of the log of the directory.
func (d *Directory) LogPath() string { return filepath.Join(d.path, LogName) }

// Identity is the identity as last loaded or written.
func (d *Directory) Identity() Identity {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.id
}

// Load returns the identity of the directory, and refuses an identity with differences from want. Load returns
// ErrNone for a directory without identity.
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
		holdRoom(d.path, AnchorName, 2*heldBytes) // for the first anchor, and the rest for the second
	}
	return err
}

// Begin begins a start: when Begin returns, the number of the start is in the directory, and no later start will have
// the number. Begin also ties the directory to its place.
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

// Promise writes down that this host, which is in no cluster, will be bootstrapped with the given decider or not at
// all.
func (d *Directory) Promise(decider hosts.Incarnation) error {
	return d.change(func(id *Identity) error {
		id.Promise = decider
		return nil
	})
}

// Redraw makes a new host out of a host without a cluster: promises of the old incarnation do not bind the new
// incarnation, and a cluster that counts on the old incarnation will never have the host.
func (d *Directory) Redraw() error {
	return d.change(func(id *Identity) error {
		if id.Bootstrapped() {
			return errors.New("it is in a cluster")
		}
		id.Incarnation, id.Promise = drawIncarnation(), hosts.Incarnation{}
		return nil
	})
}

// Bootstrap puts the host into the new cluster, as the initial member with the host's name and incarnation.
func (d *Directory) Bootstrap(bootstrap Bootstrap) error {
	return d.bootstrap(bootstrap, Generation{}, false)
}

// BootstrapAlone makes a cluster of this host, which is in no cluster. A promise to other hosts does not bind the host,
// because BootstrapAlone draws a new incarnation first.
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

// Restore makes the host, which is in no cluster, the first host of a restored cluster. The log is there already.
func (d *Directory) Restore(bootstrap Bootstrap, g Generation) error {
	return d.bootstrap(bootstrap, g, true)
}

func (d *Directory) bootstrap(bootstrap Bootstrap, g Generation, restored bool) error {
	return d.change(func(id *Identity) error {
		self := bootstrap.InitialMember(id.HostName)
		if id.Bootstrapped() || self == nil || self.Incarnation != id.Incarnation || restored != (g != Generation{}) {
			return errors.New("it is no place for a host of cluster " + bootstrap.Cluster)
		}
		id.HostID, id.Bootstrap, id.Generation, id.Started = self.ID, bootstrap, g, restored
		return nil
	})
}

// Admission is the answer of a cluster to a joining host.
type Admission struct {
	Host       shard.HostID
	Bootstrap  Bootstrap
	Generation Generation
	// Hosts are the hosts of the cluster at the time, the joining host among them.
	Hosts []InitialMember
}

// Join puts the host, which is in no cluster, into an existing cluster.
func (d *Directory) Join(a Admission) error {
	return d.change(func(id *Identity) error {
		if id.Bootstrapped() {
			return errors.New("it is in cluster " + id.Cluster)
		}
		id.HostID, id.Bootstrap, id.Generation, id.Hosts = a.Host, a.Bootstrap, a.Generation, a.Hosts
		if !id.Bootstrapped() {
			return errors.New("it is given no id, and no cluster")
		}
		return nil
	})
}

// KeepSecret keeps the secret of the cluster in SecretName. Only the user that runs the host may read the file.
func (d *Directory) KeepSecret(secret []byte) error {
	if err := writeWhole(d.path, SecretName, append(slices.Clone(secret), '\n'), 0o600); err != nil {
		return fmt.Errorf("write the secret of the cluster into %s: %w", d.path, err)
	}
	_ = os.Remove(filepath.Join(d.path, SecretName+temporarySuffix)) // an earlier secret is kept nowhere
	return nil
}

// change replaces the identity by the changed identity, after a check.
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
		return fmt.Errorf("write that of %s: %w", d.path, err)
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

// Started notes that the log has been opened: from now on a directory without log is refused.
func (d *Directory) Started() error {
	if id := d.Identity(); id.Started {
		return nil
	}
	return d.change(func(id *Identity) error {
		id.Started = true
		return nil
	})
}

// hasLog reports whether the log's directory has entries.
func (d *Directory) hasLog() bool {
	entries, err := os.ReadDir(d.LogPath())
	return err == nil && len(entries) > 0
}

func (d *Directory) logLost(id *Identity) error {
	if len(id.InitialMembers) == 1 && !id.Joined() {
		return fmt.Errorf("%w: %s was there and is not any more; put it back from a backup, "+
			"or move %s away to begin with nothing", ErrLogLost, d.LogPath(), d.path)
	}
	return fmt.Errorf("%w: %s was there and is not any more; put the disk back that had it. "+
		"Without its log host %s must not come back under this name: it would deny what it has confirmed to "+
		"the others, who go on without it meanwhile",
		ErrLogLost, d.LogPath(), id.HostName)
}

// makeDirectory makes a directory and the missing directories above, and reports whether the directory was missing.
// The name of every new directory is synced, so a power failure leaves all of the path or an upper part of the path.
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

// refuseForeign refuses a directory with entries and without identity.
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
			// A first start that did not get far, and the top of a file system.
		default:
			stranger = e.Name()
		}
	}
	if stranger != "" {
		return fmt.Errorf("%s: %w: there is %q in it and no %s; name an empty directory, or one that can "+
			"be made",
			path, ErrForeign, stranger, FileName)
	}
	return nil
}
