package raw

// Requests counts requests without a final answer.
func (s *Session) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}
