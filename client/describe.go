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

// Owner is a session that owns a part of a semaphore. The data is shared and must not be changed.
type Owner struct {
	// OrderID is the fencing token: the number that the session got on joining.
	OrderID   uint64 `name:"fence"`
	SessionID uint64
	Count     uint64
	// Data is the data of the session's latest acquire.
	Data []byte
	// Since is when the session became an owner, by the wall clock of a host, and Client is the client of the session.
	// Both are for people, and are set in descriptions only: views of a watch leave them empty.
	Since  time.Time
	Client ClientInfo
}

// ClientInfo says from which address a session's client speaks, and how the client names itself. Unknown fields are
// empty.
type ClientInfo struct {
	// Address is the address of the client's connection, as a host sees it.
	Address string
	// Name and Version are what the client said of itself on connecting; see WithName.
	Name    string
	Version string
}

// Waiter is a session that waits for a part of a semaphore.
type Waiter struct {
	// OrderID is the place in the queue.
	OrderID   uint64
	SessionID uint64
	Count     uint64
	Data      []byte
	// Wait is how long the latest acquire waits; a negative value means for as long as the session lives.
	Wait time.Duration
	// Since is when the session began to wait, by the wall clock of a host, and Client is the client of the session.
	// Both are for people.
	Since  time.Time
	Client ClientInfo
}

// SemaphoreDetails is a semaphore at one moment.
type SemaphoreDetails struct {
	SemaphoreInfo
	// Owners and Waiters are ordered by order id: the order in which sessions joined.
	Owners  []Owner
	Waiters []Waiter
}

// SemaphoreInfo is a semaphore without its owners and waiters.
type SemaphoreInfo struct {
	Name  string
	Limit uint64
	// Count is how much of the limit is owned.
	Count     uint64
	Revision  uint64
	Ephemeral bool
	// OwnerCount and WaiterCount are the numbers of owners and of waiters.
	OwnerCount  int
	WaiterCount int
	Data        []byte
}

// DescribeOption sets what a description contains.
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

// WithConsistency sets how fresh the description must be, in the place of the mode in the node's config.
func WithConsistency(mode Consistency) DescribeOption {
	return func(c *describeConfig) { c.consistency = mode }
}

// Most bounds how many owners and waiters a part of DescribeParts has. Default: as many as a host sends at once.
func Most(n int) DescribeOption {
	return func(c *describeConfig) { c.most = n }
}

// ReuseDetails has the description written over d, in the memory of d, and returned: a program that describes often,
// and keeps nothing of a description, makes no garbage then. After an error d is not a description.
func ReuseDetails(d *SemaphoreDetails) DescribeOption {
	return func(c *describeConfig) { c.into = d }
}

// OnChanged leaves a one-shot watch: the function is called once, on a goroutine of its own, when the data or the
// owners have changed since the description. If both arguments are false, a change may have been missed, because a
// connection was lost or a later description of the session left a watch: describe again. OnChanged needs a session,
// and a session has one such watch for a semaphore.
//
// To follow a semaphore, Watch is easier.
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

// description is what a describe works with. It is used again and again: describes are many, and short.
type description struct {
	config  describeConfig
	message protocol.SemaphoreDescribe
	details *SemaphoreDetails
	// answered adds the page of an answer to the details. It is made once.
	answered func(a *protocol.Answer)
}

var descriptions = sync.Pool{New: func() any {
	d := &description{}
	d.answered = func(a *protocol.Answer) { d.details.add(&d.message, &a.SemaphoreDescribe) }
	return d
}}

// recycle gives a description back to the pool, unless a one-shot watch knows the description.
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

// DescribeParts describes a semaphore in parts of about 256 KiB, for programs that need not have all owners and
// waiters in memory at once. Each part has the next owners, and then waiters, behind the given order id; 0 begins with
// the first. Only the first part of a description that begins with 0 has the semaphore's data. Parts show different
// moments: owners and waiters that come or go meanwhile may be in a part or not. Options that leave a watch are
// refused.
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

// empty makes the details those of a semaphore of which nothing is known yet.
func (d *SemaphoreDetails) empty(name string) {
	clear(d.Owners) // what is left over is garbage
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

// Timestamp is when something happened to an object, by the time of the object's shard.
type Timestamp = field.Timestamp

// moment converts a time of the protocol; 0 stands for an unknown time, and becomes the zero time.
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
