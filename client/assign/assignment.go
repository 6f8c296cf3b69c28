package assign

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/client/process"
)

// Assignment maps partitions to members. The cluster stores an assignment once all partitions are handed over.
type Assignment struct {
	// Epoch is the epoch that produced the assignment; 0 if no assignment is stored.
	Epoch  uint64
	Owners []Owner
	// Unassigned are parts without an owner.
	Unassigned []string
}

// Owner is a member and its partitions.
type Owner struct {
	ID    uint64
	Name  string
	Parts []Partition
}

// Of returns a member's partitions.
func (a *Assignment) Of(member uint64) []Partition {
	for _, o := range a.Owners {
		if o.ID == member {
			return o.Parts
		}
	}
	return nil
}

// OwnerOf returns the owner of a partition, or nil if the partition has no owner.
func (a *Assignment) OwnerOf(part string) (*Owner, Partition) {
	for i, o := range a.Owners {
		for _, p := range o.Parts {
			if p.Name == part {
				return &a.Owners[i], p
			}
		}
	}
	return nil, Partition{}
}

// kept is the stored form of an assignment. It groups partitions by token.
type kept struct {
	Epoch  uint64      `json:"epoch"`
	Owners []keptOwner `json:"owners"`
	Free   []string    `json:"free,omitempty"`
}

type keptOwner struct {
	ID    uint64              `json:"id"`
	Name  string              `json:"name"`
	Parts map[uint64][]string `json:"parts,omitempty"`
}

// MarshalJSON encodes the assignment in its stored form.
func (a Assignment) MarshalJSON() ([]byte, error) {
	k := kept{Epoch: a.Epoch, Free: a.Unassigned, Owners: make([]keptOwner, len(a.Owners))}
	for i, o := range a.Owners {
		k.Owners[i] = keptOwner{ID: o.ID, Name: o.Name, Parts: make(map[uint64][]string)}
		for _, p := range o.Parts {
			k.Owners[i].Parts[p.Token] = append(k.Owners[i].Parts[p.Token], p.Name)
		}
	}
	return json.Marshal(k)
}

// UnmarshalJSON decodes the output from MarshalJSON. Partitions are sorted by name.
func (a *Assignment) UnmarshalJSON(data []byte) error {
	var k kept
	if err := json.Unmarshal(data, &k); err != nil {
		return err
	}
	*a = Assignment{Epoch: k.Epoch, Unassigned: k.Free}
	for _, o := range k.Owners {
		owner := Owner{ID: o.ID, Name: o.Name}
		for token, parts := range o.Parts {
			for _, part := range parts {
				owner.Parts = append(owner.Parts, Partition{Name: part, Token: token})
			}
		}
		slices.SortFunc(owner.Parts, func(a, b Partition) int { return cmp.Compare(a.Name, b.Name) })
		a.Owners = append(a.Owners, owner)
	}
	return nil
}

// ReadOption sets how Current reads.
type ReadOption func(*client.Consistency)

// Relaxed avoids the network round trip among the hosts that a strict read needs. The answer may be out of date by up
// to the node's grace period.
func Relaxed() ReadOption {
	return func(mode *client.Consistency) { *mode = client.Relaxed }
}

// Current returns the latest stored assignment for a name in the node at path. An Epoch of 0 means that no assignment
// is stored. Partitions may already be moving to their owners in the next assignment.
func Current(ctx context.Context, c *client.Client, path, name string, options ...ReadOption) (*Assignment, error) {
	mode := client.Strict
	option.Apply(&mode, options)
	a, err := current(ctx, process.New(c, path, name), mode)
	if errors.Is(err, process.ErrNotFound) && !errors.Is(err, client.ErrNodeNotFound) {
		return &Assignment{}, nil // the assignment has had no member
	}
	if err != nil {
		return nil, failure.OfName("assign", "read", name, err)
	}
	return a, nil
}

// Watch returns the latest stored assignment for a name in the node at path, then every new assignment. A slow loop may
// skip some assignments. The loop ends with an error if the context ends, the node is dropped, or the client is closed.
func Watch(ctx context.Context, c *client.Client, path, name string) iter.Seq2[*Assignment, error] {
	return func(yield func(*Assignment, error) bool) {
		for result, err := range process.New(c, path, name).WatchResults(ctx) {
			a := &Assignment{}
			if err == nil {
				err = json.Unmarshal(result.Bytes(), a)
			}
			if err != nil {
				yield(nil, failure.OfName("assign", "watch", name, err))
				return
			}
			if !yield(a, nil) {
				return
			}
		}
	}
}
