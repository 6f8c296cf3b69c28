package server

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/plan"
)

// Operators' acts on the hosts of the cluster. Each act is a command of the meta shard, proposed by its leader; the
// governor then brings about the new state.

// everywhere is the path of rights without a limit to a path, somewhere stands for a right in at least one node.
const everywhere, somewhere = "/", ""

// operate proposes an operator's request, and answers with the message that done makes from the result.
func (c *conn) operate(
	r *protocol.Request, o *protocol.Operation, request meta.Request,
	done func(e *meta.Effect, since uint64) protocol.AnswerMessage,
) {
	if c.authorize(r, everywhere, "") {
		c.metaChange(r, meta.NewCommand(request, c.origin(o)), &o.Numbered, done)
	}
}

// origin is the author of a request, and the reason.
func (c *conn) origin(o *protocol.Operation) meta.Origin {
	by := asker(string(o.Author), c.name, c.from(), c.asker != "")
	return c.host.set.Origin(by, string(o.Reason))
}

// asker is the author of a request in the form of the history: the given name, the name of the token, or else the
// address. If the client asks through a gateway, the address is always included.
func asker(author, token, address string, gateway bool) string {
	switch {
	case author == "" && token == "":
		return entryText("a client at " + address)
	case author == "":
		author = token
	case token != "":
		author = fmt.Sprintf("%s (token %s)", author, token)
	}
	if gateway {
		author += " at " + address
	}
	return entryText(author)
}

// entryText cuts a text to the room of an entry in the history.
func entryText(s string) string { return strings.ToValidUTF8(s[:min(len(s), hosts.MaxText)], "") }

func (c *conn) hostOperate(r *protocol.Request) {
	m := &r.HostOperate
	request, err := c.host.hostRequest(m)
	if err != nil {
		c.failure(r, protocol.StatusBadRequest, err.Error())
		return
	}
	c.operate(r, &m.Operation, request, hostOperated)
}

func hostOperated(e *meta.Effect, since uint64) protocol.AnswerMessage {
	return &protocol.HostOperateAnswer{HostID: uint64(e.Host), Existed: existed(e), Since: since}
}

// existed reports whether a command found everything as requested already.
func existed(e *meta.Effect) bool { return e.Flags&meta.FlagExisted != 0 }

// hostRequest returns the request to the meta shard.
func (h *Host) hostRequest(m *protocol.HostOperate) (meta.Request, error) {
	name := string(m.Host)
	switch m.Verb {
	case protocol.HostDrain:
		return &meta.HostDrain{Host: name}, nil
	case protocol.HostUndrain:
		return &meta.HostUndrain{Host: name}, nil
	case protocol.HostCordon, protocol.HostUncordon:
		return &meta.HostCordon{Host: name, On: m.Verb == protocol.HostCordon}, nil
	case protocol.HostAlter:
		domain, err := host.ParseDomain(string(m.Domain))
		return &meta.HostAlter{Host: name, Domain: domain}, err
	case protocol.HostWeigh:
		return &meta.HostWeigh{Host: name, Weight: m.Weight}, nil
	case protocol.HostExpel:
		return &meta.HostExpel{Host: name, Force: m.Force}, nil
	case protocol.HostReplace:
		return &meta.HostReplace{Old: name, New: string(m.Successor), Heard: h.hears(name)}, nil
	}
	return nil, fmt.Errorf("nothing that is done with hosts is %v", m.Verb)
}

// hears reports whether a host, as an operator names it, has answered this host lately. This host leads the meta
// shard.
func (h *Host) hears(name string) bool {
	records, _, ok := h.Records()
	if !ok {
		return false
	}
	x := hostOf(records, name)
	return x != nil && h.Hears(x.ID)
}

// hostOf returns the host by an operator's name for it, or nil for an unknown name.
func hostOf(r *hosts.Records, name string) *hosts.Host {
	if h := r.Named(name); h != nil {
		return h
	}
	id, err := strconv.ParseUint(name, 10, 64)
	if err != nil {
		return nil
	}
	return r.Host(shard.HostID(id))
}

func (c *conn) shardTransfer(r *protocol.Request) {
	m := &r.ShardTransfer
	request := &meta.ShardTransfer{Shard: meta.ShardID(m.ShardID), Host: string(m.Host)}
	c.operate(r, &m.Operation, request, func(e *meta.Effect, since uint64) protocol.AnswerMessage {
		return &protocol.ShardTransferAnswer{HostID: uint64(e.Host), Existed: existed(e), Since: since}
	})
}

// shardRecover makes a shard anew. The governor asks all hosts, and judges whether the majority is lost. The reason
// against the recovery goes into the command, because a repeated order must get the answer of the first.
func (c *conn) shardRecover(r *protocol.Request) {
	m := &r.ShardRecover
	if !c.leadsMeta(r) {
		return
	}
	if m.AcceptOverlap {
		request := &meta.ShardOverlap{Shard: meta.ShardID(m.ShardID)}
		c.operate(r, &m.Operation, request, func(_ *meta.Effect, since uint64) protocol.AnswerMessage {
			return &protocol.ShardRecoverAnswer{Since: since}
		})
		return
	}
	id, empty, origin, number := hosts.ShardID(m.ShardID), m.Empty, c.origin(&m.Operation), m.Operation.Numbered
	number.Client = bytes.Clone(number.Client)
	request := &protocol.Request{ID: r.ID, Kind: r.Kind}
	c.aside(r.ID, r.Kind, func() {
		n, err := c.host.governing.executor.Recovery(c.host.governing.ctx, id, empty)
		if err != nil {
			c.Fail(request.ID, request.Kind, &notGoverning)
			return
		}
		c.metaChange(request, meta.NewCommand(&meta.ShardRecover{Recovery: n}, origin), &number,
			func(e *meta.Effect, since uint64) protocol.AnswerMessage {
				longest := c.host.meta.Machine.LongestTimeout()
				return &protocol.ShardRecoverAnswer{HostID: uint64(e.Host), Since: since,
					WaitMillis:    meta.MaxSessionGracePeriodMillis*65/64 + longest.Timeout + c.host.set.LongestGrace(),
					LongestMillis: longest.Timeout, LongestSession: uint64(longest.Session)}
			})
	})
}

func (c *conn) stepCancel(r *protocol.Request) {
	m := &r.StepCancel
	var request meta.Request
	switch {
	case (m.StepID == 0) == (len(m.Subject) == 0):
		c.failure(r, protocol.StatusBadRequest, "a step is to be cancelled or a delay to be ended: give one of them")
		return
	case m.StepID != 0:
		request = &meta.StepCancel{Step: plan.ID(m.StepID), Hold: m.HoldMillis}
	default:
		request = &meta.StepForget{Subject: plan.Subject(m.Subject)}
	}
	c.operate(r, &m.Operation, request, func(e *meta.Effect, since uint64) protocol.AnswerMessage {
		return &protocol.StepCancelAnswer{Existed: existed(e), Since: since}
	})
}

func (c *conn) policy(r *protocol.Request) {
	m := &r.Policy
	request := &meta.PolicySet{From: m.From, To: m.To}
	c.operate(r, &m.Operation, request, func(e *meta.Effect, since uint64) protocol.AnswerMessage {
		return &protocol.PolicyAnswer{Existed: existed(e), Since: since}
	})
}

// view returns the governor's view, if this host governs.
func (h *Host) view() (governor.View, error) {
	if h.governor != nil {
		return h.governor.View()
	}
	return governor.View{}, errNotGoverning
}
