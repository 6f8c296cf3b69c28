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
	"github.com/signalbox/signalbox/shard/access"
)

// File holds the current content of a root token file. File implements caller.Access and is safe for concurrent use.
type File struct {
	path string
	log  *slog.Logger
	// grants maps every token hash in the file to its grant. The map is replaced on change, never modified.
	grants atomic.Pointer[map[hash]*grant]

	closeOnce sync.Once
	stop      chan struct{}
	watching  sync.WaitGroup

	// Used by the polling goroutine, and by Open before the goroutine starts.
	read, seen fs.FileInfo
}

var _ caller.Access = (*File)(nil)

// same reports whether the file was unchanged between two polls. nil means the file was missing.
func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Open reads a root token file and follows its changes until Close. Errors in the initial content are returned; later
// errors are only logged.
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

// open is Open without the polling goroutine.
func open(path string, log *slog.Logger) (*File, error) {
	f := &File{path: path, log: log, stop: make(chan struct{})}
	f.read = f.state()
	f.seen = f.read
	found, err := f.load()
	if err != nil {
		return nil, fmt.Errorf("access: cannot use the root token file %s:\n  - %w", path, err)
	}
	f.replace(found)
	return f, nil
}

// Close stops following the file. Current tokens remain valid.
func (f *File) Close() {
	f.closeOnce.Do(func() { close(f.stop) })
	f.watching.Wait()
}

// Authenticate implements caller.Access.
//
// The call duration reveals nothing about known tokens. The map lookup uses a hash: to get close to a known hash, an
// attacker would need a token with a similar hash.
func (f *File) Authenticate(token []byte) (caller.Rights, string, bool) {
	sum := hashOf(token)
	g := (*f.grants.Load())[sum]
	if g == nil || len(token) == 0 {
		return nil, "", false
	}
	return g, g.name, true
}

// poll reads the file if the file has changed since the last read and was unchanged between the last two polls.
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
		f.log.Error("cannot use the changed root token file; the earlier tokens stay valid", "file", f.path,
			"error", err)
		return
	}
	added, removed := f.replace(found)
	f.log.Info("the root token file was reloaded", "file", f.path, "tokens", len(found), "added", added,
		"removed", removed)
}

func (f *File) state() fs.FileInfo {
	info, _ := os.Stat(f.path) // nil on error
	return info
}

func (f *File) load() (map[hash]string, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileBytes {
		return nil, errors.New("the file is longer than 1 MiB")
	}
	return parseRootTokens(text)
}

// replace installs the file's tokens as the valid tokens. Tokens in both versions stay valid on open connections.
func (f *File) replace(found map[hash]string) (added, removed int) {
	old := cmp.Or(f.grants.Load(), new(map[hash]*grant))
	grants := make(map[hash]*grant, len(found))
	for h, name := range found {
		g := (*old)[h]
		if g == nil || g.name != name {
			g = &grant{name: name}
			added++
		}
		grants[h] = g
	}
	f.grants.Store(&grants)
	for h, g := range *old {
		if grants[h] != g {
			g.removed.Store(true)
			removed++
		}
	}
	return added, removed
}

// grant is shared by all connections with the same token. Safe for concurrent use.
type grant struct {
	name    string
	removed atomic.Bool // removed from the file
}

// Allows implements caller.Rights.
func (g *grant) Allows(string, string, protocol.Right) bool { return g.Valid() }

// Set returns the rights a root token grants.
func (g *grant) Set() *access.Set {
	if g.Valid() {
		return root
	}
	return &access.Set{}
}

var root = access.NewSet(access.Rule{Path: "/", Rights: protocol.RightAll})

// Valid implements caller.Rights.
func (g *grant) Valid() bool { return !g.removed.Load() }

// Version implements caller.Rights.
func (g *grant) Version() uint64 {
	if g.Valid() {
		return 0
	}
	return 1
}
