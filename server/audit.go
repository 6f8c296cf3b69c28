package server

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// act is an administrative act of a client without an outcome yet: a change of nodes, a deletion of objects that
// others may own, the end of a session, the saving of a whole shard, or an operator's act on rollouts and processes.
// Each act is logged with its outcome on the host that answered. Refused attempts are logged too, but not all if
// there are many: the client behind them could fill a disk with lines.
type act struct {
	verb, object string
	details      []any  // of the record, by name
	from         string // the address of the client
	node         bool   // of a node: the history of the cluster has the act too
}

// auditMessage is the message of the records, for searches in the log.
const auditMessage = "audit"

// acts have the administrative act in a request, by kind; kinds without an entry are not administrative. The act is nil
// if the request is not administrative after all.
var acts = [requestKinds]func(*conn, *protocol.Request) *act{
	protocol.KindNodeCreate: func(c *conn, r *protocol.Request) *act {
		return &act{verb: "create node", node: true, object: c.nodeText(r.NodeCreate.Path, 0),
			details: configDetail(&r.NodeCreate.Config)}
	},
	protocol.KindNodeAlter: func(c *conn, r *protocol.Request) *act {
		m := &r.NodeAlter
		return &act{verb: "alter node", node: true, object: c.nodeText(m.Path, m.NodeID),
			details: configDetail(&m.Config)}
	},
	protocol.KindNodeDrop: func(c *conn, r *protocol.Request) *act {
		return &act{verb: "drop node", node: true, object: c.nodeText(r.NodeDrop.Path, r.NodeDrop.NodeID)}
	},
	protocol.KindSessionDestroy: func(_ *conn, r *protocol.Request) *act {
		return &act{verb: "end session", object: shard.SessionID(r.SessionDestroy.SessionID).String()}
	},
	protocol.KindBackupBegin: func(_ *conn, r *protocol.Request) *act {
		return &act{verb: "save backup", object: fmt.Sprintf("shard %d", r.BackupBegin.ShardID)}
	},
	protocol.KindSemaphoreDelete: func(c *conn, r *protocol.Request) *act {
		m := &r.SemaphoreDelete
		if !m.Force {
			return nil
		}
		return &act{verb: "delete semaphore by force", object: c.objectText(m.NodeID, m.Name)}
	},
	protocol.KindRolloutPut: func(c *conn, r *protocol.Request) *act {
		m := &r.RolloutPut
		return &act{verb: "put rollout", object: c.objectText(m.NodeID, m.Name),
			details: whoDetails(m.By.Author, m.By.Reason)}
	},
	protocol.KindRolloutDelete: func(c *conn, r *protocol.Request) *act {
		m := &r.RolloutDelete
		return &act{verb: deleteVerb("rollout", m.Force), object: c.objectText(m.NodeID, m.Name)}
	},
	protocol.KindRolloutAct: func(c *conn, r *protocol.Request) *act {
		m := &r.RolloutAct
		a := &act{verb: m.Act.Verb.String() + " rollout", object: c.objectText(m.NodeID, m.Name)}
		if in := m.Act.Locations; len(in) > 0 {
			a.details = append(a.details, "locations", clip(strings.Join(in, ",")))
		}
		if m.Act.Seq != 0 {
			a.details = append(a.details, "seq", m.Act.Seq)
		}
		a.details = append(a.details, whoDetails(m.Act.By.Author, m.Act.By.Reason)...)
		return a
	},
	protocol.KindProcessPut: func(c *conn, r *protocol.Request) *act {
		m := &r.ProcessPut
		return &act{verb: "put process", object: c.objectText(m.NodeID, m.Name),
			details: whoDetails(m.By.Author, m.By.Reason)}
	},
	protocol.KindProcessDelete: func(c *conn, r *protocol.Request) *act {
		m := &r.ProcessDelete
		return &act{verb: deleteVerb("process", m.Force), object: c.objectText(m.NodeID, m.Name)}
	},
	protocol.KindProcessAct: func(c *conn, r *protocol.Request) *act {
		m := &r.ProcessAct
		a := &act{verb: m.Verb.String() + " process", object: c.objectText(m.NodeID, m.Name)}
		if m.MemberID != 0 {
			a.details = append(a.details, "member", m.MemberID)
		}
		a.details = append(a.details, whoDetails(m.By.Author, m.By.Reason)...)
		return a
	},
	protocol.KindHostOperate: func(_ *conn, r *protocol.Request) *act {
		m := &r.HostOperate
		var details []any
		if len(m.Domain) > 0 {
			details = append(details, "domain", string(m.Domain))
		}
		if len(m.Successor) > 0 {
			details = append(details, "successor", string(m.Successor))
		}
		return operatorAct(strings.ToLower(m.Verb.String())+" host", string(m.Host), &m.Operation, details...)
	},
	protocol.KindShardTransfer: func(_ *conn, r *protocol.Request) *act {
		m := &r.ShardTransfer
		return operatorAct("transfer shard", fmt.Sprintf("shard %d", m.ShardID), &m.Operation, "to", string(m.Host))
	},
	protocol.KindShardRecover: func(_ *conn, r *protocol.Request) *act {
		m := &r.ShardRecover
		return operatorAct("recover shard", fmt.Sprintf("shard %d", m.ShardID), &m.Operation, "empty", m.Empty)
	},
	protocol.KindStepCancel: func(_ *conn, r *protocol.Request) *act {
		m := &r.StepCancel
		if m.StepID == 0 {
			return operatorAct("end delay", string(m.Subject), &m.Operation)
		}
		return operatorAct("cancel step", fmt.Sprintf("step %d", m.StepID), &m.Operation)
	},
	protocol.KindPolicy: func(_ *conn, r *protocol.Request) *act {
		return operatorAct("set policy", fmt.Sprintf("%+v", r.Policy.To), &r.Policy.Operation)
	},
	protocol.KindToken: func(_ *conn, r *protocol.Request) *act {
		m := &r.Token
		if m.Verb == protocol.TokenList {
			return nil
		}
		return operatorAct(strings.ToLower(m.Verb.String())+" join token", string(m.ID), &m.Operation)
	},
}

// operatorAct is an act on hosts, or on their governing.
func operatorAct(verb, object string, o *protocol.Operation, details ...any) *act {
	return &act{verb: verb, object: object, details: append(details, whoDetails(o.Author, o.Reason)...)}
}

func deleteVerb(kind string, force bool) string {
	if force {
		return "delete " + kind + " by force"
	}
	return "delete " + kind
}

// whoDetails are the author and the reason of an operator's act, as far as given.
func whoDetails[T string | []byte](author, reason T) (list []any) {
	if len(author) > 0 {
		list = append(list, "author", string(author))
	}
	if len(reason) > 0 {
		list = append(list, "reason", string(reason))
	}
	return list
}

// objectText is the node and the name of an object, in the form of the records.
func (c *conn) objectText(node uint64, name []byte) string {
	return fmt.Sprintf("%s %q", c.nodeText(nil, node), name)
}

// nodeText is the path of a node if it is known, in the form for people, and the id otherwise.
func (c *conn) nodeText(path []byte, id uint64) string {
	if len(path) > 0 {
		if parsed, err := meta.ParsePath(string(path)); err == nil {
			return parsed
		}
		return string(path)
	}
	if n, ok := c.host.meta.Machine.NodeByID(shard.NodeID(id)); ok {
		return n.Path
	}
	return fmt.Sprintf("node %d", id)
}

// configDetail is the new config of a node.
func configDetail(f *protocol.NodeConfig) []any { return []any{"config", fmt.Sprintf("%+v", *f)} }

// beginAct keeps an administrative act until the request is answered.
func (c *conn) beginAct(r *protocol.Request, of func(*conn, *protocol.Request) *act) {
	a := of(c, r)
	if a == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a.from = c.from()
	if c.acts == nil {
		c.acts = make(map[uint64]*act)
	}
	c.acts[r.ID] = a
}

// dropAct drops the act of a request that changed nothing, and so was no act.
func (c *conn) dropAct(request uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.acts, request)
}

// audit logs an act with its outcome. An act for another host is logged there.
func (c *conn) audit(a *act, outcome *protocol.Result) {
	if outcome.Status == protocol.StatusMoved {
		return
	}
	level, unlogged := slog.LevelInfo, 0
	if outcome.Status == protocol.StatusUnauthorized {
		log := false
		if log, unlogged = c.host.refusals.line(c.host.config.Clock()); !log {
			return
		}
		level = slog.LevelWarn
	}
	record := []any{
		"token", c.name, "address", a.from, "verb", a.verb, "object", a.object,
		"outcome", outcome.Status.String(),
	}
	record = append(record, a.details...)
	if outcome.Message != "" {
		record = append(record, "why", outcome.Message)
	}
	if unlogged > 0 {
		record = append(record, "unlogged", unlogged)
	}
	c.host.log.Log(context.Background(), level, auditMessage, record...)
	if a.node && outcome.Status == protocol.StatusSuccess {
		c.host.governing.nodes.add(Act{Name: c.name, Address: a.from, What: a.verb + " " + a.object,
			Why: "no reason was asked for"})
	}
}
