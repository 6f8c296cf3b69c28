package backup

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol/backupfile"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/kinds"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
)

// States are the machines for all shards in a cluster, as captured at some time. States are never modified.
type States struct {
	Header   backupfile.Header
	Sections map[meta.ShardID]backupfile.Section
	Meta     *meta.Machine
	Data     map[meta.ShardID]*machine.Machine
}

// NewStates returns States without machines.
func NewStates(h backupfile.Header) *States {
	return &States{Header: h, Sections: make(map[meta.ShardID]backupfile.Section),
		Data: make(map[meta.ShardID]*machine.Machine)}
}

// Load reads a complete file, with the states of all shards. If a section cannot be restored, the error names the
// section.
func Load(r io.Reader) (*States, error) {
	s, err := LoadPart(r)
	if err != nil {
		return nil, err
	}
	return s, s.check()
}

// LoadPart reads a complete file that may lack shards, such as a file from a host with replicas of some shards only.
func LoadPart(r io.Reader) (*States, error) {
	b, err := backupfile.NewReader(r)
	if err != nil {
		return nil, err
	}
	s := NewStates(b.Header)
	for {
		section, err := b.Next()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err == nil {
			err = s.restore(section, b)
		}
		if err != nil {
			return nil, err
		}
	}
}

// restore restores a section's machine.
func (s *States) restore(section backupfile.Section, r io.Reader) error {
	id := meta.ShardID(section.Shard)
	if _, again := s.Sections[id]; again { // read again after a slot had moved
		s.forget(id)
		delete(s.Sections, id)
	}
	err := s.machine(id).Restore(r)
	switch {
	case errors.Is(err, backupfile.ErrGivenUp):
		s.forget(id)
	case err != nil:
		return fmt.Errorf("%s: %w", section, err)
	default:
		s.Sections[id] = section
	}
	return nil
}

// forget drops the machine for a partially read shard.
func (s *States) forget(id meta.ShardID) {
	if id == 0 {
		s.Meta = nil
	} else {
		delete(s.Data, id)
	}
}

// saver is a data or meta shard machine that can save and restore its state.
type saver interface {
	shard.Saver
	Restore(r io.Reader) error
}

// machine returns a shard's machine, and creates the machine if it is missing.
func (s *States) machine(id meta.ShardID) saver {
	if id == 0 {
		if s.Meta == nil {
			s.Meta = meta.New()
		}
		return s.Meta
	}
	if s.Data[id] == nil {
		s.Data[id] = machine.New(kinds.All(), machine.Options{Shard: uint64(id)})
	}
	return s.Data[id]
}

// check returns an error if a shard is missing.
func (s *States) check() error {
	if s.Meta == nil {
		return fmt.Errorf("%w: the meta shard section is missing", backupfile.ErrIncomplete)
	}
	if missing := s.Missing(); len(missing) > 0 {
		return fmt.Errorf("%w: the section of %s is missing", backupfile.ErrIncomplete, Names(missing))
	}
	if err := s.completeSlots(); err != nil {
		return err
	}
	return s.checkSlots()
}

// Names formats shards for error messages.
func Names(shards []meta.ShardID) string {
	var list []string
	for _, id := range shards {
		list = append(list, fmt.Sprintf("shard %d", id))
	}
	return strings.Join(list, ", ")
}

// Missing returns the data shards with slots, according to the meta shard, that have no state.
func (s *States) Missing() (list []meta.ShardID) {
	for _, id := range s.Meta.ShardsWithSlots() {
		if s.Data[id] == nil {
			list = append(list, id)
		}
	}
	return list
}

// Holders returns the names of the hosts with a replica of the shard, according to the meta shard.
func (s *States) Holders(id meta.ShardID) (names []string) {
	t, bootstrapped := s.Meta.Topology()
	if !bootstrapped {
		return nil
	}
	on := t.Records.Shard(hosts.ShardID(id))
	if on == nil {
		return nil
	}
	for i := range on.Replicas {
		h := t.Records.Host(on.Replicas[i].Host)
		if on.Replicas[i].Member() && h != nil && h.Living() {
			names = append(names, h.Name)
		}
	}
	return names
}

// counted returns counters that no shard has passed, by the reports to the meta shard, if shards are missing. A shard
// without a surviving replica may have assigned higher numbers than all other shards.
func (s *States) counted() (highest shard.Counters, err error) {
	missing := s.Missing()
	if len(missing) == 0 {
		return highest, nil
	}
	t, bootstrapped := s.Meta.Topology()
	if !bootstrapped {
		return highest, fmt.Errorf("%s has no surviving replica, and the meta shard does not know its used "+
			"numbers", Names(missing))
	}
	return t.Records.Highest(s.Meta.Time()), nil
}

// Shards returns the data shards with states, sorted by id.
func (s *States) Shards() []meta.ShardID { return slices.Sorted(maps.Keys(s.Data)) }

// Save writes a file, data shards first.
func (s *States) Save(w io.Writer) error {
	out, err := backupfile.NewWriter(w, s.Header)
	if err != nil {
		return err
	}
	for _, id := range append(s.Shards(), 0) {
		if err := s.saveSection(out, id); err != nil {
			return err
		}
	}
	return out.Close()
}

func (s *States) saveSection(w *backupfile.Writer, id meta.ShardID) error {
	if id == 0 && s.Meta == nil {
		return nil
	}
	snapshot, err := s.machine(id).PrepareSnapshot()
	if err != nil {
		return err
	}
	defer snapshot.Discard()
	section := s.Sections[id]
	section.Shard = uint64(id)
	to, err := w.Section(section)
	if err != nil {
		return err
	}
	return errors.Join(snapshot.Save(to, nil), to.Close())
}

// Choose returns the most advanced state for every shard, given states from several hosts in one cluster. The state
// with the highest last term wins; among equal terms, the highest last index. The chosen state contains everything
// ever committed in the shard, as far as the given hosts have it. Shards may be missing: see Missing.
func Choose(all []*States) (*States, error) {
	best := NewStates(all[0].Header)
	for _, s := range all {
		h := s.Header
		if h.Cluster != best.Header.Cluster || h.Generation != best.Header.Generation {
			return nil, fmt.Errorf("the states belong to different clusters: %s, generation %x, and %s, "+
				"generation %x", h.Cluster,
				h.Generation, best.Header.Cluster, best.Header.Generation)
		}
		if best.Header.Begun.After(h.Begun) {
			best.Header.Begun = h.Begun
		}
		best.Header.Level = max(best.Header.Level, h.Level)
		for id, section := range s.Sections {
			if had, there := best.Sections[id]; there && !after(section, had) {
				continue
			}
			best.Sections[id] = section
			if id == 0 {
				best.Meta = s.Meta
			} else {
				best.Data[id] = s.Data[id]
			}
		}
	}
	if best.Meta == nil {
		return nil, errors.New("the meta shard state is missing")
	}
	return best, nil
}

// after reports whether s is more advanced than another state for the same shard.
func after(s, other backupfile.Section) bool {
	return s.Term > other.Term || s.Term == other.Term && s.Index > other.Index
}
