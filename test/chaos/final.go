//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

const (
	// pollPause is the pause before another read of an unfinished final state.
	pollPause = 50 * time.Millisecond
	// answerTimeout is how long an answer may take when all faults are over.
	answerTimeout = 10 * time.Second
)

// recordFinalState waits until all clients know the final state, and records it from STRICT reads.
func (t *trial) recordFinalState(ctx context.Context) {
	ctx, cancel := withRunningTime(ctx, t.finalTimeout)
	defer cancel()
	for _, x := range targets {
		t.recordFinal(ctx, x)
	}
	created := t.record.Created(workload.CreatedOnce)
	t.expect(ctx, func(ctx context.Context) string { return t.checkCreated(ctx, created) })
	t.expect(ctx, t.checkSessions)
	t.expect(ctx, t.checkDropped)
	t.expect(ctx, t.checkStaticData)
	for _, o := range t.operators {
		o.ReadEnd(ctx)
	}
	t.checkCounters()
}

// recordFinal waits until all clients agree on a semaphore, and records its state.
func (t *trial) recordFinal(ctx context.Context, x workload.Target) {
	watchers := t.watchersOf(x.Name)
	o := history.Operation{Kind: history.Describe, Semaphore: t.of(x.Name)}
	agreed := false
	for {
		o.Called = t.record.Now()
		asked, done := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
		d, err := t.direct.Node(t.node).Describe(asked, x.Name,
			client.WithOwners(), client.WithWaiters(), client.WithConsistency(client.Strict))
		done()
		o.Found, o.Outcome, o.Error = workload.StateOf(d, err)
		// A process stalled right now may report contrary knowledge too late.
		if o.Found != nil && t.record.Agrees(o.Semaphore, *o.Found, watchers) &&
			workload.Sleep(ctx, stillness+pollPause) &&
			t.record.Calm(o.Called-stillness, diskBusy) && t.record.Agrees(o.Semaphore, *o.Found, watchers) {
			agreed = true
			break
		}
		if !workload.Sleep(ctx, pollPause) {
			break
		}
	}
	t.record.Operation(o)
	if o.Found == nil {
		t.record.Note("in the end %v cannot be described: %s", o.Semaphore, o.Error)
		return
	}
	t.record.Final(o.Semaphore, *o.Found, watchers, agreed)
}

// expect waits until a check finds nothing, and notes remaining findings at the end.
func (t *trial) expect(ctx context.Context, check func(context.Context) (wrong string)) {
	for {
		asked, done := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
		wrong := check(asked)
		done()
		if wrong == "" {
			return
		}
		if !workload.Sleep(ctx, pollPause) {
			t.record.Note("in the end %s", wrong)
			return
		}
	}
}

// checkCreated compares the semaphores that are created once with their programs' knowledge: acknowledged ones must
// exist at the end, refused ones must not. It returns a difference, empty if there is none.
func (t *trial) checkCreated(ctx context.Context, created map[string]history.Operation) (wrong string) {
	found := make(map[string]string)
	for x, err := range t.direct.Node(t.node).Semaphores(ctx, client.Prefix(workload.CreatedOnce), client.WithData()) {
		if err != nil {
			return fmt.Sprintf("the semaphores that are created once cannot be listed: %v", err)
		}
		found[x.Name] = string(x.Data)
	}
	for name, o := range created {
		data, ok := found[name]
		switch {
		case ok && data != o.Data:
			return fmt.Sprintf("%s has %q, and was created with %q", name, data, o.Data)
		case !ok && o.Outcome == history.Done:
			return fmt.Sprintf("%s is not there, though that was acknowledged at %v", name, o.Returned)
		case ok && o.Outcome != history.Done && o.Outcome != history.Unknown && o.Outcome != "":
			return fmt.Sprintf("%s is there, though that was refused at %v: %s", name, o.Returned, o.Error)
		}
		delete(found, name)
	}
	for name := range found {
		return fmt.Sprintf("%s is there, and no program created it", name)
	}
	return ""
}

// checkSessions returns a session that exists on hosts but at no client, empty if there is none.
func (t *trial) checkSessions(ctx context.Context) (wrong string) {
	living := t.record.Living()
	for x, err := range t.direct.Node(t.node).Sessions(ctx) {
		if err != nil {
			return fmt.Sprintf("the sessions cannot be listed: %v", err)
		}
		if !slices.Contains(living, x.ID) {
			wrong = fmt.Sprintf(
				"hosts have session %x, timeout %v, attached %v, with %d owned and %d waited for, and no client has it",
				x.ID, x.Timeout, x.Attached, x.Owned, x.Waiting)
		}
	}
	return wrong
}

// droppedTimeout is the session timeout in dropped nodes.
const droppedTimeout = 10 * time.Second

// droppedNode is a node that was dropped while a session owned a semaphore in it.
type droppedNode struct {
	path    string
	session *client.Session
	lease   *client.Lease
}

// dropNode creates a node, acquires a semaphore in it, and drops the node.
func (t *trial) dropNode(ctx context.Context, n int) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	d := droppedNode{path: fmt.Sprintf("%s-%d", t.node, n)}
	config := client.NodeConfig{SelfCheckPeriod: selfCheck, SessionGracePeriod: t.grace}
	if _, err := t.direct.CreateNode(ctx, d.path, config); err != nil {
		return
	}
	var err error
	if d.session, err = t.direct.Session(ctx, d.path, client.SessionTimeout(droppedTimeout)); err != nil {
		return
	}
	if d.lease, err = d.session.Ephemeral("lock").Lock(ctx); err != nil || t.direct.DropNode(ctx, d.path) != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = d.session.Close(closing) // otherwise it ends with the client
		return
	}
	t.dropped = append(t.dropped, d)
}

// checkDropped returns remains of a dropped node, empty if there are none.
func (t *trial) checkDropped(ctx context.Context) (wrong string) {
	for _, d := range t.dropped {
		switch _, err := t.direct.DescribeNode(ctx, d.path); {
		case !errors.Is(err, client.ErrNodeNotFound):
			return fmt.Sprintf("node %s was dropped, and is described: %v", d.path, err)
		case d.session.Context().Err() == nil:
			return fmt.Sprintf("session %x has not ended, and its node %s was dropped", d.session.ID(), d.path)
		case d.lease.Err() == nil:
			return fmt.Sprintf("a lease of session %x has not ended, and its node %s was dropped",
				d.lease.Session(), d.path)
		}
	}
	return ""
}
