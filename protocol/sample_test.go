package protocol

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol/field"
)

// A sample is a message in any direction, with its envelope.
type sample struct {
	kind    Kind
	id      uint64
	result  Result
	message any // a RequestMessage, an AnswerMessage, or a PushMessage; nil for the refusal of an unknown request
}

// everyPush is the push kinds of a client that understands all pushes.
var everyPush = func() KindSet {
	kinds := PushKinds()
	return ReadKinds(&kinds)
}()

// emptySample returns an empty sample for a kind.
func emptySample(t *testing.T, kind Kind) sample {
	t.Helper()
	var m any
	switch {
	case kind.IsRequest():
		m = (&Request{Kind: kind}).Message()
	case kind.IsAnswer():
		m = (&Answer{Kind: kind}).Message()
	default:
		m = (&Answer{Kind: kind}).Push()
	}
	if reflect.ValueOf(m).Kind() != reflect.Pointer {
		t.Fatalf("%s: no message", kind)
	}
	return sample{kind: kind, id: 1, message: m}
}

// frame encodes the sample.
func (s sample) frame() []byte { return s.encode(&s.result) }

// encode encodes the sample with a separate result.
func (s sample) encode(result *Result) []byte {
	var buf bytebufferpool.ByteBuffer
	e := NewEncoder()
	e.Understands(everyPush)
	switch m := s.message.(type) {
	case nil:
		e.Failure(&buf, s.id, s.kind-AnswerOffset, result)
	case RequestMessage:
		e.Request(&buf, s.id, m)
	case PushMessage:
		e.Push(&buf, s.id, m)
	case AnswerMessage:
		if s.result == (Result{}) {
			e.Answer(&buf, s.id, m)
			break
		}
		// A failure with trailing fields: hosts do not send one, but clients must read one.
		start := e.open(&buf, s.kind, s.id)
		e.codec.result(result)
		m.answerFields(e.codec)
		e.close(&buf, start)
	}
	return buf.B
}

// payload encodes the sample without the frame's length.
func (s sample) payload() []byte {
	return s.frame()[FrameHeaderBytes:]
}

// render renders the sample's fields.
func (s sample) render(t *testing.T) map[string]any {
	t.Helper()
	return renderMessage(t, s.kind, &s.result, s.message)
}

// decodeSample decodes a payload in the direction of kind. The sample is valid for as long as the payload.
func decodeSample(kind Kind, payload []byte) (sample, error) {
	if kind.IsRequest() {
		r, err := NewRequestDecoder(MaxDataBytes).Decode(payload)
		if err != nil {
			return sample{}, err
		}
		return sample{kind: r.Kind, id: r.ID, message: r.Message()}, nil
	}
	a, err := NewAnswerDecoder().Decode(payload)
	if err != nil {
		return sample{}, err
	}
	s := sample{kind: a.Kind, id: a.ID, result: a.Result}
	if m := a.Message(); m != nil {
		s.message = m
	} else if m := a.Push(); m != nil {
		s.message = m
	}
	return s, nil
}

// randomSample returns a message with random fields, each zero, small, large or at its limit.
func randomSample(t *testing.T, r *rand.Rand, kind Kind) sample {
	t.Helper()
	s := emptySample(t, kind)
	s.id = max(1, randomUint(r, ""))
	fields := schema(t, kind)
	if kind.IsAnswer() {
		if r.IntN(2) == 0 {
			outcome := struct{ Result Result }{}
			randomStruct(t, r, &outcome, fields[:2])
			s.result = outcome.Result
		}
		fields = fields[2:]
	}
	randomStruct(t, r, s.message, fields)
	return s
}

func randomStruct(t *testing.T, r *rand.Rand, v any, fields []wireField) {
	t.Helper()
	if of, ok := below(v); ok {
		randomSaid(r, of)
		return
	}
	values := make(map[string]reflect.Value)
	collect(values, reflect.ValueOf(v).Elem())
	if of, ok := values[embedded]; ok {
		randomSaid(r, of.Addr().Interface().(field.Value))
	}
	for _, f := range fields {
		if _, ok := values[f.Name]; ok && r.IntN(4) > 0 {
			randomValue(t, r, values[f.Name], f)
		}
	}
}

func randomValue(t *testing.T, r *rand.Rand, v reflect.Value, f wireField) {
	t.Helper()
	switch f.Type {
	case "uint":
		v.SetUint(randomUint(r, f.Limit))
	case "bool":
		v.SetBool(r.IntN(2) == 0)
	case "text":
		text := bytes.Repeat([]byte("aß語"), 200)[:6*r.IntN(200)]
		limit, _ := strconv.Atoi(f.Limit)
		text = bytes.ToValidUTF8(text[:min(limit, len(text))], nil)
		if v.Kind() == reflect.String {
			v.SetString(string(text))
		} else if len(text) > 0 {
			v.SetBytes(text)
		}
	case "bytes":
		limit, _ := strconv.Atoi(f.Limit)
		longest := 300
		if r.IntN(50) == 0 {
			longest = 70_000
		}
		if n := r.IntN(min(limit, longest) + 1); n > 0 {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			v.SetBytes(b)
		}
	case "record":
		if v.Type() == reflect.TypeFor[Result]() {
			result := v.Addr().Interface().(*Result)
			result.Message = "no such semaphore"
			result.WaitMillis = randomUint(r, "")
			result.Reason = AbortReason(r.IntN(256))
			result.Moved = Moved{ShardID: 3, LeaderHostID: randomUint(r, ""), LeaderAddress: "host:1"}
			result.Quota = Quota{Kind: QuotaKind(r.IntN(256)), Limit: randomUint(r, ""), Used: randomUint(r, "")}
			return
		}
		randomStruct(t, r, v.Addr().Interface(), f.Fields)
	case "list":
		if v.Kind() == reflect.Slice {
			n := r.IntN(40)
			if n > 0 {
				v.Set(reflect.MakeSlice(v.Type(), n, n))
			}
			for i := range n {
				randomSaid(r, v.Index(i).Addr().Interface().(field.Value))
			}
			return
		}
		v.Addr().Interface().(contents).grow(r.IntN(40), func(item any) {
			if f.Fields[0].Name == "" {
				randomValue(t, r, reflect.ValueOf(item).Elem(), f.Fields[0])
				return
			}
			randomStruct(t, r, item, f.Fields)
		})
	}
}

// randomUint returns a number with a random magnitude, up to the limit if limit is set.
func randomUint(r *rand.Rand, limit string) uint64 {
	n := r.Uint64() >> r.IntN(64)
	most, err := strconv.ParseUint(limit, 10, 64)
	if err != nil {
		return n
	}
	if r.IntN(4) == 0 {
		return most
	}
	return n % (most + 1)
}
