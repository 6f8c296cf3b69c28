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

// part is one membership: from a join to the end of the membership, by one incarnation of the session. While there is
// nothing to handle a part has no goroutine.
//
// Locks are taken in this order: the lock of the incarnation, the lock of a part.
type part struct {
	member *Member
	in     *session.Incarnation
	inbox  *session.Inbox
	id     uint64
	ctx    context.Context // ends with the membership, with its cause
	end    context.CancelCauseFunc
	turn   turn
	posts  posts

	// For the goroutine that handles items.
	current      *Round        // begun, and neither cancelled nor completed
	coordinating chan struct{} // closed when Coordinate has returned; nil before a call

	mu       sync.Mutex // guards the fields below
	newest   *Round     // of the latest prepare
	received uint64     // the last seq
	queue    []*item    // to be handled
	handling *item      // being handled; nil for none
	running  bool       // a goroutine handles items
	endings  map[uint64]*ending
	acks     acks
}

// item is an item of the inbox to be handled, or the end of the membership.
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

// newPart returns the part of a member, for an incarnation that is to join.
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

// over has the end of the membership handled, in the place of all items that are not handled yet.
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

// Membership is a member from a join to the end of the membership: until the member leaves, is removed, or the session
// is over. A member whose session is renewed gets another Membership. It is safe for use by many goroutines.
type Membership part

// Context returns a context that ends with the membership, with the reason as the cause.
//
// If the session is over, the context ends before the other members go on without the member, as long as this process
// runs. A process that was stopped meanwhile may see the end too late; Err looks at the clock.
func (m *Membership) Context() context.Context { return m.ctx }

// Err returns nil while the session is a member, by the clock of this moment, and why the membership ended afterwards.
func (m *Membership) Err() error {
	if err := m.in.Err(); err != nil && m.ctx.Err() == nil {
		return err
	}
	return context.Cause(m.ctx)
}

// mutation makes a command of the member, with the member's part in the command.
type mutation func(object.Key, protocol.Part) protocol.MutationMessage

// mutate carries out a command of the member, beside other commands, and has handled items acknowledged along with it.
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

// command carries out a command whose answer has nothing to read.
func (p *part) command(ctx context.Context, operation client.OperationKind, epoch uint64, message mutation) error {
	return p.mutate(ctx, operation, epoch, message, nil, false)
}

// send sends a request, and connects the exchange with its end.
func (p *part) send(ctx context.Context, r *Round, m *protocol.ProcessSend, x *Exchange) error {
	return p.mutate(ctx, OpSend, r.epoch,
		func(k object.Key, by protocol.Part) protocol.MutationMessage {
			m.Mutation, m.NodeID, m.Name, m.Part = protocol.Mutation{}, k.Node, k.Name, by // this may be another try
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

// completed confirms that the member has handled the completion of a round.
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

// postsAtOnce is how many commands that no function waits for are under way for a member.
const postsAtOnce = 64

// posts are commands that no function waits for. A member leaves only when all posts are carried out.
type posts struct {
	places chan struct{}
	all    sync.WaitGroup
}

// post carries out a command in the background. It waits while too many commands are under way.
func (p *part) post(send func(ctx context.Context) error) {
	p.posts.places <- struct{}{}
	p.posts.all.Go(func() {
		defer func() { <-p.posts.places }()
		_ = send(p.in.Context()) // a refused command comes too late; the inbox says what goes on
	})
}
