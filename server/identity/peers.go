package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/signalbox/signalbox/shard/hosts"
)

// ErrCopy: a host runs on an older copy of its data directory.
var ErrCopy = errors.New("its data directory is an older copy")

// Peers remembers of each incarnation of another host the newest start that was seen, and how far it has confirmed the
// logs of its shards, and outlives a power failure with both: a host that comes with less runs on a copy of its
// directory from before, and has forgotten what it confirmed since. Its methods may be called by many goroutines at
// once.
type Peers struct {
	dir string

	mu   sync.Mutex
	seen map[hosts.Incarnation]peer // guarded by mu, as is the file; its values are replaced, never written to
}

// peer is what is remembered of an incarnation.
type peer struct {
	hosts.Start
	Confirmed []hosts.Position `json:"confirmed,omitempty"`
}

// OpenPeers reads what the directory remembers of other hosts: nothing where there is no such file yet.
func (d *Directory) OpenPeers() (*Peers, error) {
	p := &Peers{dir: d.path, seen: make(map[hosts.Incarnation]peer)}
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

// Newest is the newest start that was seen of an incarnation, a zero one where none was.
func (p *Peers) Newest(incarnation hosts.Incarnation) hosts.Start {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[incarnation].Start
}

// Confirmed is what an incarnation has confirmed, as far as it was written down.
func (p *Peers) Confirmed(incarnation hosts.Incarnation) []hosts.Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[incarnation].Confirmed
}

// See takes a start of another host over. It returns ErrCopy where a newer one of that incarnation was seen, and
// another error where the start could not be written down: then the host must not be let in.
func (p *Peers) See(incarnation hosts.Incarnation, start hosts.Start) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := p.seen[incarnation]
	if start.IsCopy(next.Start) {
		return fmt.Errorf("%w: it was started for the %d. time, and its %d. start was seen before", ErrCopy,
			start.Number, next.Number)
	}
	if start == next.Start {
		return nil
	}
	next.Start = start
	return p.write("write down the start of another host", map[hosts.Incarnation]peer{incarnation: next})
}

// Confirm writes down what hosts have confirmed, where that is not what is known.
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
	return p.write("write down what other hosts have confirmed", changed)
}

// Forget drops what is remembered of an incarnation that will never be let in again.
func (p *Peers) Forget(incarnation hosts.Incarnation) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.seen[incarnation]; !ok {
		return nil
	}
	return p.write("forget an expelled host", map[hosts.Incarnation]peer{incarnation: {}})
}

// write replaces what is remembered of some incarnations, by nothing where the start is zero. The lock is held.
func (p *Peers) write(what string, changed map[hosts.Incarnation]peer) error {
	next := maps.Clone(p.seen)
	maps.Copy(next, changed)
	maps.DeleteFunc(next, func(_ hosts.Incarnation, x peer) bool { return x.Start == hosts.Start{} })
	if err := writeRecord(p.dir, PeersName, next); err != nil {
		return fmt.Errorf("identity: %s: %w", what, err)
	}
	p.seen = next
	return nil
}
