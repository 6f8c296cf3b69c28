package identity

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/signalbox/signalbox/shard/hosts"
)

// ErrCopy: a host runs with an older copy of its data directory.
var ErrCopy = errors.New("the data directory is an older copy")

// Peers remembers, for every incarnation of remote hosts, the newest start seen and how far the host has confirmed
// its shards' logs. Both survive a power failure. A host that reports less runs with an older copy of its directory,
// and has lost its later confirmations. Methods are safe for concurrent use.
type Peers struct {
	dir string

	mu   sync.Mutex
	seen map[hosts.Incarnation]peer // guarded by mu, like the file; values are replaced, never modified
}

// peer is what is remembered about one incarnation.
type peer struct {
	hosts.Start
	Confirmed []hosts.Position `json:"confirmed,omitempty"`
}

// OpenPeers reads the directory's record of remote hosts, which is empty if the file does not exist yet.
func (d *Directory) OpenPeers() (*Peers, error) {
	p := &Peers{dir: d.path, seen: make(map[hosts.Incarnation]peer)}
	if _, err := d.recall(PeersName, &p.seen, "until the other hosts have restarted, the host then cannot detect "+
		"a host that runs on an older copy of its directory"); err != nil {
		return nil, err
	}
	return p, nil
}

// Newest returns the newest start seen for an incarnation, zero if none.
func (p *Peers) Newest(incarnation hosts.Incarnation) hosts.Start {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[incarnation].Start
}

// Confirmed returns how far an incarnation has confirmed logs, as recorded.
func (p *Peers) Confirmed(incarnation hosts.Incarnation) []hosts.Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[incarnation].Confirmed
}

// See records a remote host's start. See returns ErrCopy if a newer start of the incarnation is known, and a
// different error if the start could not be saved: in that case the host must not be admitted.
func (p *Peers) See(incarnation hosts.Incarnation, start hosts.Start) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := p.seen[incarnation]
	if start.IsCopy(next.Start) {
		return fmt.Errorf("%w: this is start number %d, but start number %d was seen before", ErrCopy,
			start.Number, next.Number)
	}
	if start == next.Start {
		return nil
	}
	next.Start = start
	return p.write("record the start of another host", map[hosts.Incarnation]peer{incarnation: next})
}

// Confirm records how far hosts have confirmed logs, if the positions have changed.
func (p *Peers) Confirm(all map[hosts.Incarnation][]hosts.Position) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	changed := make(map[hosts.Incarnation]peer)
	for incarnation, positions := range all {
		next, met := p.seen[incarnation]
		if met && !slices.Equal(next.Confirmed, positions) {
			next.Confirmed = positions
			changed[incarnation] = next
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return p.write("record confirmations from other hosts", changed)
}

// Forget drops an incarnation that will never be admitted again.
func (p *Peers) Forget(incarnation hosts.Incarnation) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.seen[incarnation]; !ok {
		return nil
	}
	return p.write("forget an expelled host", map[hosts.Incarnation]peer{incarnation: {}})
}

// write replaces the entries for some incarnations, and drops incarnations with a zero start. The lock is held.
func (p *Peers) write(what string, changed map[hosts.Incarnation]peer) error {
	next := maps.Clone(p.seen)
	maps.Copy(next, changed)
	maps.DeleteFunc(next, func(_ hosts.Incarnation, x peer) bool { return x.Start == hosts.Start{} })
	if err := writeRecord(p.dir, PeersName, next); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	p.seen = next
	return nil
}
