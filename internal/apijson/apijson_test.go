package apijson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/protocol"
)

// inner and outer are the values in TestShapes.
type inner struct {
	HostID uint64
	Wait   time.Duration
}

type outer struct {
	inner
	Name    string `need:"true"`
	Data    []byte
	Verb    rollout.ActionKind
	Parts   []inner
	More    *inner
	Is      bool
	Percent int
	At      time.Time
}

// TestShapes: values have one JSON form, and decode to the same value.
func TestShapes(t *testing.T) {
	for want, v := range map[string]outer{
		`{"name":"n","is":false,"parts":[]}`: {Name: "n"},
		`{"host_id":"18446744073709551615","wait_ms":1500,"name":"n","data":"text","verb":"rollback",` +
			`"parts":[{"host_id":"1"}],"more":{"wait_ms":1},"is":true,"percent":7,"at":"2026-01-02T03:04:05Z"}`: {
			inner: inner{1<<64 - 1, 1500 * time.Millisecond}, Name: "n", Data: []byte("text"), Verb: rollout.Rollback,
			Parts: []inner{{HostID: 1}}, More: &inner{Wait: time.Millisecond}, Is: true, Percent: 7,
			At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		},
		`{"name":"n","data_base64":"/wA=","parts":[],"is":false}`: {Name: "n", Data: []byte{255, 0}},
	} {
		text, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		var got, expected any
		if json.Unmarshal(text, &got) != nil || json.Unmarshal([]byte(want), &expected) != nil ||
			fmt.Sprint(got) != fmt.Sprint(expected) {
			t.Errorf("%s, want %s", text, want)
		}
		var back outer
		if err := Decode(text, &back); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if n, err := Length(v); err != nil || n != len(text) {
			t.Errorf("%s: length %d, %v", text, n, err)
		}
		if again, err := Encode(back); err != nil || !bytes.Equal(again, text) {
			t.Errorf("%s is read as %s: %v", text, again, err)
		}
	}
}

// alwaysThere is a value with fields that are never omitted.
type alwaysThere struct {
	Name string        `omit:"never"`
	Wait time.Duration `omit:"never"`
	Is   bool
	More uint64
}

// TestIDsAreAlwaysThere: the meta shard's id is 0, and programs read the id. Fields with the tag are there too.
func TestIDsAreAlwaysThere(t *testing.T) {
	type thing struct{ ID, Shard, Host uint64 }
	for want, v := range map[string]any{
		`{"id":"0","shard":"0"}`: thing{},
		`{"id":"0","shard":"1"}`: struct {
			ID    *uint64
			Entry uint64 `name:"id"`
			Shard uint64
		}{nil, 0, 1},
		`{}`: struct {
			ID uint64 `omit:"zero"`
		}{},
		`{"name":"","wait_ms":0,"is":false}`: alwaysThere{},
	} {
		if text, err := Encode(v); err != nil || string(text) != want {
			t.Errorf("%s, want %s: %v", text, want, err)
		}
	}
	s := Schemas{}
	s.Answer(reflect.TypeFor[thing]())
	if got := s["thing"]["required"]; fmt.Sprint(got) != "[id shard]" {
		t.Errorf("an answer requires %v", got)
	}
	s.Answer(reflect.TypeFor[alwaysThere]())
	if got := s["always_there"]["required"]; fmt.Sprint(got) != "[name wait_ms is]" {
		t.Errorf("an answer requires %v", got)
	}
}

// TestWhatIsNoRequestIsNamed: the error names the wrong member.
func TestWhatIsNoRequestIsNamed(t *testing.T) {
	for text, has := range map[string]string{
		``:                                      "not a JSON object",
		`[]`:                                    "not a JSON object",
		`{}`:                                    "name is missing",
		`{"name":1}`:                            "name is not a text",
		`{"name":"n","nam":1}`:                  "nam is unknown",
		`{"nam":"n"}`:                           "nam is unknown; known are host_id, wait_ms, name, data,",
		`{"name":"n","more":{"wai":1}}`:         "more.wai is unknown; known are host_id, wait_ms",
		`{"name":"n","wait_ms":"1s"}`:           "wait_ms is not a number of milliseconds",
		`{"name":"n","wait_ms":-1}`:             "wait_ms is not a number of milliseconds",
		`{"name":"n","host_id":-1}`:             "host_id is not a whole number",
		`{"name":"n","host_id":1.5}`:            "host_id is not a whole number",
		`{"name":"n","verb":"jump"}`:            "verb is not one of",
		`{"name":"n","data_base64":"%"}`:        "data_base64 is not base64",
		`{"name":"n","data":7}`:                 "data is not a text",
		`{"name":"n","parts":{}}`:               "parts is not a list",
		`{"name":"n","parts":[{"host_id":{}}]}`: "parts[0].host_id is not a whole number",
		`{"name":"n","is":"yes"}`:               "is is not a boolean",
		`{"name":"n","name":"n"}`:               "name is given more than once",
		`{"name":"n","nam\u0065":"m"}`:          "name is given more than once",
		`{"name":"n","more":{"wait_ms":1,"wait_ms":1}}`:       "more.wait_ms is given more than once",
		`{"name":"n","parts":[{},{"host_id":1,"host_id":2}]}`: "parts[1].host_id is given more than once",
		`{"name":"n","data":"a","data_base64":"/wA="}`:        "data is given more than once: as text and in base64",
		`{"name":"n"}{}`: "not a JSON object",
		`{"name":"n",}`:  "not a JSON object",
		`null`:           "name is missing",
	} {
		var into outer
		if err := Decode([]byte(text), &into); err == nil || !strings.Contains(err.Error(), has) {
			t.Errorf("%s: %v, want %q", text, err, has)
		}
	}
	var into outer
	for name, has := range map[string]string{"nam": "the parameter nam is unknown; known are host_id",
		"data_base64": "unknown parameter data_base64"} {
		err := DecodeQuery(map[string][]string{name: {"n"}}, &into)
		if err == nil || !strings.Contains(err.Error(), has) {
			t.Errorf("?%s=n: %v, want %q", name, err, has)
		}
	}
}

// written is a value that is only encoded.
type written struct {
	Limit  uint64
	Count  uint64
	Wait   time.Duration
	Domain domain
	Err    error
	Raw    json.RawMessage
	Items  []InNode[*inner]
	Inner  map[string]string
}

// domain is a type with a text.
type domain []string

// MarshalText implements encoding.TextMarshaler.
func (d domain) MarshalText() ([]byte, error) { return []byte(strings.Join(d, ",")), nil }

// TestWhatIsOnlyWritten: amounts without a bound are a word, a wait without an end stays below zero, text has no
// escapes for HTML, and a type with a text is that text.
func TestWhatIsOnlyWritten(t *testing.T) {
	for want, v := range map[string]any{
		`{"limit":"all","count":"3","wait_ms":-1,"items":[]}`: written{Limit: protocol.Exclusive, Count: 3, Wait: -1},
		`{"domain":"dc=a,rack=1","err":"<no>","raw":[1],"items":[{"node":"/a","host_id":"7"}]}`: written{
			Domain: domain{"dc=a", "rack=1"}, Err: errors.New("<no>"), Raw: json.RawMessage("[1]"),
			Items: []InNode[*inner]{{"/a", &inner{HostID: 7}}},
		},
		`{"items":[],"inner":{"a":"<b>"}}`: &written{Inner: map[string]string{"a": "<b>"}},
		`{"phase":"idle"}`:                 struct{ Phase rollout.Phase }{},
		`{}`:                               struct{ Cause rollout.Cause }{},
		`{"changed":false}`:                Done{},
		`null`:                             nil,
	} {
		if text, err := Encode(v); err != nil || string(text) != want {
			t.Errorf("%s, %v; want %s", text, err, want)
		}
	}
	if text, err := Encode(make(chan int)); err == nil {
		t.Errorf("a channel is %s", text)
	}
}

// TestSchemas: a request field is required if it has the tag, an answer field if it is never omitted.
func TestSchemas(t *testing.T) {
	s := Schemas{}
	required := func(of Schema) []string {
		name := strings.TrimPrefix(of["$ref"].(string), "#/components/schemas/")
		list, _ := s[name]["required"].([]string)
		return list
	}
	if got := required(s.Request(reflect.TypeFor[outer]())); fmt.Sprint(got) != "[name]" {
		t.Errorf("a request requires %v", got)
	}
	if got := required(s.Answer(reflect.TypeFor[outer]())); fmt.Sprint(got) != "[name]" {
		t.Errorf("an answer that is a request too requires %v", got)
	}
	if got := required(s.Answer(reflect.TypeFor[InNode[*written]]())); fmt.Sprint(got) != "[node items]" {
		t.Errorf("an answer requires %v", got)
	}
	if s["in_node_written"] == nil || s["outer"] == nil {
		t.Errorf("the names of schemas are %v", s)
	}
}
