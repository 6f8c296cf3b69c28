package client

// Borrowed returns how often callers have read the answers of their requests by themselves.
func (c *Client) Borrowed() (n uint64) {
	for _, h := range c.cluster.all() {
		if l := h.live(); l != nil {
			l.mu.Lock()
			n += l.borrowed
			l.mu.Unlock()
		}
	}
	return n
}
