package meta

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard/internal/codec"
	"github.com/signalbox/signalbox/shard/internal/codec/codectest"
)

// plainFields are the fields in commands without a request.
var plainFields = map[CommandKind][]string{
	CmdNodeCreate:     {"Path", "Config"},
	CmdNodeAlter:      {"Path", "Node", "Config", "Expected"},
	CmdNodeDrop:       {"Path", "Node"},
	CmdGraceConfirmed: {"Node", "Expected"},
	CmdNodeCleared:    {"Node", "Shard"},
	CmdHostRegister: {"Host.ID", "Host.Name", "Host.RaftAddress", "Host.ClientAddress", "Host.AdminAddress",
		"Host.Version", "Host.Level"},
	CmdHostObservation: {"Host.ID", "Expected"},
	CmdClusterLevel:    {"Raise"},
	CmdDigestTake:      {"Digest"},
	CmdDigestCompare:   {"Digest", "Sum"},
	CmdLead:            {"Term"},
	CmdRoutingInit:     {"Cluster", "Shards"},
}

// unsavedFields are request fields filled in by the machine.
var unsavedFields = map[CommandKind][]string{CmdHostJoin: {"Join.Grace"}}

// laterFields are request fields written to a log only if at least one is set.
var laterFields = map[CommandKind][]string{CmdPolicySet: {"From.Replicas", "To.Replicas", "From.Tier", "To.Tier"}}

// TestBytesOfTheMetaShardAreWhatTheyWere: each command at its own and every later level, and the snapshot records.
func TestBytesOfTheMetaShardAreWhatTheyWere(t *testing.T) {
	var forms []codectest.Form
	for kind, name := range commandNames {
		kind := CommandKind(kind)
		switch {
		case name == "":
		case requests[kind] != nil:
			r := requests[kind]()
			forms = append(forms, codectest.Form{Name: fmt.Sprintf("command %d %s", kind, name), Of: r,
				Unsaved: unsavedFields[kind], Later: laterFields[kind],
				Write: func() []byte {
					w := codec.Writer(nil)
					r.code(w)
					return w.Data()
				}})
		default:
			forms = append(forms, plainForm(kind))
		}
	}
	origin := Command{Kind: CmdHostDrain, Request: &HostDrain{}}
	forms = append(forms, codectest.Form{Name: "origin", Of: &origin, Unsaved: fieldsBut("Origin"),
		Write: func() []byte {
			w := codec.Writer(nil)
			origin.code(w)
			return w.Data()
		}})
	forms = append(forms, recordForms()...)
	codectest.Check(t, "testdata/pins", forms...)
}

// fieldsBut returns a command's fields except the named fields and their subfields.
func fieldsBut(named ...string) (list []string) {
	for of, structure := range map[string]reflect.Type{
		"": reflect.TypeFor[Command](), "Host.": reflect.TypeFor[Host](),
	} {
		for i := range structure.NumField() {
			name := of + structure.Field(i).Name
			is := func(n string) bool { return n == name || strings.HasPrefix(n, name+".") }
			below := func(n string) bool { return strings.HasPrefix(n, of) }
			if !slices.ContainsFunc(named, is) && slices.ContainsFunc(named, below) {
				list = append(list, name)
			}
		}
	}
	return list
}

func plainForm(kind CommandKind) codectest.Form {
	c := Command{}
	saved := plainFields[kind]
	saved = append(slices.Clone(saved), "Numbered")
	unsaved := fieldsBut(append(saved, "Kind", "Level")...)
	return codectest.Form{Name: fmt.Sprintf("command %d %v", kind, kind), Of: &c,
		Unsaved: append(unsaved, "Kind", "Level"),
		Write: func() []byte {
			var body []byte
			body = codec.Save(body, func(f *codec.Coder) { _ = c.Numbered.fields(f) })
			c.Kind = kind
			body, err := appendCommand(body, &c)
			if err != nil {
				panic(err)
			}
			return body
		}}
}

// writing returns a function that writes fields.
func writing(fields func(*codec.Coder)) func() []byte {
	return func() []byte { return codec.Save(nil, fields) }
}

// recordForms are a snapshot's parts, except parts saved by other packages.
func recordForms() []codectest.Form {
	var (
		node    Node
		host    Host
		dropped Dropped
		routing Routing
		seen    HostObservation
		kept    Answer
	)
	forms := []codectest.Form{
		{Name: "node", Of: &node, Write: writing(node.fields)},
		{Name: "host", Of: &host, Write: writing(host.fields)},
		{Name: "dropped node", Of: &dropped, Write: writing(dropped.fields)},
		{Name: "slot table", Of: &routing, Unsaved: []string{"Ranges"}, Write: writing(routing.fields)},
	}
	forms = append(forms, codectest.Form{Name: "answer", Of: &kept,
		Write: writing(func(c *codec.Coder) { _ = kept.fields(c) })})
	forms = append(forms, codectest.Form{Name: "host that has seen", Of: &seen,
		Write: writing(seen.fields)})
	return forms
}
