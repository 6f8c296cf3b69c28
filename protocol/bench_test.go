package protocol

import (
	"slices"
	"testing"

	"github.com/valyala/bytebufferpool"
)

// typicalAcquire is a typical request to a busy service: a lock with a name in three parts, half a minute, and an
// address attached.
func typicalAcquire() *Acquire {
	return &Acquire{
		Mutation:   Mutation{SessionID: exampleSession, Sequence: 91_204, AcknowledgedSequence: 91_198},
		NodeID:     17,
		Name:       []byte("orders/eu-west/00417"),
		Count:      1,
		WaitMillis: 30_000,
		Data:       []byte("10.20.30.40:8080"),
	}
}

// fullPage is an answer with as many owners as a page holds.
func fullPage() *SemaphoreDescribeAnswer {
	m := &SemaphoreDescribeAnswer{Semaphore: exampleSemaphore()}
	owner := Owner{SessionID: exampleSession, Count: 1, Data: []byte("10.20.30.40:8080")}
	for range MaxPageItems {
		owner.OrderID++
		m.Owners.Append(owner)
	}
	return m
}

func TestTypicalAcquireIsSmall(t *testing.T) {
	if n := len(request(4711, typicalAcquire()).frame()); n >= 100 {
		t.Errorf("a typical acquire takes %d bytes", n)
	}
}

// hotMessages are the messages that a busy host and its clients exchange most.
func hotMessages() map[string]sample {
	return map[string]sample{
		"Acquire":       request(4711, typicalAcquire()),
		"AcquireAnswer": answer(4711, &AcquireAnswer{Outcome: Acquired, OrderID: 81_300}),
		"Release": request(4712, &Release{
			Mutation: exampleMutation(91_205), NodeID: 17, Name: []byte("orders/eu-west/00417"), OrderID: 81_300,
		}),
		"ReleaseAnswer": answer(4712, &ReleaseAnswer{Released: true}),
		"Granted":       push(4711, &Granted{OrderID: 81_300}),
		"Ping":          request(4713, &Ping{}),
	}
}

// coldKinds are messages for operators and publishers, for joining instances and members, for session starts and lists,
// and answers with views. Their values come from packages below protocol, and hold copies as texts and lists.
var coldKinds = []Kind{
	KindRolloutPut, KindRolloutPublish, KindRolloutSource, KindRolloutOffer, KindRolloutJoin, KindRolloutAction,
	KindRolloutGateReport, KindRolloutPlan, KindRolloutDescribe.Answer(), KindRolloutList.Answer(),
	KindRolloutPlan.Answer(),
	KindProcessPut, KindProcessAction, KindProcessJoin, KindProcessDescribe.Answer(), KindProcessList.Answer(),
	KindAccessChange, KindAccessList.Answer(), KindAccessCheck.Answer(), KindAccessDenials.Answer(),
	KindClusterDescribe.Answer(), KindClusterPlan.Answer(), KindClusterWhy.Answer(), KindPolicySet,
	KindSlotList.Answer(), KindRebalanceDescribe.Answer(), KindAuditRead.Answer(), KindJoinToken.Answer(),
	KindHealth.Answer(),
	KindSessionStart, KindSessionAttach, KindSessionDescribe.Answer(), KindSessionList.Answer(),
}

func TestEncodingAllocatesNothing(t *testing.T) {
	var buf bytebufferpool.ByteBuffer
	e := NewEncoder()
	for _, x := range examples {
		encode := encoding(x.sample, e, &buf)
		if n := testing.AllocsPerRun(20, encode); n != 0 && !slices.Contains(coldKinds, x.sample.kind) {
			t.Errorf("%s: %v allocations", x.name, n)
		}
	}
}

func TestDecodingRequestsAllocatesNothing(t *testing.T) {
	d := NewRequestDecoder(DefaultDataBytes)
	for _, x := range examples {
		if !x.sample.kind.IsRequest() || slices.Contains(coldKinds, x.sample.kind) {
			continue
		}
		payload := x.sample.payload()
		n := testing.AllocsPerRun(20, func() {
			if _, err := d.Decode(payload); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", x.name, n)
		}
	}
}

// TestDecodingAnswersAllocatesNothing: decoding an answer allocates only for a failure's strings.
func TestDecodingAnswersAllocatesNothing(t *testing.T) {
	d := NewAnswerDecoder()
	for _, x := range examples {
		if x.sample.kind.IsRequest() || slices.Contains(coldKinds, x.sample.kind) {
			continue
		}
		detail, _ := x.sample.render(t)["detail"].(map[string]any)
		strings := 0
		for _, field := range []string{"message", "leader_address"} {
			if text, _ := detail[field].(string); text != "" {
				strings++
			}
		}
		payload := x.sample.payload()
		n := testing.AllocsPerRun(20, func() {
			if _, err := d.Decode(payload); err != nil {
				t.Fatal(err)
			}
		})
		if n != float64(strings) {
			t.Errorf("%s: %v allocations for %d strings", x.name, n, strings)
		}
	}
	payload := answer(1, fullPage()).payload()
	n := testing.AllocsPerRun(20, func() {
		if _, err := d.Decode(payload); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("a page of %d owners: %v allocations", MaxPageItems, n)
	}
}

func BenchmarkEncodeAcquire(b *testing.B)       { benchmarkEncode(b, "Acquire") }
func BenchmarkEncodeAcquireAnswer(b *testing.B) { benchmarkEncode(b, "AcquireAnswer") }
func BenchmarkEncodeRelease(b *testing.B)       { benchmarkEncode(b, "Release") }
func BenchmarkEncodeGranted(b *testing.B)       { benchmarkEncode(b, "Granted") }
func BenchmarkEncodePing(b *testing.B)          { benchmarkEncode(b, "Ping") }

func BenchmarkDecodeAcquire(b *testing.B)       { benchmarkDecode(b, hotMessages()["Acquire"]) }
func BenchmarkDecodeAcquireAnswer(b *testing.B) { benchmarkDecode(b, hotMessages()["AcquireAnswer"]) }
func BenchmarkDecodeRelease(b *testing.B)       { benchmarkDecode(b, hotMessages()["Release"]) }
func BenchmarkDecodeGranted(b *testing.B)       { benchmarkDecode(b, hotMessages()["Granted"]) }
func BenchmarkDecodePing(b *testing.B)          { benchmarkDecode(b, hotMessages()["Ping"]) }
func BenchmarkDecodePage(b *testing.B)          { benchmarkDecode(b, answer(1, fullPage())) }

// BenchmarkEncodePage builds and encodes a page with owners.
func BenchmarkEncodePage(b *testing.B) {
	var buf bytebufferpool.ByteBuffer
	e := NewEncoder()
	m := &SemaphoreDescribeAnswer{Semaphore: exampleSemaphore()}
	owner := Owner{SessionID: exampleSession, Count: 1, Data: []byte("10.20.30.40:8080")}
	b.ReportAllocs()
	for b.Loop() {
		buf.Reset()
		m.Owners.Reset()
		for i := range uint64(MaxPageItems) {
			owner.OrderID = i
			m.Owners.Append(owner)
		}
		e.Answer(&buf, 1, m)
	}
	b.ReportMetric(float64(buf.Len()), "frame-bytes")
}

// BenchmarkReadPage ranges over a decoded page with owners.
func BenchmarkReadPage(b *testing.B) {
	m := fullPage()
	b.ReportAllocs()
	for b.Loop() {
		for o := range m.Owners.All() {
			if o.Count != 1 {
				b.Fatal(o)
			}
		}
	}
}

// BenchmarkSharedPush sends one delta to one more watcher.
func BenchmarkSharedPush(b *testing.B) {
	var buf bytebufferpool.ByteBuffer
	e := NewEncoder()
	shared := e.SharedPush(&WatchDelta{From: 8, To: 11, Joined: exampleOwners()})
	b.ReportAllocs()
	for b.Loop() {
		buf.Reset()
		shared.Push(e, &buf, 4711)
	}
}

func benchmarkEncode(b *testing.B, name string) {
	var buf bytebufferpool.ByteBuffer
	encode := encoding(hotMessages()[name], NewEncoder(), &buf)
	b.ReportAllocs()
	for b.Loop() {
		encode()
	}
	b.ReportMetric(float64(buf.Len()), "frame-bytes")
}

// encoding returns a function that encodes a sample into an emptied buffer.
func encoding(s sample, e *Encoder, buf *bytebufferpool.ByteBuffer) func() {
	switch m := s.message.(type) {
	case RequestMessage:
		return func() { buf.Reset(); e.Request(buf, s.id, m) }
	case PushMessage:
		return func() { buf.Reset(); e.Push(buf, s.id, m) }
	}
	if s.result.Status != StatusSuccess {
		return func() { buf.Reset(); e.Failure(buf, s.id, s.kind-AnswerOffset, &s.result) }
	}
	m := s.message.(AnswerMessage)
	return func() { buf.Reset(); e.Answer(buf, s.id, m) }
}

// benchmarkDecode finds and decodes one frame.
func benchmarkDecode(b *testing.B, s sample) {
	frame := s.frame()
	requests, answers := NewRequestDecoder(DefaultDataBytes), NewAnswerDecoder()
	isRequest := s.kind.IsRequest()
	b.ReportAllocs()
	for b.Loop() {
		payload, _, err := ScanFrame(frame, 1<<20)
		if err != nil {
			b.Fatal(err)
		}
		if isRequest {
			_, err = requests.Decode(payload)
		} else {
			_, err = answers.Decode(payload)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
