package process

import (
	"testing"

	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard/internal/codec/codectest"
)

// TestBytesOfProcessesAreWhatTheyWere: the encoding of commands, and the saved form.
func TestBytesOfProcessesAreWhatTheyWere(t *testing.T) {
	var (
		put     kind.Put
		request Request
		act     kind.Action
		process Process
		member  Member
	)
	var arrival struct {
		Joining struct {
			Name, Attributes string
			Candidate        bool
		}
		Create bool
		Spec   kind.Spec
	}
	was := []string{"By.", "", "Spec.MaxPayload", "Spec.Payload", "spec.MaxPayload", "spec.Payload"}
	codectest.Check(t, "testdata/pins",
		codectest.Form{Name: "put", Of: &put, Was: was, Write: func() []byte { return Append(nil, &put) }},
		codectest.Form{Name: "arrival", Of: &arrival, Was: was, Write: func() []byte {
			j := arrival.Joining
			return Append(nil, &kind.Arrival{
				Joining: kind.Joining{Name: j.Name, Attributes: []byte(j.Attributes), Candidate: j.Candidate},
				Create:  arrival.Create, Spec: arrival.Spec,
			})
		}},
		codectest.Form{Name: "receivers", Of: &request, Write: func() []byte { return AppendReceivers(nil, request) },
			Unsaved: []string{"Epoch", "Payload", "Timeout"}},
		codectest.Form{Name: "act", Of: &act, Write: func() []byte { return Append(nil, &act) },
			Was: append([]string{"MemberID", "Member"}, was...)},
		codectest.Form{Name: "saved process", Of: &process, Was: was, Write: func() []byte { return process.Save(nil) },
			Unsaved: []string{
				"members", "prepared", "completed", "requests", "held", "size", "exchanges.refs", "exchanges.held",
			}},
		codectest.Form{Name: "saved member", Of: &member, Write: func() []byte { return member.Save(nil) },
			Unsaved: []string{
				"ID", "Ref", "inbox.shared", "inbox.unread", "inbox.unreadBytes", "inbox.open", "inbox.listed",
				"inbox.items.exchange.epoch", "inbox.items.exchange.from", "inbox.items.exchange.payload",
				"inbox.items.exchange.sent", "inbox.items.exchange.deadline", "inbox.items.exchange.late",
				"inbox.items.exchange.waiting", "inbox.items.exchange.replies", "inbox.items.exchange.outcome",
				"inbox.items.exchange.missing", "inbox.items.exchange.missed", "inbox.items.exchange.refs",
				"inbox.items.exchange.held",
			},
			Adjust: func() { // only these name an exchange
				member.items[0].kind, member.items[1].kind = kind.ItemRequest, kind.ItemEnd
			}})
}
