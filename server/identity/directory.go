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
	// ErrEarlier: an earlier version has written the directory.
	ErrEarlier = errors.New("the data directory is of an earlier build")
	// ErrMismatch: the directory is of another host, of another cluster, or of one made otherwise.
	ErrMismatch = errors.New("the data directory does not fit the settings")
	// ErrLogLost: the log that the host had is gone.
	ErrLogLost = errors.New("the log of the data directory is gone")
	// ErrNone: the directory has no identity yet.
	ErrNone = errors.New("the data directory has no identity")
)

// Directory is a data directory that this process has claimed. Its methods may be called by many goroutines at once.
type Directory struct {
	path string
	lock *lock

	mu     sync.Mutex
	id     Identity // guarded by mu, as are the files
	anchor anchor
	doubt  error       // about the anchor that was found
	level  level.Level // the highest that was noted since the directory was claimed
}

// Expected is what the settings say of a host. HostName and Version are never empty.
type Expected struct {
	HostName string
	// Hosts are the names of the hosts that the cluster was to begin with, in their order; none where the settings have
	// no list.
	Hosts []string
	// ClusterName may be empty.
	ClusterName string
	// Shards is the number of data shards; zero for the one that the directory has.
	Shards int
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

// Identity is what was loaded or written last.
func (d *Directory) Identity() Identity {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.id
}

// Load returns the identity of the directory, which must be as expected. It is ErrNone where it has none yet.
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

// Make gives a directory without identity one of its own: a name and an incarnation, and no cluster.
func (d *Directory) Make(want Expected) error {
	err := d.change(func(id *Identity) error {
		*id = Identity{
			HostName: want.HostName, Incarnation: drawIncarnation(), CreatedBy: want.Version,
			Created: time.Now().UTC().Truncate(time.Second),
		}
		return nil
	})
	if err == nil {
		holdRoom(d.path, AnchorName, 2*heldBytes) // for the first anchor, and what it leaves for the second
	}
	return err
}

// Begin begins a start: from when it returns its number is in the directory, and no other start will have it. The
// directory is tied to its place.
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

// Promise writes down that this host, which is in no cluster, will be born with that decider or not at all.
func (d *Directory) Promise(decider hosts.Incarnation) error {
	return d.change(func(id *Identity) error {
		id.Promise = decider
		return nil
	})
}

// Redraw makes another host of one that is in no cluster: what its incarnation has promised binds it no more, and no
// cluster that counts on that incarnation will ever have it.
func (d *Directory) Redraw() error {
	return d.change(func(id *Identity) error {
		if id.Born() {
			return errors.New("it is in a cluster")
		}
		id.Incarnation, id.Promise = drawIncarnation(), hosts.Incarnation{}
		return nil
	})
}

// Bear puts the host into the cluster that is born, as the founder with its name and its incarnation.
func (d *Directory) Bear(birth Birth) error {
	return d.change(func(id *Identity) error {
		self := birth.Founder(id.HostName)
		if id.Born() || self == nil || self.Incarnation != id.Incarnation {
			return errors.New("it is no place for a host of cluster " + birth.Cluster)
		}
		id.HostID, id.Birth = self.ID, birth
		return nil
	})
}

// BearAlone makes a cluster of this host, which is in none. What it may have promised to others does not bind it, as
// it is another incarnation then.
func (d *Directory) BearAlone(cluster string, shards int, raft string) error {
	if d.Identity().Promise != (hosts.Incarnation{}) {
		if err := d.Redraw(); err != nil {
			return err
		}
	}
	id := d.Identity()
	return d.Bear(NewBirth(cluster, shards, []Founder{{1, id.HostName, id.Incarnation, raft}}))
}

// Restore makes the host, which is in no cluster, the first one of a cluster that is restored. Its log is there.
func (d *Directory) Restore(birth Birth, g Generation) error {
	return d.change(func(id *Identity) error {
		self := birth.Founder(id.HostName)
		if id.Born() || self == nil || self.Incarnation != id.Incarnation || g == (Generation{}) {
			return errors.New("it is no place for a host of cluster " + birth.Cluster)
		}
		id.HostID, id.Birth, id.Generation, id.Started = self.ID, birth, g, true
		return nil
	})
}

// Admission is what a host that joins a cluster gets from it.
type Admission struct {
	Host       shard.HostID
	Birth      Birth
	Generation Generation
	// Hosts are those that the cluster has then, this one among them.
	Hosts []Founder
}

// Join puts the host, which is in no cluster, into one that is there.
func (d *Directory) Join(a Admission) error {
	return d.change(func(id *Identity) error {
		if id.Born() {
			return errors.New("it is in cluster " + id.Cluster)
		}
		id.HostID, id.Birth, id.Generation, id.Hosts = a.Host, a.Birth, a.Generation, a.Hosts
		if !id.Born() {
			return errors.New("it is given no id, and no cluster")
		}
		return nil
	})
}

// KeepSecret keeps the secret of the cluster in SecretName, which only the user that runs the host may read.
func (d *Directory) KeepSecret(secret []byte) error {
	if err := writeWhole(d.path, SecretName, append(slices.Clone(secret), '\n'), 0o600); err != nil {
		return fmt.Errorf("identity: write the secret of the cluster into %s: %w", d.path, err)
	}
	_ = os.Remove(filepath.Join(d.path, SecretName+temporarySuffix)) // an earlier secret is kept nowhere
	return nil
}

// change replaces the identity by what becomes of it.
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
		return fmt.Errorf("identity: write that of %s: %w", d.path, err)
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

// Started notes that the log has been opened: from now on the directory is refused without it.
func (d *Directory) Started() error {
	if id := d.Identity(); id.Started {
		return nil
	}
	return d.change(func(id *Identity) error {
		id.Started = true
		return nil
	})
}

// hasLog reports whether there is anything in the log's directory.
func (d *Directory) hasLog() bool {
	entries, err := os.ReadDir(d.LogPath())
	return err == nil && len(entries) > 0
}

func (d *Directory) logLost(id *Identity) error {
	if len(id.Founders) == 1 && !id.Joined() {
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
		case lockName, FileName + temporarySuffix, "lost+found":
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
