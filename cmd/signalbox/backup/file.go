package backup

import (
	"context"
	"io"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// defaultRate is the default write rate for backups, in bytes per second.
const defaultRate = 8 << 20

// steady limits the write rate, in pieces, so that other work on the same machine and disk continues meanwhile.
type steady struct {
	ctx  context.Context
	w    io.Writer
	rate uint64 // bytes per second; 0: no limit

	due time.Time // when the next piece is due
}

// Write implements io.Writer.
func (s *steady) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		piece := p[:min(len(p), cli.PieceBytes)]
		if err = s.wait(len(piece)); err != nil {
			break
		}
		var written int
		written, err = s.w.Write(piece)
		n, p = n+written, p[written:]
	}
	return n, err
}

// wait delays the next piece to keep the rate. After an idle time, the rate is not exceeded to catch up.
func (s *steady) wait(bytes int) error {
	if s.rate == 0 {
		return nil
	}
	now := time.Now()
	if s.due.Before(now) {
		s.due = now
	}
	pause := s.due.Sub(now)
	s.due = s.due.Add(time.Duration(bytes) * time.Second / time.Duration(s.rate))
	if !cli.SleepFor(s.ctx, pause) {
		return context.Cause(s.ctx)
	}
	return nil
}
