package replica

import (
	"fmt"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// refused returns the answer to a command the shard's machine refused.
func (res *results) refused(c *shard.Command, e *shard.Effect) *protocol.Result {
	if e.Status == protocol.StatusQuotaExceeded {
		return res.r.Exceeded(c, e.Quota)
	}
	result := protocol.Result{Status: e.Status, Reason: e.Abort, Message: e.Body}
	if e.Body == "" {
		result.Message = res.refusal(c, e.Status)
	}
	if e.Status == protocol.StatusOverloaded {
		wait := min(time.Duration(e.Timeout)*time.Millisecond, quietWait)
		result.WaitMillis = uint64(max(wait, OverloadWait).Milliseconds())
	}
	return &result
}

// refusal explains why a shard's machine refused a command, and what to do, unless the machine does so itself; "" if
// the status is sufficient.
func (res *results) refusal(c *shard.Command, s protocol.Status) string {
	switch s {
	case protocol.StatusNotFound:
		if res.r.set.Meta.Machine.NodeAlive(c.Node) == meta.NodeIsDead {
			return NoSuchNode
		}
		return "no " + max(shard.ObjectOf(c.Kind), shard.KindSemaphore).String() + " of this name"
	case protocol.StatusSequenceReused:
		return fmt.Sprintf("number %d of the session was that of another request: send this one under the next "+
			"number, above all that the session has used", c.Number)
	case protocol.StatusFenced:
		return "the order id is not the session's current one on this semaphore"
	case protocol.StatusAlreadyExists:
		return "a persistent semaphore of this name is there, with the limit and the data that it had"
	case protocol.StatusPreconditionFailed:
		if v, _ := res.r.Machine.Session(c.Session); c.Kind == shard.CmdAcquire &&
			v.Owns+v.Waits >= shard.MaxLinksPerSession {
			return fmt.Sprintf("a session owns and waits for at most %d semaphores of a shard: release some, or use "+
				"another session",
				shard.MaxLinksPerSession)
		}
		if of := shard.ObjectOf(c.Kind); of > shard.KindSemaphore {
			return "the name is that of an object of another kind than " + of.String()
		}
		return unmet(c)
	case protocol.StatusOverloaded:
		return "too many answers, or too many bytes of them, are kept for the session, or an object of this name " +
			"was deleted and not all who had a part in it have been notified"
	case protocol.StatusBadRequest:
		switch c.Kind {
		case shard.CmdSemaphoreCreate, shard.CmdSemaphoreResize:
			return "a limit of 0: nobody could ever acquire it"
		case shard.CmdAcquire:
			return "a count of 0, above the limit, or above what the session has already (release first), or a " +
				"timeout above a day"
		}
	}
	return ""
}

// unmet names the condition in a command the state does not meet.
func unmet(c *shard.Command) string {
	switch c.Kind {
	case shard.CmdSemaphoreCreate:
		return "an ephemeral semaphore has this name, or the node has as many semaphores as it may have"
	case shard.CmdSemaphoreUpdate:
		if c.Revision != 0 {
			return "the semaphore has another revision: describe it again"
		}
	case shard.CmdSemaphoreResize:
		if c.Revision != 0 {
			return "the semaphore is ephemeral, or has another revision: describe it again"
		}
		return "the semaphore is ephemeral: it has no limit of its own"
	case shard.CmdSemaphoreDelete:
		if c.Flags&shard.FlagForce != 0 {
			return "the semaphore is ephemeral: it ends when its last owner has released it, or has ended"
		}
		return "the semaphore is ephemeral, or it has owners or waiters and is deleted only by force"
	case shard.CmdAcquire:
		return "the semaphore is persistent and was asked for as an ephemeral one, or the other way round, or the " +
			"node has as many semaphores as it may have"
	case shard.CmdSessionCreate:
		return "the node has as many sessions as it may have"
	}
	return ""
}
