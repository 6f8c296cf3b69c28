package process

import (
	"context"
	"sync"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/client/internal/session"
	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// part is one membership: from a join to the membership's end, by one session incarnation. While there is nothing to
// handle, a part has no goroutine.
//
// Lock order: the incarnation's lock, then a part's lock.
type part struct {
	member *Member
	in     *session.Incarnation
	inbox  *session.Inbox
	id     uint64
	ctx    context.Context // ends with the membership; has its cause
	end    context.CancelCauseFunc
	turn   turn
	posts  posts

	// For the goroutine that handles items.
	current      *Round        // begun, and neither cancelled nor completed
	coordinating chan struct{} // closed when Coordinate has returned; nil before a call

	mu       sync.Mutex // guards the fields below
	newest   *Round     // from the latest prepare
	received uint64     // the last seq
	queue    []*item    // to be handled
	handling *item      // being handled; nil if none
	running  bool       // a goroutine handles items
	endings  map[uint64]*ending
	acks     acks
}

// item is an inbox item to handle, or the membership's end.
type item struct {
	seq     uint64
	kind    kind.ItemKind
	over    bool // the membership is over
	epoch   uint64
	round   *Round
	request *Request
	result  *Result
	bytes   int
}

// newPart returns a member's part, for an incarnation that will join.
func newPart(m *Member, in *session.Incarnation) *part {
	p := &part{member: m, in: in, turn: newTurn(), endings: make(map[uint64]*ending)}
	p.ctx, p.end = context.WithCancelCause(context.Background())
	p.posts.places = make(chan struct{}, postsAtOnce)
	return p
}

// begin begins the membership, once the session has joined.
func (p *part) begin(id uint64) {
	p.id = id
	context.AfterFunc(p.ctx, p.over)
	context.AfterFunc(p.in.Context(), func() { p.end(context.Cause(p.in.Context())) })
	context.AfterFunc(p.member.ctx, func() { p.end(context.Cause(p.member.ctx)) })
	p.inbox.Open(id)
}

// over replaces all items not handled yet by the membership's end.
func (p *part) over() {
	p.inbox.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = []*item{{over: true}}
	p.wakeUp()
}

// wakeUp has items handled. The lock is held.
func (p *part) wakeUp() {
	if !p.running && len(p.queue) > 0 {
		p.running = true
		go p.handleAll()
	}
}

// Received implements session.InboxReader.
func (p *part) Received() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.received
}

// Removed implements session.InboxReader.
func (p *part) Removed(why error) { p.end(removed(why)) }

// Membership lasts from a join until the member leaves, is evicted, or loses its session. A member whose session is
// recreated gets a new Membership. A Membership is safe for concurrent use.
type Membership part

// Context returns a context that ends with the membership, with the reason as cause.
//
// If the session ends, the context ends before the other members continue without the member, while this process runs.
// A paused process may see the end too late; Err checks the clock.
func (m *Membership) Context() context.Context { return m.ctx }

// Err checks the clock. It returns nil while the session is a member, and the reason for the membership's end
// afterwards.
func (m *Membership) Err() error {
	if err := m.in.Err(); err != nil && m.ctx.Err() == nil {
		return err
	}
	return context.Cause(m.ctx)
}

// mutation creates a member's command, including the member's protocol.Part.
type mutation func(object.Key, protocol.Part) protocol.MutationMessage

// mutate sends a member's command, concurrently with other commands, and acknowledges handled items along with it.
func (p *part) mutate(
	ctx context.Context, operation client.OperationKind, epoch uint64, message mutation,
	read func(a *protocol.Answer), impatient bool,
) error {
	name := p.member.Name()
	ack := p.takeAck()
	err := p.member.object.Session.Do(ctx, string(operation), name,
		func(ctx context.Context, in *session.Incarnation) error {
			if in != p.in {
				return context.Cause(p.in.Context())
			}
			m := message(object.KeyOf(in, name), protocol.Part{MemberID: p.id, Epoch: epoch, Ack: ack})
			return in.MutateBeside(ctx, name, m, read, impatient)
		})
	if err != nil {
		p.ackLost(ack)
	}
	return err
}

// command sends a command whose response has no data.
func (p *part) command(ctx context.Context, operation client.OperationKind, epoch uint64, message mutation) error {
	return p.mutate(ctx, operation, epoch, message, nil, false)
}

// send sends a request and connects the exchange with its end.
func (p *part) send(ctx context.Context, r *Round, m *protocol.ProcessSend, x *Exchange) error {
	return p.mutate(ctx, OpSend, r.epoch,
		func(k object.Key, by protocol.Part) protocol.MutationMessage {
			m.Mutation, m.NodeID, m.Name, m.Part = protocol.Mutation{}, k.Node, k.Name, by // this may be a retry
			return m
		}, func(a *protocol.Answer) { p.register(a.ProcessSend.Exchange, x) }, true)
}

// reply replies to a request.
func (p *part) reply(ctx context.Context, q *Request, failed bool, data []byte) error {
	return p.command(ctx, OpReply, q.round.epoch, func(k object.Key, by protocol.Part) protocol.MutationMessage {
		return &protocol.ProcessReply{
			NodeID: k.Node, Name: k.Name, Part: by, Exchange: q.exchange, Failed: failed, Data: data,
		}
	})
}

// prepared confirms that the member is prepared for a round.
func (p *part) prepared(ctx context.Context, r *Round) error {
	return p.command(ctx, OpPrepareAck, r.epoch, func(k object.Key, by protocol.Part) protocol.MutationMessage {
		return &protocol.ProcessPrepareAck{NodeID: k.Node, Name: k.Name, Part: by}
	})
}

// complete completes a round.
func (p *part) complete(ctx context.Context, r *Round, result []byte) error {
	return p.command(ctx, OpComplete, r.epoch, func(k object.Key, by protocol.Part) protocol.MutationMessage {
		return &protocol.ProcessComplete{NodeID: k.Node, Name: k.Name, Part: by, Result: result}
	})
}

// completed confirms that the member has handled a round's completion.
func (p *part) completed(ctx context.Context, r *Round) error {
	return p.command(ctx, OpCompleteAck, r.epoch, func(k object.Key, by protocol.Part) protocol.MutationMessage {
		return &protocol.ProcessCompleteAck{NodeID: k.Node, Name: k.Name, Part: by}
	})
}

// fail gives a round up.
func (p *part) fail(ctx context.Context, r *Round, why error) error {
	return p.command(ctx, OpFail, r.epoch, func(k object.Key, by protocol.Part) protocol.MutationMessage {
		return &protocol.ProcessFail{NodeID: k.Node, Name: k.Name, Part: by, Text: failureText(why)}
	})
}

// leave ends the membership at hosts.
func (p *part) leave(ctx context.Context) error {
	return p.member.object.Change(ctx, OpLeave, func(k object.Key) protocol.MutationMessage {
		return &protocol.ProcessLeave{NodeID: k.Node, Name: k.Name, MemberID: p.id}
	}, nil)
}

// postsAtOnce is the maximum number of background commands in flight per member.
const postsAtOnce = 64

// posts are background commands. A member leaves only after all posts are done.
type posts struct {
	places chan struct{}
	all    sync.WaitGroup
}

// post sends a command in the background. It waits while too many commands are in flight.
func (p *part) post(send func(ctx context.Context) error) {
	p.posts.places <- struct{}{}
	p.posts.all.Go(func() {
		defer func() { <-p.posts.places }()
		_ = send(p.in.Context()) // a rejected command is too late; the inbox reports what happens next
	})
}
