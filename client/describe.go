package client

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/client/internal/session"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
)

// Owner is a session that owns units of a semaphore. Data is shared and must not be changed.
type Owner struct {
	// OrderID is the fencing token of the owner.
	OrderID   uint64 `name:"fence" omit:"never"`
	SessionID uint64 `omit:"never"`
	Count     uint64 `omit:"never"`
	// Data is the data from the session's latest acquire.
	Data []byte
	// Since is when the session became an owner, by a host's wall clock. Client is the session's client. Both are
	// informational and set only in descriptions; watch views leave them empty.
	Since  time.Time
	Client ClientInfo
}

// ClientInfo identifies a session's client by its address and by its own name. Unknown fields are empty.
type ClientInfo struct {
	// Address is the client's connection address, as seen by a host.
	Address string
	// Name and Version are what the client reported when it connected; see WithName.
	Name    string
	Version string
}

// Waiter is a session that waits for units of a semaphore.
type Waiter struct {
	// OrderID is the queue position: waiters with smaller numbers are served first.
	OrderID   uint64 `omit:"never"`
	SessionID uint64 `omit:"never"`
	Count     uint64 `omit:"never"`
	Data      []byte
	// Wait is how long the latest acquire waits; a negative value means for as long as the session lives.
	Wait time.Duration
	// Since is when the session started to wait, by a host's wall clock. Client is the session's client. Both are
	// informational.
	Since  time.Time
	Client ClientInfo
}

// SemaphoreDetails describes a semaphore with its owners and waiters. Owners and Waiters are empty unless WithOwners
// and WithWaiters ask for them.
type SemaphoreDetails struct {
	SemaphoreInfo
	// Owners and Waiters are sorted by OrderID, so the session that has waited longest is first.
	Owners  []Owner
	Waiters []Waiter
}

// SemaphoreInfo is a semaphore without its owners and waiters.
type SemaphoreInfo struct {
	Name  string `omit:"never"`
	Limit uint64 `omit:"never"`
	// Count is the number of owned units.
	Count     uint64
	Revision  uint64 `omit:"never"`
	Ephemeral bool
	// OwnerCount and WaiterCount are the numbers of owners and waiters.
	OwnerCount  int
	WaiterCount int
	Data        []byte
}

// DescribeOption configures a description.
type DescribeOption func(*describeConfig)

type describeConfig struct {
	owners, waiters        bool
	consistency            Consistency
	watchData, watchOwners bool
	changed                func(data, owners bool)
	into                   *SemaphoreDetails
	most                   int
}

// WithOwners asks for the owners.
func WithOwners() DescribeOption {
	return func(c *describeConfig) { c.owners = true }
}

// WithWaiters asks for the waiters.
func WithWaiters() DescribeOption {
	return func(c *describeConfig) { c.waiters = true }
}

// WithConsistency sets the read consistency and overrides the node's configured mode.
func WithConsistency(mode Consistency) DescribeOption {
	return func(c *describeConfig) { c.consistency = mode }
}

// Most sets the maximum number of owners and waiters per section from DescribeParts. Default: as many as a host sends
// at once.
func Most(n int) DescribeOption {
	return func(c *describeConfig) { c.most = n }
}

// ReuseDetails overwrites d with the description, reuses its memory and returns it. This avoids garbage in programs
// that describe often and keep nothing from a description. After an error, d is not a valid description.
func ReuseDetails(d *SemaphoreDetails) DescribeOption {
	return func(c *describeConfig) { c.into = d }
}

// OnChanged sets a one-shot watch: f is called once, in its own goroutine, when the data or the owners have changed
// since the description. If both arguments are false, a change may have been missed because a connection was lost or a
// later description by the session set a new watch; describe again. OnChanged needs a session, and a session has one
// such watch per semaphore.
//
// Watch is an easier way to follow a semaphore.
func OnChanged(f func(data, owners bool)) DescribeOption {
	return func(c *describeConfig) { c.changed, c.watchData, c.watchOwners = f, true, true }
}

// OnDataChanged is OnChanged for the data only, and for the semaphore's end.
func OnDataChanged(f func(data, owners bool)) DescribeOption {
	return func(c *describeConfig) { c.changed, c.watchData, c.watchOwners = f, true, false }
}

// OnOwnersChanged is OnChanged for the owners only, and for the semaphore's end.
func OnOwnersChanged(f func(data, owners bool)) DescribeOption {
	return func(c *describeConfig) { c.changed, c.watchData, c.watchOwners = f, false, true }
}

// description is the working state for a describe call. Descriptions are frequent and short, so the state is pooled.
type description struct {
	config  describeConfig
	message protocol.SemaphoreDescribe
	details *SemaphoreDetails
	// answered adds a response page to the details. It is created once.
	answered func(a *protocol.Answer)
}

var descriptions = sync.Pool{New: func() any {
	d := &description{}
	d.answered = func(a *protocol.Answer) { d.details.add(&d.message, &a.SemaphoreDescribe) }
	return d
}}

// recycle returns a description to the pool, unless a one-shot watch refers to it.
func (d *description) recycle() {
	if d.config.changed == nil {
		*d = description{answered: d.answered}
		descriptions.Put(d)
	}
}

// describe reads a semaphore, page by page, and begins anew a few times if the semaphore changed between two pages. in
// is nil for a reader without a session.
func (c *Client) describe(
	ctx context.Context, in *session.Incarnation, node uint64, name string, options ...DescribeOption,
) (*SemaphoreDetails, error) {
	d := descriptions.Get().(*description)
	defer d.recycle()
	config := &d.config
	for _, o := range options {
		o(config)
	}
	if config.into == nil {
		config.into = &SemaphoreDetails{}
	}
	d.details = config.into
	slot := protocol.SemaphoreSlot(node, protocol.View(name))
	where := c.cluster.HomeOf(slot)
	if in != nil || config.consistency == Strict {
		where = cluster.NearLeader(slot) // a follower would have to ask the leader for a Strict read
	}
	for try := 1; ; try++ {
		d.details.empty(name)
		d.message = protocol.SemaphoreDescribe{
			NodeID: node, Name: protocol.View(name), IncludeOwners: config.owners, IncludeWaiters: config.waiters,
			Consistency: protocol.Consistency(config.consistency),
		}
		whole, err := c.describePages(ctx, in, where, d)
		if err != nil {
			return nil, err
		}
		if whole || config.changed != nil || try == describeTries {
			return d.details, nil
		}
	}
}

// describePages fills a description. whole reports whether all pages show a single moment.
func (c *Client) describePages(
	ctx context.Context, in *session.Incarnation, where cluster.Target, d *description,
) (whole bool, err error) {
	whole = true
	m, config := &d.message, &d.config
	if config.changed != nil {
		if in == nil {
			return true, failure.BadRequest("a one-shot watch needs a session; watch the semaphore instead")
		}
		m.WatchData, m.WatchOwners = config.watchData, config.watchOwners
		read := func(a *protocol.SemaphoreDescribeAnswer) { d.details.add(m, a) }
		if err := in.DescribeAndWatch(ctx, m, read, config.changed); err != nil || m.After == 0 {
			return true, err
		}
		m.WatchData, m.WatchOwners, m.SessionID = false, false, 0
	}
	for {
		revision := d.details.Revision
		if err := c.cluster.Do(ctx, where, m, d.answered); err != nil {
			return false, err
		}
		if revision != 0 && d.details.Revision != revision {
			whole = false
		}
		if m.After == 0 {
			return whole, nil
		}
	}
}

// DescribeParts describes a semaphore in sections of about 256 KiB, for programs that cannot hold all owners and
// waiters in memory. Each section has the next owners, and then waiters, after the given order id; 0 starts at the
// beginning. Only the first section has the semaphore's data, and only if the description starts at 0. Sections show
// different moments: owners and waiters that join or leave meanwhile may be missing. Options that set a watch are
// rejected.
func (n *Node) DescribeParts(
	ctx context.Context, name string, after uint64, options ...DescribeOption,
) iter.Seq2[*SemaphoreDetails, error] {
	return func(yield func(*SemaphoreDetails, error) bool) {
		for {
			part, next, err := n.describePart(ctx, name, after, options)
			if !yield(part, err) || err != nil || next == 0 {
				return
			}
			after = next
		}
	}
}

func (n *Node) describePart(
	ctx context.Context, name string, after uint64, options []DescribeOption,
) (part *SemaphoreDetails, next uint64, err error) {
	config := option.Apply(&describeConfig{}, options)
	err = n.semaphore(ctx, OpDescribe, name, func(ctx context.Context, id uint64) error {
		if config.changed != nil {
			return failure.BadRequest("a description in parts cannot leave a watch")
		}
		m := &protocol.SemaphoreDescribe{
			NodeID: id, Name: protocol.View(name), IncludeOwners: config.owners, IncludeWaiters: config.waiters,
			Consistency: protocol.Consistency(config.consistency), After: after, Limit: uint64(max(config.most, 0)),
		}
		slot := protocol.SemaphoreSlot(id, m.Name)
		where := n.client.cluster.HomeOf(slot)
		if config.consistency == Strict {
			where = cluster.NearLeader(slot)
		}
		return n.client.cluster.Do(ctx, where, m, func(a *protocol.Answer) {
			part = &SemaphoreDetails{SemaphoreInfo: SemaphoreInfo{Name: name}}
			part.add(m, &a.SemaphoreDescribe)
			next = m.After
		})
	})
	return part, next, err
}

// empty resets the details to an unknown semaphore.
func (d *SemaphoreDetails) empty(name string) {
	clear(d.Owners) // leftovers are garbage
	clear(d.Waiters)
	d.SemaphoreInfo = SemaphoreInfo{Name: name, Data: d.Data[:0]}
	d.Owners, d.Waiters = d.Owners[:0], d.Waiters[:0]
}

// add appends a page to the details, and makes m ask for the next page; after the last page m.After is 0.
func (d *SemaphoreDetails) add(m *protocol.SemaphoreDescribe, a *protocol.SemaphoreDescribeAnswer) {
	s := &a.Semaphore
	data := d.Data
	if m.After == 0 {
		data = append(data[:0], s.Data...)
	}
	d.SemaphoreInfo = semaphoreInfo(s, d.Name)
	d.Data = data
	for o := range a.Owners.All() {
		d.Owners = append(d.Owners, describedOwner(&o))
	}
	for w := range a.Waiters.All() {
		waiter := Waiter{
			OrderID: w.OrderID, SessionID: w.SessionID, Count: w.Count, Data: slices.Clone(w.Data),
			Wait: conn.Millis(w.TimeoutMillis), Since: moment(w.SinceMillis), Client: clientInfo(&w.Client),
		}
		if w.TimeoutMillis == protocol.Forever {
			waiter.Wait = -1
		}
		d.Waiters = append(d.Waiters, waiter)
	}
	m.After = a.Next
}

func describedOwner(o *protocol.Owner) Owner {
	return Owner{
		OrderID: o.OrderID, SessionID: o.SessionID, Count: o.Count, Data: slices.Clone(o.Data),
		Since: moment(o.SinceMillis), Client: clientInfo(&o.Client),
	}
}

func clientInfo(i *protocol.ClientInfo) ClientInfo {
	return ClientInfo{Address: string(i.Address), Name: string(i.Name), Version: string(i.Version)}
}

// Timestamp is the time of an event on an object, by the clock of the object's shard.
type Timestamp = field.Timestamp

// moment converts a protocol timestamp; 0 means unknown and becomes the zero time.
func moment(millis uint64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(millis))
}

func semaphoreInfo(s *protocol.Semaphore, name string) SemaphoreInfo {
	return SemaphoreInfo{
		Name: name, Limit: s.Limit, Count: s.Count, Revision: s.Revision, Ephemeral: s.Ephemeral,
		OwnerCount: int(s.Owners), WaiterCount: int(s.Waiters),
	}
}
