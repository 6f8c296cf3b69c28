package protocol

import (
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
)

// levelName returns the name under which the table of levels has a kind: an answer comes with its request.
func levelName(kind string) string {
	switch kind {
	case "WELCOME":
		return "HELLO"
	case "PONG":
		return "PING"
	}
	return strings.TrimSuffix(kind, "_ANSWER")
}

// TestEveryMessageHasItsLevel: whoever adds a message says in protocol/level/table.go which level brings it. (A message
// that has no row stops every program on its start.)
func TestEveryMessageHasItsLevel(t *testing.T) {
	var known, rows []string
	for _, k := range knownKinds() {
		if !k.IsAnswer() {
			known = append(known, k.String())
		}
	}
	for _, r := range level.Rows() {
		if r.Kind == level.Message && r.Level <= level.Newest {
			rows = append(rows, r.Name)
		}
	}
	slices.Sort(known)
	slices.Sort(rows)
	if !slices.Equal(known, rows) {
		t.Errorf("known are  %v\nrows are of %v", known, rows)
	}
}

// What came with a level that this build cannot follow is answered and ignored as any unknown kind is.
func TestMessagesOfLaterLevelsAreNotKnown(t *testing.T) {
	known := knownKinds()
	for k := Kind(1); k <= maxPush2; k++ {
		r, a := Request{Kind: k}, Answer{Kind: k}
		if has := r.Message() != nil || a.Message() != nil || a.Push() != nil; has != slices.Contains(known, k) {
			t.Errorf("%s: it has a message: %v", k, has)
		}
	}
	resize := SemaphoreResize{}
	_, err := NewRequestDecoder(MaxDataBytes).Decode(sample{kind: resize.Kind(), id: 3, message: &resize}.payload())
	then, _ := afterRequestOrGood(t, err)
	if want := map[bool]string{true: "", false: "UNSUPPORTED"}[level.Newest >= level.Of(level.Message, "SEMAPHORE_RESIZE")]; then != want {
		t.Errorf("%s (%v), want %s", then, err, want)
	}
}

func afterRequestOrGood(t *testing.T, err error) (then, answer string) {
	t.Helper()
	if err == nil {
		return "", ""
	}
	return afterRequest(t, err)
}
