package protocol

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/tinylib/msgp/msgp"
)

var update = flag.Bool("update", false, "write testdata/vectors instead of comparing with it")

// A vector is one file in testdata/vectors/messages.
type vector struct {
	Kind      string          `json:"kind"`
	Number    Kind            `json:"number"`
	RequestID uint64          `json:"request_id"`
	Fields    json.RawMessage `json:"fields"`
	Frame     string          `json:"frame"`
}

func TestVectorsHoldEveryKind(t *testing.T) {
	missing := make(map[Kind]bool)
	for _, k := range knownKinds() {
		missing[k] = true
	}
	for _, e := range examples {
		delete(missing, e.sample.kind)
	}
	for k := range missing {
		t.Errorf("there is no example of %s", k)
	}
}

// TestVectorsShowEveryField: every message field must be non-zero in some example, or the vectors prove nothing about
// the field.
func TestVectorsShowEveryField(t *testing.T) {
	for _, k := range knownKinds() {
		shown := make(map[string]bool)
		zero := emptySample(t, k).render(t)
		for _, e := range examples {
			if e.sample.kind != k {
				continue
			}
			for name, value := range e.sample.render(t) {
				shown[name] = shown[name] || !reflect.DeepEqual(value, zero[name])
			}
		}
		for name := range zero {
			// Failures look the same in all answers; a few examples show failures.
			if !shown[name] && !(k.IsAnswer() && (name == "status" || name == "detail")) {
				t.Errorf("no example of %s shows %q", k, name)
			}
		}
	}
}

// TestVectorsAreWhatTheCodecWrites: the codec writes the frames in testdata/vectors, and reads the frames back.
func TestVectorsAreWhatTheCodecWrites(t *testing.T) {
	files := make(map[string]bool)
	for _, e := range examples {
		path := filepath.Join("testdata", "vectors", "messages", e.name+".json")
		files[path] = true
		t.Run(e.name, func(t *testing.T) {
			frame := e.sample.frame()
			text := marshal(t, vector{
				Kind: e.sample.kind.String(), Number: e.sample.kind, RequestID: e.sample.id,
				Fields: jsonObject(t, e.sample.render(t), schema(t, e.sample.kind)), Frame: hex.EncodeToString(frame),
			})
			compareFile(t, path, text)
			s, err := decodeSample(e.sample.kind, frame[FrameHeaderBytes:])
			if err != nil {
				t.Fatal(err)
			}
			if s.kind != e.sample.kind || s.id != e.sample.id {
				t.Errorf("decoded %s %d, want %s %d", s.kind, s.id, e.sample.kind, e.sample.id)
			}
			same(t, "decoded", s.render(t), e.sample.render(t))
		})
	}
	found, err := filepath.Glob(filepath.Join("testdata", "vectors", "messages", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		if !files[path] && !laterExamples[strings.TrimSuffix(filepath.Base(path), ".json")] {
			t.Errorf("%s belongs to no example", path)
		}
	}
}

// TestVectorsAreReadByAnotherImplementation: another msgpack implementation finds the contents listed in the files.
func TestVectorsAreReadByAnotherImplementation(t *testing.T) {
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			v := readVector(t, e.name)
			frame, err := hex.DecodeString(v.Frame)
			if err != nil {
				t.Fatal(err)
			}
			decoded, rest, err := msgp.ReadIntfBytes(frame[FrameHeaderBytes:])
			if err != nil || len(rest) > 0 {
				t.Fatalf("%v, %d bytes left", err, len(rest))
			}
			values := decoded.([]any)
			number := wireField{Type: "uint"}
			kind, id := renderDecoded(t, values[0], number), renderDecoded(t, values[1], number)
			if kind != uint64(v.Number) || id != v.RequestID {
				t.Errorf("got kind %v and id %v, want %d and %d", kind, id, v.Number, v.RequestID)
			}
			fields := schema(t, e.sample.kind)
			got := marshal(t, jsonObject(t, renderValues(t, values[2:], fields), fields))
			if want := marshal(t, v.Fields); !bytes.Equal(got, want) {
				t.Errorf("got %s\nwant %s", got, want)
			}
		})
	}
}

// addedFields were added after the first vectors were published. The vectors omit these fields if empty. So a vector
// never changes, and a client without a field still reads all vectors that omit the field.
var addedFields = map[string]bool{
	"push_kinds": true, "request_kinds": true, "semaphore_limit": true, "quota": true, "quota_objects": true,
	"quota_bytes": true, "object_kind": true,
}

// isEmpty reports whether a tree value equals a missing field.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			if !isEmpty(inner) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return value == uint64(0)
}

// jsonObject writes a tree as JSON, with fields in wire order. A number beyond a double becomes a string, so that every
// language can read the number.
func jsonObject(t *testing.T, tree map[string]any, fields []wireField) json.RawMessage {
	t.Helper()
	object := []byte{'{'}
	for _, f := range fields {
		if addedFields[f.Name] && isEmpty(tree[f.Name]) {
			continue
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(object, marshal(t, f.Name)...)
		object = append(object, ':')
		object = append(object, jsonValue(t, tree[f.Name], f)...)
	}
	return append(object, '}')
}

func jsonValue(t *testing.T, value any, f wireField) json.RawMessage {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		return jsonObject(t, v, f.Fields)
	case []any:
		items := make([]json.RawMessage, len(v))
		for i, item := range v {
			items[i] = jsonValue(t, item, f)
		}
		return marshal(t, items)
	case uint64:
		if text := strconv.FormatUint(v, 10); v > 1<<53-1 {
			return marshal(t, text)
		}
	}
	return marshal(t, value)
}

func readVector(t *testing.T, name string) vector {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "vectors", "messages", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var v vector
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// compareFile fails the test if the file is not as wanted, or writes the file with -update.
func compareFile(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from what the codec makes; if that is meant to be, run with -update\n got %s\nwant %s",
			path, got, want)
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
