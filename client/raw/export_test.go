package raw

// Requests counts those for which something is still to come.
func (s *Session) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}
