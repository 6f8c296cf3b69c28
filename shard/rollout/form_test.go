package rollout

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// formSamples are the commands with all of their fields set, and with none.
func formSamples() []formSample {
	spec := parseSpec(strings.Fields("sas man:5000 gates=man:errors,latency source=asked"))
	spec.Reelect.Codes = []string{"out-of-range"}
	return []formSample{
		said("put", "a put", kind.Put{
			Mode: field.PutEither, ExpectedRevision: 7, Spec: spec, By: kind.ChangeInfo{Author: "op", Reason: "why"},
		}),
		said("publication", "a publication", kind.Publication{
			Label: "v", By: kind.ChangeInfo{Author: "op", Reason: "why"}, Expected: 3, Compare: true, Fence: 9,
		}),
		said("role of a source", "a role", kind.SourceRole{Off: true, Name: "generator"}),
		said("offering", "a offering", kind.Offering{
			Ticket: 4, Declined: true, Text: "down", Label: "v", Author: "op",
		}),
		said("joining", "a joining", kind.Instance{Name: "a", Location: "sas", Attributes: []byte("{}")}),
		sampleOf("report", Report{
			Current: 1, Generation: 2, Status: kind.Failed, Code: "exit-1", Text: "no", Attempts: 4,
		}, AppendReport, ParseReport),
		said("act", "a act", kind.Action{
			Kind: kind.Rollback, Locations: []string{"sas", "man"}, Seq: 3, Fast: true,
			By: kind.ChangeInfo{Author: "op", Reason: "why"},
		}),
		said("verdict", "a verdict", kind.GateReport{
			Location: "man", Gate: "errors", Seq: 1, Generation: 2,
			Verdict: kind.Verdict{Result: kind.GateFailed, Text: "no"}, By: "checker",
		}),
		sampleOf("target", Target{Generation: 1, Seq: 2, NextIn: 3}, appendTarget, ParseTarget),
	}
}

// said is a sample of a type in package protocol/rollout.
func said[T any, P interface {
	*T
	field.Value
}](name, command string, full T) formSample {
	return sampleOf(name, full, func(dst []byte, v T) []byte { return Append(dst, P(&v)) },
		func(src []byte) (T, error) { return Parse[T, P](src, command) })
}

type formSample struct {
	name string
	full []byte // the form with all fields set
	// again reads bytes and writes the result; is reports whether the result equals the sample.
	again func(src []byte) (dst []byte, is bool, err error)
}

func sampleOf[T any](name string, full T, write func([]byte, T) []byte, read func([]byte) (T, error)) formSample {
	return formSample{
		name: name, full: write(nil, full),
		again: func(src []byte) ([]byte, bool, error) {
			v, err := read(src)
			return write(nil, v), reflect.DeepEqual(v, full), err
		},
	}
}

func TestAFormIsReadAsItWasWritten(t *testing.T) {
	for _, s := range formSamples() {
		again, is, err := s.again(s.full)
		if err != nil || !is || !bytes.Equal(again, s.full) {
			t.Errorf("%s: %v; read as it was: %v", s.name, err, is)
		}
		for n := range s.full {
			if _, _, err := s.again(s.full[:n]); !errors.Is(err, ErrForm) {
				t.Errorf("%s cut to %d of %d bytes: %v", s.name, n, len(s.full), err)
			}
		}
		for name, wrong := range map[string][]byte{
			"a byte behind":  append(bytes.Clone(s.full), 0),
			"another form":   append([]byte{formNumber + 1}, s.full[1:]...),
			"a longer zero":  append([]byte{formNumber | 0x80, 0}, s.full[1:]...),
			"a huge length":  []byte{formNumber, 0xff, 0xff, 0xff, 0x7f},
			"nothing at all": nil,
		} {
			if _, _, err := s.again(wrong); !errors.Is(err, ErrForm) {
				t.Errorf("%s with %s: %v", s.name, name, err)
			}
		}
	}
}

// TestAFormHasNoMoreThanARolloutMayHave: excessive lengths are refused on reading.
func TestAFormHasNoMoreThanARolloutMayHave(t *testing.T) {
	long := strings.Repeat("x", kind.MaxAttributes+1)
	for name, c := range map[string]struct {
		form  []byte
		again func([]byte) error
	}{
		"attributes": {
			Append(nil, &kind.Instance{Name: "a", Location: "sas", Attributes: []byte(long)}),
			func(b []byte) error { _, err := Parse[kind.Instance](b, "a joining"); return err },
		},
		"text": {
			AppendReport(nil, Report{Status: kind.Failed, Text: long[:kind.MaxText+1]}),
			func(b []byte) error { _, err := ParseReport(b); return err },
		},
		"locations": {
			Append(nil, &kind.Action{Kind: kind.Pause, Locations: make([]string, kind.MaxLocations+1)}),
			func(b []byte) error { _, err := Parse[kind.Action](b, "a act"); return err },
		},
	} {
		if err := c.again(c.form); !errors.Is(err, ErrForm) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzForms(f *testing.F) {
	samples := formSamples()
	for k, s := range samples {
		f.Add(k, s.full)
	}
	f.Fuzz(func(t *testing.T, k int, src []byte) {
		s := samples[uint(k)%uint(len(samples))]
		again, _, err := s.again(src)
		if longest := binary.AppendUvarint(nil, field.MillisOf(math.MaxInt64-999_999)); bytes.Contains(again, longest) {
			return // longer times become the longest, which no spec may have
		}
		if err == nil && !bytes.Equal(src, again) {
			t.Errorf("a %s has two forms", s.name)
		}
	})
}
