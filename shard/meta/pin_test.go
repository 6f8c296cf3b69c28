package meta

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/internal/form"
	"github.com/signalbox/signalbox/shard/internal/form/formtest"
)

// plainFields are the fields of the commands that are no requests.
var plainFields = map[CommandKind][]string{
	CmdNodeCreate:     {"Path", "Config"},
	CmdNodeAlter:      {"Path", "Node", "Config", "Expected"},
	CmdNodeDrop:       {"Path", "Node"},
	CmdGraceConfirmed: {"Node", "Expected"},
	CmdNodeCleared:    {"Node", "Shard"},
	CmdHostRegister: {"Host.ID", "Host.Name", "Host.RaftAddress", "Host.ClientAddress", "Host.AdminAddress",
		"Host.Version", "Host.Level"},
	CmdHostSeen:      {"Host.ID", "Expected"},
	CmdClusterLevel:  {"Raise"},
	CmdDigestTake:    {"Digest"},
	CmdDigestCompare: {"Digest", "Sum"},
	CmdLead:          {"Term"},
	CmdRoutingInit:   {"Cluster", "Shards"},
	CmdSlotsAssign:   {"First", "Last", "From", "To", "Expected"},
}

// unsavedFields are those of requests that the machine fills in.
var unsavedFields = map[CommandKind][]string{CmdHostJoin: {"Join.Grace"}}

// laterFields are those of requests that stand in a log only where one of them is set.
var laterFields = map[CommandKind][]string{CmdPolicySet: {"From.Replicas", "To.Replicas", "From.Tier", "To.Tier"}}

// TestBytesOfTheMetaShardAreWhatTheyWere: each command at each level from its own on, and the records of snapshots.
func TestBytesOfTheMetaShardAreWhatTheyWere(t *testing.T) {
	var forms []formtest.Form
	for kind, name := range commandNames {
		kind := CommandKind(kind)
		switch {
		case name == "":
		case requests[kind] != nil:
			r := requests[kind]()
			forms = append(forms, formtest.Form{Name: fmt.Sprintf("command %d %s", kind, name), Of: r,
				Unsaved: unsavedFields[kind], Later: laterFields[kind],
				Write: func() []byte {
					w := form.Writer(nil)
					r.code(w)
					return w.Data()
				}})
		default:
			for at := max(level.First, commandLevel(kind)); at <= level.Newest; at++ {
				forms = append(forms, plainForm(kind, at))
			}
		}
	}
	var spread, tiers PolicySet
	for _, f := range []formtest.Form{
		{Name: "command 53 policy-set with replicas", Of: &spread, Later: []string{"From.Tier", "To.Tier"}},
		{Name: "command 53 policy-set with a tier", Of: &tiers},
	} {
		f.Write = func() []byte {
			w := form.Writer(nil)
			f.Of.(*PolicySet).code(w)
			return w.Data()
		}
		forms = append(forms, f)
	}
	origin := Command{Kind: CmdHostDrain, Request: &HostDrain{}}
	forms = append(forms, formtest.Form{Name: "origin", Of: &origin, Unsaved: fieldsBut("Origin"),
		Write: func() []byte {
			w := form.Writer(nil)
			origin.code(w)
			return w.Data()
		}})
	for at := level.First; at <= level.Newest; at++ {
		forms = append(forms, recordForms(at)...)
	}
	formtest.Check(t, "testdata/pins", forms...)
}

// fieldsBut are the fields of a command but for those that are named, or of which some are.
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

// after are the fields of a config, below a path, that came after a level.
func after(at level.Level, path string) (list []string) {
	for name, by := range map[string]level.Level{
		"QuotaObjects": QuotaLevel, "QuotaBytes": QuotaLevel, "Asked": AskedLevel,
		"LongestWaitMillis": LongestWaitLevel,
	} {
		if by > at {
			list = append(list, path+name)
		}
	}
	return list
}

func plainForm(kind CommandKind, at level.Level) formtest.Form {
	c := Command{}
	saved := plainFields[kind]
	if at >= NumbersLevel {
		saved = append(slices.Clone(saved), "Numbered")
	}
	unsaved := fieldsBut(append(saved, "Kind", "Level")...)
	if slices.Contains(saved, "Config") {
		unsaved = append(unsaved, after(at, "Config.")...)
	}
	return formtest.Form{Name: fmt.Sprintf("command %d %v at level %d", kind, kind, at), Of: &c,
		Unsaved: append(unsaved, "Kind", "Level"),
		Write: func() []byte {
			var body []byte
			if at >= NumbersLevel {
				body = appended(body, func(f *coder) { _ = c.Numbered.fields(f) })
			}
			c.Kind = kind
			body, err := appendCommand(body, &c, at)
			if err != nil {
				panic(err)
			}
			return body
		}}
}

// writing returns a function that writes fields.
func writing(fields func(*coder)) func() []byte {
	return func() []byte { return appended(nil, fields) }
}

// recordForms are what a snapshot of a level is made of, but for what other packages save.
func recordForms(at level.Level) []formtest.Form {
	var (
		node    Node
		host    Host
		dropped Dropped
		routing Routing
		seen    HostSeen
		kept    Answer
	)
	name := func(what string) string { return fmt.Sprintf("%s at level %d", what, at) }
	forms := []formtest.Form{
		{Name: name("node"), Of: &node, Write: writing(func(c *coder) { node.fields(c, at) }),
			Unsaved: after(at, "Config.")},
		{Name: name("host"), Of: &host, Write: writing(host.fields)},
		{Name: name("dropped node"), Of: &dropped, Write: writing(dropped.fields)},
		{Name: name("slot table"), Of: &routing, Write: writing(routing.fields)},
	}
	if at >= NumbersLevel {
		var later []string
		if at < numberOfOneRequest {
			later = []string{"Asked"}
		}
		forms = append(forms, formtest.Form{Name: name("answer"), Of: &kept, Later: later,
			Write: writing(func(c *coder) { _ = kept.fields(c, at) }), Unsaved: after(at, "Node.Config.")})
	}
	if at >= TopologyLevel {
		forms = append(forms, formtest.Form{Name: name("host that has seen"), Of: &seen,
			Write: writing(seen.fields)})
	}
	return forms
}
