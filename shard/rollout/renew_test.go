package rollout

import (
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

func renewed(t *testing.T, r *Rollout, n Renewal) *Rollout {
	t.Helper()
	before := r.Describe()
	next, err := Load(r.Renewed(n))
	if err != nil {
		t.Fatal(err)
	}
	if r.Describe() != before {
		t.Fatal("the old one has changed")
	}
	return next
}

// TestAfterARestoreNoNumberIsGivenTwice: counters jump over numbers assigned after the backup.
func TestAfterARestoreNoNumberIsGivenTwice(t *testing.T) {
	s := play(t, "spec sas source=asked\nleader a.sas\nsource 1\noffer 1 1")
	restored := renewed(t, s.Rollout, Renewal{Jump: 1 << 40, Revision: 7, Now: s.at().Now})
	at := s.at()
	at.Revision = 8
	if a := restored.Publish(at, kind.Publication{}); a.Status != protocol.StatusSuccess || a.Seq != 1<<40+2 {
		t.Errorf("the next version is %d", a.Seq)
	}
	l := restored.Find("sas")
	restored.Act(at, kind.Action{Kind: kind.Promote})
	if l.present() != 1<<40+2 || l.generation() != 1<<40+2 {
		t.Errorf("the next target is %+v", l.Target())
	}
}

// TestARestoreHasNoInstances: instances, sources and the open request are gone, targets and versions are not, and
// nothing counts as reached just because instances are gone.
func TestARestoreHasNoInstances(t *testing.T) {
	s := play(t, `spec sas vla source=asked
		leader a.sas
		leader b.sas
		source 1
		offer 1 1
		reach a.sas`)
	before := s.Find("sas").Target()
	next := renewed(t, s.Rollout, Renewal{Jump: 100, Revision: 900, Now: s.at().Now + 5000, Later: 5000})
	if len(next.Sources()) > 0 || next.Ticket() != (Ticket{}) || next.Instances() != 0 {
		t.Errorf("%s", next.Describe())
	}
	if len(next.Versions()) != len(s.Versions()) || string(next.Versions()[0].Payload) !=
		string(s.Versions()[0].Payload) {
		t.Errorf("%s", next.Describe())
	}
	due, is := next.NextDue()
	if !is || due > s.at().Now+5001 {
		t.Errorf("it is looked at at %d, %v", due, is)
	}
	at := At{Now: due, Revision: 901, Out: &Effects{}}
	next.Due(at)
	after := next.Find("sas").Target()
	if after.Seq != before.Seq || after.Reached != 0 || after.Assigned != before.Assigned+5000 {
		t.Errorf("the target was %+v and is %+v", before, after)
	}
	if next.Find("vla").Target() != nil || strings.Contains(next.Describe(), "a.sas") {
		t.Errorf("%s", next.Describe())
	}
	if next.WholeRevision() < 900 || next.SpecRevision() != 900 || next.TicketRevision() != 900 {
		t.Errorf("%s", next.Describe())
	}
}
