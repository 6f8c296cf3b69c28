package memlog_test

import (
	"fmt"
	"io"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

// printer is a state machine that prints its entries.
type printer struct{ host shard.HostID }

func (p printer) Apply(entries []shard.Entry) error {
	for _, e := range entries {
		fmt.Printf("host %d applies %s\n", p.host, e.Data)
	}
	return nil
}

func (p printer) LeadershipChanged(l shard.Leadership)     {}
func (p printer) PrepareSnapshot() (shard.Snapshot, error) { return nil, io.EOF }
func (p printer) Restore(io.Reader) error                  { return nil }

// Example pauses a leader while other hosts continue. After resuming, the old leader believes to lead, but its barrier
// fails.
func Example() {
	net, err := memlog.NewNetwork(memlog.Config{
		Seed:  1,
		Hosts: []shard.HostID{1, 2, 3},
		Path:  memlog.Path{Delay: memlog.Exactly(time.Millisecond)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer net.Close()
	group := net.Group(1)
	logs := map[shard.HostID]*memlog.Log{}
	for _, h := range []shard.HostID{1, 2, 3} {
		if logs[h], err = net.Open(h, 1, printer{h}); err != nil {
			fmt.Println(err)
			return
		}
	}
	net.Advance(time.Second)
	fmt.Println("host 1 believes", logs[1].Leadership())

	net.Pause(1)
	net.RunUntil(func() bool { return group.Leader().Term == 2 }, time.Minute)
	next := group.Leader().Leader
	_ = logs[next].Propose([]byte("a"), func(o shard.Outcome) { fmt.Println("outcome:", o) })
	net.Advance(time.Second)

	fmt.Println("host 1 believes", logs[1].Leadership())
	_ = logs[1].Barrier(func(err error) { fmt.Println("barrier:", err) })
	net.Resume(1)
	net.Advance(time.Second)
	// Output:
	// host 1 believes {1 1}
	// host 3 applies a
	// outcome: applied
	// host 2 applies a
	// host 1 believes {1 1}
	// barrier: shard: no majority confirmed the read barrier
	// host 1 applies a
}
