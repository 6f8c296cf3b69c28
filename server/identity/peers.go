package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/signalbox/signalbox/shard/hosts"
)

// ErrCopy: a host runs on an older copy of its data directory.
var ErrCopy = errors.New("its data directory is an older copy")

// Peers remembers the newest start that was seen of each incarnation of another host, and outlives a power failure with
// it: a host that comes with an older one runs on a copy of its directory from before, and has forgotten what it
// confirmed since. Its methods may be called by many goroutines at once.
type Peers struct {
	dir string

	mu   sync.Mutex
	seen map[hosts.Incarnation]hosts.Start // guarded by mu, as is the file
}

// OpenPeers reads what the directory remembers of other hosts: nothing where there is no such file yet.
func (d *Directory) OpenPeers() (*Peers, error) {
	p := &Peers{dir: d.path, seen: make(map[hosts.Incarnation]hosts.Start)}
	err := readRecord(d.path, PeersName, &p.seen)
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return p, nil
	case errors.Is(err, ErrDamaged):
		err = fmt.Errorf("%w; put the file back from a backup. Without one, take it away: until the other hosts "+
			"have been "+
			"started again, this one does not notice then that one of them runs on an older copy of its directory", err)
	}
	return nil, fmt.Errorf("identity: %s: %w", filepath.Join(d.path, PeersName), err)
}

// See takes a start of another host over. It returns ErrCopy where a newer one of that incarnation was seen, and
// another error where the start could not be written down: then the host must not be let in.
func (p *Peers) See(incarnation hosts.Incarnation, start hosts.Start) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	newest := p.seen[incarnation]
	if start.IsCopy(newest) {
		return fmt.Errorf("%w: it was started for the %d. time, and its %d. start was seen before", ErrCopy,
			start.Number, newest.Number)
	}
	if start == newest {
		return nil
	}
	p.seen[incarnation] = start
	if err := writeRecord(p.dir, PeersName, p.seen); err != nil {
		p.seen[incarnation] = newest
		return fmt.Errorf("identity: write down the start of another host: %w", err)
	}
	return nil
}

// Forget drops what is remembered of an incarnation that will never be let in again.
func (p *Peers) Forget(incarnation hosts.Incarnation) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	newest, ok := p.seen[incarnation]
	if !ok {
		return nil
	}
	delete(p.seen, incarnation)
	if err := writeRecord(p.dir, PeersName, p.seen); err != nil {
		p.seen[incarnation] = newest
		return fmt.Errorf("identity: forget the starts of another host: %w", err)
	}
	return nil
}
