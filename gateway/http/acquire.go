package http

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/raw"
	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/session"
)

type startRequest struct {
	operation.NodeRef
	Timeout time.Duration `about:"Session timeout: the session expires after this time without a request. Default: 30000"`
	session.Details
}

// startedSession is the response to a session start.
type startedSession struct {
	ID      uint64
	Session string        `omit:"never" about:"Session id for the header Signalbox-Session. Keep it secret: anyone with the id can use the session"`
	Timeout time.Duration `omit:"never" about:"Session timeout"`
}

type sessionLease struct {
	ExpiresIn time.Duration `omit:"never" about:"Remaining lifetime from the start of this request"`
}

type acquireRequest struct {
	operation.Named
	Count     uint64         `about:"Units to acquire. Default: 1, or all units of an ephemeral semaphore"`
	Limit     uint64         `about:"Create a missing semaphore with this limit"`
	Ephemeral bool           `about:"Use an ephemeral semaphore, which exists only while owned"`
	Data      []byte         `about:"Owner data that other clients can read, such as an address"`
	Wait      *time.Duration `name:"wait" about:"Maximum time in the queue. Default: the session's lifetime"`
	Poll      *time.Duration `name:"poll" about:"Maximum time to wait for the response, up to a third of the session timeout"`
}

// acquisition is an acquire's outcome.
type acquisition struct {
	Outcome acquireOutcome `about:"If waiting, send the request again with the same sequence number"`
	Fence   uint64         `about:"Fencing token, or order id in the queue"`
}

// acquireOutcome is the protocol's outcome in the words of the HTTP API.
type acquireOutcome protocol.AcquireOutcome

// String implements fmt.Stringer; it returns an empty string for an unknown outcome.
func (o acquireOutcome) String() string { return outcomeWords[protocol.AcquireOutcome(o)] }

type releaseRequest struct {
	operation.Named
	Fence uint64 `about:"Release only if owned under this fencing token"`
}

type released struct {
	Released bool `about:"false if there was nothing to release"`
}

type updateRequest struct {
	operation.Named
	Data       []byte
	Fence      uint64 `about:"Update only if the session in the header owns the semaphore under this fencing token"`
	IfRevision uint64 `about:"Update only if the semaphore has this revision"`
}

type updated struct {
	operation.Done
	Revision uint64 `about:"Semaphore revision after an update with a fence"`
}

const (
	// defaultTimeout is the default HTTP session timeout, minTimeout the minimum, because requests come less often than
	// pings.
	defaultTimeout = 30 * time.Second
	minTimeout     = 3 * time.Second
	// pollParts divides a session's timeout: a request may wait for at most this fraction.
	pollParts = 3
)

// updateRoute is the only route that needs a session only in some requests.
const updateRoute = "/semaphore/update"

// ownSessionRoutes are about the caller's own sessions, and the semaphores owned by the sessions.
func ownSessionRoutes() []route {
	const group = "Own sessions"
	return []route{
		answering(post, "/session/create", group, "acquire", "Starts a session", startSession),
		answering(post, "/session/keep-alive", group, "acquire", "Renews a session for its timeout from now on",
			func(ctx context.Context, c *call, _ *operation.None) (lease sessionLease, err error) {
				err = c.withSession(ctx, func(_ context.Context, a *attached) error {
					lease.ExpiresIn = a.Timeout()
					return nil
				})
				return lease, err
			}),
		answering(post, "/session/close", group, "acquire", "Ends a session and releases its holdings", endSession),
		waiting("/semaphore/acquire", group, "Acquires a semaphore, or waits in its queue", acquire),
		answering(post, "/semaphore/release", group, "acquire", "Releases the session's units, or leaves the queue",
			func(ctx context.Context, c *call, q *releaseRequest) (r released, err error) {
				err = c.withSession(ctx, func(ctx context.Context, a *attached) error {
					return a.change(ctx, c.r.Header, mutation{
						message: func(m protocol.Mutation) protocol.RequestMessage {
							return &protocol.Release{Mutation: m, Name: []byte(q.Name), OrderID: q.Fence}
						},
						read: func(answer *protocol.Answer) { r.Released = answer.Release.Released },
					})
				})
				return r, err
			}),
		answering(post, updateRoute, "Semaphores", "write", "Replaces the data of a semaphore", updateData),
	}
}

// updateData replaces a semaphore's data. With a fence, the change is made by the request's session.
func updateData(ctx context.Context, c *call, q *updateRequest) (u updated, err error) {
	if q.Fence == 0 {
		err = c.caller.Node(q.Node).Update(ctx, q.Name, q.Data, operation.Guarded(q.IfRevision)...)
	} else {
		err = c.withSession(ctx, func(ctx context.Context, a *attached) error {
			return a.change(ctx, c.r.Header, mutation{
				message: func(m protocol.Mutation) protocol.RequestMessage {
					return &protocol.SemaphoreUpdate{Mutation: m, Name: []byte(q.Name), Data: q.Data,
						OrderID: q.Fence, ExpectedRevision: q.IfRevision}
				},
				read: func(answer *protocol.Answer) { u.Revision = answer.SemaphoreUpdate.Revision },
			})
		})
	}
	u.Changed = err == nil
	return u, err
}

func startSession(ctx context.Context, c *call, q *startRequest) (s startedSession, err error) {
	s.Timeout = cmp.Or(q.Timeout, defaultTimeout)
	if s.Timeout < minTimeout {
		return s, refuse(protocol.StatusBadRequest, "the timeout is below "+minTimeout.String())
	}
	key := make([]byte, protocol.MaxSecretBytes)
	_, _ = rand.Read(key) // ends the program if there is no randomness
	st := c.gateway.stays.prepare(c.caller)
	began := time.Now()
	started, err := c.caller.raw.Start(ctx, raw.Params{
		Path: q.Node, Timeout: s.Timeout, Details: q.Details, Key: key, OnEnd: st.over,
	})
	if err != nil {
		return s, err
	}
	st.begin(started, key, began)
	st.path = q.Node
	st.leave()
	s.ID, s.Session = started.ID(), credentials(started.ID(), key)
	return s, nil
}

func endSession(ctx context.Context, c *call, _ *operation.None) (operation.Done, error) {
	a, err := c.attach(ctx)
	if err == nil {
		defer a.stay.leave()
		err = a.end(ctx)
	}
	if errors.Is(err, client.ErrSessionExpired) {
		return operation.Done{Changed: false}, nil
	}
	return operation.Done{Changed: err == nil}, err
}

// end stops the session.
func (a *attached) end(ctx context.Context) error {
	err := a.Stop(ctx)
	if err == nil && a.lost() {
		if err = a.attachAnew(ctx, a.stay.secret); err == nil {
			err = a.Stop(ctx)
		}
	}
	if err == nil && errors.Is(a.Err(), client.ErrBadSession) {
		return errUsedElsewhere
	}
	return err
}

// acquire asks for a semaphore, and waits for the grant without holding the session.
func acquire(ctx context.Context, c *call, q *acquireRequest) (got acquisition, err error) {
	waiting, leave, err := c.wait(ctx)
	if err != nil {
		return got, err
	}
	defer leave()
	var s *raw.Session
	var outcome protocol.AcquireOutcome
	m := mutation{
		name: q.Name, message: q.message,
		read: func(answer *protocol.Answer) {
			outcome, got.Fence = answer.Acquire.Outcome, answer.Acquire.OrderID
		},
		doubtful: func() bool { return outcome == protocol.NotAcquired },
	}
	asking, cancel := c.within(ctx)
	defer cancel()
	err = c.withSession(asking, func(ctx context.Context, a *attached) error {
		s = a.Session
		if err := a.checkNode(ctx, q.Node); err != nil {
			return err
		}
		if q.Limit == 0 || q.Ephemeral {
			return a.change(ctx, c.r.Header, m)
		}
		return a.acquireOrCreate(ctx, q, m)
	})
	if err != nil {
		return got, err
	}
	got.Outcome = acquireOutcome(outcome)
	if outcome != protocol.Queued {
		return got, nil
	}
	c.turn.End()
	return c.awaitGrant(ctx, waiting, q, s, got)
}

var outcomeWords = map[protocol.AcquireOutcome]string{
	protocol.NotAcquired: "not_acquired", protocol.Acquired: "acquired", protocol.Queued: "waiting",
}

// message returns the acquire in protocol form.
func (ar *acquireRequest) message(m protocol.Mutation) protocol.RequestMessage {
	wait := uint64(protocol.Forever)
	if ar.Wait != nil {
		wait = uint64(ar.Wait.Milliseconds())
	}
	return &protocol.Acquire{
		Mutation: m, Name: []byte(ar.Name), Count: ar.count(), WaitMillis: wait, Data: ar.Data,
		Ephemeral: ar.Ephemeral,
	}
}

// count returns the number of semaphore units for the request. A request without a count is for an exclusive lock: an
// ephemeral semaphore's limit is client.All, so a count of 1 would admit every session that asks.
func (ar *acquireRequest) count() uint64 {
	if ar.Ephemeral {
		return cmp.Or(ar.Count, client.All)
	}
	return cmp.Or(ar.Count, 1)
}

// checkNode checks, once, that the session belongs to the node: while a node has sessions, its id cannot change.
func (a *attached) checkNode(ctx context.Context, path string) error {
	if a.stay.path == path {
		return nil
	}
	node, err := a.call.caller.DescribeNode(ctx, path)
	if err != nil {
		return err
	}
	if node.ID != a.NodeID() {
		return refuse(protocol.StatusBadSession, "the session belongs to a node other than "+path)
	}
	a.stay.path = path
	return nil
}

// acquireOrCreate acquires a semaphore, and creates it if missing. An acquire of a missing semaphore would use
// the number up: NOT_FOUND would be the answer under the number for good. So if the caller has given the number, the
// semaphore is looked for first.
func (a *attached) acquireOrCreate(ctx context.Context, q *acquireRequest, m mutation) error {
	header, node := a.call.r.Header, a.call.caller.Node(q.Node)
	var err error
	if header.Get(sequenceHeader) == "" {
		if err = a.change(ctx, header, m); !errors.Is(err, client.ErrNotFound) {
			return err
		}
	} else {
		_, err = node.Describe(ctx, q.Name, client.WithConsistency(client.Relaxed))
		if errors.Is(err, client.ErrNotFound) {
			_, err = node.Describe(ctx, q.Name)
		}
	}
	if errors.Is(err, client.ErrNotFound) {
		err = node.Create(ctx, q.Name, q.Limit, nil)
	}
	if err != nil && !errors.Is(err, client.ErrAlreadyExists) {
		return err
	}
	return a.change(ctx, header, m)
}

// awaitGrant watches the semaphore until the session owns it or the maximum wait has passed.
func (c *call) awaitGrant(
	ctx, waiting context.Context, q *acquireRequest, s *raw.Session, got acquisition,
) (acquisition, error) {
	poll := s.Timeout() / pollParts
	if q.Poll != nil {
		poll = min(poll, *q.Poll)
	}
	if q.Wait != nil {
		poll = min(poll, *q.Wait)
	}
	waiting, cancel := context.WithTimeout(waiting, poll)
	defer cancel()
	for v, err := range c.caller.Node(q.Node).Watch(waiting, q.Name, client.OwnersOnly()) {
		if err != nil {
			break // the time is over, or the next read fails too
		}
		if o, ok := v.Owner(got.Fence); ok && o.SessionID == s.ID() {
			got.Outcome = acquireOutcome(protocol.Acquired)
			return got, nil
		}
	}
	reading, cancel := context.WithTimeoutCause(ctx, callTimeout, errTooLong)
	defer cancel()
	return c.standing(reading, q, s.ID(), got)
}

// standing reads whether the session owns, or waits.
func (c *call) standing(ctx context.Context, q *acquireRequest, session uint64, got acquisition) (acquisition, error) {
	d, err := c.caller.Node(q.Node).Describe(ctx, q.Name, client.WithOwners(), client.WithWaiters(),
		client.WithConsistency(client.Strict))
	if err != nil && !errors.Is(err, client.ErrSemaphoreNotFound) {
		return got, err
	}
	if d != nil {
		for _, o := range d.Owners {
			if o.SessionID == session {
				return acquisition{acquireOutcome(protocol.Acquired), o.OrderID}, nil
			}
		}
		for _, w := range d.Waiters {
			if w.SessionID == session {
				return acquisition{acquireOutcome(protocol.Queued), w.OrderID}, nil
			}
		}
	}
	return acquisition{Outcome: acquireOutcome(protocol.NotAcquired)}, nil
}
