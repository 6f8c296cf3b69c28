package conform

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/client/rollout"
)

// instance is a rollout instance, with the newest target reported to the player.
type instance struct {
	*rollout.Member
	mu     sync.Mutex // guards target
	target *rollout.Target
}

// join joins a rollout, and reports targets in the background.
func (d *driver) join(ctx context.Context, c *command) (result, error) {
	s, err := d.session(c)
	if err != nil {
		return nil, err
	}
	m, err := rollout.Join(ctx, s, c.Name, rollout.Instance{Name: c.Instance, Location: c.Location})
	if err != nil {
		return nil, err
	}
	i := &instance{Member: m}
	d.mu.Lock()
	d.instances[c.ID] = i
	d.mu.Unlock()
	go func() {
		for t, err := range m.Targets(context.Background()) {
			if err != nil {
				return
			}
			i.mu.Lock()
			i.target = t
			i.mu.Unlock()
			d.say(result{
				"event": "target", "instance": c.ID, "generation": t.Generation, "seq": t.Seq, "label": t.Label,
				"data": string(t.Payload), "attempt": t.Attempt,
			})
		}
	}()
	return nil, nil
}

// reach reports that the newest target is in use.
func (d *driver) reach(ctx context.Context, c *command) (result, error) {
	i, t, err := d.instance(c)
	if err != nil {
		return nil, err
	}
	return nil, i.Reached(ctx, t)
}

// fail reports that the newest target could not be applied.
func (d *driver) fail(ctx context.Context, c *command) (result, error) {
	i, t, err := d.instance(c)
	if err != nil {
		return nil, err
	}
	return nil, i.Failed(ctx, t, c.Code, errors.New(c.Text))
}

// instance returns a command's instance, and its newest target.
func (d *driver) instance(c *command) (*instance, *rollout.Target, error) {
	d.mu.Lock()
	i := d.instances[c.Instance]
	d.mu.Unlock()
	if i == nil {
		return nil, nil, fmt.Errorf("there is no instance %q", c.Instance)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.target == nil {
		return nil, nil, fmt.Errorf("instance %q has no target", c.Instance)
	}
	return i, i.target, nil
}

// member joins a process. The handler follows docs/conformance.md.
func (d *driver) member(ctx context.Context, c *command) (result, error) {
	s, err := d.session(c)
	if err != nil {
		return nil, err
	}
	called := func(kind string, r *process.Round, more result) {
		said := result{"event": "call", "member": c.ID, "kind": kind}
		if r != nil {
			said["epoch"] = r.Epoch()
		}
		for name, value := range more {
			said[name] = value
		}
		d.say(said)
	}
	m, err := process.Join(ctx, s, c.Name, process.Handler{
		Prepare: func(_ context.Context, r *process.Round) error {
			called("prepare", r, nil)
			return nil
		},
		Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
			called("coordinate", r, nil)
			replies, err := r.Broadcast(ctx, c.Data)
			var texts []string
			for _, reply := range replies {
				var text string
				err = errors.Join(err, reply.Decode(&text))
				texts = append(texts, text)
			}
			return strings.Join(texts, ","), err
		},
		Request: func(_ context.Context, r *process.Round, q *process.Request) (any, error) {
			var text string
			err := q.Decode(&text)
			called("request", r, result{"from": fmt.Sprint(q.From), "data": text})
			return "re:" + text, err
		},
		Complete: func(_ context.Context, r *process.Round, x *process.Result) {
			var text string
			_ = x.Decode(&text) // Raw reads all
			called("complete", r, result{"data": text})
		},
		Cancel:    func(r *process.Round) { called("cancel", r, nil) },
		Terminate: func() { called("terminate", nil, nil) },
	}, process.WithName(c.Member), process.Encoding(process.Raw))
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.members[c.ID] = m
	return nil, nil
}

// leave ends the participation of an instance or a member.
func (d *driver) leave(ctx context.Context, c *command) (result, error) {
	d.mu.Lock()
	i, m := d.instances[c.Instance], d.members[c.Member]
	d.mu.Unlock()
	switch {
	case i != nil:
		return nil, i.Leave(ctx)
	case m != nil:
		return nil, m.Leave(ctx)
	}
	return nil, fmt.Errorf("there is no instance %q and no member %q", c.Instance, c.Member)
}
