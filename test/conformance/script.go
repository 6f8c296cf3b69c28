package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
)

// Script is one script: hosts and steps.
type Script struct {
	// Name is used on the command line; the name says how a passing client behaves.
	Name string `json:"name"`
	// About says for people why the behaviour matters.
	About string `json:"about"`
	// See is a heading in docs/protocol.md.
	See string `json:"see"`
	// Needs are driver abilities.
	Needs []string `json:"needs"`
	// Hosts is how many hosts there are, 1 for a 0. With Shards the hosts lead shards in turn; else the first
	// host leads the only shard.
	Hosts  int `json:"hosts"`
	Shards int `json:"shards"`
	// Home is the host for new sessions; 0 lets the client choose.
	Home uint64 `json:"home"`
	// Token lets clients in; empty lets all in.
	Token string `json:"token"`
	// InFlight is the maximum number of unanswered requests per connection; 0 means 1000.
	InFlight int `json:"in_flight"`
	// Kinds are the request kinds in the second block that hosts announce.
	Kinds []string `json:"kinds"`
	Steps []step   `json:"steps"`

	subject string // the file
}

// Is reports whether a name is the script's name, or its file's name.
func (s *Script) Is(name string) bool { return s.Name == name || s.subject == name }

// step is one step. Exactly one field in the first block is set; docs/conformance.md describes all.
type step struct {
	Do         string  `json:"do,omitempty"`
	Reply      string  `json:"reply,omitempty"`
	Event      string  `json:"event,omitempty"`
	NoEvent    string  `json:"no_event,omitempty"`
	On         string  `json:"on,omitempty"`
	Off        string  `json:"off,omitempty"`
	Comes      string  `json:"comes,omitempty"`
	Never      string  `json:"never,omitempty"`
	Count      string  `json:"count,omitempty"`
	Push       string  `json:"push,omitempty"`
	Raw        string  `json:"raw,omitempty"`
	Cut        *uint64 `json:"cut,omitempty"`
	Host       uint64  `json:"host,omitempty"`
	Lead       uint64  `json:"lead,omitempty"`
	Move       string  `json:"move,omitempty"`
	Lose       string  `json:"lose,omitempty"`
	Mark       string  `json:"mark,omitempty"`
	SleepMS    int     `json:"sleep_ms,omitempty"`
	PauseMS    int     `json:"pause_ms,omitempty"`
	Named      string  `json:"named,omitempty"`
	Closes     string  `json:"closes,omitempty"`
	CloseInput bool    `json:"close_input,omitempty"`
	Exit       *int    `json:"exit,omitempty"`
	Token      *string `json:"token,omitempty"`

	// For commands and replies.
	ID    string   `json:"id,omitempty"`
	With  object   `json:"with,omitempty"`
	Later bool     `json:"later,omitempty"`
	Gives object   `json:"gives,omitempty"`
	Error []string `json:"error,omitempty"`

	// For client messages and events.
	Where       object `json:"where,omitempty"`
	As          string `json:"as,omitempty"`
	WithinMS    int    `json:"within_ms,omitempty"`
	NotBeforeMS int    `json:"not_before_ms,omitempty"`
	After       string `json:"after,omitempty"`
	ForMS       int    `json:"for_ms,omitempty"`
	At          uint64 `json:"at,omitempty"` // a host
	Least       int    `json:"least,omitempty"`
	Most        *int   `json:"most,omitempty"`

	// For request handling.
	Times   *int   `json:"times,omitempty"` // 0 for all
	Answer  object `json:"answer,omitempty"`
	Refuse  object `json:"refuse,omitempty"`
	Done    bool   `json:"done,omitempty"`   // refused, and carried out
	Drop    bool   `json:"drop,omitempty"`   // neither carried out nor answered
	Silent  bool   `json:"silent,omitempty"` // carried out and not answered
	DelayMS int    `json:"delay_ms,omitempty"`
	Break   bool   `json:"break,omitempty"` // the connection is cut afterwards

	// For pushes, raw bytes, hosts and leaders.
	Fields object `json:"fields,omitempty"`
	Of     string `json:"of,omitempty"`   // request with the push's id
	Over   string `json:"over,omitempty"` // request with the connection to use
	Is     string `json:"is,omitempty"`
	Shard  uint64 `json:"shard,omitempty"`
}

// StepFields are the field names in steps.
func StepFields() []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[step]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// actions are the step's set fields in the first block.
func (s *step) actions() (set []string) {
	v := reflect.ValueOf(s).Elem()
	for i, name := range StepFields() {
		if name == "id" {
			break
		}
		if !v.Field(i).IsZero() {
			set = append(set, name)
		}
	}
	return set
}

// validate refuses unplayable steps.
func (s *step) validate() error {
	if actions := s.actions(); len(actions) != 1 {
		return fmt.Errorf("a step does one thing; this one has %v", actions)
	}
	kinds := theSchema()
	var err error
	switch {
	case s.Do != "" && s.ID == "":
		err = errors.New("a command needs an id")
	case s.On != "", s.Comes != "", s.Never != "", s.Count != "":
		var m *message
		if m, err = kinds.kind("request", s.On+s.Comes+s.Never+s.Count); err == nil {
			err = kinds.check(m.Fields, s.Where)
		}
	case s.Push != "":
		var m *message
		if m, err = kinds.kind("push", s.Push); err == nil {
			fields := append([]field{{Name: "status"}, {Name: "detail"}}, m.Fields...)
			err = kinds.check(fields, s.Fields)
		}
	case s.Host != 0 && s.Is != hostUp && s.Is != hostDown && s.Is != hostMute && s.Is != hostLagging:
		err = fmt.Errorf("a host cannot be %q", s.Is)
	}
	if err == nil && (s.Never != "" || s.NoEvent != "") && s.ForMS == 0 {
		err = errors.New("for_ms says for how long")
	}
	return err
}

// Load reads the scripts from all files, in file name order. Script names are unique across files, because people
// select scripts by name.
func Load(files fs.FS) ([]*Script, error) {
	names, err := fs.Glob(files, "*.json")
	if err != nil {
		return nil, err
	}
	var all []*Script
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		list, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("conform: %s: %w", name, err)
		}
		for _, s := range list {
			s.subject = strings.TrimSuffix(path.Base(name), ".json")
			if slices.ContainsFunc(all, func(other *Script) bool { return other.Name == s.Name }) {
				return nil, fmt.Errorf("conform: %s: two scripts are called %s", name, s.Name)
			}
			all = append(all, s)
		}
	}
	return all, nil
}

// parse reads a file: a list of scripts. Unknown fields are refused, because a misspelt bound would make a script that
// passes everything. Numbers keep all digits.
func parse(text []byte) ([]*Script, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	d.UseNumber()
	var list []*Script
	if err := d.Decode(&list); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something stands behind the list")
	}
	for _, s := range list {
		if s.Name == "" || s.About == "" || s.See == "" || len(s.Steps) == 0 {
			return nil, fmt.Errorf("the script %q needs a name, about, see and steps", s.Name)
		}
		for _, name := range s.Kinds {
			if _, err := theSchema().kind("request", name); err != nil {
				return nil, fmt.Errorf("%s: %w", s.Name, err)
			}
		}
		for i := range s.Steps {
			if err := s.Steps[i].validate(); err != nil {
				return nil, fmt.Errorf("%s, step %d: %w", s.Name, i+1, err)
			}
		}
	}
	return list, nil
}
