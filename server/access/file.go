package access

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/shard/rights"
)

// File is the present content of a file of tokens. File implements caller.Access. All goroutines may use a File.
type File struct {
	path string
	log  *slog.Logger
	// grants has a grant for every token of the file. The map is never changed, only replaced.
	grants atomic.Pointer[map[hash]*grant]

	closeOnce sync.Once
	stop      chan struct{}
	watching  sync.WaitGroup

	// Used by the watching goroutine, and before the goroutine begins.
	read, seen fs.FileInfo
}

var _ caller.Access = (*File)(nil)

// same reports whether the state of the file was equal at two polls; a state is nil for a missing file.
func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Open reads a file of tokens and follows its changes until Close. Mistakes in the file at the beginning are an
// error; later mistakes are only logged.
func Open(path string, log *slog.Logger) (*File, error) {
	f, err := open(path, log)
	if err != nil {
		return nil, err
	}
	f.watching.Go(func() {
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		for {
			select {
			case <-f.stop:
				return
			case <-ticker.C:
				f.poll()
			}
		}
	})
	return f, nil
}

// open is Open without the goroutine.
func open(path string, log *slog.Logger) (*File, error) {
	f := &File{path: path, log: log, stop: make(chan struct{})}
	f.read = f.state()
	f.seen = f.read
	found, err := f.load()
	if err != nil {
		return nil, fmt.Errorf("access: the file of tokens %s cannot be used:\n  - %w", path, err)
	}
	f.replace(found)
	return f, nil
}

// Close stops following the file. Grants keep their rules.
func (f *File) Close() {
	f.closeOnce.Do(func() { close(f.stop) })
	f.watching.Wait()
}

// Authenticate implements caller.Access.
//
// The duration of a call reveals nothing about the known tokens. The map is searched for a hash: to come near to a
// hash in the map, an attacker would have to find a token for a near hash.
func (f *File) Authenticate(token []byte) (caller.Rights, string, bool) {
	sum := hashOf(token)
	g := (*f.grants.Load())[sum]
	if g == nil || len(token) == 0 {
		return nil, "", false
	}
	return g, g.name, true
}

// poll reads the file when it has changed, and has not changed since the poll before.
func (f *File) poll() {
	now := f.state()
	unchanged := same(now, f.seen)
	f.seen = now
	if !unchanged || same(now, f.read) {
		return
	}
	f.read = now
	found, err := f.load()
	if err != nil {
		f.log.Error("the changed file of tokens cannot be used; what it said before counts on", "file", f.path, "error",
			err)
		return
	}
	added, removed := f.replace(found)
	f.log.Info("the file of tokens was read again", "file", f.path, "tokens", len(found), "added", added, "removed",
		removed)
}

func (f *File) state() fs.FileInfo {
	info, _ := os.Stat(f.path) // nil after an error
	return info
}

func (f *File) load() (tokens, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, MaxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxFileBytes {
		return nil, errors.New("it is longer than 16 MiB")
	}
	return parse(text)
}

// replace makes the tokens of the file the valid tokens. Grants of remaining tokens are kept, so open connections get
// the changes.
func (f *File) replace(found tokens) (added, removed int) {
	old := cmp.Or(f.grants.Load(), new(map[hash]*grant))
	grants := make(map[hash]*grant, len(found))
	for h, holding := range found {
		g := (*old)[h]
		if g == nil || g.name != holding.name {
			g = &grant{name: holding.name}
			added++
		}
		set := rights.NewSet(holding.rules...)
		if before := g.set.Load(); before == nil || !before.Equal(set) {
			g.set.Store(set)
			g.version.Add(1) // after the rules, so a reader of the version sees the rules
		}
		grants[h] = g
	}
	f.grants.Store(&grants)
	for h, g := range *old {
		if grants[h] != g {
			g.set.Store(nil)
			removed++
		}
	}
	return added, removed
}

// grant is shared by the connections of one token. The file changes the grant under them. All goroutines may use a
// grant.
type grant struct {
	name string
	// set is the file's rules for the token now; nil: the file does not have the token any more.
	set     atomic.Pointer[rights.Set]
	version atomic.Uint64
}

// Allows implements caller.Rights.
func (g *grant) Allows(path, object string, need protocol.Right) bool {
	set := g.set.Load()
	return set != nil && set.Allows(path, object, need)
}

// Set returns the file's rules for the token now.
func (g *grant) Set() *rights.Set {
	if set := g.set.Load(); set != nil {
		return set
	}
	return &rights.Set{}
}

// Valid implements caller.Rights.
func (g *grant) Valid() bool { return g.set.Load() != nil }

// Version implements caller.Rights.
func (g *grant) Version() uint64 { return g.version.Load() }
