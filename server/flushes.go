package server

// flushes are connections that something was appended to. Each is flushed once, however much that is.
type flushes map[*conn]struct{}

func (f flushes) add(c *conn) { f[c] = struct{}{} }

func (f flushes) flush() {
	for c := range f {
		c.flush()
	}
}
