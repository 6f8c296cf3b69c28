package plan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// sample is a plan with every field of every record set.
func sample(t testing.TB) *Plan[move] {
	p := New(newConfig())
	for group := 1; group <= 3; group++ {
		pr := proposal(group % 3)
		pr.With = []Subject{Subject("host/b"), Subject("host/c")}
		id, out := p.Begin(at(1000, 5), 5, p.Revision(), pr)
		if out != Applied {
			t.Fatal(out)
		}
		if out := p.Progress(at(1100, 5), p.Step(id).Act(5), 2); out != Applied {
			t.Fatal(out)
		}
		report := p.Retry
		if group < 3 {
			report = p.Fail
		}
		if out := report(at(1200, 5), p.Step(id).Act(5), "no answer"); out != Applied {
			t.Fatal(out)
		}
	}
	return p
}

func TestAPlanIsReadAsItWasWritten(t *testing.T) {
	p := sample(t)
	got, err := Read(p.cfg, p.Append(nil))
	if err != nil || !reflect.DeepEqual(got.steps, p.steps) || !reflect.DeepEqual(got.backoffs, p.backoffs) ||
		got.last != p.last || got.revision != p.revision {
		t.Errorf("%v:\n%+v\n%+v", err, got, p)
	}
	empty, err := Read(p.cfg, New(p.cfg).Append(nil))
	if err != nil || !reflect.DeepEqual(empty, New(p.cfg)) {
		t.Errorf("an empty plan: %v %+v", err, empty)
	}
}

func TestNoByteOfAPlanCanBeMissing(t *testing.T) {
	p := sample(t)
	whole := p.Append(nil)
	for n := range whole {
		if _, err := Read(p.cfg, whole[:n]); !errors.Is(err, ErrForm) {
			t.Errorf("the first %d of %d bytes: %v", n, len(whole), err)
		}
	}
	if _, err := Read(p.cfg, append(whole, 0)); !errors.Is(err, ErrForm) {
		t.Errorf("a byte more: %v", err)
	}
}

func TestAFieldOfANewerBuildStopsTheReader(t *testing.T) {
	var known record
	body := append(binary.AppendUvarint(nil, 1<<len(known.fields())), 1)
	newer := append([]byte{byte(len(body))}, body...)
	if _, err := Read(newConfig(), append(newer, 0, 0)); !errors.Is(err, ErrNewer) {
		t.Errorf("a field more of the plan: %v", err)
	}
	if _, _, err := ReadAct(newer); !errors.Is(err, ErrNewer) {
		t.Errorf("a field more of an act: %v", err)
	}
	if _, _, err := newConfig().ReadProposal(newer); !errors.Is(err, ErrNewer) {
		t.Errorf("a field more of a proposal: %v", err)
	}
}

func TestWhatCannotBeIsNotRead(t *testing.T) {
	for what, spoil := range map[string]func(p *Plan[move]){
		"an id that was not given":  func(p *Plan[move]) { p.steps[0].ID = p.last + 1 },
		"no id":                     func(p *Plan[move]) { p.steps[0].ID = 0 },
		"an id that is there twice": func(p *Plan[move]) { p.steps = append(p.steps, p.steps[0]) },
		"two steps of one subject": func(p *Plan[move]) {
			p.steps = append(p.steps, p.steps[0])
			p.last++
			p.steps[1].ID++
		},
		"a step without a kind":        func(p *Plan[move]) { p.steps[0].Kind = 0 },
		"a step without a subject":     func(p *Plan[move]) { p.steps[0].Subject = "" },
		"a step that supersedes":       func(p *Plan[move]) { p.steps[0].Supersedes = 1 },
		"a back-off without a subject": func(p *Plan[move]) { p.backoffs[0].Subject = "" },
		"back-offs out of order":       func(p *Plan[move]) { p.backoffs[0].Subject = "z" },
		"a back-off of an open step": func(p *Plan[move]) {
			p.backoffs = p.backoffs[:1]
			p.backoffs[0].Subject = p.steps[0].Subject
		},
	} {
		p := sample(t)
		spoil(p)
		if _, err := Read(p.cfg, p.Append(nil)); !errors.Is(err, ErrForm) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestARecordHasOneForm(t *testing.T) {
	for what, src := range map[string][]byte{
		"a number that is longer than it need be": {3, 1, 0x85, 0x00},
		"a number that is there and zero":         {2, 1, 0},
		"a text that is there and empty":          {2, 4, 0},
		"a list that is there and empty":          {2, 8, 0},
		"a list that is longer than the bytes":    {2, 8, 8},
		"a text that is longer than the bytes":    {2, 4, 1},
		"bytes behind the last field":             {3, 1, 5, 0},
		"a record without its fields":             {0},
		"a kind that is too large":                (&record{kind: 1 << 8}).append(nil),
		"failures that are too many":              (&record{failures: 1 << 32}).append(nil),
		"a phase that is too large":               (&record{phase: 1 << 32}).append(nil),
		"an error that is too long":               (&record{lastError: strings.Repeat("e", MaxText+1)}).append(nil),
		"a list that is too long":                 (&record{with: make([]Subject, MaxWith+1)}).append(nil),
	} {
		in := newInput(src)
		if in.record(stepFields); !errors.Is(in.err(), ErrForm) {
			t.Errorf("%s: %v", what, in.err())
		}
	}
}

func TestEveryThingHasItsOwnFields(t *testing.T) {
	cfg := newConfig()
	read := map[string]func(src []byte) error{
		"plan":     func(src []byte) error { _, err := Read(cfg, append(src, 0, 0)); return err },
		"step":     func(src []byte) error { _, err := Read(cfg, append([]byte{1, 0, 1}, src...)); return err },
		"back-off": func(src []byte) error { _, err := Read(cfg, append([]byte{1, 0, 0, 1}, src...)); return err },
		"proposal": func(src []byte) error { _, _, err := cfg.ReadProposal(src); return err },
		"act":      func(src []byte) error { _, _, err := ReadAct(src); return err },
	}
	id, kind := (&record{id: 1}).append(nil), (&record{kind: 1}).append(nil)
	revision, term := (&record{revision: 1}).append(nil), (&record{term: 1}).append(nil)
	for what, foreign := range map[string][][]byte{
		"plan": {kind, term}, "step": {revision}, "back-off": {id, kind}, "proposal": {id, term},
		"act": {kind, revision},
	} {
		for _, src := range foreign {
			if err := read[what](src); !errors.Is(err, ErrNewer) {
				t.Errorf("a %s with the record %x: %v", what, src, err)
			}
		}
	}
	var all record
	for i, f := range all.fields() { // a field absent in all items would never be read
		if (planFields|stepFields)&(1<<i) == 0 || f.most == 0 {
			t.Errorf("field %d is of no thing", i)
		}
	}
}

func TestAProposalAndAnActAreReadAsTheyWereWritten(t *testing.T) {
	cfg, pr := newConfig(), proposal(1)
	pr.With, pr.Supersedes = []Subject{"host/b"}, 7
	act := Act{Step: 3, Phase: 1, Failures: 2, Term: 9}
	src := act.Append(cfg.AppendProposal(nil, &pr))
	gotProposal, rest, err := cfg.ReadProposal(src)
	if err != nil || !reflect.DeepEqual(gotProposal, pr) {
		t.Errorf("the proposal: %v %+v", err, gotProposal)
	}
	gotAct, rest, err := ReadAct(rest)
	if err != nil || gotAct != act || len(rest) != 0 {
		t.Errorf("the act: %v %+v, and %d bytes", err, gotAct, len(rest))
	}
}

func FuzzRead(f *testing.F) {
	f.Add(sample(f).Append(nil))
	f.Add(New(newConfig()).Append(nil))
	f.Add([]byte{1, 0, 1, 2, 2, 1, 0})
	f.Fuzz(func(t *testing.T, src []byte) {
		cfg := newConfig()
		if p, err := Read(cfg, src); err == nil {
			if !bytes.Equal(p.Append(nil), src) {
				t.Errorf("it is written otherwise than it was read")
			}
			for _, s := range p.Clone().Steps() {
				if out := p.Done(at(0, 1), s.Act(1)); out != Applied {
					t.Errorf("an open step cannot end: %v", out)
				}
			}
		} else if !errors.Is(err, ErrForm) && !errors.Is(err, ErrNewer) {
			t.Errorf("an error of another kind: %v", err)
		}
		if a, rest, err := ReadAct(src); err == nil {
			again, behind, err := ReadAct(a.Append(nil))
			if err != nil || again != a || len(behind) != 0 || len(rest) > len(src) {
				t.Errorf("an act is read otherwise: %v", err)
			}
		}
		if pr, _, err := cfg.ReadProposal(src); err == nil {
			again, _, err := cfg.ReadProposal(cfg.AppendProposal(nil, &pr))
			if err != nil || !reflect.DeepEqual(again, pr) {
				t.Errorf("a proposal is read otherwise: %v", err)
			}
		}
	})
}

func TestAnUnreadablePayloadIsRefused(t *testing.T) {
	r := record{payload: "\x00"}
	if _, _, err := newConfig().ReadProposal(r.append(nil)); !errors.Is(err, ErrForm) {
		t.Errorf("a payload of one byte: %v", err)
	}
}

// ReadAct reads the form of Act.Append, and returns the remaining bytes.
func ReadAct(src []byte) (Act, []byte, error) {
	in := newInput(src)
	r := in.record(actFields)
	return Act{Step: ID(r.id), Phase: Phase(r.phase), Failures: uint32(r.failures), Term: r.term}, in.Data, in.err()
}
