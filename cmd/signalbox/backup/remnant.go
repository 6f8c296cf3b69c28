package backup

import (
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/shard/meta"
)

// remnantObject is the content of a survivor of a cluster, as JSON.
type remnantObject struct {
	From     string
	HostName string
	// Written is the time of the last write to the log, by the clock of the machine.
	Written string
	// Shards are the shards that the survivor has.
	Shards []remnantShardObject
}

// remnantShardObject is how far a survivor has a shard, as JSON.
type remnantShardObject struct {
	Shard uint64
	Term  uint64
	Index uint64
	// Taken: the new cluster has the state of this survivor. Lacks is how many entries of the taken state the survivor
	// does not have. Replaced: the survivor has as many entries or more, from a leader that a later leader has
	// replaced.
	Taken    bool
	Lacks    uint64
	Replaced bool
}

// remnantsOf compares the content of survivors with the furthest state of each shard.
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

// say says which states of a survivor are taken, which entries the survivor lacks, and how old the log is.
func (r *remnantObject) say(f *cli.Frame) {
	for _, s := range r.Shards {
		switch {
		case s.Taken:
			f.Say("signalbox: shard %d: %s has it up to term %d, entry %d, which is taken", s.Shard, r.From, s.Term,
				s.Index)
		case s.Lacks > 0:
			f.Say("signalbox: shard %d: %s lacks the last %d entries of what is taken", s.Shard, r.From, s.Lacks)
		case s.Replaced:
			f.Say("signalbox: shard %d: %s has it up to term %d, entry %d, which counts no more", s.Shard, r.From,
				s.Term, s.Index)
		}
	}
	ago := ""
	if at, err := time.Parse(time.RFC3339, r.Written); err == nil {
		ago = ", " + max(0, time.Since(at)).Round(time.Second).String() + " ago"
	}
	f.Say("signalbox: %s wrote its log last at %s%s", r.From, r.Written, ago)
}
