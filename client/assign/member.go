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

// Member is a program that works on partitions, from Join until Leave or the session's end. A Member is safe for
// concurrent use.
type Member struct {
	member  *process.Member
	process *process.Process
	name    string
	config  config
	desk    desk

	mu         sync.Mutex          // guards the fields below
	membership *process.Membership // for the latest epoch; nil before the first
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

// WithName sets the member name that people see and that identifies the member after a restart. Default: the host name.
func WithName(name string) Option {
	return func(c *config) { c.member = append(c.member, process.WithName(name)) }
}

// Attributes sets up to 1 KiB data for a user-defined Strategy.
func Attributes(data []byte) Option {
	return func(c *config) { c.member = append(c.member, process.Attributes(data)) }
}

// WithStrategy divides partitions with the given function in place of Balance. All members should use the same
// function.
func WithStrategy(divide Strategy) Option {
	return func(c *config) { c.divide = divide }
}

// RebalanceDelay sets for how long no member may come or go before parts are divided anew, and how long to wait for the
// quiet at the most. The first member sets both, for all members. The defaults are 100 ms and 2 s.
func RebalanceDelay(quiet, most time.Duration) Option {
	return func(c *config) { c.spec.OpenDelay, c.spec.MaxOpenDelay = quiet, most }
}

// Backoff sets the delay before a handler that returned by itself runs again: a random share of a time that doubles
// with each return, from first up to most. Default: 1 to 30 seconds.
func Backoff(first, most time.Duration) Option {
	return func(c *config) { c.backoff = retry.Backoff{First: first, Most: most} }
}

// keepAssignments is how many assignments are kept, for people. The last assignment is read in every round.
const keepAssignments = 4

// Join makes the session a member for the named assignment in the session's node. The member gets partitions and calls
// the function for each partition. With client.Recreate, the member joins again after its session is replaced.
//
// A session can join an assignment only once; a second Join fails with process.ErrJoined.
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

// Partitions returns the partitions that the member works on, sorted by name.
func (m *Member) Partitions() []OwnedPartition {
	m.mu.Lock()
	by := m.membership
	m.mu.Unlock()
	return m.desk.held(by)
}

// Done returns a channel that is closed when the member has left or its session has permanently ended.
func (m *Member) Done() <-chan struct{} { return m.member.Done() }

// Err returns why the membership ended, or nil while it lasts.
func (m *Member) Err() error { return m.member.Err() }

// Leave hands over the member's partitions: it ends all partition contexts, waits until the handlers have returned, and
// leaves. If ctx ends first, leaving continues in the background. Leave does not wait for other members.
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
