package protocol

import (
	"reflect"
	"slices"
	"testing"

	"github.com/valyala/bytebufferpool"
)

func TestKindsAreNumberedByDirection(t *testing.T) {
	kinds := knownKinds()
	for k := range maxPush2 + 100 {
		directions := 0
		for _, in := range []bool{k.IsRequest(), k.IsAnswer(), k.IsPush()} {
			if in {
				directions++
			}
		}
		if want := slices.Contains(kinds, k); directions > 1 || want && directions == 0 {
			t.Errorf("%s (%d) has %d directions", k, k, directions)
		}
		if k.IsRequest() && (!k.Answer().IsAnswer() ||
			slices.Contains(kinds, k) != slices.Contains(kinds, k.Answer())) {
			t.Errorf("the answer of %s (%d) is %s (%d)", k, k, k.Answer(), k.Answer())
		}
	}
}

// TestEveryKindHasItsMessage: a kind must map to the message that returns the kind, or encoding and decoding disagree.
func TestEveryKindHasItsMessage(t *testing.T) {
	kinds := knownKinds()
	for k := range maxPush2 + 100 {
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

// TestUnionsHoldNothingElse: every field in the unions must be the message of some kind, including kinds unknown to
// this build.
func TestUnionsHoldNothingElse(t *testing.T) {
	requestRows, pushRows := 0, 0
	for _, row := range requests {
		if row.name != "" {
			requestRows++
		}
	}
	for _, name := range pushes {
		if name != "" {
			pushRows++
		}
	}
	if got, want := reflect.TypeFor[Request]().NumField(), requestRows+2; got != want {
		t.Errorf("Request has %d fields, want %d: a kind, an id, and %d messages", got, want, requestRows)
	}
	if got, want := reflect.TypeFor[Answer]().NumField(), requestRows+pushRows+3; got != want {
		t.Errorf("Answer has %d fields, want %d: a kind, an id, a result, and %d messages", got, want,
			requestRows+pushRows)
	}
}

// TestEveryRowIsComplete: every row states the right that its message needs. A message that needs no right neither
// reads nor changes a node.
func TestEveryRowIsComplete(t *testing.T) {
	free := []Kind{KindHello, KindPing, KindRouting, KindWatchStop, KindForwardedFor}
	for k, row := range requests {
		if row.name == "" {
			continue
		}
		if row.right == RightNone || row.right&^(RightAll|RightOpen) != 0 ||
			(row.right == RightOpen) != slices.Contains(free, Kind(k)) {
			t.Errorf("%s needs the right %v", row.name, row.right)
		}
	}

}

// Messages for new kinds in the second block.
type (
	laterRequest struct{ *Routing }
	laterAnswer  struct{ *WatchAnswer }
	laterPush    struct{ *RoutingChanged }
)

func (laterRequest) Kind() Kind { return KindRolloutPlan + 1 }
func (laterAnswer) Kind() Kind  { return laterRequest{}.Kind().Answer() }
func (laterPush) Kind() Kind    { return maxPush2 - 1 }

// TestARowMakesAKindKnown: besides its messages, a kind needs only a row in the table: then the kind is read, printed
// and announced.
func TestARowMakesAKindKnown(t *testing.T) {
	ask, word := laterRequest{&Routing{}}, laterPush{&RoutingChanged{}}
	requests[ask.Kind()] = requestRow{"LATER", RightRead}
	requestPlaces[ask.Kind()] = requestPlace{
		func(r *Request) RequestMessage { return laterRequest{&r.Routing} },
		func(a *Answer) AnswerMessage { return laterAnswer{&a.Watch} },
	}
	pushes[word.Kind()-minPush1] = "LATER_WORD"
	pushPlaces[word.Kind()-minPush1] = func(a *Answer) PushMessage { return laterPush{&a.RoutingChanged} }
	t.Cleanup(func() { requests[ask.Kind()], pushes[word.Kind()-minPush1] = requestRow{}, "" })

	if got := []string{ask.Kind().String(), ask.Kind().Answer().String(), word.Kind().String()}; !slices.Equal(got,
		[]string{"LATER", "LATER_ANSWER", "LATER_WORD"}) {
		t.Errorf("names %v", got)
	}
	for k, announced := range map[Kind]Kinds{ask.Kind(): RequestKinds(), word.Kind(): PushKinds()} {
		set := ReadKinds(&announced)
		for n := minRequest2; n <= maxPush2; n++ {
			want := n.IsKnown() && n.IsRequest() == k.IsRequest() && !n.IsAnswer() && !n.BetweenHosts()
			if set.has(n) != want {
				t.Errorf("with %v: %v is announced: %v, want %v", k, n, !want, want)
			}
		}
		if !set.has(k) {
			t.Errorf("%v is not announced", k)
		}
	}
	later := sample{id: 7, message: laterRequest{&Routing{KnownVersion: 3}}}
	r, err := NewRequestDecoder(MaxDataBytes).Decode(later.payload())
	if err != nil || r.Kind != ask.Kind() || r.Routing.KnownVersion != 3 {
		t.Errorf("the request is read as %+v, %v", r, err)
	}
	a, err := NewAnswerDecoder().Decode(sample{id: 7, message: laterAnswer{&WatchAnswer{}}}.payload())
	if err != nil || a.Kind != ask.Kind().Answer() || a.Message() == nil {
		t.Errorf("the answer is read as %v, %v", a, err)
	}
}

// TestPushesOfTheSecondBlockNeedTheirAnnouncement: a push in the second block goes only to a client that announced the
// kind.
func TestPushesOfTheSecondBlockNeedTheirAnnouncement(t *testing.T) {
	word := laterPush{&RoutingChanged{Version: 5}}
	shared := NewEncoder().SharedPush(word)
	send := func(e *Encoder) int {
		var buf bytebufferpool.ByteBuffer
		e.Push(&buf, 0, word)
		shared.Push(e, &buf, 0)
		return len(buf.B)
	}
	e := NewEncoder()
	if n := send(e); n != 0 {
		t.Errorf("%d bytes were sent to a client that announced nothing", n)
	}
	announced := list[KindNumber](ptr(KindNumber(word.Kind())))
	e.Understands(ReadKinds(&announced))
	// Two frames, each with a length, an array, a three-byte kind, an id and a version.
	if n := send(e); n != 2*(FrameHeaderBytes+1+3+1+1) {
		t.Errorf("%d bytes were sent to a client that announced it", n)
	}
	e.Understands(KindSet{})
	if n := send(e); n != 0 {
		t.Errorf("%d bytes were sent to a client that announced nothing", n)
	}
}

// TestOnlyKnownKindsHaveMessages: a kind without a row in the table has no message.
func TestOnlyKnownKindsHaveMessages(t *testing.T) {
	for k := Kind(1); k <= maxPush2; k++ {
		r, a := Request{Kind: k}, Answer{Kind: k}
		if has := r.Message() != nil || a.Message() != nil || a.Push() != nil; has != k.IsKnown() {
			t.Errorf("%s: it has a message: %v", k, has)
		}
	}
}
