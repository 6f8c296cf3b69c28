package server_test

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

// risen runs f with a cluster whose level has risen as far as it does.
func risen(t *testing.T, f func(t *testing.T, c *servertest.Cluster), options ...servertest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, options...)
		synctest.Wait()
		f(t, c)
	})
}

// TestAChangeOfANodeThatComesAgainIsAnsweredAsItWas sends every change again, over another connection.
func TestAChangeOfANodeThatComesAgainIsAnsweredAsItWas(t *testing.T) {
	risen(t, func(t *testing.T, c *servertest.Cluster) {
		leader := c.Leader(0)
		s, other := speak(t, c, leader), speak(t, c, leader)
		next := uint64(1)
		number := func() protocol.Numbered {
			return protocol.Numbered{Client: bytes.Repeat([]byte{7}, 16), Number: 100 + next, Since: next}
		}
		path := []byte("/jobs")
		create := &protocol.NodeCreate{Path: path, Numbered: number()}
		a := s.must(s.ask(create)).NodeCreate
		id := a.Node.ID
		want(t, "existed", a.Existed, false)
		want(t, "since", a.Since, next+1)
		a = other.must(other.ask(create)).NodeCreate
		want(t, "existed, the second time", a.Existed, false)
		want(t, "id, the second time", a.Node.ID, id)
		want(t, "since, the second time", a.Since, next+1)

		next++
		alter := &protocol.NodeAlter{Path: path, Config: protocol.NodeConfig{QuotaObjects: 10}, ConfigVersion: 1,
			Numbered: number()}
		for range 2 {
			want(t, "config version", s.must(s.ask(alter)).NodeAlter.Node.ConfigVersion, 2)
			s, other = other, s
		}
		next++
		drop := &protocol.NodeDrop{Path: path, Numbered: number()}
		for range 2 {
			want(t, "since of a drop", s.must(s.ask(drop)).NodeDrop.Since, next+1)
			s, other = other, s
		}
		next++
		drop.Numbered = number()
		for range 2 {
			got := s.ask(drop).Result
			want(t, "a drop of nothing", got.Status, protocol.StatusNotFound)
			want(t, "since of a refusal", got.Since, next+1)
			s, other = other, s
		}
		drop.Numbered.Client = []byte("short")
		want(t, "a client id of five bytes", s.ask(drop).Result.Status, protocol.StatusBadRequest)
		drop.Numbered = protocol.Numbered{Number: 1}
		want(t, "a number of no client", s.ask(drop).Result.Status, protocol.StatusBadRequest)
		third := stranger(t, c)
		welcome := third.must(third.ask(&protocol.Hello{VersionMin: 1, VersionMax: 1})).Welcome
		want(t, "since of a welcome", welcome.Since, next+1)
	}, servertest.Hosts(3))
}
