package backup

import (
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/shard/meta"
)

// remnantObject is a cluster survivor's content, as JSON.
type remnantObject struct {
	From     string
	HostName string
	// Written is the time of the last log write, by the machine's clock.
	Written string
	// Shards are the survivor's shards.
	Shards []remnantShardObject
}

// remnantShardObject is a survivor's progress in a shard, as JSON.
type remnantShardObject struct {
	Shard uint64
	Term  uint64
	Index uint64
	// Taken: the new cluster uses this survivor's state. Lacks is the number of entries in the taken state the
	// survivor lacks. Replaced: the survivor has as many entries or more, but from a leader a later leader has
	// replaced.
	Taken    bool
	Lacks    uint64
	Replaced bool
}

// remnantsOf compares survivors' content with the most advanced state for every shard.
func remnantsOf(from []string, all []*backup.States, best *backup.States) (list []remnantObject) {
	taken := make(map[meta.ShardID]bool)
	for i, s := range all {
		o := remnantObject{From: from[i], HostName: s.Header.Host, Written: s.Header.Begun.UTC().Format(time.RFC3339)}
		for _, id := range append([]meta.ShardID{0}, best.Shards()...) {
			at, there := s.Sections[id]
			if !there {
				continue // the shard is not on the host
			}
			furthest := best.Sections[id]
			x := remnantShardObject{Shard: uint64(id), Term: at.Term, Index: at.Index}
			x.Taken = at == furthest && !taken[id]
			taken[id] = taken[id] || x.Taken
			x.Lacks = furthest.Index - min(at.Index, furthest.Index)
			x.Replaced = at.Term < furthest.Term && x.Lacks == 0
			o.Shards = append(o.Shards, x)
		}
		list = append(list, o)
	}
	return list
}

// say prints which of a survivor's states are taken, which entries the survivor lacks, and how old the log is.
func (r *remnantObject) say(f *cli.Frame) {
	for _, s := range r.Shards {
		switch {
		case s.Taken:
			f.Say("signalbox: shard %d: %s has entries up to term %d, index %d, and is used", s.Shard, r.From, s.Term,
				s.Index)
		case s.Lacks > 0:
			f.Say("signalbox: shard %d: %s lacks the last %d entries of the used replica", s.Shard, r.From, s.Lacks)
		case s.Replaced:
			f.Say("signalbox: shard %d: %s has entries up to term %d, index %d, and is not used", s.Shard, r.From,
				s.Term, s.Index)
		}
	}
	ago := ""
	if at, err := time.Parse(time.RFC3339, r.Written); err == nil {
		ago = ", " + max(0, time.Since(at)).Round(time.Second).String() + " ago"
	}
	f.Say("signalbox: %s last wrote its log at %s%s", r.From, r.Written, ago)
}
