package replica

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// TestTheLaterTermSaysWhoLeads: the local replica and announcements are two sources, and an announcement for an earlier
// term has no effect.
func TestTheLaterTermSaysWhoLeads(t *testing.T) {
	for _, x := range []struct {
		what       string
		own        shard.Leadership
		announced  []shard.Leadership
		wantLeader shard.HostID
	}{
		{"no announcement", shard.Leadership{Leader: 2, Term: 5}, nil, 2},
		{"an announcement and no replica", shard.Leadership{}, []shard.Leadership{{Leader: 3, Term: 4}}, 3},
		{"a replica that has gone in the same term", shard.Leadership{Term: 4},
			[]shard.Leadership{{Leader: 3, Term: 4}}, 3},
		{"a later term announced", shard.Leadership{Leader: 2, Term: 5}, []shard.Leadership{{Leader: 3, Term: 6}}, 3},
		{"an earlier term announced", shard.Leadership{Leader: 2, Term: 5},
			[]shard.Leadership{{Leader: 3, Term: 4}}, 2},
		{"an election after the announcement", shard.Leadership{Term: 7}, []shard.Leadership{{Leader: 3, Term: 6}}, 0},
		{"an earlier announcement that comes late", shard.Leadership{},
			[]shard.Leadership{{Leader: 3, Term: 6}, {Leader: 2, Term: 5}}, 3},
		{"a later announcement", shard.Leadership{}, []shard.Leadership{{Leader: 3, Term: 6}, {Leader: 2, Term: 7}}, 2},
	} {
		var heard announced
		for _, l := range x.announced {
			heard.note(l)
		}
		if got := heard.or(x.own); got.Leader != x.wantLeader {
			t.Errorf("%s: have %+v, want host %d", x.what, got, x.wantLeader)
		}
	}
}

// TestAHostWithoutAReplicaRedirects to the leader by the latest announcement.
func TestAHostWithoutAReplicaRedirects(t *testing.T) {
	s := openSet(t, 1)
	r := s.All()[0]
	own := r.Leader()
	r.LeadershipChanged(shard.Leadership{Term: own.Term}) // as after the end of the replica
	if got := s.Moved(r); got.Status != protocol.StatusUnavailable {
		t.Errorf("without an announcement: %+v", got)
	}
	s.NoteLeader(1, shard.Leadership{Leader: 3, Term: own.Term + 2})
	s.NoteLeader(1, shard.Leadership{Leader: 2, Term: own.Term + 1})
	s.NoteLeader(2, shard.Leadership{Leader: 2, Term: own.Term + 9}) // no such shard
	if got := s.Moved(r); got.Status != protocol.StatusMoved || got.Moved.LeaderHostID != 3 {
		t.Errorf("with an announcement: %+v", got)
	}
	s.NoteLeader(MetaShard, shard.Leadership{Leader: 2, Term: s.Meta.Leader().Term + 1})
	if got := s.Meta.Known().Leader; got != 2 {
		t.Errorf("host %d is known to lead the meta shard", got)
	}
	r.LeadershipChanged(shard.Leadership{Leader: 4, Term: own.Term + 3})
	if got := s.Moved(r); got.Moved.LeaderHostID != 4 {
		t.Errorf("with a replica that knows a later term: %+v", got)
	}
}
