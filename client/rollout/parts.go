package rollout

import (
	"context"
	"iter"

	"github.com/signalbox/signalbox/client/internal/object"
)

// History returns the targets that a location had, beginning with the oldest target that is kept.
func (r *Rollout) History(ctx context.Context, location string, options ...ReadOption) ([]Row, error) {
	return rows[Row](ctx, r, "history/"+location, options)
}

// Actions returns the acts of operators on the rollout, beginning with the oldest act that is kept.
func (r *Rollout) Actions(ctx context.Context, options ...ReadOption) ([]ActionRecord, error) {
	return rows[ActionRecord](ctx, r, "actions", options)
}

// Why returns why the rollout does not move, with the names of instances that the rollout waits for; an idle rollout
// has no reasons.
func (r *Rollout) Why(ctx context.Context, options ...ReadOption) ([]BlockReason, error) {
	s, err := r.Describe(ctx, append(options[:len(options):len(options)], WithReasons())...)
	if err != nil {
		return nil, err
	}
	return s.Reasons, nil
}

// Instances returns the instances that have joined in a location, in the order of joining. The pages show different
// moments: instances that come or go while the pages are read may be in the list or not.
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
