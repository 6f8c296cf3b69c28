package rollout

import (
	"testing"

	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/internal/codec/codectest"
)

// TestBytesOfRolloutsAreWhatTheyWere: the encoding of commands, of the answer to an Ask, and the saved form.
func TestBytesOfRolloutsAreWhatTheyWere(t *testing.T) {
	var (
		put         kind.Put
		publication kind.Publication
		role        kind.SourceRole
		offering    kind.Offering
		report      Report
		act         kind.Action
		verdict     kind.GateReport
		target      Target
		rollout     Rollout
		instance    Instance
	)
	var joining struct{ Instance, Location, Attributes string }
	by := []string{"By.", ""}
	codectest.Check(t, "testdata/pins",
		codectest.Form{Name: "put", Of: &put, Write: func() []byte { return Append(nil, &put) }, Was: append([]string{
			"Spec.Versions", "Spec.Rules.Source", "Spec.Reelect.Interval", "Spec.Rules.Reelect.MinInterval",
			"Spec.Reelect.Most", "Spec.Rules.Reelect.Max", "Spec.Locations", "Spec.Locations", "Spec.", "Spec.Rules.",
		}, by...)},
		codectest.Form{Name: "publication", Of: &publication, Unsaved: []string{"Payload"}, Was: by,
			Write: func() []byte { return Append(nil, &publication) }},
		codectest.Form{Name: "role of a source", Of: &role, Write: func() []byte { return Append(nil, &role) }},
		codectest.Form{Name: "offering", Of: &offering, Write: func() []byte { return Append(nil, &offering) },
			Unsaved: []string{"Payload"}, Was: []string{"Label", "Version.Label", "Author", "Version.Author"}},
		codectest.Form{Name: "joining", Of: &joining, Write: func() []byte {
			return Append(nil, &kind.Instance{
				Name: joining.Instance, Location: joining.Location, Attributes: []byte(joining.Attributes),
			})
		}},
		codectest.Form{Name: "report", Of: &report, Write: func() []byte { return AppendReport(nil, report) }},
		codectest.Form{Name: "act", Of: &act, Write: func() []byte { return Append(nil, &act) }, Was: by},
		codectest.Form{Name: "verdict", Of: &verdict, Write: func() []byte { return Append(nil, &verdict) },
			Was: []string{"Verdict.Result", "Verdict", "Verdict.Text", "Text"}},
		codectest.Form{Name: "target", Of: &target, Write: func() []byte { return appendTarget(nil, target) },
			Unsaved: []string{"Label", "Payload"}},
		codectest.Form{Name: "saved rollout", Of: &rollout, Write: func() []byte { return rollout.Save(nil) },
			Unsaved: []string{
				"byName", "payloads", "size", "rules.Locations", "locations.Counts", "locations.index",
				"locations.explicit", "locations.suspects",
			},
			Was: append([]string{
				"rules.Versions", "rules.Source", "rules.Reelect.Interval", "rules.Reelect.MinInterval",
				"rules.Reelect.Most", "rules.Reelect.Max",
			}, by...)},
		codectest.Form{Name: "saved instance", Of: &instance, Write: func() []byte { return instance.Save(nil) },
			Unsaved: []string{"ID", "live", "place"}, Was: []string{"Report.", ""}})
}
