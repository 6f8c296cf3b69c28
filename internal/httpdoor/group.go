package httpdoor

import "container/list"

// stage is what a connection does.
type stage int

const (
	// waiting is a connection between requests, or in one that is not being carried out: its headers come, or hosts are
	// asked about its token.
	waiting stage = iota
	// holding is one whose body or answer is under way.
	holding
	// working is one whose request is being carried out. It stands in no queue, so it is not closed for others.
	working
)

// group is a number of connections: those of an address, or all.
type group struct {
	size int // those that work among them
	// queues have the connections that can be closed, by stage and by whether a token was shown, the one that has done
	// nothing for longest first.
	queues [working][2]list.List
}

// place is where a connection stands in a queue of a group.
type place struct {
	queue *list.List
	at    *list.Element
}

func (p *place) enter(queue *list.List, c *Conn) { p.queue, p.at = queue, queue.PushBack(c) }

func (p *place) leave() {
	if p.queue != nil {
		p.queue.Remove(p.at)
		*p = place{}
	}
}

// place puts a connection at the end of the queues of a stage. mu is held.
func (d *Door) place(c *Conn, to stage) {
	d.leave(c)
	c.stage = to
	if to == working {
		return
	}
	d.moves++
	c.move = d.moves
	shown := 0
	if c.shown {
		shown = 1
	}
	c.inAll.enter(&d.all.queues[to][shown], c)
	c.inOf.enter(&c.of.queues[to][shown], c)
}

// leave takes a connection out of its queues. mu is held.
func (d *Door) leave(c *Conn) {
	c.inAll.leave()
	c.inOf.leave()
}

// oldest returns the connection of a group that has done nothing for longest: of those that have shown no token, and
// else of the others. It is nil where all are working.
func (g *group) oldest() *Conn {
	for shown := range 2 {
		var oldest *Conn
		for s := range g.queues {
			if c := first(&g.queues[s][shown]); c != nil && (oldest == nil || c.move < oldest.move) {
				oldest = c
			}
		}
		if oldest != nil {
			return oldest
		}
	}
	return nil
}

// oldestHolder returns the one whose body or answer has been under way for longest.
func (g *group) oldestHolder() *Conn {
	if c := first(&g.queues[holding][0]); c != nil {
		return c
	}
	return first(&g.queues[holding][1])
}

func first(queue *list.List) *Conn {
	if front := queue.Front(); front != nil {
		return front.Value.(*Conn)
	}
	return nil
}
