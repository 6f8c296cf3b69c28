//go:build linux

package chaos

import (
	"fmt"
	"path/filepath"

	"github.com/signalbox/signalbox/test/workload"
)

// enlist gives a client its crew.
func (s *stage) enlist(client int, o Orders) error {
	dice := s.act.dice(100 + client)
	o.Client, o.Epoch, o.Seed, o.Node, o.Grace = client, s.journal.clock.epoch, dice.Uint64(), s.node, s.grace
	o.Routes, o.Watchers = s.network.routes[client], (client+1)*1000
	for range 3 {
		o.Watched = append(o.Watched, workload.Pick(dice, scenery...).Name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.hire(o)
	if err != nil {
		return err
	}
	s.orders, s.teams = append(s.orders, o), append(s.teams, t)
	return nil
}

// hire starts a crew.
func (s *stage) hire(o Orders) (team, error) {
	if o.Client < nearClients || o.Client == resident {
		return near{muster(o, s.journal)}, nil
	}
	return send(o, s.journal, filepath.Join(s.dir, fmt.Sprintf("client-%d.log", o.Client)))
}

// far returns the crew of a client in a process of its own, nil where it has ended.
func (s *stage) far(i int) *far {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, _ := s.teams[i].(*far)
	return x
}

// forget takes a crew out that is about to be killed.
func (s *stage) forget(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.teams[i] = gone{}
}

// gone is the team of a client that was killed.
type gone struct{}

func (gone) rest() error  { return nil }
func (gone) leave() error { return nil }

// replace starts a crew again that was killed.
func (s *stage) replace(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &s.orders[i]
	o.Life++
	o.Watchers += len(o.Watched)
	t, err := s.hire(*o)
	if err != nil {
		s.journal.note("%v", err)
		return
	}
	s.teams[i] = t
}

// watching are the watchers of a semaphore that are there.
func (s *stage) watching(name string) (ids []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, o := range s.orders {
		if _, ended := s.teams[i].(gone); ended {
			continue
		}
		for n, watched := range o.Watched {
			if watched == name {
				ids = append(ids, o.Watchers+n)
			}
		}
	}
	return ids
}
