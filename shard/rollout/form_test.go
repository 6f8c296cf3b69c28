package rollout

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// formSamples are the commands with all of their fields set, and with none.
func formSamples() []formSample {
	spec := parseSpec(strings.Fields("sas man:5000 gates=man:errors,latency source=asked"))
	spec.Reelect.Codes = []string{"out-of-range"}
	published := Publication{
		Label: "v", Author: "op", Reason: "why", Expected: 3, Compare: true, Fence: 9, Payload: []byte("payload"),
	}
	return []formSample{
		sampleOf("put", Put{Mode: PutEither, ExpectedRevision: 7, Spec: spec, Author: "op", Reason: "why"},
			AppendPut, ParsePut),
		sampleOf("publication", published, AppendPublication,
			func(src []byte) (Publication, error) { return ParsePublication(src, published.Payload) }),
		sampleOf("role of a source", SourceRole{Off: true, Name: "generator"}, AppendSourceRole, ParseSourceRole),
		sampleOf("offering", Offering{
			Ticket: 4, Declined: true, Text: "down",
			Version: Publication{Label: "v", Author: "op", Payload: []byte("payload")},
		}, AppendOffering, func(src []byte) (Offering, error) { return ParseOffering(src, []byte("payload")) }),
		sampleOf("joining", Joining{Instance: "a", Location: "sas", Attributes: "{}"}, AppendJoining, ParseJoining),
		sampleOf("report", Report{
			Current: 1, Generation: 2, Status: StatusFailed, Code: "exit-1", Text: "no", Attempts: 4,
		}, AppendReport, ParseReport),
		sampleOf("act", Act{
			Verb: VerbRollback, Locations: []string{"sas", "man"}, Seq: 3, Fast: true, Author: "op", Reason: "why",
		}, AppendAct, ParseAct),
		sampleOf("verdict", GateVerdict{
			Location: "man", Gate: "errors", Seq: 1, Generation: 2, Verdict: VerdictFailed, By: "checker", Text: "no",
		}, AppendVerdict, ParseVerdict),
		sampleOf("target", Target{Generation: 1, Seq: 2, NextIn: 3}, AppendTarget, ParseTarget),
	}
}

type formSample struct {
	name string
	full []byte // the form with all fields set
	// again reads bytes and writes what was read; is reports whether that is the sample.
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

// TestAFormHasNoMoreThanARolloutMayHave: what is too long is refused where it is read.
func TestAFormHasNoMoreThanARolloutMayHave(t *testing.T) {
	long := strings.Repeat("x", MaxAttributes+1)
	for name, c := range map[string]struct {
		form  []byte
		again func([]byte) error
	}{
		"attributes": {
			AppendJoining(nil, Joining{Instance: "a", Location: "sas", Attributes: long}),
			func(b []byte) error { _, err := ParseJoining(b); return err },
		},
		"text": {
			AppendReport(nil, Report{Status: StatusFailed, Text: long[:MaxText+1]}),
			func(b []byte) error { _, err := ParseReport(b); return err },
		},
		"locations": {
			AppendAct(nil, Act{Verb: VerbPause, Locations: make([]string, MaxLocations+1)}),
			func(b []byte) error { _, err := ParseAct(b); return err },
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
		if again, _, err := s.again(src); err == nil && !bytes.Equal(src, again) {
			t.Errorf("a %s has two forms", s.name)
		}
	})
}
