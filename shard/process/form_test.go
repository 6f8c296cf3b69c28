package process

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// formCase is an encoded command.
type formCase struct {
	name string
	want any
	form []byte
	// read returns the decoded bytes, and their encoding.
	read func(src []byte) (got any, form []byte, err error)
}

func formOf[T any](name string, want T, write func([]byte, T) []byte, parse func([]byte) (T, error)) formCase {
	return formCase{name, want, write(nil, want), func(src []byte) (any, []byte, error) {
		got, err := parse(src)
		return got, write(nil, got), err
	}}
}

// said is a case for a type in package protocol/process.
func said[T any, P interface {
	*T
	field.Value
}](name string, want T) formCase {
	return formOf(name, want, func(dst []byte, v T) []byte { return Append(dst, P(&v)) },
		func(src []byte) (T, error) { return Parse[T, P](src, name) })
}

func formCases() []formCase {
	by := kind.ChangeInfo{Author: "op", Reason: "why"}
	joining := kind.Joining{Name: "a", Attributes: []byte("zone=1"), Candidate: true}
	return []formCase{
		said("put", kind.Put{Mode: field.PutEither, ExpectedRevision: 7, Spec: defaultSpec(), By: by}),
		said("joining", kind.Arrival{Joining: joining}),
		said("creating", kind.Arrival{Joining: kind.Joining{Name: "a"}, Create: true, Spec: defaultSpec()}),
		formOf("receivers", Request{Audience: kind.ToOthers, To: []uint64{1, 2}}, AppendReceivers, parseReceivers),
		said("act", kind.Action{Kind: kind.ActionEvict, MemberID: 4, By: by}),
	}
}

// TestFormsOfCommands: written commands can be read; everything else is refused.
func TestFormsOfCommands(t *testing.T) {
	for _, c := range formCases() {
		got, form, err := c.read(c.form)
		if err != nil || !reflect.DeepEqual(got, c.want) || !bytes.Equal(form, c.form) {
			t.Errorf("%s: %+v became %+v: %v", c.name, c.want, got, err)
		}
		for n := range c.form {
			if _, _, err := c.read(c.form[:n]); !errors.Is(err, ErrForm) {
				t.Errorf("%s: the first %d bytes: %v", c.name, n, err)
			}
		}
		if _, _, err := c.read(append(c.form, 0)); !errors.Is(err, ErrForm) {
			t.Errorf("%s: a byte too many: %v", c.name, err)
		}
	}
}

// FuzzForms: readable bytes are the only encoding of their content.
func FuzzForms(f *testing.F) {
	cases := formCases()
	for k, c := range cases {
		f.Add(k, c.form)
	}
	f.Fuzz(func(t *testing.T, k int, src []byte) {
		c := cases[uint(k)%uint(len(cases))]
		_, form, err := c.read(src)
		if longest := binary.AppendUvarint(nil, field.MillisOf(math.MaxInt64-999_999)); bytes.Contains(form, longest) {
			return // longer times become the longest, which no spec may have
		}
		if err == nil && !bytes.Equal(form, src) {
			t.Errorf("a %s has two forms: %x and %x", c.name, src, form)
		}
	})
}

// TestWhatIsNotSoundIsRefused: commands with an invalid form.
func TestWhatIsNotSoundIsRefused(t *testing.T) {
	s := play(t, three)
	a, long := s.member("a"), strings.Repeat("x", kind.MaxAttributes+1)
	specs := map[string]func(spec *kind.Spec){
		"a delay longer than the longest": func(spec *kind.Spec) { spec.OpenDelay = spec.MaxOpenDelay + 1 },
		"a delay that is too long":        func(spec *kind.Spec) { spec.MaxOpenDelay = kind.MaxOpenDelay + 1 },
		"too many members":                func(spec *kind.Spec) { spec.MinMembers = kind.MaxMembers + 1 },
		"a timeout that is too long":      func(spec *kind.Spec) { spec.ReplyTimeout = kind.MaxTimeout + 1 },
		"an unknown setting":              func(spec *kind.Spec) { spec.OnTimeout = kind.TimeoutFail + 1 },
		"no payload":                      func(spec *kind.Spec) { spec.MaxPayload = 0 },
		"too many results":                func(spec *kind.Spec) { spec.KeepResults = kind.MaxKeep + 1 },
	}
	commands := map[string]func(at At) Answer{
		"a long author": func(at At) Answer {
			return s.Act(at, kind.Action{Kind: kind.ActionRestart, By: kind.ChangeInfo{Author: long}})
		},
		"an unknown act": func(at At) Answer { return s.Act(at, kind.Action{Kind: kind.ActionFailed}) },
		"a restart of one": func(at At) Answer {
			return s.Act(at, kind.Action{Kind: kind.ActionRestart,
				MemberID: a.ID})
		},
		"no name": func(at At) Answer { return s.Process.Join(at, &Member{ID: 99}, kind.Joining{}) },
		"long attributes": func(at At) Answer {
			return s.Process.Join(at, a, kind.Joining{Name: "a", Attributes: []byte(long)})
		},
		"a name of no text": func(at At) Answer {
			return s.Process.Join(at, &Member{ID: 99}, kind.Joining{Name: "\xff"})
		},
		"an unknown audience": func(at At) Answer {
			return s.Send(at, a, Request{Epoch: s.Epoch(), Audience: kind.Audiences})
		},
		"all, and some by name": func(at At) Answer {
			return s.Send(at, a, Request{Epoch: s.Epoch(), Audience: kind.ToAll, To: []uint64{a.ID}})
		},
		"too many receivers": func(at At) Answer {
			return s.Send(at, a, Request{Epoch: s.Epoch(), To: make([]uint64, kind.MaxMembers+1)})
		},
		"a long timeout": func(at At) Answer {
			timeout := field.MillisOf(kind.MaxTimeout) + 1
			return s.Send(at, a, Request{Epoch: s.Epoch(), Audience: kind.ToAll, Timeout: timeout})
		},
		"a long failure": func(at At) Answer {
			return s.Fail(at, a, s.Epoch(), strings.Repeat("x", kind.MaxFailure+1))
		},
		"a failure of no text": func(at At) Answer {
			return s.Reply(at, a, answering{Failed: true, Data: []byte{0xff}})
		},
	}
	for name, spoil := range specs {
		spec := defaultSpec()
		spoil(&spec)
		commands[name] = func(at At) Answer { return s.Alter(at, spec, kind.ChangeInfo{}) }
		if _, answer := newBed(spec); answer.Status != protocol.StatusBadRequest {
			t.Errorf("a process with %s: %v", name, answer)
		}
	}
	for name, command := range commands {
		if answer, err := s.bed.do(command); err != nil || answer.Status != protocol.StatusBadRequest {
			t.Errorf("%s: %v, %v", name, answer, err)
		}
	}
}

// TestViews: the head describes the state, and rows have a number each.
func TestViews(t *testing.T) {
	s := play(t, three+`
		complete a one
		restart more
		at 300
		round
		complete a two`)
	h := s.Head()
	if h.Epoch != s.Epoch() || h.Phase != kind.Complete || h.Members != 3 || h.Of != 3 || h.LastResult != s.Epoch() ||
		h.LastAct.Kind != kind.ActionRestart || h.LastAct.By.Reason != "more" || h.Spec != defaultSpec() {
		t.Errorf("%+v", h)
	}
	for _, c := range []struct {
		results bool
		want    int
	}{{false, 5}, {true, 2}} {
		n, last := 0, uint64(0)
		for row, ok := s.NextRow(c.results, 0); ok; row, ok = s.NextRow(c.results, row) {
			if row <= last || row&rowOfResult != 0 && s.Result(row>>RowBits) == nil ||
				row&rowOfResult == 0 && s.Member(row>>RowBits) == nil {
				t.Errorf("the row %d behind %d is none", row, last)
			}
			n, last = n+1, row
		}
		if n != c.want {
			t.Errorf("a view has %d rows", n)
		}
	}
	if ids, ok := s.View(s.Epoch()); !ok || len(ids) != 3 {
		t.Errorf("%v %v", ids, ok)
	}
	if _, ok := s.View(s.epochs[0]); ok || s.Result(1) != nil {
		t.Error("what is over is there")
	}
}
