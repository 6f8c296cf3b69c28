package audit

import (
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// actions maps every administrative request kind to a function that returns its audit entry. The function returns nil
// if the request is not administrative after all.
var actions = [protocol.MaxRequestKind + 1]func(*Log, *protocol.Request) *Entry{
	protocol.KindNodeCreate: func(l *Log, r *protocol.Request) *Entry {
		return &Entry{verb: "create node", node: true, object: l.nodeText(r.NodeCreate.Path, 0),
			details: configDetail(&r.NodeCreate.Config)}
	},
	protocol.KindNodeAlter: func(l *Log, r *protocol.Request) *Entry {
		m := &r.NodeAlter
		return &Entry{verb: "alter node", node: true, object: l.nodeText(m.Path, m.NodeID),
			details: configDetail(&m.Config)}
	},
	protocol.KindNodeDrop: func(l *Log, r *protocol.Request) *Entry {
		return &Entry{verb: "drop node", node: true, object: l.nodeText(r.NodeDrop.Path, r.NodeDrop.NodeID)}
	},
	protocol.KindSessionDestroy: func(_ *Log, r *protocol.Request) *Entry {
		return &Entry{verb: "end session", object: shard.SessionID(r.SessionDestroy.SessionID).String()}
	},
	protocol.KindBackupBegin: func(_ *Log, r *protocol.Request) *Entry {
		return &Entry{verb: "save backup", object: fmt.Sprintf("shard %d", r.BackupBegin.ShardID)}
	},
	protocol.KindSemaphoreDelete: func(l *Log, r *protocol.Request) *Entry {
		m := &r.SemaphoreDelete
		if !m.Force {
			return nil
		}
		return &Entry{verb: "delete semaphore by force", object: l.objectText(m.NodeID, m.Name)}
	},
	protocol.KindRolloutPut: func(l *Log, r *protocol.Request) *Entry {
		m := &r.RolloutPut
		return &Entry{verb: "put rollout", object: l.objectText(m.NodeID, m.Name),
			details: whoDetails(m.By.Author, m.By.Reason)}
	},
	protocol.KindRolloutDelete: func(l *Log, r *protocol.Request) *Entry {
		m := &r.RolloutDelete
		return &Entry{verb: deleteVerb("rollout", m.Force), object: l.objectText(m.NodeID, m.Name)}
	},
	protocol.KindRolloutAction: func(l *Log, r *protocol.Request) *Entry {
		m := &r.RolloutAction
		a := &Entry{verb: m.Action.Kind.String() + " rollout", object: l.objectText(m.NodeID, m.Name)}
		if in := m.Action.Locations; len(in) > 0 {
			a.details = append(a.details, "locations", clip(strings.Join(in, ",")))
		}
		if m.Action.Seq != 0 {
			a.details = append(a.details, "seq", m.Action.Seq)
		}
		a.details = append(a.details, whoDetails(m.Action.By.Author, m.Action.By.Reason)...)
		return a
	},
	protocol.KindProcessPut: func(l *Log, r *protocol.Request) *Entry {
		m := &r.ProcessPut
		return &Entry{verb: "put process", object: l.objectText(m.NodeID, m.Name),
			details: whoDetails(m.By.Author, m.By.Reason)}
	},
	protocol.KindProcessDelete: func(l *Log, r *protocol.Request) *Entry {
		m := &r.ProcessDelete
		return &Entry{verb: deleteVerb("process", m.Force), object: l.objectText(m.NodeID, m.Name)}
	},
	protocol.KindProcessAction: func(l *Log, r *protocol.Request) *Entry {
		m := &r.ProcessAction
		a := &Entry{verb: m.Action.Kind.String() + " process", object: l.objectText(m.NodeID, m.Name)}
		if m.MemberID != 0 {
			a.details = append(a.details, "member", m.MemberID)
		}
		a.details = append(a.details, whoDetails(m.By.Author, m.By.Reason)...)
		return a
	},
	protocol.KindHostUpdate: func(_ *Log, r *protocol.Request) *Entry {
		m := &r.HostUpdate
		var details []any
		if len(m.Domain) > 0 {
			details = append(details, "domain", string(m.Domain))
		}
		if len(m.Successor) > 0 {
			details = append(details, "successor", string(m.Successor))
		}
		return operatorEntry(strings.ToLower(m.Action.String())+" host", string(m.Host), &m.Operation, details...)
	},
	protocol.KindShardTransferLeader: func(_ *Log, r *protocol.Request) *Entry {
		m := &r.ShardTransferLeader
		return operatorEntry("transfer shard", fmt.Sprintf("shard %d", m.ShardID), &m.Operation, "to", string(m.Host))
	},
	protocol.KindShardRecover: func(_ *Log, r *protocol.Request) *Entry {
		m := &r.ShardRecover
		return operatorEntry("recover shard", fmt.Sprintf("shard %d", m.ShardID), &m.Operation, "empty", m.Empty)
	},
	protocol.KindSlotMove: func(_ *Log, r *protocol.Request) *Entry {
		m, object := &r.SlotMove, fmt.Sprintf("slot %d", r.SlotMove.Slot)
		if m.Cancel {
			return operatorEntry("cancel slot move", object, &m.Operation)
		}
		return operatorEntry("move slot", object, &m.Operation, "to", m.ShardID, "large", m.Large)
	},
	protocol.KindShardUpdate: func(_ *Log, r *protocol.Request) *Entry {
		m := &r.ShardUpdate
		switch m.Action {
		case protocol.ShardAdd:
			return operatorEntry("add shards", fmt.Sprintf("%d shards", m.Count), &m.Operation)
		case protocol.ShardSetWeight:
			return operatorEntry("set shard weight", shardsText(m), &m.Operation, "weight", m.Weight)
		}
		return operatorEntry("remove shards", shardsText(m), &m.Operation)
	},
	protocol.KindRebalance: func(_ *Log, r *protocol.Request) *Entry {
		m := &r.Rebalance
		return operatorEntry("rebalance", strings.ToLower(m.Action.String()), &m.Operation)
	},
	protocol.KindStepCancel: func(_ *Log, r *protocol.Request) *Entry {
		m := &r.StepCancel
		if m.StepID == 0 {
			return operatorEntry("end delay", string(m.Subject), &m.Operation)
		}
		return operatorEntry("cancel step", fmt.Sprintf("step %d", m.StepID), &m.Operation)
	},
	protocol.KindPolicySet: func(_ *Log, r *protocol.Request) *Entry {
		return operatorEntry("set policy", fmt.Sprintf("%+v", r.PolicySet.To), &r.PolicySet.Operation)
	},
	protocol.KindJoinToken: func(_ *Log, r *protocol.Request) *Entry {
		m := &r.JoinToken
		if m.Action == protocol.TokenList {
			return nil
		}
		return operatorEntry(strings.ToLower(m.Action.String())+" join token", string(m.ID), &m.Operation)
	},
}

// operatorEntry returns the entry for an operator action on hosts or on governing.
func operatorEntry(verb, object string, o *protocol.Operation, details ...any) *Entry {
	return &Entry{verb: verb, object: object, details: append(details, whoDetails(o.Author, o.Reason)...)}
}

// shardsText names the shards in a request, in the log record format.
func shardsText(m *protocol.ShardUpdate) string {
	var ids []string
	for id := range m.ShardIDs.All() {
		ids = append(ids, fmt.Sprint(uint64(id)))
	}
	return clip("shard " + strings.Join(ids, ","))
}

func deleteVerb(kind string, force bool) string {
	if force {
		return "delete " + kind + " by force"
	}
	return "delete " + kind
}

// whoDetails returns the author and the reason for an operator action, if given.
func whoDetails[T string | []byte](author, reason T) (list []any) {
	if len(author) > 0 {
		list = append(list, "author", string(author))
	}
	if len(reason) > 0 {
		list = append(list, "reason", string(reason))
	}
	return list
}

// objectText returns an object's node and name, in the log record format.
func (l *Log) objectText(node uint64, name []byte) string {
	return fmt.Sprintf("%s %q", l.nodeText(nil, node), name)
}

// nodeText returns a node's path in readable form if known, and its id otherwise.
func (l *Log) nodeText(path []byte, id uint64) string {
	if len(path) > 0 {
		if parsed, err := meta.ParsePath(string(path)); err == nil {
			return parsed
		}
		return string(path)
	}
	if n, ok := l.Nodes.NodeByID(shard.NodeID(id)); ok {
		return n.Path
	}
	return fmt.Sprintf("node %d", id)
}

// configDetail returns a node's new config.
func configDetail(f *protocol.NodeConfig) []any { return []any{"config", fmt.Sprintf("%+v", *f)} }

// clip truncates a text to the maximum result message length.
func clip(text string) string { return text[:min(len(text), protocol.MaxMessageBytes)] }
