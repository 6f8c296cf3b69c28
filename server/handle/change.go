package handle

import (
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// takesRoom reports whether a meta shard change is refused while disks are full. Dropping a node frees space, and an
// operator action on hosts may be the remedy.
func takesRoom(k protocol.Kind) bool {
	return k == protocol.KindNodeCreate || k == protocol.KindNodeAlter
}

// Changed builds the answer for a meta shard change from its effect. The client must put since into numbered requests
// it sends for the first time from now on.
type Changed func(e *meta.Effect, since uint64) protocol.AnswerMessage

// MetaChange proposes a meta shard command for a request kind, under the request's number. Changes go to the meta
// shard leader.
func (h *Host) MetaChange(k protocol.Kind, command meta.Command, number *protocol.Idempotency, done Changed) (
	Reply, error,
) {
	if n := len(number.Client); n != 0 && n != len(command.Numbered.Client) {
		return nil, BadRequest("a client id must have 16 bytes")
	}
	command.Numbered = meta.Numbered{Number: number.Sequence, Since: number.Since}
	copy(command.Numbered.Client[:], number.Client)
	if err := h.LeadsMeta(); err != nil {
		return nil, err
	}
	if takesRoom(k) {
		if err := h.AdmitsWrites(h.Meta); err != nil {
			return nil, err
		}
	}
	if needs := meta.LevelOf(&command); needs > h.Meta.Machine.Level() {
		return nil, h.AboveLevel(needs)
	}
	if command.Request != nil && !h.Meta.Machine.Bootstrapped() {
		return nil, ErrNotBootstrapped
	}
	return Later(func(t Ticket) {
		h.Meta.Propose(command, func(e *meta.Effect, failed protocol.Status) {
			switch {
			case e == nil:
				t.Fail(pipeline.Why(failed))
			case e.Status != protocol.StatusSuccess:
				t.Fail(&protocol.Result{Status: e.Status, Message: e.Message, Since: h.Meta.Machine.NextAnswer()})
			default:
				t.Done(done(e, h.Meta.Machine.NextAnswer()), nil)
			}
		})
	}), nil
}

// Existed reports whether a command changed nothing, because everything was already as requested.
func Existed(e *meta.Effect) bool { return e.Flags&meta.FlagExisted != 0 }

// Operate proposes an operator's request for the cluster's hosts. The governor then brings about the new state.
func (h *Host) Operate(r *Request, o *protocol.Operation, request meta.Request, done Changed) (Reply, error) {
	if err := Authorize(r, Everywhere, ""); err != nil {
		return nil, err
	}
	return h.MetaChange(r.Kind, meta.NewCommand(request, h.Origin(r, o)), &o.Idempotency, done)
}

// Origin returns a request's author and reason.
func (h *Host) Origin(r *Request, o *protocol.Operation) meta.Origin {
	return h.Set.Origin(Asker(string(o.Author), r.Caller.Credential(), r.From(), r.Asker != ""), string(o.Reason))
}

// Asker returns a request's author in audit log form: the given name with the client's credential, the credential's
// name alone, or else the address. If the client uses a gateway, the address is always included.
func Asker(author string, by caller.Credential, address string, gateway bool) string {
	switch {
	case author == "" && by.Name == "":
		return EntryText("a client at " + address)
	case author == "":
		author = by.Name
	case by.Name != "":
		author = fmt.Sprintf("%s (%s)", author, by)
	}
	if gateway {
		author += " at " + address
	}
	return EntryText(author)
}

// EntryText truncates a text to the size limit for an audit entry.
func EntryText(s string) string { return strings.ToValidUTF8(s[:min(len(s), hosts.MaxText)], "") }
