package rollout

import (
	"context"
	"iter"

	"github.com/signalbox/signalbox/client/internal/object"
)

// History returns a location's stored past targets, oldest first.
func (r *Rollout) History(ctx context.Context, location string, options ...ReadOption) ([]Row, error) {
	return rows[Row](ctx, r, "history/"+location, options)
}

// Actions returns stored operator actions on the rollout, oldest first.
func (r *Rollout) Actions(ctx context.Context, options ...ReadOption) ([]ActionRecord, error) {
	return rows[ActionRecord](ctx, r, "actions", options)
}

// Why returns why the rollout does not progress, with the names of the instances that block it; an idle rollout has no
// reasons.
func (r *Rollout) Why(ctx context.Context, options ...ReadOption) ([]BlockReason, error) {
	s, err := r.Describe(ctx, append(options[:len(options):len(options)], WithReasons())...)
	if err != nil {
		return nil, err
	}
	return s.Reasons, nil
}

// Instances returns the instances in a location, in joining order. Pages show different moments: instances that join or
// leave during the list may be missing.
func (r *Rollout) Instances(
	ctx context.Context, location string, options ...ReadOption,
) iter.Seq2[*InstanceState, error] {
	return func(yield func(*InstanceState, error) bool) {
		var list []InstanceState
		part := r.part("instances/"+location, options, func(p page) (err error) {
			list, err = object.ReadRows[InstanceState](nil, &p.answer.Rows, p.answer.NowMillis)
			return err
		})
		for more := true; more; more = part.Request.After != 0 {
			if _, err := part.Page(ctx); err != nil {
				yield(nil, failed(OpDescribe, r.Name(), err))
				return
			}
			for i := range list {
				if list[i].Location = location; !yield(&list[i], nil) {
					return
				}
			}
		}
	}
}
