package shard

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// Digest sums up all that the replicated state holds in one number: replicas that applied the same
// log have the same. Like State it holds the read lock long, and is meant for tests and tools.
func (m *Machine) Digest() uint64 {
	s := m.State()
	return s.Digest()
}

// Digest sums the state up in one number.
func (s *State) Digest() uint64 {
	d := summer{Digest: xxhash.New()}
	d.numbers(uint64(s.LastOrder), uint64(s.LastRevision), s.LastSession, s.Term, uint64(len(s.Nodes)))
	for _, n := range s.Nodes {
		d.numbers(uint64(n.ID), bit(n.Dropping))
	}
	d.numbers(uint64(len(s.Sessions)))
	for i := range s.Sessions {
		x := &s.Sessions[i]
		d.numbers(uint64(x.ID), uint64(x.Node), bit(x.Home), x.Timeout, x.Applied, x.Acked, uint64(len(x.Answers)))
		d.strings(x.Description, x.Key)
		for _, a := range x.Answers {
			d.numbers(a.Number, uint64(a.Status), uint64(a.Flags), uint64(a.Abort), uint64(a.Order), uint64(a.Revision))
		}
	}
	d.numbers(uint64(len(s.Semaphores)))
	for i := range s.Semaphores {
		x := &s.Semaphores[i]
		d.strings(x.Name, x.Data)
		d.numbers(uint64(x.Node), x.Limit, bit(x.Ephemeral), uint64(x.Revision), uint64(len(x.Links)))
		for j := range x.Links {
			l := &x.Links[j]
			d.numbers(uint64(l.Session), uint64(l.Order), l.Count, l.Timeout, l.Number, bit(l.Owner))
			d.strings(l.Data)
		}
	}
	return d.Sum64()
}

type summer struct{ *xxhash.Digest }

func (d summer) numbers(ns ...uint64) {
	var b [8]byte
	for _, n := range ns {
		binary.LittleEndian.PutUint64(b[:], n)
		_, _ = d.Write(b[:])
	}
}

func (d summer) strings(ss ...string) {
	for _, s := range ss {
		d.numbers(uint64(len(s)))
		_, _ = d.WriteString(s)
	}
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
