package rollout

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// full is a rollout with something of everything.
const full = `
	spec sas man:5000 vla:5000 gates=man:errors,load source=asked
	source 1
	source 2
	leader a.sas
	leader b.man
	join c.vla
	offer 1 1
	reach a.sas
	at 6000
	ask a.sas
	offer 1 2
	reach b.man
	gate man errors 1 failed
	fail a.sas - 9
	publish
	act bypass vla
	act pause
	act abort
	decline 1 3`

func TestWhatIsSavedIsLoaded(t *testing.T) {
	s := play(t, strings.TrimSuffix(full, "decline 1 3"))
	saved := s.Save(nil)
	loaded, err := Load(saved)
	if err != nil {
		t.Fatal(err)
	}
	if again := loaded.Save(nil); !bytes.Equal(saved, again) || loaded.Size() != s.Size() {
		t.Errorf("%d bytes became %d, size %d became %d", len(saved), len(again), s.Size(), loaded.Size())
	}
	for name, i := range s.instances {
		copied := Instance{ID: i.ID}
		if err := copied.Load(i.Save(nil)); err != nil {
			t.Fatal(err)
		}
		copied.place, copied.live = i.place, i.live // set by Attach
		if copied != *i {
			t.Errorf("%s is %+v and was %+v", name, copied, *i)
		}
	}
}

// TestLoadIsStrict: truncated, extended or malformed bytes are refused, and so is every rollout that the package would
// not have saved.
func TestLoadIsStrict(t *testing.T) {
	s := play(t, strings.TrimSuffix(full, "decline 1 3"))
	saved := s.Save(nil)
	for n := range saved {
		if _, err := Load(saved[:n]); err == nil {
			t.Fatalf("the first %d bytes of %d are loaded", n, len(saved))
		}
	}
	if _, err := Load(append(bytes.Clone(saved), 0)); !errors.Is(err, ErrForm) {
		t.Errorf("a byte too many: %v", err)
	}
	if _, err := Load(append([]byte{formNumber + 1}, saved[1:]...)); !errors.Is(err, ErrNewerForm) {
		t.Errorf("a later form: %v", err)
	}
	for name, spoil := range map[string]func(r *Rollout){
		"a target that is not kept":      func(r *Rollout) { r.versions = r.versions[1:] },
		"a version beyond the last":      func(r *Rollout) { r.lastSeq = 1 },
		"a generation beyond the last":   func(r *Rollout) { r.generation = 1 },
		"a location twice":               func(r *Rollout) { r.locations[1].ID = r.locations[0].ID },
		"a location without a name":      func(r *Rollout) { r.locations[1].Spec.Name = "" },
		"a gate that the spec has not":   func(r *Rollout) { r.locations[1].Gates[0].Name = "other" },
		"a gate too few":                 func(r *Rollout) { r.locations[1].Gates = r.locations[1].Gates[1:] },
		"a ticket of no source":          func(r *Rollout) { r.ticket = Ticket{Number: 1, Source: 99} },
		"a halt without a reason":        func(r *Rollout) { r.halted.Reason = 0 },
		"a source twice":                 func(r *Rollout) { r.sources[1].ID = r.sources[0].ID },
		"a way back to nothing":          func(r *Rollout) { r.locations[0].Back = 77 },
		"rows out of order":              func(r *Rollout) { r.locations[0].History[0].Generation = 9 },
		"a first location with a delay":  func(r *Rollout) { r.locations[0].Spec.Delay = 1 },
		"a history longer than is kept":  func(r *Rollout) { r.rules.KeepVersions = 1 },
		"a delay that nothing passed on": func(r *Rollout) { r.locations[1].Inherited = 1 << 60 },
		"an act without a verb":          func(r *Rollout) { r.audit[0].Kind = 0 },
	} {
		copied := s.reloaded(t)
		spoil(copied)
		if _, err := Load(copied.Save(nil)); !errors.Is(err, ErrForm) {
			t.Errorf("%s: %v", name, err)
		}
	}
	i := s.instances["a.sas"]
	for name, spoil := range map[string]func(i *Instance){
		"no name":                        func(i *Instance) { i.Name = "" },
		"no location":                    func(i *Instance) { i.location = 0 },
		"a report of what was not sent":  func(i *Instance) { i.Sent = 0 },
		"a code without a failure":       func(i *Instance) { i.Status, i.Code = kind.OK, "x" },
		"a signal without a failure":     func(i *Instance) { i.Status = kind.OK },
		"a status that is not known":     func(i *Instance) { i.Status = kind.Statuses },
		"a name that is longer than may": func(i *Instance) { i.Name = strings.Repeat("x", kind.MaxText+1) },
	} {
		copied := *i
		spoil(&copied)
		if err := new(Instance).Load(copied.Save(nil)); !errors.Is(err, ErrForm) {
			t.Errorf("an instance with %s: %v", name, err)
		}
	}
	for name, spoil := range map[string]func(i *Instance){
		"beyond the last location": func(i *Instance) { i.location = 99 },
		"of another location":      func(i *Instance) { i.Location = "man" },
		"that has reported too much": func(i *Instance) {
			i.Generation, i.Sent = 99, 99
		},
	} {
		copied := *i
		spoil(&copied)
		if err := s.reloaded(t).Attach(&copied); !errors.Is(err, ErrForm) {
			t.Errorf("an instance %s: %v", name, err)
		}
	}
}

// reloaded is the rollout after a save and load, without its instances.
func (s *script) reloaded(t *testing.T) *Rollout {
	t.Helper()
	loaded, err := Load(s.Save(nil))
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// FuzzLoad: loadable bytes are the only encoding of their content, and the rollout works.
func FuzzLoad(f *testing.F) {
	r, _ := New(At{Now: 1, Revision: 1, Out: new(Effects)}, parseSpec([]string{"sas", "man:5"}), kind.ChangeInfo{})
	f.Add(r.Save(nil), (&Instance{Name: "a", Location: "sas", location: 1}).Save(nil))
	at := At{Now: 1, Revision: 2, Out: new(Effects)}
	r.Publish(at, kind.Publication{Payload: []byte("x")})
	var i Instance
	r.Join(at, &i, "a", "sas", "")
	f.Add(r.Save(nil), i.Save(nil))
	r.SetRole(at, &i, Leader)
	r.Report(at, &i, Report{Current: 1, Generation: 1})
	r.addSource(at, Source{ID: 1})
	f.Add(r.Save(nil), i.Save(nil))
	f.Fuzz(func(t *testing.T, saved, instance []byte) {
		var i Instance
		if i.Load(instance) == nil && !bytes.Equal(instance, i.Save(nil)) {
			t.Fatal("an instance has two forms")
		}
		r, err := Load(saved)
		if err != nil {
			return
		}
		if !bytes.Equal(saved, r.Save(nil)) {
			t.Fatal("a rollout has two forms")
		}
		joined := i.Name != "" && r.Attach(&i) == nil
		out := new(Effects)
		at := At{Now: 1 << 40, Revision: 1 << 40, Out: out}
		r.Due(at)
		r.Publish(at, kind.Publication{})
		if joined {
			r.Ask(at, &i, i.Report)
			r.SetRole(at, &i, Leader)
		}
		for verb := range kind.ActionKinds {
			r.Act(at, kind.Action{Kind: verb, Seq: r.lastSeq, Fast: true})
		}
		r.Why(at.Now, at.Now, nil)
		if joined {
			r.Leave(at, &i)
		}
		r.Head()
		for _, l := range r.Locations() {
			l.View()
			r.TargetView(l)
		}
		for _, v := range r.Versions() {
			r.VersionView(v)
		}
	})
}
