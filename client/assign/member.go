package assign

import (
	"context"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/client/process"
)

// Member is a program that parts are given to, from Join until Leave or the end of the session. It is safe for use by
// many goroutines.
type Member struct {
	member  *process.Member
	process *process.Process
	name    string
	config  config
	desk    desk

	mu         sync.Mutex          // guards the fields below
	membership *process.Membership // of the latest epoch; nil before the first
}

// Option sets how a member takes part.
type Option func(*config)

type config struct {
	parts   PartitionSource
	divide  Strategy
	backoff retry.Backoff
	spec    process.Spec
	member  []process.JoinOption
}

// WithName is the name by which people know the member, and by which the member is recognized after a restart. The
// default is the name of the host.
func WithName(name string) Option {
	return func(c *config) { c.member = append(c.member, process.WithName(name)) }
}

// Attributes are up to 1 KiB for a Strategy of the user.
func Attributes(data []byte) Option {
	return func(c *config) { c.member = append(c.member, process.Attributes(data)) }
}

// WithStrategy divides parts by another function than Balance. All members should have the same function.
func WithStrategy(divide Strategy) Option {
	return func(c *config) { c.divide = divide }
}

// RebalanceDelay sets for how long no member may come or go before parts are divided anew, and how long to wait for the
// quiet at the most. The first member sets both, for all members. The defaults are 100 ms and 2 s.
func RebalanceDelay(quiet, most time.Duration) Option {
	return func(c *config) { c.spec.OpenDelay, c.spec.MaxOpenDelay = quiet, most }
}

// Backoff sets how long after a return a function that has returned by itself is called again: a random part of a time
// that doubles with each return, from first to most. The default is 1 to 30 seconds.
func Backoff(first, most time.Duration) Option {
	return func(c *config) { c.backoff = retry.Backoff{First: first, Most: most} }
}

// keepAssignments is how many assignments are kept, for people. The last assignment is read in every round.
const keepAssignments = 4

// Join lets the session take part in the assignment of a name in the session's node: the session is given parts, and
// works on each part by calling the function. A session with client.Recreate takes part again after it has been
// replaced.
//
// A session takes part once: process.ErrJoined says that the session takes part already.
func Join(
	ctx context.Context, s *client.Session, name string, parts PartitionSource, work Handler, options ...Option,
) (*Member, error) {
	m := &Member{process: process.NewInSession(s, name), name: name, config: config{
		parts: parts, divide: Balance, backoff: retry.Backoff{First: time.Second, Most: 30 * time.Second},
		spec: process.Spec{KeepResults: keepAssignments},
	}}
	option.Apply(&m.config, options)
	m.desk = desk{work: work, backoff: m.config.backoff, jobs: make(map[string]*job)}
	joined, err := process.Join(ctx, s, name, m.handler(),
		append(m.config.member, process.Encoding(process.JSON), process.Create(m.config.spec))...)
	if err != nil {
		return nil, failure.OfName("assign", "join", name, err)
	}
	m.member = joined
	return m, nil
}

// Partitions returns the parts that the member works on, ordered by name.
func (m *Member) Partitions() []OwnedPartition {
	m.mu.Lock()
	by := m.membership
	m.mu.Unlock()
	return m.desk.held(by)
}

// Done returns a channel that is closed when the member has left, and when its session is over for good.
func (m *Member) Done() <-chan struct{} { return m.member.Done() }

// Err returns why the member is a member no more, nil while it is.
func (m *Member) Err() error { return m.member.Err() }

// Leave hands over the parts of the member: Leave ends the contexts of all parts, waits until their functions have
// returned, and leaves. If the context ends before, the leaving goes on by itself. Leave does not wait for other
// members.
func (m *Member) Leave(ctx context.Context) error {
	stopped := m.desk.close()
	err := await(ctx, stopped)
	if err == nil {
		err = m.member.Leave(ctx)
	} else {
		go func() {
			_ = await(context.Background(), stopped)
			_ = m.member.Leave(context.Background())
		}()
	}
	return failure.OfName("assign", "leave", m.name, err)
}
