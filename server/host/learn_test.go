package host

import (
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/settings"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// TestAHostLetsInWhoHasJoinedWithoutItsKnowledge: a host lost its meta replica before it learned of a joined host,
// which is now the meta leader. Otherwise it would refuse the only host able to fill its next replica.
func TestAHostLetsInWhoHasJoinedWithoutItsKnowledge(t *testing.T) {
	t.Parallel() // mostly waiting
	a := newFirst(t, func(*settings.Settings) {})
	b := startSome(t, joining(t, "b", a))[0]
	c := startSome(t, joining(t, "c", a))[0]
	awaitReady(t, a, b, c)
	awaitRecords(t, b, "of three voters", allVote(3))
	for end := within(t, time.Minute); ; {
		b.forgets(c.Identity().HostID)
		_, err := c.peers.Load().Call(end, b.Identity().HostID, []byte(startRequest))
		if err == nil && b.hasHeardOf(c.Identity().HostID) {
			return // otherwise its own records have arrived meanwhile, or the others were slow
		}
		select {
		case <-end.Done():
			t.Fatalf("it knows %v: %v", *b.known.Load(), err)
		case <-time.After(readyPoll):
		}
	}
}

// forgets reduces a host's knowledge of another host to its state before the join.
func (h *Host) forgets(id shard.HostID) {
	h.book.mu.Lock()
	defer h.book.mu.Unlock()
	h.book.heard = nil
	h.book.written = slices.DeleteFunc(slices.Clone(h.book.written), func(k identity.Known) bool { return k.ID >= id })
	h.goByBook()
}

func (h *Host) hasHeardOf(id shard.HostID) bool {
	h.book.mu.Lock()
	defer h.book.mu.Unlock()
	return slices.ContainsFunc(h.book.heard, func(k identity.Known) bool { return k.ID == id })
}

// TestWhatWasHeardOfHostsEndsWithTheOwnRecords: ids are assigned once and in order, so records with a later host also
// had all earlier hosts.
func TestWhatWasHeardOfHostsEndsWithTheOwnRecords(t *testing.T) {
	known := func(ids ...shard.HostID) (book []identity.Known) {
		for _, id := range ids {
			initialMember := identity.InitialMember{ID: id, Incarnation: hosts.Incarnation{byte(id)}}
			book = append(book, identity.Known{InitialMember: initialMember})
		}
		return book
	}
	for name, x := range map[string]struct {
		heard, written []identity.Known
		want           int
	}{
		"older records":            {known(5, 6), known(1, 2, 3), 2},
		"records with one of them": {known(5, 6), known(1, 2, 5), 1},
		"records with all":         {known(5, 6), known(1, 5, 6), 0},
		"records that lost one":    {known(5, 6), known(1, 7), 0},
	} {
		b := addressBook{heard: x.heard}
		if b.write(x.written); len(b.heard) != x.want {
			t.Errorf("%s: %v is left", name, b.heard)
		}
	}
}

// TestRecordsFromLongAgoMakeAHostForgetNothing: a meta replica being filled begins with old records. The sending leader
// may have joined since, or have a new address, and must be accepted.
func TestRecordsFromLongAgoMakeAHostForgetNothing(t *testing.T) {
	at := func(id shard.HostID, start uint64, raft string, expelled bool) identity.Known {
		initialMember := identity.InitialMember{ID: id, Incarnation: hosts.Incarnation{byte(id)}, Raft: raft}
		return identity.Known{InitialMember: initialMember, Start: hosts.Start{Number: start}, Expelled: expelled}
	}
	now := []identity.Known{
		at(1, 3, "a:1", false), at(2, 1, "b:1", true), at(3, 5, "c:2", false), at(7, 1, "e:1", false),
	}
	var b addressBook
	b.write(slices.Clone(now))
	b.write([]identity.Known{at(1, 2, "a:1", false), at(2, 1, "b:1", false), at(3, 4, "c:1", false)})
	if !slices.Equal(b.all(), now) {
		t.Errorf("it knows\n%v, and knew\n%v", b.all(), now)
	}
	later := []identity.Known{at(1, 4, "a:2", false), at(3, 5, "c:2", false), at(8, 1, "f:1", false)}
	b.write(slices.Clone(later))
	if !slices.Equal(b.all(), later) {
		t.Errorf("it knows\n%v, and not\n%v", b.all(), later)
	}
}
