package rollout

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
)

// TestATargetIsReadAsItIsShown: what instances of a location watch has the payload, and is small.
func TestATargetIsReadAsItIsShown(t *testing.T) {
	s := play(t, "spec sas man:5000\njoin a.sas\npublish")
	v, ok := s.View("location/sas")
	if !ok {
		t.Fatal("there is no view of the location")
	}
	encoded := s.AppendHead(nil, v)
	head, err := ParseTargetHead(encoded)
	if err != nil || head.Generation != 1 || head.Seq != 1 || head.Label != "v" || string(head.Payload) != "payload" {
		t.Errorf("%+v, %v", head, err)
	}
	if extra := len(encoded) - len(head.Payload); extra > 40 {
		t.Errorf("a target takes %d bytes beside its payload", extra)
	}
	if _, err := ParseTargetHead(encoded[:3]); err == nil {
		t.Error("a target that is cut off is read")
	}
	for _, name := range []string{"location/vla", "sas", "instances/", "location"} {
		if _, ok := s.View(name); ok {
			t.Errorf("there is a view %q", name)
		}
	}
}

// TestAfterARestoreNoNumberIsGivenTwice: counters jump over what was given after the backup.
func TestAfterARestoreNoNumberIsGivenTwice(t *testing.T) {
	s := play(t, "spec sas source=asked\nleader a.sas\nsource 1\noffer 1 1")
	restored := s.Clone()
	restored.Raise(1 << 40)
	if a := restored.Publish(s.at(), Publication{}); a.Status != protocol.StatusSuccess || a.Seq != 1<<40+2 {
		t.Errorf("the next version is %d", a.Seq)
	}
	l := restored.Find("sas")
	restored.Act(s.at(), Act{Verb: VerbPromote})
	if l.present() != 1<<40+2 || l.generation() != 1<<40+2 {
		t.Errorf("the next target is %+v", l.Target())
	}
}
