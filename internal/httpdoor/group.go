package httpdoor

import "container/list"

// stage is the state of a connection's request.
type stage int

const (
	// waiting is a connection between requests, or in a request not yet carried out: the headers are arriving, or
	// hosts are asked about the token.
	waiting stage = iota
	// holding is a connection with a body or an answer under way.
	holding
	// working is a connection whose request is being carried out. A working connection stands in no queue, so the
	// door does not close the connection to make room.
	working
)

// group is a number of connections: the connections of an address, or all.
type group struct {
	size int // including working connections
	// queues have the closable connections, by stage and by whether a token was shown, beginning with the longest
	// idle.
	queues [working][2]list.List
}

// place is the place of a connection in a queue of a group.
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

// oldest returns the longest idle connection of a group: among connections without a token first, then among
// connections with a token. oldest returns nil if all connections are working.
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

// oldestHolder returns the connection whose body or answer has been under way for longest.
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
