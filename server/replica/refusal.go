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
		return fmt.Sprintf("sequence number %d was used for another request; send the request with the next "+
			"number, above all numbers used by the session", c.Number)
	case protocol.StatusFenced:
		return "the order id is not the session's current one on this semaphore"
	case protocol.StatusAlreadyExists:
		return "a persistent semaphore with the name already exists, and is unchanged"
	case protocol.StatusPreconditionFailed:
		if v, _ := res.r.Machine.Session(c.Session); c.Kind == shard.CmdAcquire &&
			v.Owns+v.Waits >= shard.MaxLinksPerSession {
			return fmt.Sprintf("a session can own or wait for at most %d semaphores per shard; release some, or "+
				"use another session",
				shard.MaxLinksPerSession)
		}
		if of := shard.ObjectOf(c.Kind); of > shard.KindSemaphore {
			return "the name belongs to an object of a kind other than " + of.String()
		}
		return unmet(c)
	case protocol.StatusOverloaded:
		return "too many stored answers for the session, or an object with the name was deleted and its " +
			"participants are not all notified yet"
	case protocol.StatusBadRequest:
		switch c.Kind {
		case shard.CmdSemaphoreCreate, shard.CmdSemaphoreResize:
			return "the limit must be at least 1"
		case shard.CmdAcquire:
			return "the count is 0, above the limit, or above the units that the session has already (release " +
				"them first), or the timeout is above a day"
		}
	}
	return ""
}

// unmet names the condition in a command the state does not meet.
func unmet(c *shard.Command) string {
	switch c.Kind {
	case shard.CmdSemaphoreCreate:
		return "an ephemeral semaphore has the name, or the node has reached its semaphore limit"
	case shard.CmdSemaphoreUpdate:
		if c.Revision != 0 {
			return "the semaphore has another revision; describe it again"
		}
	case shard.CmdSemaphoreResize:
		if c.Revision != 0 {
			return "the semaphore is ephemeral, or has another revision; describe it again"
		}
		return "the semaphore is ephemeral and has no limit"
	case shard.CmdSemaphoreDelete:
		if c.Flags&shard.FlagForce != 0 {
			return "the semaphore is ephemeral and ends with its last owner"
		}
		return "the semaphore is ephemeral, or has owners or waiters and can be deleted only by force"
	case shard.CmdAcquire:
		return "the semaphore is persistent but was requested as ephemeral, or the reverse, or the node has " +
			"reached its semaphore limit"
	case shard.CmdSessionCreate:
		return "the node has reached its session limit"
	}
	return ""
}
