package conform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

// commands are the driver's commands.
var commands = map[string]func(d *driver, ctx context.Context, c *command) (result, error){
	"connect": (*driver).connect, "session": (*driver).start, "close": (*driver).close,
	"acquire": (*driver).acquire, "change": (*driver).change, "release": (*driver).release,
	"lease": (*driver).askLease, "state": (*driver).askState,
	"create": (*driver).create, "update": (*driver).update, "delete": (*driver).delete,
	"node": (*driver).node, "drop": (*driver).drop,
	"describe": (*driver).describe, "changed": (*driver).changed, "list": (*driver).list,
	"instance": (*driver).join, "reach": (*driver).reach, "fail": (*driver).fail,
	"member": (*driver).member, "leave": (*driver).leave,
	"watch": (*driver).watch, "unwatch": (*driver).cancel, "cancel": (*driver).cancel,
}

func (d *driver) connect(ctx context.Context, c *command) (result, error) {
	endpoints := ""
	for _, a := range c.Addresses {
		endpoints += a + ","
	}
	var err error
	options := []client.Option{client.WithToken(c.Token)}
	if c.Routes != nil {
		options = append(options, client.WithDialer(func(ctx context.Context, address string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", cmp.Or(c.Routes[address], address))
		}))
	}
	d.client, err = client.Open(ctx, endpoints, options...)
	return nil, err
}

func (d *driver) start(ctx context.Context, c *command) (result, error) {
	options := []client.SessionOption{
		client.SessionTimeout(millis(c.TimeoutMS)),
		client.OnState(func(s client.State) {
			if s != client.Expired && s != client.Closed || c.Renew {
				d.say(result{"event": "state", "session": c.ID, "state": stateOf(s)})
			}
		}),
	}
	if c.Renew {
		options = append(options, client.Recreate())
	}
	s, err := d.client.Session(ctx, c.Path, options...)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.sessions[c.ID] = s
	d.mu.Unlock()
	if !c.Renew {
		context.AfterFunc(s.Context(), func() {
			said := result{"event": "state", "session": c.ID, "state": "ended", "why": word(context.Cause(s.Context()))}
			var e *client.SessionEnd
			if errors.As(context.Cause(s.Context()), &e) {
				said["end"] = ends[e.Reason]
			}
			d.say(said)
		})
	}
	return result{"session_id": fmt.Sprint(s.ID())}, nil
}

func (d *driver) close(ctx context.Context, c *command) (result, error) {
	s, err := d.session(c)
	if err != nil {
		return nil, err
	}
	return nil, s.Close(ctx)
}

func (d *driver) acquire(ctx context.Context, c *command) (result, error) {
	s, err := d.semaphore(c)
	if err != nil {
		return nil, err
	}
	options := []client.AcquireOption{
		client.Count(number(c.Count, 1)), client.Data([]byte(c.Data)),
		client.OnQueued(func(order uint64) {
			d.say(result{"event": "queued", "call": c.ID, "order_id": fmt.Sprint(order)})
		}),
	}
	if c.WaitMS != nil {
		options = append(options, client.Wait(millis(*c.WaitMS)))
	}
	l, err := s.Acquire(ctx, options...)
	if err != nil {
		return nil, err
	}
	d.follow(c.ID, l)
	return result{"fence": l.Fence(), "count": l.Count()}, nil
}

func (d *driver) change(ctx context.Context, c *command) (result, error) {
	l, err := d.lease(c)
	if err == nil {
		err = l.Change(ctx, client.Count(number(c.Count, 1)))
	}
	if err != nil {
		return nil, err
	}
	return result{"count": l.Count()}, nil
}

func (d *driver) release(ctx context.Context, c *command) (result, error) {
	if c.Lease == "" {
		s, err := d.semaphore(c)
		if err != nil {
			return nil, err
		}
		released, err := s.Release(ctx)
		return result{"released": released}, err
	}
	l, err := d.lease(c)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.released[l] = true
	d.mu.Unlock()
	return nil, l.Release(ctx)
}

func (d *driver) askLease(_ context.Context, c *command) (result, error) {
	l, err := d.lease(c)
	if err != nil {
		return nil, err
	}
	if err := l.Err(); err != nil {
		return result{"held": false, "why": word(err)}, nil
	}
	return result{"held": true}, nil
}

func (d *driver) askState(_ context.Context, c *command) (result, error) {
	s, err := d.session(c)
	if err != nil {
		return nil, err
	}
	return result{"state": stateOf(s.State())}, nil
}

// stateOf is a state's word.
func stateOf(s client.State) string {
	if s == client.Expired || s == client.Closed {
		return "ended"
	}
	return s.String()
}

// ends are the words for session ends.
var ends = map[client.EndReason]string{
	client.EndUnreachable: "silence", client.EndExpired: "expired", client.EndDestroyed: "destroyed",
	client.EndNodeDropped: "node_dropped", client.EndTakenOver: "taken", client.EndClosed: "closed",
}

// semaphore is the common interface of both kinds of semaphores.
type semaphore interface {
	Acquire(context.Context, ...client.AcquireOption) (*client.Lease, error)
	Release(context.Context) (bool, error)
	Update(context.Context, []byte, ...client.UpdateOption) error
	Describe(context.Context, ...client.DescribeOption) (*client.SemaphoreDetails, error)
}

// semaphore returns a command's semaphore in a session.
func (d *driver) semaphore(c *command) (semaphore, error) {
	s, err := d.session(c)
	if err != nil {
		return nil, err
	}
	if c.Ephemeral {
		return s.Ephemeral(c.Name), nil
	}
	return s.Semaphore(c.Name), nil
}

func (d *driver) create(ctx context.Context, c *command) (result, error) {
	limit, data := number(c.Limit, 1), []byte(c.Data)
	if c.Session == "" {
		return nil, d.client.Node(c.Path).Create(ctx, c.Name, limit, data)
	}
	s, err := d.session(c)
	if err != nil {
		return nil, err
	}
	return nil, s.Semaphore(c.Name).Create(ctx, limit, data)
}

func (d *driver) update(ctx context.Context, c *command) (result, error) {
	switch data := []byte(c.Data); {
	case c.Lease != "":
		l, err := d.lease(c)
		if err != nil {
			return nil, err
		}
		return nil, l.Update(ctx, data)
	case c.Session != "":
		s, err := d.semaphore(c)
		if err != nil {
			return nil, err
		}
		return nil, s.Update(ctx, data, client.IfRevision(number(c.Revision, 0)))
	default:
		return nil, d.client.Node(c.Path).Update(ctx, c.Name, data)
	}
}

func (d *driver) delete(ctx context.Context, c *command) (result, error) {
	var options []client.DeleteOption
	if c.Force {
		options = append(options, client.Force())
	}
	if c.Session == "" {
		return nil, d.client.Node(c.Path).Delete(ctx, c.Name, options...)
	}
	s, err := d.session(c)
	if err != nil {
		return nil, err
	}
	return nil, s.Semaphore(c.Name).Delete(ctx, options...)
}

func (d *driver) node(ctx context.Context, c *command) (result, error) {
	n, err := d.client.CreateNode(ctx, c.Path, client.NodeConfig{})
	if err != nil {
		return nil, err
	}
	return result{"existed": n.Existed}, nil
}

func (d *driver) drop(ctx context.Context, c *command) (result, error) {
	return nil, d.client.DropNode(ctx, c.Path)
}

func (d *driver) describe(ctx context.Context, c *command) (result, error) {
	if c.Session == "" {
		return described(d.client.Node(c.Path).Describe(ctx, c.Name, c.shown()...))
	}
	s, err := d.semaphore(c)
	if err != nil {
		return nil, err
	}
	return described(s.Describe(ctx, c.shown()...))
}

func (d *driver) list(ctx context.Context, c *command) (result, error) {
	names := []string{}
	for s, err := range d.client.Node(c.Path).Semaphores(ctx) {
		if err != nil {
			return nil, err
		}
		names = append(names, s.Name)
	}
	return result{"names": names}, nil
}

// shown are the options of a description.
func (c *command) shown(more ...client.DescribeOption) []client.DescribeOption {
	options := append(more, client.WithOwners(), client.WithWaiters())
	if c.Strict {
		options = append(options, client.WithConsistency(client.Strict))
	}
	return options
}

func (d *driver) changed(ctx context.Context, c *command) (result, error) {
	s, err := d.semaphore(c)
	if err != nil {
		return nil, err
	}
	return described(s.Describe(ctx, c.shown(client.OnChanged(func(data, owners bool) {
		d.say(result{"event": "changed", "watch": c.ID, "data": data, "owners": owners})
	}))...))
}

func described(s *client.SemaphoreDetails, err error) (result, error) {
	if err != nil {
		return nil, err
	}
	var waiters []result
	for _, w := range s.Waiters {
		waiters = append(waiters, result{
			"order_id": fmt.Sprint(w.OrderID), "session_id": fmt.Sprint(w.SessionID), "count": fmt.Sprint(w.Count),
		})
	}
	return result{
		"limit": fmt.Sprint(s.Limit), "count": fmt.Sprint(s.Count), "revision": s.Revision, "data": string(s.Data),
		"owners": ownersOf(s.Owners), "waiters": waiters,
	}, nil
}

func ownersOf(owners []client.Owner) []result {
	list := []result{}
	for _, o := range owners {
		list = append(list, result{
			"order_id": fmt.Sprint(o.OrderID), "session_id": fmt.Sprint(o.SessionID), "count": fmt.Sprint(o.Count),
			"data": string(o.Data),
		})
	}
	return list
}

// watch reports views until the watch ends, in the background.
func (d *driver) watch(ctx context.Context, c *command) (result, error) {
	go func() {
		for v, err := range d.client.Node(c.Path).Watch(ctx, c.Name) {
			if err != nil {
				if ctx.Err() == nil {
					d.say(result{"event": "watch_end", "watch": c.ID, "why": word(err)})
				}
				return
			}
			var owners []client.Owner
			for o := range v.Owners() {
				owners = append(owners, o)
			}
			d.say(result{
				"event": "view", "watch": c.ID, "exists": v.Exists, "revision": v.Revision, "limit": v.Limit,
				"data": string(v.Data), "owners": ownersOf(owners),
			})
		}
	}()
	return nil, nil
}

// cancel ends another command's context.
func (d *driver) cancel(_ context.Context, c *command) (result, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	cancel := d.cancels[c.Call+c.Watch]
	if cancel == nil {
		return nil, fmt.Errorf("there is no call %q", c.Call+c.Watch)
	}
	cancel()
	return nil, nil
}

// words are the words for errors, most specific first.
var words = []struct {
	err  error
	word string
}{
	{context.Canceled, "CANCELLED"}, {client.ErrNotAcquired, "NOT_ACQUIRED"}, {client.ErrFenced, "FENCED"},
	{client.ErrReleased, "RELEASED"},
	{client.ErrReplaced, "REPLACED"}, {client.ErrResized, "RESIZED"}, {client.ErrDeleted, "DELETED"},
	{client.ErrSessionExpired, "SESSION_EXPIRED"}, {client.ErrSessionClosed, "SESSION_CLOSED"},
	{client.ErrClosed, "CLOSED"}, {client.ErrLeaseLost, "LEASE_LOST"},
}

// word is an error's word: the client's own, or a host's status.
func word(err error) string {
	for _, w := range words {
		if errors.Is(err, w.err) {
			return w.word
		}
	}
	var refused *protocol.Error
	if errors.As(err, &refused) {
		return refused.Status.String()
	}
	if errors.Is(err, client.ErrUnavailable) {
		return "UNAVAILABLE"
	}
	return "FAILED"
}
