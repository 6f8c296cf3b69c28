package process_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/test/clienttest"
)

// cluster starts a cluster in memory, with a client, a node and a session.
func cluster(ctx context.Context) (c *client.Client, s *client.Session, stop func()) {
	return clienttest.Connect(ctx, "/prod/jobs", client.Recreate())
}

// worker works while all members hold their own locks.
type worker struct {
	name   string
	data   sync.Mutex // data used by other parts of the program
	locked bool
}

// handler asks all members to lock, then to execute, then to unlock.
func (w *worker) handler() process.Handler {
	return process.Handler{
		Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
			for _, step := range []string{"lock", "execute", "unlock"} {
				replies, err := r.Broadcast(ctx, step)
				if err != nil {
					return nil, err // the epoch is over, or a member failed
				}
				fmt.Println(len(replies), "members:", step)
			}
			return "done", nil
		},
		Request: func(_ context.Context, _ *process.Round, q *process.Request) (any, error) {
			var step string
			if err := q.Decode(&step); err != nil {
				return nil, err
			}
			return nil, w.do(step)
		},
		Cancel:    func(*process.Round) { w.unlock() },
		Terminate: w.unlock, // no lock outlasts the member
	}
}

func (w *worker) do(step string) error {
	switch step {
	case "lock":
		w.data.Lock()
		w.locked = true
	case "execute":
		if !w.locked {
			return errors.New("it is not locked")
		}
	case "unlock":
		w.unlock()
	default:
		return fmt.Errorf("the step %q is not known", step)
	}
	return nil
}

func (w *worker) unlock() {
	if w.locked {
		w.locked = false
		w.data.Unlock()
	}
}

// Example: members work while all of them hold a lock.
func Example() {
	ctx := context.Background()
	c, _, stop := cluster(ctx)
	defer stop()
	spec := process.Spec{MinMembers: 3} // so that the example has one round
	var members []*process.Member
	for _, name := range []string{"a", "b", "c"} {
		s, err := c.Session(ctx, "/prod/jobs", client.Recreate())
		if err != nil {
			fmt.Println(err)
			return
		}
		w := &worker{name: name}
		m, err := process.Join(ctx, s, "example.process", w.handler(), process.WithName(name), process.Create(spec))
		if err != nil {
			fmt.Println(err)
			return
		}
		members = append(members, m)
	}
	for _, m := range members {
		result, err := m.Await(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		var text string
		fmt.Println(result.Decode(&text), text)
	}
	for _, m := range members {
		if err := m.Leave(ctx); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// 3 members: lock
	// 3 members: execute
	// 3 members: unlock
	// <nil> done
	// <nil> done
	// <nil> done
}

func ExampleTyped() {
	ctx := context.Background()
	_, s, stop := cluster(ctx)
	defer stop()
	type question struct{ Of string }
	type answer struct{ Free int }
	free := process.Typed[question, answer]()

	m, err := process.Join(ctx, s, "space", process.Handler{
		Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
			answers, err := free.Broadcast(ctx, r, question{Of: "/data"})
			total := 0
			for _, a := range answers {
				total += a.Value.Free
			}
			return total, err
		},
		Request: free.HandleRequest(
			func(_ context.Context, _ *process.Round, _ *process.Request, q question) (answer, error) {
				return answer{Free: 40 + len(q.Of)}, nil
			}),
	}, process.Encoding(process.JSON))
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := m.Await(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(result.Bytes()))
	// Output: 45
}

func ExampleProcess_Watch() {
	ctx := context.Background()
	c, s, stop := cluster(ctx)
	defer stop()
	p := process.New(c, "/prod/jobs", "example.process")
	if err := p.Create(ctx, process.Spec{MinMembers: 2}, process.ChangeInfo{Author: "anna"}); err != nil {
		fmt.Println(err)
		return
	}
	m, err := process.Join(ctx, s, "example.process", process.Handler{}, process.WithName("a"), process.Existing())
	if err != nil {
		fmt.Println(err)
		return
	}
	for state, err := range p.Watch(ctx, 100*time.Millisecond) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if r := state.Reasons; len(r) > 0 && r[0].Code != process.ReasonOpening {
			fmt.Printf("%v: %s: %d of %d\n", state.Phase, r[0].Code, r[0].Waiting, r[0].Of) // Text is for people
			break
		}
	}
	fmt.Println(m.Leave(ctx))
	// Output:
	// forming: too-few-members: 1 of 2
	// <nil>
}
