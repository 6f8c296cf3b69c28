package protocol

import (
	"reflect"
	"slices"
	"testing"
)

func TestKindsAreNumberedByDirection(t *testing.T) {
	kinds := knownKinds()
	for k := range Kind(255) {
		directions := 0
		for _, in := range []bool{k.IsRequest(), k.IsAnswer(), k.IsPush()} {
			if in {
				directions++
			}
		}
		if want := slices.Contains(kinds, k); directions > 1 || want && directions == 0 {
			t.Errorf("%s (%d) has %d directions", k, k, directions)
		}
		if k.IsRequest() && (!k.Answer().IsAnswer() || slices.Contains(kinds, k) != slices.Contains(kinds, k.Answer())) {
			t.Errorf("the answer of %s (%d) is %s (%d)", k, k, k.Answer(), k.Answer())
		}
	}
}

// A kind must lead to the message that says it is of that kind, or encoding and decoding disagree.
func TestEveryKindHasItsMessage(t *testing.T) {
	kinds := knownKinds()
	for k := range Kind(255) {
		known := slices.Contains(kinds, k)
		if m := (&Request{Kind: k}).Message(); (m != nil) != (known && k.IsRequest()) || m != nil && m.Kind() != k {
			t.Errorf("%s (%d) leads to the request %T", k, k, m)
		}
		if m := (&Answer{Kind: k}).Message(); (m != nil) != (known && k.IsAnswer()) || m != nil && m.Kind() != k {
			t.Errorf("%s (%d) leads to the answer %T", k, k, m)
		}
		if m := (&Answer{Kind: k}).Push(); (m != nil) != (known && k.IsPush()) || m != nil && m.Kind() != k {
			t.Errorf("%s (%d) leads to the push %T", k, k, m)
		}
	}
}

// Every field of the unions must be the message of some kind.
func TestUnionsHoldNothingElse(t *testing.T) {
	requests := 0
	for _, k := range knownKinds() {
		if k.IsRequest() {
			requests++
		}
	}
	answers := len(knownKinds()) - requests
	if got, want := reflect.TypeFor[Request]().NumField(), requests+2; got != want {
		t.Errorf("Request has %d fields, want %d: a kind, an id, and %d messages", got, want, requests)
	}
	if got, want := reflect.TypeFor[Answer]().NumField(), answers+3; got != want {
		t.Errorf("Answer has %d fields, want %d: a kind, an id, a result, and %d messages", got, want, answers)
	}
}
